//! A checked SPIR-V module.

use std::sync::{Arc, OnceLock};

use ahash::AHashMap;
use rspirv::dr;
use rspirv::spirv::{ExecutionModel, Op};

use super::artifact::store::{self, ArtifactStore};
use super::declared;
use super::error::KernelError;
use super::lines::{self, Lines};
use super::newer::{self, Newer};
use super::passes::strip_layout;
use super::set_binding::SetBinding;
use super::spec::{self, SpecConstant};
use super::tools::{self, Complaint};
#[cfg(feature = "wgsl")]
use super::wgsl::Overrides;
use super::words::{self, Inst};
use super::{guard, load};

/// A validated SPIR-V module: immutable, cheap to clone.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    words: Vec<u32>,
    standing: Standing,
    contents: Contents,
    /// Where its accesses are in the source text. Looked for when it is first asked for.
    lines: OnceLock<Lines>,
    /// The overrides of the WGSL text it was made of, if that has any. The words have them at their defaults.
    #[cfg(feature = "wgsl")]
    overrides: Option<Overrides>,
}

/// What the tools said of a module.
#[derive(Default)]
struct Standing {
    /// Whether something was put right in the words.
    repaired: bool,
    /// The parts of it that SPIRV-Tools do not know, if there are any: then it has not been validated.
    newer: Option<Newer>,
    /// Whether it is not valid with the defaults of its constants.
    needs_constants: bool,
}

/// What is read off the words as they were given, valid or not.
pub(crate) struct Contents {
    entry_points: Vec<String>,
    entry_ids: Vec<u32>,
    names: AHashMap<u32, String>,
    spec_constants: Vec<SpecConstant>,
    hash: [u8; 32],
    words: u64,
}

impl Contents {
    /// Reads words that passed the input checks.
    pub(crate) fn of(words: &[u32]) -> Contents {
        let (entry_ids, entry_points) = compute_entries(words).unzip();
        let names: AHashMap<u32, String> = words::instructions(words)
            .take_while(|inst| inst.op() != Some(Op::Function))
            .filter(|inst| inst.op() == Some(Op::Name))
            .filter_map(|inst| Some((inst.at(0), words::string(inst.from(1))?.0)))
            .collect();
        let spec_constants = spec::reflect(words, &names);
        let mut hasher = blake3::Hasher::new_derive_key("vkfuse module, version 1");
        words::hash(&mut hasher, words);
        let hash = *hasher.finalize().as_bytes();
        Contents { entry_points, entry_ids, names, spec_constants, hash, words: words.len() as u64 }
    }

    /// Content hash and number of the words.
    pub(crate) fn identity(&self) -> ([u8; 32], u64) {
        (self.hash, self.words)
    }

    pub(crate) fn entry_points(&self) -> &[String] {
        &self.entry_points
    }

    pub(crate) fn spec_constants(&self) -> &[SpecConstant] {
        &self.spec_constants
    }

    /// The function of the entry point with this name.
    pub(crate) fn entry_id(&self, entry: &str) -> Option<u32> {
        let at = self.entry_points.iter().position(|name| name == entry)?;
        self.entry_ids.get(at).copied()
    }
}

impl Module {
    /// Loads SPIR-V bytes of either byte order. `name` is for messages only.
    ///
    /// # Errors
    /// Whatever is wrong with the bytes, see [`KernelError`]. Never panics.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Module, KernelError> {
        Module::guarded(name, guard::from_bytes(name, bytes)?, None)
    }

    /// Loads SPIR-V bytes as [`Module::from_bytes`] does, unless the store knows that they are valid.
    ///
    /// # Errors
    /// As [`Module::from_bytes`].
    pub fn from_bytes_in(
        name: &str,
        bytes: &[u8],
        store: Option<&dyn ArtifactStore>,
    ) -> Result<Module, KernelError> {
        Module::guarded(name, guard::from_bytes(name, bytes)?, store)
    }

    /// Loads SPIR-V words of either byte order. `name` is for messages only.
    ///
    /// # Errors
    /// Whatever is wrong with the words, see [`KernelError`]. Never panics.
    pub fn from_words(name: &str, words: &[u32]) -> Result<Module, KernelError> {
        Module::guarded(name, guard::from_words(name, words.to_vec())?, None)
    }

    /// Compiles WGSL text.
    ///
    /// # Errors
    /// [`KernelError::Wgsl`] with line and column.
    #[cfg(feature = "wgsl")]
    pub fn from_wgsl(name: &str, text: &str) -> Result<Module, KernelError> {
        Module::from_wgsl_in(name, text, None)
    }

    /// Compiles WGSL text as [`Module::from_wgsl`] does; the store may know that what comes out is valid.
    ///
    /// # Errors
    /// As [`Module::from_wgsl`].
    #[cfg(feature = "wgsl")]
    pub fn from_wgsl_in(
        name: &str,
        text: &str,
        store: Option<&dyn ArtifactStore>,
    ) -> Result<Module, KernelError> {
        Module::compiled(name, super::wgsl::compile(name, text)?, store)
    }

    #[cfg(feature = "wgsl")]
    pub(crate) fn compiled(
        name: &str,
        compiled: super::wgsl::Compiled,
        store: Option<&dyn ArtifactStore>,
    ) -> Result<Module, KernelError> {
        let words = guard::from_words(name, compiled.words)?;
        let mut contents = Contents::of(&words);
        if let Some(overrides) = &compiled.overrides {
            contents.spec_constants = overrides.constants().to_vec();
            // These words are not all that it is.
            let mut hasher = blake3::Hasher::new_derive_key("vkfuse module with overrides, version 1");
            hasher.update(&contents.hash).update(&overrides.hash());
            contents.hash = *hasher.finalize().as_bytes();
        }
        let mut module = Module::checked(name, words, contents, store)?;
        if let Some(inner) = Arc::get_mut(&mut module.inner) {
            inner.overrides = compiled.overrides;
        }
        Ok(module)
    }

    /// Whether it was made of a WGSL text with overrides: then its words have these at their defaults, and those of a kernel are
    /// written when their values are given.
    pub fn has_overrides(&self) -> bool {
        #[cfg(feature = "wgsl")]
        return self.inner.overrides.is_some();
        #[cfg(not(feature = "wgsl"))]
        false
    }

    /// The words with these values for its overrides, as they are given to its constants; `None` if it has none.
    pub(crate) fn overridden(&self, values: &[(u32, u64)]) -> Result<Option<Vec<u32>>, KernelError> {
        #[cfg(feature = "wgsl")]
        if let Some(overrides) = &self.inner.overrides {
            return Ok(Some(guard::from_words(self.name(), overrides.words(values)?)?));
        }
        let _ = values;
        Ok(None)
    }

    fn guarded(
        name: &str,
        words: Vec<u32>,
        store: Option<&dyn ArtifactStore>,
    ) -> Result<Module, KernelError> {
        let contents = Contents::of(&words);
        Module::checked(name, words, contents, store)
    }

    /// A module of words that were read and not validated, unless the store knows that they were.
    pub(crate) fn checked(
        name: &str,
        words: Vec<u32>,
        contents: Contents,
        store: Option<&dyn ArtifactStore>,
    ) -> Result<Module, KernelError> {
        let decode = |detail| KernelError::Decode { module: name.to_owned(), detail };
        let newer = match load::module(&load::decodable(&words)) {
            Ok(module) => match validate(&words, &module, store) {
                Ok(valid) => return Ok(Module::known(name, words, valid, contents)),
                Err(complaint) if complaint.is_of_defaults() => {
                    let standing = Standing { needs_constants: true, ..Standing::default() };
                    return Ok(Module::made(name, words, standing, contents));
                }
                Err(complaint) => {
                    Newer::than_validator(&words, &complaint).ok_or_else(|| complaint.into_error(name))?
                }
            },
            Err(detail) => Newer::than_parser(&words)
                .ok_or_else(|| decode(format!("{detail} (by the grammar of {})", load::GRAMMAR)))?,
        };
        newer::known_part(&words).map_err(decode)?;
        let standing = Standing { newer: Some(newer), ..Standing::default() };
        Ok(Module::made(name, words, standing, contents))
    }

    /// A module of words that are known to be valid, or to be so with what was put right in them.
    pub(crate) fn known(
        name: &str,
        words: Vec<u32>,
        repaired: Option<Vec<u32>>,
        contents: Contents,
    ) -> Module {
        let (repaired, words) = (repaired.is_some(), repaired.unwrap_or(words));
        Module::made(name, words, Standing { repaired, ..Standing::default() }, contents)
    }

    fn made(name: &str, words: Vec<u32>, standing: Standing, contents: Contents) -> Module {
        let (name, lines) = (name.to_owned(), OnceLock::new());
        Module {
            inner: Arc::new(Inner {
                name,
                words,
                standing,
                contents,
                lines,
                #[cfg(feature = "wgsl")]
                overrides: None,
            }),
        }
    }

    /// The name it was loaded under.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its words, in native byte order.
    pub fn words(&self) -> &[u32] {
        &self.inner.words
    }

    /// Names of the compute entry points, in order.
    pub fn entry_points(&self) -> &[String] {
        &self.inner.contents.entry_points
    }

    /// Content hash of the words.
    pub fn hash(&self) -> [u8; 32] {
        self.inner.contents.hash
    }

    /// Result ids of the entry points' functions.
    pub(crate) fn entry_ids(&self) -> &[u32] {
        &self.inner.contents.entry_ids
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.inner.contents
    }

    /// Whether something was put right in its words.
    pub(crate) fn is_repaired(&self) -> bool {
        self.inner.standing.repaired
    }

    /// What the tools do not know of it.
    pub(crate) fn newer(&self) -> Option<&Newer> {
        self.inner.standing.newer.as_ref()
    }

    /// Whether it is invalid with the defaults of its specialization constants, so that only its specialized forms can be validated.
    pub(crate) fn needs_constants(&self) -> bool {
        self.inner.standing.needs_constants
    }

    /// Whether the tools know everything that it declares. If not, it was neither validated nor analysed: it can run by itself, on devices that
    /// have what it declares.
    pub fn is_checked(&self) -> bool {
        self.inner.standing.newer.is_none()
    }

    /// The capabilities that it declares and the parser does not know, by number. Those that it knows are in
    /// [`Interface::capabilities`](super::Interface::capabilities).
    pub fn unknown_capabilities(&self) -> impl Iterator<Item = u32> + '_ {
        let is_checked = self.is_checked();
        newer::unknown_capabilities(self.words()).filter(move |_| !is_checked)
    }

    /// Offsets and names of the scalars of its push constants, such as `origin.y`, by offset; none where debug information does not say, or
    /// where it has several blocks of them.
    pub fn push_names(&self) -> Vec<(u32, String)> {
        super::push_names::push_names(self.words())
    }

    /// Bindings that several variables have, with their names: views of one resource.
    pub fn views(&self) -> Vec<(SetBinding, Vec<String>)> {
        super::views::views(self.words())
    }

    /// Lines of the source text in which a binding is read, or written, ascending; none where debug information does not say.
    pub fn lines(&self, at: SetBinding, writes: bool) -> &[u32] {
        self.all_lines().accesses.get(&(at, writes)).map_or(&[], |lines| lines)
    }

    /// Lines of the source text in which loop `index` of a kernel with `count` loops may begin; none where debug information does
    /// not say. It is one if the module has as many loops; otherwise some were inlined several times, or are of another kernel.
    pub(crate) fn loop_lines(&self, index: usize, count: usize) -> Vec<u32> {
        let loops = &self.all_lines().loops;
        let mut lines = match loops.get(index) {
            Some(&line) if loops.len() == count => vec![line],
            _ => loops.clone(),
        };
        lines.retain(|&line| line != 0);
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn all_lines(&self) -> &Lines {
        self.inner.lines.get_or_init(|| lines::of(self.words()))
    }

    /// Debug names by id.
    pub(crate) fn names(&self) -> &AHashMap<u32, String> {
        &self.inner.contents.names
    }

    pub(crate) fn spec_constants(&self) -> &[SpecConstant] {
        &self.inner.contents.spec_constants
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.name())
            .field("words", &self.words().len())
            .field("entry_points", &self.entry_points())
            .finish()
    }
}

/// Validates, and puts right what can be put right; returns the words to use, if not these.
///
/// Debug information makes for better messages; but what is wrong in information that is dropped is no
/// reason to refuse a module.
fn validate(
    words: &[u32],
    module: &dr::Module,
    store: Option<&dyn ArtifactStore>,
) -> Result<Option<Vec<u32>>, Complaint> {
    if !tools::is_validated() {
        let complaint =
            |what| Complaint::new(0, format!("{what} (without spirv-val, by vkfuse's own checks)"));
        return declared::check(module).map(|()| None).map_err(complaint);
    }
    match store::validate_strictly(store, words) {
        Ok(()) => Ok(None),
        Err(complaint) if complaint.is_layout_outside_buffers() => {
            let repaired = strip_layout::repaired(&words::without_debug(words));
            tools::validate(repaired.as_deref().unwrap_or(words))?;
            Ok(repaired)
        }
        Err(complaint) if complaint.detail.contains("NonSemantic") || words::has_forward_refs(words) => {
            tools::validate(&words::without_debug(words))?;
            Ok(None)
        }
        Err(complaint) => Err(complaint),
    }
}

/// Function id and name of each compute entry point.
fn compute_entries(words: &[u32]) -> impl Iterator<Item = (u32, String)> + '_ {
    let is_compute =
        |inst: &Inst<'_>| inst.op() == Some(Op::EntryPoint) && inst.at(0) == ExecutionModel::GLCompute as u32;
    words::instructions(words)
        .take_while(|inst| inst.op() != Some(Op::Function))
        .filter(is_compute)
        .filter_map(|inst| Some((inst.at(1), words::string(inst.from(2))?.0)))
}
