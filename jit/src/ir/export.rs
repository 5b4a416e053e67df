//! From the IR to rspirv's module: declarations in `declarations`, functions in `body`.
//!
//! # Requires
//! - a module that [`verify`](super::verify) accepts
//!
//! # Guarantees
//! - what the module does, in the order in which it does it; the address of a place is worked out once, in front of its first use
//! - equal modules give equal words

mod body;
mod declarations;
mod instruction;
mod places;

use rspirv::dr;

use super::module::Module;
use declarations::Exporter;
pub(super) use places::positions;

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
