//! Finds an invocation that certainly reads what another one of the same submission certainly writes, in no order: a stencil in place. And two
//! that write different values to one place.
//!
//! # Guarantees
//! - what is found happens with the numbers of the submission, and nothing in the kernel orders it: no barrier, atomic operation or shared memory
//!
//! # Refuses
//! - to say anything of accesses in loops, under conditions that are not followed, and at other places than sums of ids and their quotients
//! - to say anything of writes of equal values, or of values that are not followed (`stored`): programs set flags that way

use ahash::AHashMap;
use rspirv::spirv::Op;
use smallvec::SmallVec;

use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::Atoms;
use crate::analysis::evaluate::AccessForm;
use crate::plan::input::submission::{BufferId, Submission};
use crate::plan::overrun::evaluated;
use crate::plan::stored::{Invocation, Stored, number};

/// Invocations that are looked at in each dimension: of this many work-groups, this many.
const GROUPS: u32 = 2;
const LOCALS: [u32; 3] = [16, 8, 2];

/// Pairs of invocations whose values are compared.
const PAIRS: usize = 256;

/// Two invocations of a submission at one place: one reads what the other writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The argument through which it is read, by its place in [`Submission::args`].
    pub arg: usize,
    /// The first byte in the buffer.
    pub byte: u64,
    /// Global id of the invocation that reads it.
    pub reader: [u32; 3],
    /// Global id of the invocation that writes it.
    pub writer: [u32; 3],
}

/// Two invocations of a submission that write to one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRace {
    /// The argument through which one of them writes, by its place in [`Submission::args`].
    pub arg: usize,
    /// The first byte in the buffer.
    pub byte: u64,
    /// Global ids of the two.
    pub writers: [[u32; 3]; 2],
}

/// A race of a submission's invocations with each other, if one is found.
#[must_use]
pub fn race(one: &Submission) -> Option<Race> {
    unordered(one, |accesses| {
        let invocations = invocations(one);
        let mut written: AHashMap<(BufferId, i128), Invocation> = AHashMap::new();
        for (access, form) in accesses.certain(AccessKind::Write) {
            let buffer = one.args[access.binding].buffer;
            for &who in &invocations {
                if let Some(offset) = place(accesses.atoms, form, one, who) {
                    written.entry((buffer, offset)).or_insert(who);
                }
            }
        }
        for (access, form) in accesses.certain(AccessKind::Read) {
            let buffer = one.args[access.binding].buffer;
            for &who in &invocations {
                let Some(offset) = place(accesses.atoms, form, one, who) else { continue };
                let Some(&writer) = written.get(&(buffer, offset)).filter(|writer| **writer != who) else {
                    continue;
                };
                let byte = u64::try_from(offset).ok()?;
                let [reader, writer] = [who, writer].map(|who| global(one, who));
                return Some(Race { arg: access.binding, byte, reader, writer });
            }
        }
        None
    })
}

/// Two invocations of a submission that certainly write to one place, in no order, values that may well differ: made of different numbers, or
/// of what is at different places in memory.
#[must_use]
pub fn write_race(one: &Submission) -> Option<WriteRace> {
    let normal = one.kernel.normal.as_ref().ok()?;
    unordered(one, |accesses| {
        // Most kernels write to no place twice.
        let mut stored = None;
        let invocations = invocations(one);
        let mut written: AHashMap<(BufferId, i128, i128), (&Access, Invocation)> = AHashMap::new();
        let mut pairs = 0;
        for (access, form) in accesses.certain(AccessKind::Write) {
            let buffer = one.args[access.binding].buffer;
            for &who in &invocations {
                let Some(offset) = place(accesses.atoms, form, one, who) else { continue };
                let (first, other) = *written.entry((buffer, offset, form.size)).or_insert((access, who));
                if other == who {
                    continue;
                }
                pairs += 1;
                if pairs > PAIRS {
                    return None;
                }
                let stored =
                    stored.get_or_insert_with(|| Stored::new(one, normal, accesses.atoms, accesses.forms));
                if stored.by(first, other).differs(stored.by(access, who)) {
                    let writers = [other, who].map(|who| global(one, who));
                    return Some(WriteRace {
                        arg: access.binding,
                        byte: u64::try_from(offset).ok()?,
                        writers,
                    });
                }
            }
        }
        None
    })
}

/// The accesses of a kernel with the numbers of a submission.
struct Accesses<'a> {
    atoms: &'a Atoms,
    all: &'a [Access],
    forms: &'a [AccessForm],
}

impl<'a> Accesses<'a> {
    /// Those of a kind that certainly happen where their conditions hold, outside of loops.
    fn certain(&self, kind: AccessKind) -> impl Iterator<Item = (&'a Access, &'a AccessForm)> + use<'a> {
        self.all.iter().zip(self.forms).filter(move |(access, form)| {
            let is_certain = form.certain && form.counters.is_empty() && form.begun.is_empty();
            let is_followed = access.texel.is_none() && access.exact_guards && is_certain;
            access.kind == kind && is_followed && !form.unknown && !form.never
        })
    }
}

/// Asks something of the accesses of a submission, if nothing in its kernel orders them.
fn unordered<R>(one: &Submission, ask: impl FnOnce(&Accesses<'_>) -> Option<R>) -> Option<R> {
    let normal = one.kernel.normal.as_ref().ok()?;
    let is_ordered = normal.module.all_inst_iter().any(|inst| {
        let op = inst.class.opcode;
        matches!(op, Op::ControlBarrier | Op::MemoryBarrier) || inst.class.opname.starts_with("Atomic")
    });
    if is_ordered || one.kernel.interface.workgroup_bytes > 0 || one.kernel.interface.uses_device_addresses {
        return None;
    }
    evaluated(one, |atoms, analysis, evaluator| {
        let mut forms = Vec::new();
        for access in &analysis.accesses {
            forms.push(evaluator.access(atoms, access, one.args[access.binding].offset));
        }
        ask(&Accesses { atoms, all: &analysis.accesses, forms: &forms })
    })
}

/// The first invocations of the first work-groups.
fn invocations(one: &Submission) -> Vec<Invocation> {
    let size = one.kernel.interface.local_size;
    let mut all = vec![[[0; 3]; 2]];
    for d in 0..3 {
        for (part, count) in [(0, one.groups[d].min(GROUPS)), (1, size[d].min(LOCALS[d]))] {
            let with = |&who: &Invocation| {
                (0..count).map(move |at| {
                    let mut who = who;
                    who[part][d] = at;
                    who
                })
            };
            all = all.iter().flat_map(with).collect();
        }
    }
    all
}

fn global(one: &Submission, [group, local]: Invocation) -> [u32; 3] {
    let size = one.kernel.interface.local_size;
    std::array::from_fn(|d| (one.base[d] + group[d]).wrapping_mul(size[d]).wrapping_add(local[d]))
}

/// Where an invocation's access goes; `None` if it does not happen there, or that is not known.
fn place(atoms: &Atoms, form: &AccessForm, one: &Submission, who: Invocation) -> Option<i128> {
    let happens = form.conditions.iter().map(|form| number(atoms, form, one, who));
    let happens: Option<SmallVec<[i128; 4]>> = happens.collect();
    happens?.iter().all(|&value| value <= 0).then(|| number(atoms, &form.offset, one, who)).flatten()
}
