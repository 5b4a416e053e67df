//! What a run is reported as: one model, printed as JSON or as tables.

pub(crate) mod json;
mod number;
mod table;

pub(crate) use number::Number;
pub(crate) use table::{Table, print_run};
