//! A checked SPIR-V module.

use std::sync::Arc;

use ahash::AHashMap;
use rspirv::spirv::{ExecutionModel, Op};

use super::error::KernelError;
use super::spec::{self, SpecConstant};
use super::tools::{self, Complaint};
use super::words::{self, Inst};
use super::{guard, load, unlayout};

/// A validated SPIR-V module: immutable, cheap to clone.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    words: Vec<u32>,
    entry_points: Vec<String>,
    entry_ids: Vec<u32>,
    names: AHashMap<u32, String>,
    spec_constants: Vec<SpecConstant>,
    hash: [u8; 32],
}

impl Module {
    /// Loads SPIR-V bytes of either byte order. `name` is for messages only.
    ///
    /// # Errors
    /// Whatever is wrong with the bytes, see [`KernelError`]. Never panics.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Module, KernelError> {
        Module::checked(name, guard::from_bytes(name, bytes)?)
    }

    /// Loads SPIR-V words of either byte order. `name` is for messages only.
    ///
    /// # Errors
    /// Whatever is wrong with the words, see [`KernelError`]. Never panics.
    pub fn from_words(name: &str, words: &[u32]) -> Result<Module, KernelError> {
        Module::checked(name, guard::from_words(name, words.to_vec())?)
    }

    /// Compiles WGSL text.
    ///
    /// # Errors
    /// [`KernelError::Wgsl`] with line and column.
    #[cfg(feature = "wgsl")]
    pub fn from_wgsl(name: &str, text: &str) -> Result<Module, KernelError> {
        Module::from_words(name, &super::wgsl::compile(name, text)?)
    }

    fn checked(name: &str, words: Vec<u32>) -> Result<Module, KernelError> {
        load::module(&load::decodable(&words))
            .map_err(|detail| KernelError::Decode { module: name.to_owned(), detail })?;
        let valid = validate(&words).map_err(|complaint| complaint.into_error(name))?;
        let (entry_ids, entry_points) = compute_entries(&words).unzip();
        let names: AHashMap<u32, String> = words::instructions(&words)
            .take_while(|inst| inst.op() != Some(Op::Function))
            .filter(|inst| inst.op() == Some(Op::Name))
            .filter_map(|inst| Some((inst.at(0), words::string(inst.from(1))?.0)))
            .collect();
        let spec_constants = spec::reflect(&words, &names);
        let mut hasher = blake3::Hasher::new_derive_key("vkfuse module, version 1");
        for word in &words {
            hasher.update(&word.to_le_bytes());
        }
        let hash = *hasher.finalize().as_bytes();
        let words = valid.unwrap_or(words);
        Ok(Module {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                words,
                entry_points,
                entry_ids,
                names,
                spec_constants,
                hash,
            }),
        })
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
        &self.inner.entry_points
    }

    /// Content hash of the words.
    pub fn hash(&self) -> [u8; 32] {
        self.inner.hash
    }

    /// Result ids of the entry points' functions.
    pub(super) fn entry_ids(&self) -> &[u32] {
        &self.inner.entry_ids
    }

    /// Debug names by id.
    pub(super) fn names(&self) -> &AHashMap<u32, String> {
        &self.inner.names
    }

    pub(super) fn spec_constants(&self) -> &[SpecConstant] {
        &self.inner.spec_constants
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
fn validate(words: &[u32]) -> Result<Option<Vec<u32>>, Complaint> {
    match tools::validate_strictly(words) {
        Ok(()) => Ok(None),
        Err(complaint) if complaint.is_layout_outside_buffers() => {
            let repaired = unlayout::repaired(&words::without_debug(words));
            tools::validate(repaired.as_deref().unwrap_or(words))?;
            Ok(repaired)
        }
        Err(complaint) if complaint.detail.contains("NonSemantic") => {
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
