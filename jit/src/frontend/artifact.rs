//! What a kernel becomes: the module that runs unfused, the normal form, and what both show to the outside.

pub(crate) mod cache;
mod codec;
pub(crate) mod store;

use ahash::AHashMap;
use rspirv::dr::{self, Operand};

use store::ArtifactStore;

use super::error::KernelError;
use super::module::Module;
use super::plain::{self, Plain};
use super::reason::KernelReason;
use super::reflect::{self, Interface};
use super::specialize;
use super::survey::Source;
use super::tools::Complaint;
use super::{load, modes, newer, pipeline, tools};

/// All that the tools had a part in. The rest of a [`Specialized`](super::Specialized) kernel follows from this.
#[derive(Clone, Debug)]
pub(crate) struct KernelArtifact {
    /// The module's words with what was put right in them, if anything was.
    pub(crate) repaired: Option<Vec<u32>>,
    pub(crate) interface: Interface,
    pub(crate) plain: Plain,
    pub(crate) normal: Result<dr::Module, KernelReason>,
}

impl KernelArtifact {
    /// Makes the artifact of one entry point with these constants.
    pub(crate) fn make(
        module: &Module,
        entry: &str,
        entry_id: u32,
        values: &[(u32, u64)],
    ) -> Result<KernelArtifact, KernelError> {
        let name = module.name();
        let source = Source { module: name, words: module.words(), entry, entry_id };
        let specialised = specialize::apply(&source, values)?;
        if module.needs_constants() {
            tools::validate(&specialised.words).map_err(|complaint| complaint.into_error(name))?;
        }
        if let Some(newer) = module.newer() {
            let decode = |detail| KernelError::Decode { module: name.to_owned(), detail };
            let (known, lacks) = newer::known_part(&specialised.words).map_err(decode)?;
            let mut interface = reflect::reflect(name, &known, None, specialised.local_size, module.names())?;
            interface.item_only = false;
            interface.modes = modes::of_words(&specialised.words, entry_id);
            if lacks {
                interface.accessed_anyhow();
            }
            let plain = Plain { strict: specialised.words.clone(), contract: specialised.words };
            return Ok(KernelArtifact { repaired: None, interface, plain, normal: Err(newer.reason()) });
        }
        let mut plain_module = load::module(&specialised.words)
            .map_err(|detail| KernelError::Decode { module: name.to_owned(), detail })?;
        let (mut plain, ids) = plain::build(name, &mut plain_module);
        let declared = plain_module.capabilities.iter().filter_map(|inst| match inst.operands.first() {
            Some(Operand::Capability(capability)) => Some(*capability),
            _ => None,
        });
        if newer::is_opaque(&declared.collect::<Vec<_>>()) {
            plain.strict = plain.contract.clone();
        }
        // What the driver gets is not always what was checked when it was loaded: constants have their values, which can
        // make an array empty, say, and formulas are expanded. An artifact that is kept is not made, nor checked, again.
        let is_checked = module.spec_constants().is_empty() && !plain.strict_changes().formulas;
        let normalise = || pipeline::normalise(name, &plain_module);
        let normal = if is_checked {
            debug_assert!(tools::verify(&plain.strict).is_ok(), "unused declarations alone are gone");
            normalise()
        } else {
            let (valid, normal) = beside(&plain.strict, normalise);
            valid.map_err(|complaint| complaint.into_error(name))?;
            normal
        };
        let names = module.names().iter();
        let names = names.filter_map(|(id, name)| Some((*ids.get(id)?, name.clone())));
        let interface = reflect::reflect(
            name,
            &plain_module,
            normal.as_ref().ok(),
            specialised.local_size,
            &names.collect(),
        )?;
        let repaired = module.is_repaired().then(|| module.words().to_vec());
        Ok(KernelArtifact { repaired, interface, plain, normal })
    }

    /// Makes the artifact of a module that was made of a normal form and has this local size. The store may know that it is valid.
    pub(crate) fn rewritten(
        store: Option<&dyn ArtifactStore>,
        name: &str,
        mut module: dr::Module,
        local_size: [u32; 3],
    ) -> Result<KernelArtifact, KernelError> {
        pipeline::tidy(&mut module)
            .map_err(|reason| KernelError::Decode { module: name.to_owned(), detail: reason.to_string() })?;
        let (plain, _) = plain::build(name, &mut module);
        let valid = match store::validate_strictly(store, &plain.strict) {
            Err(complaint) if complaint.is_layout_outside_buffers() => tools::validate(&plain.strict),
            result => result,
        };
        valid.map_err(|complaint| complaint.into_error(name))?;
        let interface = reflect::reflect(name, &module, Some(&module), local_size, &AHashMap::new())?;
        Ok(KernelArtifact { repaired: None, interface, plain, normal: Ok(module) })
    }
}

/// Has words validated while something is done that takes about as long.
fn beside<T>(words: &[u32], work: impl FnOnce() -> T) -> (Result<(), Complaint>, T) {
    if !tools::is_validated() {
        return (Ok(()), work());
    }
    std::thread::scope(|scope| {
        let valid = scope.spawn(|| tools::validate(words));
        let done = work();
        let ended = || Complaint::new(0, "the validator did not come back".to_owned());
        (valid.join().unwrap_or_else(|_| Err(ended())), done)
    })
}
