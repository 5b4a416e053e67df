//! Finds an access that certainly goes beyond what is bound.
//!
//! Such a submission is undefined without robust access, so it is a mistake of its arguments or of its numbers: a range that is too short for
//! the number of invocations, most often.
//!
//! # Guarantees
//! - what is found happens: an invocation is named, and every condition on the way to the access holds for it, in the first round of the
//!   loops around the access, and in the round that is meant
//!
//! # Refuses
//! - to say anything of accesses in loops that do not count or are left at unknown rounds, under conditions that are not followed, or with bytes that may be padding

use smallvec::SmallVec;

use crate::analysis::KernelAnalysis;
use crate::analysis::access::Access;
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms};
use crate::analysis::evaluate::{AccessForm, Environment, Evaluator};
use crate::plan::input::submission::Submission;

/// An access beyond what is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The argument, by its place in [`Submission::args`].
    pub arg: usize,
    /// Whether it writes there.
    pub writes: bool,
    /// The global id of an invocation that does it.
    pub invocation: [u32; 3],
    /// The first byte and the one behind the last, counted from the start of the range that is bound. The first may be negative.
    pub bytes: (i64, i64),
}

/// A read of a texel that the image does not have, whose value is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TexelOverrun {
    /// The argument, by its place in [`Submission::args`].
    pub arg: usize,
    /// The global id of an invocation that does it.
    pub invocation: [u32; 3],
    /// Which of the coordinates it is.
    pub dimension: usize,
    /// The coordinate.
    pub coordinate: i64,
    /// How many texels the image has there.
    pub extent: u32,
}

/// Trip counts from here on are those of values that may be anything.
const MOST_KNOWN: u128 = 1 << 31;

/// Most iterations of all loops of an invocation together up to the last that does something, where they are known: what is done if it is at
/// most [`Limits::max_loop_rounds`](crate::plan::Limits::max_loop_rounds). `None` if only the type of a value bounds them.
#[must_use]
pub fn loop_rounds(one: &Submission) -> Option<u128> {
    evaluated(one, |atoms, _, evaluator| evaluator.last_round(atoms).ok()).filter(|&most| most < MOST_KNOWN)
}

/// An access of a submission that certainly goes beyond the range of its argument, if one is found.
#[must_use]
pub fn overrun(one: &Submission) -> Option<Overrun> {
    evaluated(one, |atoms, analysis, evaluator| find(one, atoms, analysis, evaluator))
}

/// A read beside an image that certainly happens, if one is found, in a kernel that writes no image: others often do without a guard, since
/// what they write beside their image is dropped.
#[must_use]
pub fn texel_overrun(one: &Submission) -> Option<TexelOverrun> {
    let has_image = one.args.iter().any(|arg| arg.image.is_some());
    if !has_image {
        return None;
    }
    evaluated(one, |atoms, analysis, evaluator| {
        let mut texels = analysis.accesses.iter().filter(|access| access.texel.is_some());
        if texels.clone().any(|access| access.kind.writes()) {
            return None;
        }
        texels.find_map(|access| beside(one, access, atoms, evaluator))
    })
}

fn beside(
    one: &Submission,
    access: &Access,
    atoms: &mut Atoms,
    evaluator: &mut Evaluator<'_>,
) -> Option<TexelOverrun> {
    let arg = access.binding;
    let extents = one.args.get(arg)?.image?.extent;
    let size = one.kernel.interface.local_size;
    let counts = std::array::from_fn(|d| one.groups[d].checked_mul(size[d]));
    let mut form = evaluator.access(atoms, access, 0);
    if !access.exact_guards || form.unknown || form.never || !form.certain || !form.begun.is_empty() {
        return None;
    }
    let coordinates = evaluator.coordinates(atoms, access)?;
    for (dimension, (coordinate, extent)) in coordinates.into_iter().zip(extents).enumerate() {
        if extent == 0 {
            continue;
        }
        (form.offset, form.accessor) = (coordinate, (0, extent.into()));
        let search = Search { atoms, form: &form, counts, size };
        if let Some((id, (coordinate, _))) = search.beyond((0, 1)) {
            let invocation = behind_base(one, id);
            return Some(TexelOverrun { arg, invocation, dimension, coordinate, extent });
        }
    }
    None
}

/// The global id of an invocation that is the `id`th from the base on.
fn behind_base(one: &Submission, id: [u32; 3]) -> [u32; 3] {
    let size = one.kernel.interface.local_size;
    std::array::from_fn(|d| one.base[d].saturating_mul(size[d]).saturating_add(id[d]))
}

/// Evaluates a submission by itself: its ids are those of its kernel.
pub(in crate::plan) fn evaluated<R>(
    one: &Submission,
    ask: impl FnOnce(&mut Atoms, &KernelAnalysis, &mut Evaluator<'_>) -> Option<R>,
) -> Option<R> {
    // What two bindings have in common makes no difference to where each is accessed.
    let normal = one.kernel.normal.as_ref().ok().filter(|_| one.runs())?;
    let analysis = &normal.analysis;
    let size = one.kernel.interface.local_size;
    let mut atoms = Atoms::default();
    let group: [Affine; 3] = std::array::from_fn(|d| {
        let mut group = id(&mut atoms, Atom::Group(d as u8), one.groups[d]);
        group.constant += i128::from(one.base[d]);
        group
    });
    let local: [Affine; 3] = std::array::from_fn(|d| id(&mut atoms, Atom::Local(d as u8), size[d]));
    let mut global: [Affine; 3] = Default::default();
    for d in 0..3 {
        global[d] = local[d].plus(&group[d], i128::from(size[d]))?;
    }
    let sizes = one.sizes();
    let env = Environment {
        member: 0,
        group,
        local,
        global,
        groups: one.groups,
        local_size: size,
        push: &one.push,
        sizes: &sizes,
        constants: &[],
        facts: Vec::new(),
    };
    let mut evaluator = Evaluator::new(&atoms, analysis, &env);
    ask(&mut atoms, analysis, &mut evaluator)
}

fn find(
    one: &Submission,
    atoms: &mut Atoms,
    analysis: &KernelAnalysis,
    evaluator: &mut Evaluator<'_>,
) -> Option<Overrun> {
    let size = one.kernel.interface.local_size;
    let counts = std::array::from_fn(|d| one.groups[d].checked_mul(size[d]));
    let is_plain = |access: &&Access| access.texel.is_none() && access.exact_guards;
    for access in analysis.accesses.iter().filter(is_plain) {
        // What is touched last: of a structure this may be less than all of it.
        let Some(&(first, end)) = access.pieces.as_ref().and_then(|pieces| pieces.last()) else { continue };
        let form = evaluator.access(atoms, access, 0);
        if form.unknown || form.never || !form.certain || !form.begun.is_empty() {
            continue;
        }
        let piece = (i128::from(first), i128::from(end));
        let (least, most) = form.offset.bounds(|id| form.ranges.get(atoms, id));
        if least + piece.0 >= form.accessor.0 && most + piece.1 <= form.accessor.1 {
            continue;
        }
        let search = Search { atoms, form: &form, counts, size };
        if let Some((id, bytes)) = search.beyond(piece) {
            let invocation = behind_base(one, id);
            return Some(Overrun { arg: access.binding, writes: access.kind.writes(), invocation, bytes });
        }
    }
    None
}

fn id(atoms: &mut Atoms, atom: Atom, count: u32) -> Affine {
    let id = atoms.intern(atom, i128::from(count) - 1);
    if count <= 1 { Affine::default() } else { Affine::atom(id) }
}

/// An invocation, and a round of each loop around the access.
#[derive(Clone, PartialEq)]
struct At {
    id: [u32; 3],
    rounds: SmallVec<[i128; 2]>,
}

struct Search<'a> {
    atoms: &'a Atoms,
    form: &'a AccessForm,
    /// Invocations of each dimension; nothing where they are too many for a global id.
    counts: [Option<u32>; 3],
    size: [u32; 3],
}

impl Search<'_> {
    /// An invocation whose access leaves the range, with these bytes of what it touches.
    fn beyond(&self, (first, end): (i128, i128)) -> Option<([u32; 3], (i64, i64))> {
        let [x, y, z] = self.counts;
        let counts = [x?, y?, z?];
        let mut tried: SmallVec<[At; 4]> = SmallVec::new();
        let first_rounds: SmallVec<[i128; 2]> = self.form.counters.iter().map(|_| 0).collect();
        let last_group = std::array::from_fn(|d| counts[d].saturating_sub(self.size[d]));
        // A guard turns away the last ones most often, and sometimes the first.
        for from in [[0; 3], [1; 3], counts.map(|count| count / 2), last_group, counts.map(|count| count - 1)]
        {
            let id: [u32; 3] = std::array::from_fn(|d| from[d].min(counts[d] - 1));
            let from = At { id, rounds: first_rounds.clone() };
            if tried.contains(&from) || !self.happens(&from) {
                continue;
            }
            tried.push(from.clone());
            for orders in [[0, 1, 2], [2, 1, 0]] {
                let at = orders.into_iter().fold(from.clone(), |at, d| self.last(at, d, counts[d]));
                for at in [self.last_rounds(from.clone()), self.last_rounds(at.clone()), from.clone(), at] {
                    let offset = self.number(&self.form.offset, &at)?;
                    let (low, high) = (offset + first, offset + end);
                    let (start, behind) = self.form.accessor;
                    if low < start || high > behind {
                        let byte = |byte: i128| i64::try_from(byte - start).ok();
                        return Some((at.id, (byte(low)?, byte(high)?)));
                    }
                }
            }
        }
        None
    }

    /// The last invocation along a dimension whose access happens, if those that do are in one piece from here.
    fn last(&self, mut at: At, d: usize, count: u32) -> At {
        at.id[d] = last(at.id[d].into(), count.into(), |value| {
            let mut with = at.clone();
            with.id[d] = value as u32;
            self.happens(&with)
        }) as u32;
        at
    }

    /// The last rounds in which the access happens. The conditions are affine in the rounds and hold in the first, so that they hold in
    /// all between: the loops come as far.
    fn last_rounds(&self, mut at: At) -> At {
        for (place, &counter) in self.form.counters.iter().enumerate() {
            at.rounds[place] = last(0, self.atoms.max(counter).saturating_add(1), |round| {
                let mut with = at.clone();
                with.rounds[place] = round;
                self.happens(&with)
            });
        }
        at
    }

    /// Whether the access certainly happens in an invocation.
    fn happens(&self, at: &At) -> bool {
        let mut conditions = self.form.conditions.iter();
        conditions.all(|condition| self.number(condition, at).is_some_and(|number| number <= 0))
    }

    /// What a form is in an invocation; nothing where it is made of more than ids and rounds.
    fn number(&self, form: &Affine, at: &At) -> Option<i128> {
        form.terms.iter().try_fold(form.constant, |sum, &(id, times)| {
            sum.checked_add(self.atom(id, at)?.checked_mul(times)?)
        })
    }

    fn atom(&self, id: AtomId, at: &At) -> Option<i128> {
        // Of rounds it would not be affine.
        let within = |of: &Affine| {
            let is_round = |&(id, _): &(AtomId, i128)| self.form.counters.contains(&id);
            let of = (!of.terms.iter().any(is_round)).then(|| self.number(of, at))?;
            of.filter(|of| *of >= 0)
        };
        match self.atoms.get(id) {
            Atom::Group(d) => Some((at.id[usize::from(*d)] / self.size[usize::from(*d)]).into()),
            Atom::Local(d) => Some((at.id[usize::from(*d)] % self.size[usize::from(*d)]).into()),
            Atom::Global(d) => Some(at.id[usize::from(*d)].into()),
            Atom::Quotient(of, by) => within(of).map(|of| of / by),
            Atom::Remainder(of, by) => within(of).map(|of| of % by),
            Atom::Round { .. } => {
                let place = self.form.counters.iter().position(|counter| *counter == id)?;
                at.rounds.get(place).copied()
            }
            _ => None,
        }
    }
}

/// The last number below `end` for which something is so, if it is so from `from` up to there.
fn last(from: i128, end: i128, is_so: impl Fn(i128) -> bool) -> i128 {
    let (mut yes, mut no) = (from, end);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        match is_so(middle) {
            true => yes = middle,
            false => no = middle,
        }
    }
    yes
}
