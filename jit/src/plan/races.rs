//! Finds an invocation that certainly reads what another one of the same submission certainly writes, in no order: a stencil in place.
//!
//! # Guarantees
//! - what is found happens with the numbers of the submission, and nothing in the kernel orders it: no barrier, atomic operation or shared memory
//!
//! # Refuses
//! - to say anything of accesses in loops, under conditions that are not followed, at other places than sums of ids, and of what two invocations
//!   write: programs set flags that way

use ahash::AHashMap;
use rspirv::spirv::Op;
use smallvec::SmallVec;

use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms};
use crate::analysis::evaluate::AccessForm;
use crate::plan::input::submission::{BufferId, Submission};
use crate::plan::overrun::evaluated;

/// Invocations that are looked at in each dimension: of this many work-groups, this many.
const GROUPS: u32 = 2;
const LOCALS: [u32; 3] = [16, 8, 2];

/// An invocation: its work-group and its local id.
type Invocation = [[u32; 3]; 2];

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

/// A race of a submission's invocations with each other, if one is found.
#[must_use]
pub fn race(one: &Submission) -> Option<Race> {
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
        let certain = |(access, form): &(&Access, &AccessForm)| {
            let is_certain = form.certain && form.counters.is_empty() && form.begun.is_empty();
            access.texel.is_none() && access.exact_guards && is_certain && !form.unknown && !form.never
        };
        let all = || analysis.accesses.iter().zip(&forms).filter(certain);
        let invocations = invocations(one);
        let mut written: AHashMap<(BufferId, i128), Invocation> = AHashMap::new();
        for (access, form) in all().filter(|(access, _)| access.kind == AccessKind::Write) {
            let buffer = one.args[access.binding].buffer;
            for &who in &invocations {
                if let Some(offset) = place(atoms, form, one, who) {
                    written.entry((buffer, offset)).or_insert(who);
                }
            }
        }
        for (access, form) in all().filter(|(access, _)| access.kind == AccessKind::Read) {
            let buffer = one.args[access.binding].buffer;
            for &who in &invocations {
                let Some(offset) = place(atoms, form, one, who) else { continue };
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

/// The value of a sum of ids for an invocation.
fn number(atoms: &Atoms, form: &Affine, one: &Submission, [group, local]: Invocation) -> Option<i128> {
    let size = one.kernel.interface.local_size;
    let id = |id: AtomId| match *atoms.get(id) {
        Atom::Group(d) => Some(i128::from(group[usize::from(d)])),
        Atom::Local(d) => Some(i128::from(local[usize::from(d)])),
        Atom::Global(d) => {
            let d = usize::from(d);
            Some(i128::from(group[d]) * i128::from(size[d]) + i128::from(local[d]))
        }
        _ => None,
    };
    let mut value = form.constant;
    for &(atom, weight) in &form.terms {
        value += weight.checked_mul(id(atom)?)?;
    }
    Some(value)
}
