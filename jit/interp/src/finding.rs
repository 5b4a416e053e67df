//! What a run found: races, accesses out of bounds, uninitialised reads, divergent barriers.

use std::fmt;

use super::memory::ObjectId;
use super::undefined::Undefined;

/// How memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessKind {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic load.
    AtomicRead,
    /// Any other atomic instruction: all of them may write.
    Atomic,
}

/// The variable through which memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// A buffer at a descriptor set and binding.
    Binding {
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
    },
    /// The push constants.
    PushConstants,
    /// A Workgroup variable, by its id in the module.
    Workgroup {
        /// Result id of the variable.
        variable: u32,
    },
    /// A Private, Function or Input variable, by its id in the module.
    Private {
        /// Result id of the variable.
        variable: u32,
    },
    /// A null or undefined pointer.
    Nothing,
}

/// One access: who, how, through what, where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Global id of the invocation.
    pub invocation: [u32; 3],
    /// Its work-group.
    pub group: [u32; 3],
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// The variable it went through.
    pub place: Place,
    /// Offset of the instruction in the module, in words, as `spirv-dis --offsets` counts (in bytes).
    pub word: usize,
}

/// Two accesses to the same memory by different invocations, at least one a write, not both atomic,
/// that no barrier orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Race {
    /// Index of the dispatch in the run.
    pub dispatch: usize,
    /// The memory object, or `None` for a Workgroup variable.
    pub object: Option<ObjectId>,
    /// Byte offset in the memory object; for a Workgroup variable the index of the scalar in it.
    pub offset: u64,
    /// The access that this run happened to execute first.
    pub first: Access,
    /// The other one.
    pub second: Access,
    /// A barrier of the common work-group did lie between the two, but its memory semantics do not
    /// cover this kind of memory.
    pub barrier_without_memory: bool,
    /// Both work-groups executed memory barriers for buffers, and the one of the second access an atomic before it:
    /// the two may be ordered by atomics (as where the last work-group to finish sums up), which is not
    /// modelled.
    pub maybe_ordered_by_atomics: bool,
}

/// An access outside the bound range, or with an index outside the declared array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutOfBounds {
    /// Index of the dispatch in the run.
    pub dispatch: usize,
    /// The access. It read zero or was skipped.
    pub access: Access,
    /// Byte offset from the start of the bound range, negative before it; for Workgroup and Private
    /// variables the index of the scalar in the variable. 0 of a texel.
    pub offset: i64,
    /// The coordinates, of a texel outside of its image.
    pub texel: Option<[i32; 3]>,
}

/// A read of memory that nothing has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uninitialised {
    /// Index of the dispatch in the run.
    pub dispatch: usize,
    /// The read.
    pub access: Access,
    /// The memory object, or `None` for a variable of the kernel.
    pub object: Option<ObjectId>,
    /// Byte offset in the memory object; for variables the index of the scalar in the variable.
    pub offset: u64,
}

/// A byte that is read through a uniform buffer and written in the same dispatch, by whomever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChangedConstant {
    /// Index of the dispatch in the run.
    pub dispatch: usize,
    /// The later of the two accesses, in this run.
    pub access: Access,
    /// The memory object.
    pub object: ObjectId,
    /// Byte offset in the memory object.
    pub offset: u64,
}

/// An instruction whose result SPIR-V leaves undefined, as it was executed for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UndefinedResult {
    /// Index of the dispatch in the run.
    pub dispatch: usize,
    /// Offset in words of the instruction.
    pub word: usize,
    /// What is undefined.
    pub what: Undefined,
    /// Global id of the invocation.
    pub invocation: [u32; 3],
}

/// A barrier that some invocations of its work-group (or sub-group) wait at and others never reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DivergentBarrier {
    /// Index of the dispatch in the run.
    pub dispatch: usize,
    /// The work-group.
    pub group: [u32; 3],
    /// Offset in words of the barrier.
    pub word: usize,
    /// Global id of an invocation that waits there.
    pub waiting: [u32; 3],
    /// Global id of an invocation that ended, or waits at another barrier.
    pub missing: [u32; 3],
}

/// A bounded list with the full count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted<T> {
    /// How many there were.
    pub count: u64,
    /// The first ones, at most [`Options::max_findings`](super::Options::max_findings).
    pub list: Vec<T>,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { count: 0, list: Vec::new() }
    }
}

impl<T> Counted<T> {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn push(&mut self, limit: usize, item: impl FnOnce() -> T) {
        self.count += 1;
        if self.list.len() < limit {
            self.list.push(item());
        }
    }
}

/// What a run found. Equal runs (programs, memory, options) give equal findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Data races.
    pub races: Counted<Race>,
    /// Accesses out of bounds.
    pub out_of_bounds: Counted<OutOfBounds>,
    /// Accesses out of bounds with a defined effect, which are no fault by themselves: writes of texels outside of an
    /// image, and with [`Options::robust`](super::Options::robust) accesses outside of a bound range.
    pub notes: Counted<OutOfBounds>,
    /// Reads of what nothing wrote.
    pub uninitialised: Counted<Uninitialised>,
    /// Bytes of uniform buffers that are written while they are read.
    pub changed_constants: Counted<ChangedConstant>,
    /// Barriers not reached by all.
    pub divergent_barriers: Counted<DivergentBarrier>,
    /// Undefined results, each instruction once, where they are [noticed](super::Notice). They are no fault unless something
    /// depends on them.
    pub undefined: Counted<UndefinedResult>,
    /// Instructions executed.
    pub steps: u64,
    /// The dispatch in which the run was [stopped](super::execute_while), if it was.
    pub stopped: Option<usize>,
}

impl Findings {
    /// Whether nothing at all was found. Undefined results and notes alone are nothing.
    pub fn is_clean(&self) -> bool {
        self.races.is_empty()
            && self.out_of_bounds.is_empty()
            && self.uninitialised.is_empty()
            && self.changed_constants.is_empty()
            && self.divergent_barriers.is_empty()
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::AtomicRead => "atomic read",
            Self::Atomic => "atomic",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binding { set, binding } => write!(f, "set {set} binding {binding}"),
            Self::PushConstants => f.write_str("push constants"),
            Self::Workgroup { variable } => write!(f, "shared variable %{variable}"),
            Self::Private { variable } => write!(f, "variable %{variable}"),
            Self::Nothing => f.write_str("an invalid pointer"),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invocation: [x, y, z], kind, place, word, .. } = self;
        write!(f, "{kind} of {place} by invocation ({x}, {y}, {z}) at word {word}")
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dispatch, offset, first, second, .. } = self;
        write!(f, "dispatch {dispatch}: race at offset {offset}: {first}, and {second}")?;
        if self.barrier_without_memory {
            f.write_str(" (a barrier lies between, without semantics for this memory)")?;
        }
        if self.maybe_ordered_by_atomics {
            f.write_str(" (unless atomics and memory barriers order them)")?;
        }
        Ok(())
    }
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dispatch, offset, access, texel } = self;
        match texel {
            Some(at) => write!(f, "dispatch {dispatch}: out of bounds at texel {at:?}: {access}"),
            None => write!(f, "dispatch {dispatch}: out of bounds at offset {offset}: {access}"),
        }
    }
}

impl fmt::Display for Uninitialised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dispatch {}: uninitialised at offset {}: {}", self.dispatch, self.offset, self.access)
    }
}

impl fmt::Display for ChangedConstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dispatch, offset, access, .. } = self;
        write!(f, "dispatch {dispatch}: a uniform buffer is written at offset {offset}: {access}")
    }
}

impl fmt::Display for DivergentBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dispatch, word, waiting, missing, .. } = self;
        write!(
            f,
            "dispatch {dispatch}: invocation {waiting:?} waits at the barrier at word {word}, {missing:?} never reaches it"
        )
    }
}
