//! The module that runs unfused: what the user compiled, without what a driver does not need.

use ahash::AHashMap;
use rspirv::binary::Assemble;
use rspirv::dr::Module;

use super::passes::dce;
use super::pipeline;
use super::words;

/// The two forms of a kernel that runs unfused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// With formulas written out, `NoContraction` on every float operation that takes it, and no `RelaxedPrecision`.
    pub strict: Vec<u32>,
    /// Floats as the user's compiler left them.
    pub contract: Vec<u32>,
}

/// The generator word of every module made here. The user's compiler is no part of a kernel's identity.
const GENERATOR: u32 = 0x000f_0000;

/// Prunes a specialised module in place; returns its words in both forms and the new id of each id.
pub(super) fn build(name: &str, module: &mut Module) -> (Plain, AHashMap<u32, u32>) {
    let ids = dce::run(module);
    if let Some(header) = &mut module.header {
        header.generator = GENERATOR;
    }
    let contract = module.assemble();
    let mut strict = module.clone();
    pipeline::make_strict(name, &mut strict);
    let plain = Plain { strict: strict.assemble(), contract };
    (plain, ids)
}

/// The kernel's identity: its specialised, stripped, renumbered words and its entry point's name.
pub(crate) fn hash(contract: &[u32], entry: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vkfuse kernel identity, version 1");
    hasher.update(&(entry.len() as u64).to_le_bytes());
    hasher.update(entry.as_bytes());
    words::hash(&mut hasher, contract);
    *hasher.finalize().as_bytes()
}
