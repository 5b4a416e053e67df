//! One entry point of a module, and what becomes of it with its constants fixed.
//!
//! A [`Module`] is checked SPIR-V. A [`Kernel`] is one of its compute entry points. A [`Specialized`] kernel has all its
//! constants fixed; it holds what runs unfused ([`Plain`]), what can be fused with its analysis ([`NormalKernel`]) or the
//! reason why not ([`KernelReason`]), and what both show to the outside ([`Interface`]). All of this happens once for each
//! kernel and may take milliseconds; with an [`ArtifactStore`] most of it happens once for all processes.

mod local_ids;
mod modes;
mod normal;
mod push_block;
mod variants;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ahash::AHashMap;
use rspirv::binary::Assemble;

use crate::Reason;
use crate::frontend::artifact::{KernelArtifact, cache};
use crate::frontend::module::Contents;
use crate::frontend::{elements, guard, newer, plain, spec, words};

pub use crate::frontend::{
    ARTIFACT_VERSION, Accepted, AfterPass, ArtifactStore, Binding, BindingKind, Declared, DescriptorArray,
    ElementType, FloatControls, FloatWidths, ImageDeclaration, Interface, KernelError, KernelReason,
    MemoryScalar, Mode, Module, Origin, Pass, Plain, PushLayout, PushMember, ScalarClass, SetBinding,
    SharedConstant, SpecConstant, SpecType, SpecValue, TextKind, TextureKind, artifact_is_valid,
    artifact_tools, inline_and_promote, is_validated, observe_passes, tool_runs, validator,
};
pub use normal::NormalKernel;
pub use variants::Variants;

/// One compute entry point of a module. Cheap to clone; clones share what was specialised.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<Inner>,
}

struct Inner {
    module: Module,
    entry: String,
    entry_id: u32,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    specialised: Mutex<AHashMap<Key, Arc<Slot>>>,
}

/// The bits of the constants that are given and make a difference, by id.
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
    /// The module it was made from, as it was loaded; of a WGSL text with overrides, what that is with their values.
    pub module: Module,
    /// The bits of the module's specialization constants that are not what they are by default, by ascending id.
    pub spec: Vec<(u32, u64)>,
    /// What it shows to the outside.
    pub interface: Interface,
    /// What runs unfused.
    pub plain: Plain,
    /// What can be fused, or why it cannot.
    pub normal: Result<NormalKernel, Reason>,
    /// The same work in other orders, and with that of others, as far as it was asked for.
    pub variants: Variants,
    /// First bytes of push constants that are zero in every call: what hides floats.
    pub zeros: Vec<u32>,
    /// What it is where floats are strict; found out once.
    pub closed: Closed,
    /// What its buffers are made of; read once.
    pub elements: Elements,
    /// Whether a loop of a rewrite's stands around its own: it goes round more often than the kernel that was submitted.
    pub is_repeated: bool,
    /// Whether it was made of the normal form of the kernel that was submitted.
    pub is_rewritten: bool,
    /// Size of the sub-groups that it rests on: its work-groups are full ones, and the invocation with local index `i` is lane `i mod size` of sub-group
    /// `i / size`. Vulkan numbers invocations otherwise, so the fused kernel does (`rewrite/pad`).
    pub lanes: Option<u32>,
    /// What may know that kernels made of it are valid.
    pub store: Option<Arc<dyn ArtifactStore>>,
}

/// The closed form of a kernel, if it has another one, or why it has none.
pub type Closed = Arc<OnceLock<Result<Option<Arc<Specialized>>, &'static str>>>;

/// What a kernel declares of its buffers.
pub type Elements = Arc<OnceLock<Vec<Declared>>>;

impl Kernel {
    /// Chooses an entry point; `None` if the module has exactly one.
    ///
    /// # Errors
    /// [`KernelError::NoComputeEntry`], [`KernelError::UnknownEntry`], [`KernelError::AmbiguousEntry`].
    pub fn new(module: &Module, entry: Option<&str>) -> Result<Kernel, KernelError> {
        Kernel::with_artifacts(module, entry, None)
    }

    /// Chooses an entry point as [`Kernel::new`] does. What becomes of it is taken from a store, and kept there.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn with_artifacts(
        module: &Module,
        entry: Option<&str>,
        artifacts: Option<Arc<dyn ArtifactStore>>,
    ) -> Result<Kernel, KernelError> {
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
                artifacts,
                specialised: Mutex::default(),
            }),
        })
    }

    /// The only compute entry point of a module in bytes of either byte order. If the store has its artifact with all
    /// constants at their defaults, then the module was found to be valid when that was made, and is not validated again.
    ///
    /// # Errors
    /// As [`Module::from_bytes`] and [`Kernel::new`].
    pub fn from_bytes(
        name: &str,
        bytes: &[u8],
        artifacts: Option<Arc<dyn ArtifactStore>>,
    ) -> Result<Kernel, KernelError> {
        Kernel::load(name, guard::from_bytes(name, bytes)?, artifacts)
    }

    /// The only compute entry point of a module in words of either byte order, as [`Kernel::from_bytes`].
    ///
    /// # Errors
    /// As [`Module::from_words`] and [`Kernel::new`].
    pub fn from_words(
        name: &str,
        words: &[u32],
        artifacts: Option<Arc<dyn ArtifactStore>>,
    ) -> Result<Kernel, KernelError> {
        Kernel::load(name, guard::from_words(name, words.to_vec())?, artifacts)
    }

    /// The only compute entry point of a WGSL text, as [`Kernel::from_bytes`].
    ///
    /// # Errors
    /// As [`Module::from_wgsl`] and [`Kernel::new`].
    #[cfg(feature = "wgsl")]
    pub fn from_wgsl(
        name: &str,
        text: &str,
        artifacts: Option<Arc<dyn ArtifactStore>>,
    ) -> Result<Kernel, KernelError> {
        let compiled = crate::frontend::wgsl::compile(name, text)?;
        match compiled.overrides {
            None => Kernel::from_words(name, &compiled.words, artifacts),
            Some(_) => {
                let module = Module::compiled(name, compiled, artifacts.as_deref())?;
                Kernel::with_artifacts(&module, None, artifacts)
            }
        }
    }

    fn load(
        name: &str,
        words: Vec<u32>,
        artifacts: Option<Arc<dyn ArtifactStore>>,
    ) -> Result<Kernel, KernelError> {
        let contents = Contents::of(&words);
        let (Some(_), [entry]) = (&artifacts, contents.entry_points()) else {
            let module = Module::checked(name, words, contents, artifacts.as_deref())?;
            return Kernel::with_artifacts(&module, None, artifacts);
        };
        let values = spec::resolve(name, contents.spec_constants(), &[])?;
        let (kernel, specialized) =
            match cache::find(artifacts.as_deref(), &origin(&contents, entry, &values)) {
                Some(mut artifact) => {
                    let repaired = artifact.repaired.take();
                    let module = Module::known(name, words, repaired, contents);
                    let kernel = Kernel::with_artifacts(&module, None, artifacts)?;
                    let specialized = kernel.specialized(&values, artifact);
                    (kernel, Ok(specialized))
                }
                // It has been looked for, so it is made now.
                None => {
                    let module = Module::checked(name, words, contents, None)?;
                    let kernel = Kernel::with_artifacts(&module, None, artifacts)?;
                    let specialized = kernel.make(&values);
                    (kernel, specialized)
                }
            };
        let slot = Arc::new(OnceLock::from(specialized.map(Arc::new)));
        let table = kernel.inner.specialised.lock();
        table.unwrap_or_else(PoisonError::into_inner).insert(values, slot);
        Ok(kernel)
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

    /// The ids, ascending and once each, that values are given for and that the module does not declare: most often an id that
    /// was mistyped. Vulkan accepts them, and so does [`specialize`](Self::specialize).
    pub fn unknown_constants(&self, given: impl Iterator<Item = u32>) -> Vec<u32> {
        spec::unknown(self.spec_constants(), given)
    }

    /// Fixes the constants; those not given keep their defaults. Equal values give the same `Arc`.
    ///
    /// # Errors
    /// An id that is given twice, one that has to be given and is not, a value of the wrong type, a work-group
    /// size that is empty with these values; see [`KernelError`].
    pub fn specialize(&self, values: &[(u32, SpecValue)]) -> Result<Arc<Specialized>, KernelError> {
        spec::check_required(self.name(), self.spec_constants(), values)?;
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
        slot.get_or_init(|| self.build(&key).map(Arc::new).map_err(|error| self.of_values(&key, error)))
            .clone()
    }

    /// An error that only these values make is about them, and not about the module.
    fn of_values(&self, values: &[(u32, u64)], error: KernelError) -> KernelError {
        let KernelError::Invalid { detail, .. } = &error else { return error };
        if values.is_empty() || self.specialize(&[]).is_err() {
            return error;
        }
        let one = |(id, bits): &(u32, u64)| {
            let declared = self.spec_constants().iter().find(|one| one.id == *id);
            let name = declared
                .and_then(|one| one.name.as_ref())
                .map_or(String::new(), |name| format!(" (`{name}`)"));
            let value = declared.map_or(bits.to_string(), |one| one.ty.value(*bits).to_string());
            format!("{value} for specialization constant {id}{name}")
        };
        let values = values.iter().map(one).collect::<Vec<_>>().join(", ");
        KernelError::SpecializationValues { kernel: self.name().to_owned(), values, detail: detail.clone() }
    }

    fn build(&self, values: &[(u32, u64)]) -> Result<Specialized, KernelError> {
        let Inner { module, entry, artifacts, .. } = &*self.inner;
        if let Some(words) = module.overridden(values)? {
            return self.overridden(words);
        }
        match cache::find(artifacts.as_deref(), &origin(module.contents(), entry, values)) {
            Some(artifact) => Ok(self.specialized(values, artifact)),
            None => self.make(values),
        }
    }

    /// Makes the kernel of words that were written for certain values of its overrides.
    fn overridden(&self, words: Vec<u32>) -> Result<Specialized, KernelError> {
        let Inner { entry, artifacts, .. } = &*self.inner;
        let contents = Contents::of(&words);
        let entry_id = contents.entry_id(entry).ok_or_else(|| KernelError::UnknownEntry {
            module: self.name().to_owned(),
            entry: entry.clone(),
            available: contents.entry_points().to_vec(),
        })?;
        let found = cache::find(artifacts.as_deref(), &origin(&contents, entry, &[]));
        let (module, artifact) = match found {
            Some(mut artifact) => {
                let repaired = artifact.repaired.take();
                (Module::known(self.name(), words, repaired, contents), artifact)
            }
            None => {
                let module = Module::checked(self.name(), words, contents, None)?;
                let artifact = KernelArtifact::make(&module, entry, entry_id, &[])?;
                if module.is_checked() {
                    cache::keep(artifacts.as_deref(), &origin(module.contents(), entry, &[]), &artifact);
                }
                (module, artifact)
            }
        };
        Ok(self.specialized_of(module, &[], artifact))
    }

    /// Makes what the store has not, and keeps it there.
    fn make(&self, values: &[(u32, u64)]) -> Result<Specialized, KernelError> {
        let Inner { module, entry, entry_id, artifacts, .. } = &*self.inner;
        let artifact = KernelArtifact::make(module, entry, *entry_id, values)?;
        // What is found in the store counts as validated.
        if module.is_checked() {
            cache::keep(artifacts.as_deref(), &origin(module.contents(), entry, values), &artifact);
        }
        Ok(self.specialized(values, artifact))
    }

    fn specialized(&self, values: &[(u32, u64)], artifact: KernelArtifact) -> Specialized {
        self.specialized_of(self.inner.module.clone(), values, artifact)
    }

    fn specialized_of(&self, module: Module, values: &[(u32, u64)], artifact: KernelArtifact) -> Specialized {
        let KernelArtifact { repaired: _, interface, plain, normal } = artifact;
        let normal = normal.map(|module| NormalKernel::new(module, &interface.bindings));
        Specialized {
            name: self.name().to_owned(),
            entry: self.entry().to_owned(),
            hash: plain::hash(&plain.contract, self.entry()),
            module,
            spec: values.to_vec(),
            interface,
            plain,
            normal: normal.map_err(Reason::from),
            variants: Variants::default(),
            zeros: Vec::new(),
            closed: Closed::default(),
            elements: Elements::default(),
            is_repeated: false,
            is_rewritten: false,
            lanes: None,
            store: self.inner.artifacts.clone(),
        }
    }
}

impl Specialized {
    /// Whether it runs as it was given, because it declares what no pass here knows.
    pub(crate) fn is_opaque(&self) -> bool {
        !self.module.is_checked() || newer::is_opaque(&self.interface.capabilities)
    }

    /// What it declares of the image at a binding; nothing where there is none.
    pub fn image_at(&self, at: SetBinding) -> Option<ImageDeclaration> {
        crate::frontend::images::image_at(&self.plain.contract, at)
    }

    /// What it declares of the elements of the buffer at a binding; nothing where there is none, or nothing is known of them.
    pub fn elements_at(&self, at: SetBinding) -> Option<&Declared> {
        elements::at(self.elements.get_or_init(|| elements::declared(&self.plain.contract)), at)
    }

    /// The places of a binding that indices and conditions depend on: offset in the binding and width in bits. None for a
    /// kernel that cannot be fused.
    pub fn number_places(&self, binding: usize) -> impl Iterator<Item = (u32, u8)> + '_ {
        let cells = self.normal.as_ref().ok().map(|normal| &*normal.analysis.cells);
        let of_binding = move |cell: &&(u16, u32, u8)| usize::from(cell.0) == binding;
        cells.unwrap_or_default().iter().filter(of_binding).map(|&(_, offset, width)| (offset, width))
    }

    /// A hash of all that was made of it: the words that run unfused, and the normal form if there is one.
    pub fn artifact_hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("vkfuse kernel form, version 1");
        let normal = self.normal.as_ref().ok().map(|normal| normal.module.assemble());
        for words in [Some(&self.plain.contract), Some(&self.plain.strict), normal.as_ref()] {
            hasher.update(&words.map_or(u64::MAX, |words| words.len() as u64).to_le_bytes());
            words.iter().for_each(|of| words::hash(&mut hasher, of));
        }
        *hasher.finalize().as_bytes()
    }

    /// A kernel made of this one's normal form, whose push constants are followed by others: at `zero`, if that is given, by one
    /// that is zero in every call. It has an artifact of its own, which spirv-val accepts where there is one.
    pub(crate) fn rewritten(
        &self,
        module: rspirv::dr::Module,
        local: [u32; 3],
        zero: Option<u32>,
    ) -> Result<Self, KernelError> {
        let artifact = KernelArtifact::rewritten(self.store.as_deref(), &self.name, module, local)?;
        Ok(Self { zeros: self.zeros.iter().copied().chain(zero).collect(), ..self.made_into(artifact) })
    }

    /// The same with the bindings of this one, also those that its normal form does not use: arguments are distinguished by their number.
    /// `None` if it uses others.
    pub(crate) fn reshaped(
        &self,
        module: rspirv::dr::Module,
        local: [u32; 3],
    ) -> Result<Option<Self>, KernelError> {
        let mut artifact = KernelArtifact::rewritten(self.store.as_deref(), &self.name, module, local)?;
        let own = &self.interface.bindings;
        let used = std::mem::replace(&mut artifact.interface.bindings, own.clone());
        let is_own =
            used.iter().all(|one| own.iter().any(|other| (other.at, other.kind) == (one.at, one.kind)));
        Ok(is_own.then(|| self.made_into(artifact)))
    }

    fn made_into(&self, artifact: KernelArtifact) -> Self {
        let KernelArtifact { repaired: _, interface, plain, normal } = artifact;
        let normal = normal.map(|module| NormalKernel::new(module, &interface.bindings));
        Self {
            name: self.name.clone(),
            entry: self.entry.clone(),
            hash: plain::hash(&plain.contract, &self.entry),
            module: self.module.clone(),
            spec: self.spec.clone(),
            interface,
            plain,
            normal: normal.map_err(Reason::from),
            variants: self.variants.of_variant(),
            zeros: self.zeros.clone(),
            closed: Closed::default(),
            elements: Elements::default(),
            is_repeated: self.is_repeated,
            is_rewritten: true,
            lanes: self.lanes,
            store: self.store.clone(),
        }
    }
}

fn origin<'a>(module: &Contents, entry: &'a str, spec: &'a [(u32, u64)]) -> Origin<'a> {
    let (hash, words) = module.identity();
    let tools = artifact_tools().unwrap_or_default();
    Origin { module: hash, words, entry, spec, version: ARTIFACT_VERSION, tools }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name()).field("entry", &self.entry()).finish()
    }
}
