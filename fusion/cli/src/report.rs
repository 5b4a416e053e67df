//! What a run is reported as: one model, printed as JSON or as tables.

pub(crate) mod json;
mod number;
mod table;

pub(crate) use number::Number;
pub(crate) use table::{
    Table, Timing, is_any_fused, print_choice, print_groups, print_promotions, print_rewrites, print_run,
    print_splits, print_times,
};

use serde::Serialize;
use std::io::{self, Write};

/// Prints one JSON object and the end of its line.
pub(crate) fn print_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
