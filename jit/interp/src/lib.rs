//! A reference interpreter for compute kernels that looks for data races.
//!
//! It runs a list of dispatches on plain byte buffers, work-group by work-group, the invocations of a
//! group one after the other or interleaved between barriers, in an order chosen to be hostile. Besides
//! the results it reports what a driver hides:
//!
//! - **Races.** Two accesses *conflict* if they touch the same byte, come from different invocations of
//!   one dispatch, at least one may write, and not both are atomic. A conflict is a race unless the two
//!   belong to one work-group (or sub-group) and a control barrier of it lies between them whose memory semantics
//!   cover that kind of memory, itself or by a memory barrier before it. Nothing orders the
//!   work-groups of a dispatch; dispatches are fully ordered. Synchronization built from atomics and
//!   memory barriers alone is not modelled, so kernels that rely on it are reported.
//! - **Accesses out of bounds** of the bound range, of an image or of a declared array. They read zero, or write nothing. Where the
//!   specification says what they do they are [notes](Findings::notes): writes of texels, and with [`Options::robust`] all accesses
//!   outside of the bound range.
//! - **Uninitialised reads** of buffers marked so and of variables. They read garbage.
//! - **Changed constants**: bytes that are read through a uniform buffer and written in the same dispatch.
//! - **Divergent barriers**, which some invocations of the group never reach.
//!
//! Races are noticed under every order, because they follow from the accesses, not from the values
//! that are read; the orders matter for the results of racy or unordered (atomic) kernels.
//!
//! Floating point is IEEE 754 with subnormals and rounding to nearest even, each operation rounded once;
//! `fma` is fused. What SPIR-V leaves undefined has a fixed result: integer division by zero gives
//! zero, shifts take their count modulo the width. With [`Options::undefined`] it is noticed, or has another
//! result at one place, which shows whether anything depends on it.
//!
//! Images have one level, one sample per texel and channels of one kind ([`Channel`]). Samplers take normalised coordinates and the texel at the
//! edge outside of the image; what a linear filter gives is exact here and rounded by a device.
//!
//! Outside the subset, and refused with the instruction's name: other images, comparisons and gathers of texels, arrays of
//! descriptors, device
//! addresses, sub-group instructions in divergent control flow, and whatever else decoding does not know.
//!
//! ```
//! use vkfuse_interp::{Bind, Dispatch, Memory, Options, OracleError, Order, Program, execute};
//!
//! /// Runs a kernel on one buffer at binding 0 under every order, and says whether anything is wrong with it.
//! fn check(words: &[u32], groups: [u32; 3], contents: &[u8]) -> Result<bool, OracleError> {
//!     let program = Program::decode(words)?;
//!     for order in Order::ALL {
//!         let mut memory = Memory::new();
//!         let object = memory.add(contents);
//!         let whole = Bind { set: 0, binding: 0, object, offset: 0, len: contents.len() as u64 };
//!         let dispatch = Dispatch { program: &program, groups, bindings: vec![whole], push: vec![] };
//!         let findings = execute(&[dispatch], &mut memory, &Options { order, ..Options::default() })?;
//!         for race in &findings.races.list {
//!             println!("{race}");
//!         }
//!         if !findings.is_clean() {
//!             return Ok(false);
//!         }
//!     }
//!     Ok(true)
//! }
//! ```

mod arith;
mod claims;
mod compute;
mod constants;
mod decode;
mod error;
mod finding;
mod input;
mod machine;
mod memory;
mod program;
mod schedule;
mod shadow;
mod texel;
mod trace;
mod undefined;

pub use claims::{Claim, FalseClaim, claims};
pub use error::OracleError;
pub use finding::{
    Access, AccessKind, ChangedConstant, Counted, DivergentBarrier, Findings, OutOfBounds, Place, Race,
    UndefinedResult, Uninitialised,
};
pub use memory::{Memory, ObjectId};
pub use program::{ImageBinding, Program};
pub use schedule::Order;
pub use texel::{Channel, Filter, TexelFormat};
pub use trace::{Touched, Trace};
pub use undefined::{Notice, Undefined};

use machine::Machine;

/// A range of a memory object, bound where a program expects a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Descriptor set.
    pub set: u32,
    /// Binding in the set.
    pub binding: u32,
    /// The memory object. Several bindings may share one.
    pub object: ObjectId,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes in the range.
    pub len: u64,
}

/// One dispatch of a run.
#[derive(Clone, Debug)]
pub struct Dispatch<'a> {
    /// What runs.
    pub program: &'a Program,
    /// Work-groups per dimension.
    pub groups: [u32; 3],
    /// At least what the program uses.
    pub bindings: Vec<Bind>,
    /// Push constants, from byte 0.
    pub push: Vec<u8>,
}

impl Dispatch<'_> {
    /// Takes the push constants from byte `from` on, and binds them as a uniform buffer of their own.
    pub fn move_push(&mut self, memory: &mut Memory, from: usize, (set, binding): (u32, u32)) {
        let behind = self.push.split_off(from.min(self.push.len()));
        let len = behind.len() as u64;
        self.bindings.push(Bind { set, binding, object: memory.add(behind), offset: 0, len });
    }
}

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// In which order work-groups and invocations take their turns.
    pub order: Order,
    /// Decides the random orders. Equal seeds give equal runs.
    pub seed: u64,
    /// Instructions after which a run is given up.
    pub max_steps: u64,
    /// Invocations in a sub-group: a power of two up to 128.
    pub subgroup_size: u32,
    /// How many findings of each kind are kept; all are counted.
    pub max_findings: usize,
    /// Most 64-bit lanes that the registers and variables of one work-group may take.
    pub max_lanes: u64,
    /// What is made of instructions whose result SPIR-V leaves undefined.
    pub undefined: Notice,
    /// Whether accesses outside of a bound range are defined, as the feature `robustBufferAccess2` has it: each scalar outside reads
    /// as zero and is not written.
    pub robust: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::Forward,
            seed: 0,
            max_steps: 1 << 30,
            subgroup_size: 8,
            max_findings: 64,
            max_lanes: 1 << 24,
            undefined: Notice::Not,
            robust: false,
        }
    }
}

/// Runs the dispatches in order, each one complete before the next begins.
pub fn execute(
    dispatches: &[Dispatch<'_>],
    memory: &mut Memory,
    options: &Options,
) -> Result<Findings, OracleError> {
    let mut findings = Findings::default();
    run(dispatches, memory, options, None, None, &mut findings)?;
    Ok(findings)
}

/// How far a run is, before each work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Index of the dispatch.
    pub dispatch: usize,
    /// Its work-groups that are done.
    pub done: u32,
    /// Its work-groups.
    pub groups: u32,
}

/// As [`execute`], asking before each work-group, and every million instructions, whether to go on. If not, the run ends there, and
/// what it found so far says where: [`Findings::stopped`].
pub fn execute_while(
    dispatches: &[Dispatch<'_>],
    memory: &mut Memory,
    options: &Options,
    goes_on: &dyn Fn(Progress) -> bool,
) -> Result<Findings, OracleError> {
    let mut findings = Findings::default();
    execute_into(dispatches, memory, options, goes_on, &mut findings)?;
    Ok(findings)
}

/// As [`execute_while`], with the findings in `findings`: those until then where the run fails.
pub fn execute_into(
    dispatches: &[Dispatch<'_>],
    memory: &mut Memory,
    options: &Options,
    goes_on: &dyn Fn(Progress) -> bool,
    findings: &mut Findings,
) -> Result<(), OracleError> {
    run(dispatches, memory, options, None, Some(goes_on), findings)
}

/// Does what [`execute`] does, and adds every access to a buffer to a trace.
pub fn execute_traced(
    dispatches: &[Dispatch<'_>],
    memory: &mut Memory,
    options: &Options,
    trace: &mut Trace,
) -> Result<Findings, OracleError> {
    let mut findings = Findings::default();
    run(dispatches, memory, options, Some(trace), None, &mut findings)?;
    Ok(findings)
}

fn run(
    dispatches: &[Dispatch<'_>],
    memory: &mut Memory,
    options: &Options,
    mut trace: Option<&mut Trace>,
    goes_on: Option<&dyn Fn(Progress) -> bool>,
    findings: &mut Findings,
) -> Result<(), OracleError> {
    for (index, dispatch) in dispatches.iter().enumerate() {
        let subgroup_size = dispatch.program.subgroup_size.unwrap_or(options.subgroup_size);
        if !subgroup_size.is_power_of_two() || subgroup_size > 128 {
            return Err(OracleError::Limit {
                what: "the sub-group size, a power of two,",
                asked: subgroup_size.into(),
                limit: 128,
            });
        }
        let options = &Options { subgroup_size, ..*options };
        let trace = trace.as_deref_mut();
        if let Some(mut machine) = Machine::new(index, dispatch, memory, options, findings, trace)?
            && !machine.run(goes_on)?
        {
            findings.stopped = Some(index);
            break;
        }
    }
    Ok(())
}
