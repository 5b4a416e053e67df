//! One entry point of a module, and what becomes of it with its constants fixed.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ahash::AHashMap;

use super::error::KernelError;
use super::module::Module;
use super::normal::{self, NormalKernel};
use super::plain::{self, Plain};
use super::reflect::{self, Interface};
use super::spec::{self, SpecConstant, SpecValue};
use super::specialize::{self, Source};
use super::{load, tools};
use crate::Reason;

/// One compute entry point of a module. Cheap to clone; clones share what was specialised.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<Inner>,
}

struct Inner {
    module: Module,
    entry: String,
    entry_id: u32,
    specialised: Mutex<AHashMap<Key, Arc<Slot>>>,
}

/// The bits of every constant, by id.
type Key = Vec<(u32, u64)>;

/// Filled by the first caller; others wait for it.
type Slot = OnceLock<Result<Arc<Specialized>, KernelError>>;

/// Specializations kept for one kernel. Beyond this, a caller that passes ever new values as
/// specialization constants would make the table grow for ever, so it starts again.
const MAX_KEPT: usize = 1024;

/// A kernel with every specialization constant replaced by its value.
#[derive(Clone, Debug)]
pub struct Specialized {
    /// Name of the module it comes from.
    pub name: String,
    /// Name of the entry point in that module. In the modules made here it is `main`.
    pub entry: String,
    /// Identity: the specialised module without debug information, and the entry point's name.
    pub hash: [u8; 32],
    /// The module it was made from, as it was loaded.
    pub module: Module,
    /// The bits of every specialization constant of the module, by ascending id.
    pub spec: Vec<(u32, u64)>,
    /// What it shows to the outside.
    pub interface: Interface,
    /// What runs unfused.
    pub plain: Plain,
    /// What can be fused, or why it cannot.
    pub normal: Result<NormalKernel, Reason>,
}

impl Kernel {
    /// Chooses an entry point; `None` if the module has exactly one.
    ///
    /// # Errors
    /// [`KernelError::NoComputeEntry`], [`KernelError::UnknownEntry`], [`KernelError::AmbiguousEntry`].
    pub fn new(module: &Module, entry: Option<&str>) -> Result<Kernel, KernelError> {
        let available = module.entry_points();
        let index = match (entry, available) {
            (_, []) => {
                return Err(KernelError::NoComputeEntry { module: module.name().to_owned() });
            }
            (None, [_]) => 0,
            (None, _) => {
                return Err(KernelError::AmbiguousEntry {
                    module: module.name().to_owned(),
                    available: available.to_vec(),
                });
            }
            (Some(entry), _) => {
                let found = available.iter().position(|name| name == entry);
                found.ok_or_else(|| KernelError::UnknownEntry {
                    module: module.name().to_owned(),
                    entry: entry.to_owned(),
                    available: available.to_vec(),
                })?
            }
        };
        Ok(Kernel {
            inner: Arc::new(Inner {
                module: module.clone(),
                entry: available[index].clone(),
                entry_id: module.entry_ids()[index],
                specialised: Mutex::default(),
            }),
        })
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        self.inner.module.name()
    }

    /// Name of the entry point.
    pub fn entry(&self) -> &str {
        &self.inner.entry
    }

    /// The module it is an entry point of.
    pub fn module(&self) -> &Module {
        &self.inner.module
    }

    /// The module's specialization constants, by ascending id.
    pub fn spec_constants(&self) -> &[SpecConstant] {
        self.inner.module.spec_constants()
    }

    /// Fixes the constants; those not given keep their defaults. Equal values give the same `Arc`.
    ///
    /// # Errors
    /// An id the module does not have or that is given twice, a value of the wrong type, a work-group
    /// size that is empty with these values; see [`KernelError`].
    pub fn specialize(&self, values: &[(u32, SpecValue)]) -> Result<Arc<Specialized>, KernelError> {
        let key = spec::resolve(self.name(), self.spec_constants(), values)?;
        let slot = {
            let table = self.inner.specialised.lock();
            // A panic elsewhere cannot leave the table half-changed: entries are only added.
            let mut table = table.unwrap_or_else(PoisonError::into_inner);
            if table.len() >= MAX_KEPT && !table.contains_key(&key) {
                table.clear();
            }
            table.entry(key.clone()).or_default().clone()
        };
        slot.get_or_init(|| self.build(&key).map(Arc::new)).clone()
    }

    fn build(&self, values: &[(u32, u64)]) -> Result<Specialized, KernelError> {
        let source = Source {
            module: self.name(),
            words: self.inner.module.words(),
            entry: self.entry(),
            entry_id: self.inner.entry_id,
        };
        let specialised = specialize::apply(&source, values)?;
        let mut module = load::module(&specialised.words)
            .map_err(|detail| KernelError::Decode { module: self.name().to_owned(), detail })?;
        let (plain, ids) = plain::build(&mut module);
        // Values can make a module invalid that was valid with its defaults: an array of length zero,
        // say. A module without constants was checked when it was loaded.
        if !values.is_empty() || cfg!(debug_assertions) {
            tools::validate(&plain.strict).map_err(|complaint| complaint.into_error(self.name()))?;
        }
        let names = self.inner.module.names().iter();
        let names = names.filter_map(|(id, name)| Some((*ids.get(id)?, name.clone())));
        let normal = normal::build(&module);
        let interface = reflect::reflect(
            self.name(),
            &module,
            normal.as_ref().ok(),
            specialised.local_size,
            &names.collect(),
        )?;
        let normal = normal.map(|module| NormalKernel::new(module, &interface.bindings));
        Ok(Specialized {
            name: self.name().to_owned(),
            entry: self.entry().to_owned(),
            hash: plain::hash(&plain.contract, self.entry()),
            module: self.inner.module.clone(),
            spec: values.to_vec(),
            interface,
            plain,
            normal: normal.map_err(Reason::from),
        })
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name()).field("entry", &self.entry()).finish()
    }
}
