//! From the IR to rspirv's module: declarations in `declarations`, functions in `body`.
//!
//! # Requires
//! - a module that [`verify`](super::verify) accepts
//!
//! # Guarantees
//! - the behaviour of the module, and the order of its instructions; the address of a place is computed once, before its first use
//! - equal modules give equal words

mod body;
mod declarations;
mod instruction;
mod places;

use rspirv::dr;

use super::module::Module;
use declarations::Exporter;
pub use places::positions;

/// The module of an IR.
pub fn export(module: &Module) -> dr::Module {
    let mut exporter = Exporter::new(module);
    exporter.declarations();
    for &function in &module.defined {
        let function = body::export(&mut exporter, function);
        exporter.out.functions.push(function);
    }
    exporter.finish()
}
