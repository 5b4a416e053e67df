//! From rspirv's module to the IR: declarations in `declarations`, functions in `body`.
//!
//! # Guarantees
//! - the behaviour of the module, and the order of its instructions; unreachable blocks are dropped, and so is debug information other than names
//!
//! # Refuses
//! - control flow that merge instructions do not describe, and what [`Unsupported`] names

mod body;
mod closure;
mod control;
mod declarations;
mod frame;
mod instruction;

use rspirv::dr;

use super::entity::{Entity as _, Func};
use super::module::Module;
pub use declarations::Unsupported;
use declarations::{Importer, Result};
pub(crate) use frame::Origins;

/// The IR of a module.
///
/// # Errors
/// Why it has none.
pub fn import(source: &dr::Module) -> Result<Module> {
    import_with_origins(source).map(|(module, _)| module)
}

/// The same, and where its code comes from.
pub(crate) fn import_with_origins(source: &dr::Module) -> Result<(Module, Origins)> {
    let mut importer = Importer::new(source)?;
    importer.declarations(source)?;
    for inst in source.functions.iter().filter_map(|function| function.def.as_ref()) {
        importer.signature(inst)?;
    }
    for (number, function) in source.functions.iter().enumerate() {
        if !function.blocks.is_empty() {
            body::import(&mut importer, function, Func::new(number))?;
        }
        importer.module.defined.push(Func::new(number));
    }
    importer.entries(source)?;
    Ok((importer.module, importer.origins))
}
