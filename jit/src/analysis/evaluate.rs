//! Expressions with the numbers put in: affine forms over the invocation, with exact ranges.
//!
//! An [`Affine`] is an exact integer: the sum of atoms times coefficients, plus a constant. An atom is
//! a component of the work-group id or of the local id of the *fused* kernel, a quotient or remainder
//! of another form by a constant, or a *free* value, known by its range alone. A machine word
//! of width `w` is represented by a form it is congruent to modulo 2^w; wherever SPIR-V gives a word a
//! meaning (comparison, division, index) the form is used only if its range shows that no wrap-around
//! stands between the two. Otherwise the result is a fresh free atom: unknown, never guessed.

use ahash::AHashMap;
use smallvec::SmallVec;

use super::access::{Access, Guard, Texel};
use super::affine::{Affine, Atom, AtomId, Atoms, Bounds, Ranges, rejoin};
use super::expr::{IdKind, Node, NodeId, Passed, SubgroupValue, mask, sign_extend};
use super::kernel_analysis::KernelAnalysis;
use super::numbers::Numbers;
use super::size::BoundSize;
use super::word::{Value, as_signed, as_unsigned};

/// How a member's ids follow from the ids of the fused kernel, and the numbers it was given.
#[derive(Clone, Debug)]
pub(crate) struct Environment<'a> {
    /// Position in the list.
    pub(crate) member: u32,
    /// `WorkgroupId`, `LocalInvocationId`, `GlobalInvocationId` as forms.
    pub(crate) group: [Affine; 3],
    pub(crate) local: [Affine; 3],
    pub(crate) global: [Affine; 3],
    /// `NumWorkgroups` and the local size.
    pub(crate) groups: [u32; 3],
    pub(crate) local_size: [u32; 3],
    pub(crate) push: &'a [u8],
    /// How much is bound at each binding.
    pub(crate) sizes: &'a [BoundSize],
    /// The bindings that nothing in the list writes. What is read there at a fixed place is one value, in every
    /// invocation and every member.
    pub(crate) constants: &'a [Option<Constant<'a>>],
    /// What the mapping itself guarantees: each form is at most zero.
    pub(crate) facts: Vec<Affine>,
}

/// A range of a buffer that nothing in the list writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant<'a> {
    pub(crate) buffer: u64,
    /// Its first byte in the buffer.
    pub(crate) start: u64,
    /// What it holds, as far as that is known.
    pub(crate) numbers: Option<&'a Numbers>,
}

/// An access with numbers: a byte range of a buffer as a function of the invocation.
#[derive(Clone, Debug)]
pub(crate) struct AccessForm {
    /// First byte, relative to the start of the memory object.
    pub(crate) offset: Affine,
    pub(crate) size: i128,
    /// What holds when the access happens: each form is at most zero.
    pub(crate) facts: Vec<Affine>,
    /// Ranges of atoms under those facts.
    pub(crate) ranges: Ranges,
    /// What suffices for the access to happen, if it is `certain`: the facts, except for those of past loops, and that no loop
    /// around it was left early. It may happen without the latter: in the round that leaves.
    pub(crate) conditions: Vec<Affine>,
    /// Whether the access happens wherever the conditions hold: in every invocation that runs to its end, and in every
    /// round of the loops around the access except for what `begun` says.
    pub(crate) certain: bool,
    /// Whether what its guards ask is followed, so that the conditions say all of it.
    pub(crate) followed: bool,
    /// What counts the rounds of the loops around the access, outermost first. Complete if the access is `certain`.
    pub(crate) counters: SmallVec<[AtomId; 2]>,
    /// For loops that are tested after the access only: the counter, and the last round that is certainly begun.
    pub(crate) begun: SmallVec<[(AtomId, i128); 1]>,
    /// The index could not be followed: any byte of the accessor may be meant.
    pub(crate) unknown: bool,
    /// Its guards contradict each other, with the numbers of this list: it does not happen.
    pub(crate) never: bool,
    /// First byte of the accessor, and the one after its last.
    pub(crate) accessor: (i128, i128),
}

impl AccessForm {
    /// Range of an atom wherever the access happens; `None` if nothing is known of it there.
    ///
    /// A quotient is one of a form that is not negative and not above some bound. That was shown where the atom was
    /// made, under the guards of that access. Elsewhere the same atom may be anything.
    pub(crate) fn range(&self, atoms: &Atoms, id: AtomId) -> Option<(i128, i128)> {
        let is_known = match atoms.get(id) {
            Atom::Group(_) | Atom::Local(_) | Atom::Global(_) | Atom::Cell { .. } | Atom::Remainder(..) => {
                true
            }
            _ => {
                let own = [&self.offset].into_iter().chain(&self.facts);
                own.into_iter().any(|form| form.coefficient(id) != 0) || mutant!(RangesHoldEverywhere)
            }
        };
        is_known.then(|| self.ranges.get(atoms, id))
    }
}

/// Puts numbers into the expressions of one member.
///
/// Values are computed in a *context*: the guards of the access that is asked about, whose facts
/// narrow the ranges of atoms. A form made in a context is right wherever its guards hold.
pub(crate) struct Evaluator<'a> {
    pub(super) analysis: &'a KernelAnalysis,
    pub(super) env: &'a Environment<'a>,
    /// Values where only the mapping's own facts hold.
    base: AHashMap<NodeId, Value>,
    base_ranges: Ranges,
    /// Values under the guards of the present context, and the ranges they rely on.
    pub(super) memo: AHashMap<NodeId, Value>,
    pub(super) ranges: Ranges,
    pub(super) context: Option<Context>,
    pub(super) arms: Arms,
    /// Fewest and most rounds of loops that have been asked for outside of any context.
    pub(super) rounds: AHashMap<usize, (i128, i128)>,
}

/// How many arms of choices were looked at, and how deep the present one is nested.
#[derive(Default)]
pub(super) struct Arms {
    pub(super) count: u32,
    pub(super) depth: u32,
}

/// What the guards of an access say.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) guards: Vec<Guard>,
    pub(super) facts: Vec<Affine>,
    pub(super) conditions: Vec<Affine>,
    pub(super) exact: bool,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(atoms: &Atoms, analysis: &'a KernelAnalysis, env: &'a Environment<'a>) -> Self {
        let mut base_ranges = Ranges::default();
        base_ranges.apply(atoms, &env.facts);
        Self {
            analysis,
            env,
            base: AHashMap::new(),
            ranges: base_ranges.clone(),
            base_ranges,
            memo: AHashMap::new(),
            context: None,
            arms: Arms::default(),
            rounds: AHashMap::new(),
        }
    }

    /// Leaves the context of any access.
    pub(super) fn leave(&mut self) {
        self.context = None;
        self.memo.clear();
        self.ranges = self.base_ranges.clone();
    }

    /// Goes to where all of `guards` hold.
    pub(super) fn enter(&mut self, atoms: &mut Atoms, guards: &[Guard]) -> Context {
        if let Some(context) = self.context.as_ref().filter(|c| c.guards == guards) {
            return context.clone();
        }
        self.leave();
        let mut facts = self.env.facts.clone();
        let mut conditions = facts.clone();
        let mut exact = true;
        if !self.analysis.skipping.is_empty() {
            // Of its branches alone: a round that takes them has stepped the counters that step under them.
            let (facts, guards) = (facts.clone(), guards.to_vec());
            self.context = Some(Context { guards, facts, conditions: Vec::new(), exact: true });
        }
        // What has to hold for an access to happen is computed without supposing that it does.
        for guard in guards {
            let known = facts.len();
            let says_all = self.assume(atoms, guard.condition, guard.holds, &mut facts);
            if !guard.in_past_loop {
                conditions.extend_from_slice(&facts[known..]);
                exact &= says_all && self.shows_steps(atoms, guard, &facts[known..]);
            }
        }
        self.memo.clear();
        let undivided: Vec<Affine> = facts.iter().filter_map(|fact| fact.undivided(atoms)).collect();
        facts.extend(undivided);
        let mut ranges = self.base_ranges.clone();
        ranges.apply(atoms, &facts);
        let context = Context { guards: guards.to_vec(), facts, conditions, exact };
        self.context = Some(context);
        self.ranges = ranges;
        if self.ranges.is_empty() {
            return self.context.clone().expect("invariant: set above");
        }
        // Once more with what is known now: a guard may keep another one from wrapping.
        let mut facts = self.env.facts.clone();
        for guard in guards {
            self.assume(atoms, guard.condition, guard.holds, &mut facts);
        }
        let context = self.context.as_mut().expect("invariant: set above");
        facts.retain(|fact| !context.facts.contains(fact) && !fact.terms.is_empty());
        if !facts.is_empty() {
            context.facts.extend(facts);
            self.ranges.apply(atoms, &context.facts);
            self.memo.clear();
        }
        context.clone()
    }

    /// The byte range of an access whose accessor starts at byte `base` of its memory object.
    pub(crate) fn access(&mut self, atoms: &mut Atoms, access: &Access, base: u64) -> AccessForm {
        // Of an image, all views begin at the same texel.
        let is_texel = access.texel.is_some() && !mutant!(ImagesBeginAtTheirView);
        let base = if mutant!(IgnoreViewOffset) || is_texel { 0 } else { base };
        let begun = self.begun(atoms, access);
        let exits = self.exits(atoms, access);
        let Context { facts, mut conditions, exact, .. } = self.enter(atoms, &access.guards);
        let never = (self.ranges.is_empty() || self.is_excluded(atoms, &facts)) && !mutant!(ForgetGuards);
        if never {
            self.leave();
        }
        let mut offset = Affine::constant(i128::from(base) + i128::from(access.constant));
        let may_be_any = matches!(access.texel, Some(Texel::Any | Texel::Fetched(_)));
        let mut unknown = may_be_any && !mutant!(SamplesAreOfOneTexel);
        for term in &access.terms {
            let index = self.index(atoms, term.index, term.count);
            match index.and_then(|index| offset.plus(&index, i128::from(term.stride))) {
                Some(sum) => offset = sum,
                None => unknown = true,
            }
        }
        let offset = rejoin(atoms, offset);
        let counters = self.counters(atoms, access).filter(|_| exits.is_some());
        conditions.extend(exits.unwrap_or_default());
        let exact = exact || mutant!(InexactIsExact);
        let certain = access.exact_guards && exact && counters.is_some();
        let counters = counters.unwrap_or_default();
        // Outside of the loop's own test nothing says how far a loop goes whose counter is not among these.
        let begun = counters.iter().zip(begun).filter_map(|(&id, last)| Some((id, last?))).collect();
        let len = self.env.sizes.get(access.binding).map_or(i128::MAX >> 1, |size| i128::from(size.bytes));
        // The offset may be made of atoms that the facts speak of and that were not there before.
        let mut ranges = self.ranges.clone();
        ranges.apply(atoms, &facts);
        ranges.bound_quotients(atoms, &offset, &facts);
        AccessForm {
            offset,
            size: if mutant!(IgnoreSize) { 1 } else { i128::from(access.size) },
            facts: if mutant!(ForgetGuards) { Vec::new() } else { facts },
            ranges: if mutant!(ForgetGuards) { Ranges::default() } else { ranges },
            conditions: if mutant!(ForgetConditions) { Vec::new() } else { conditions },
            certain,
            followed: exact,
            counters,
            begun,
            unknown,
            never,
            accessor: match access.texel {
                Some(_) if is_texel => Texel::ALL,
                _ => (i128::from(base), i128::from(base) + len),
            },
        }
    }

    /// Whether a condition never is what `other` says where all of `guards` hold.
    pub(crate) fn excludes(&mut self, atoms: &mut Atoms, guards: &[Guard], other: Guard) -> bool {
        let mut all = guards.to_vec();
        all.push(other);
        let Context { facts, .. } = self.enter(atoms, &all);
        let never = self.ranges.is_empty() || self.is_excluded(atoms, &facts);
        self.leave();
        never || mutant!(EveryGuardHolds)
    }

    /// Whether one of these facts is false for all invocations, so that what it guards does not happen with these numbers.
    pub(super) fn is_excluded(&self, atoms: &Atoms, facts: &[Affine]) -> bool {
        facts.iter().any(|fact| {
            let (least, most) = fact.bounds(|id| self.ranges.get(atoms, id));
            least > 0 || mutant!(AnyNumberExcludes) && most > 0
        })
    }

    /// Whether the present context has taken all of these branches.
    pub(super) fn has_taken(&self, under: &[Passed]) -> bool {
        let guards = self.context.as_ref().map_or(&[][..], |context| &context.guards);
        let taken = |passed: &Passed| {
            let is = |guard: &Guard| Passed { block: guard.block, taken: guard.holds } == *passed;
            guards.iter().any(|guard| is(guard) && !guard.in_past_loop)
        };
        under.iter().all(taken) || mutant!(EveryRoundSteps)
    }

    /// The byte offset in the memory object of the array element an access lies in.
    pub(crate) fn element(&mut self, atoms: &mut Atoms, access: &Access, base: u64) -> Option<Affine> {
        let index = access.element?.index?;
        self.enter(atoms, &access.guards);
        if self.ranges.is_empty() {
            self.leave();
        }
        let form = self.index(atoms, index.node, None)?;
        let start = if mutant!(SlotsFromTheArray) { 0 } else { i128::from(index.start) };
        Affine::constant(i128::from(base) + start).plus(&rejoin(atoms, form), i128::from(index.stride))
    }

    /// The coordinates of the texel that an access goes to, each by itself.
    pub(crate) fn coordinates(
        &mut self,
        atoms: &mut Atoms,
        access: &Access,
    ) -> Option<SmallVec<[Affine; 3]>> {
        self.enter(atoms, &access.guards);
        if self.ranges.is_empty() {
            self.leave();
        }
        let mut all = SmallVec::new();
        for term in &access.terms {
            let index = self.index(atoms, term.index, term.count)?;
            all.push(rejoin(atoms, index));
        }
        Some(all)
    }

    /// An index as an exact integer. `count` elements exist where the type says so.
    fn index(&mut self, atoms: &mut Atoms, node: NodeId, count: Option<u64>) -> Option<Affine> {
        let width = self.analysis.exprs.get(node).width();
        let value = self.value(atoms, node);
        let (low, high) = (value.low, value.high);
        // SPIR-V reads an index as a signed number.
        let half = 1i128 << (width - 1);
        if low >= -half && high < half || mutant!(NoWrapOfIndices) {
            if let Some(count) = count
                && (low < 0 || high >= i128::from(count))
                && value.form.terms.iter().all(|&(id, _)| !atoms.is_shared(id))
            {
                // Past the end of a sized array is undefined, so only the elements it has are meant.
                return Some(self.some_element(atoms, node, count));
            }
            return Some(value.form);
        }
        Some(self.some_element(atoms, node, count?))
    }

    fn some_element(&self, atoms: &mut Atoms, node: NodeId, count: u64) -> Affine {
        let atom = Atom::Element { member: self.env.member, node, count };
        Affine::atom(atoms.intern(atom, i128::from(count).max(1) - 1))
    }

    fn free(&self, atoms: &mut Atoms, node: NodeId, base: i128, max: i128) -> AtomId {
        atoms.intern(Atom::Free { member: self.member(), node, base }, max)
    }

    /// The member, to tell its unknowns from those of others.
    pub(super) fn member(&self) -> u32 {
        if mutant!(UnknownIsEqual) { 0 } else { self.env.member }
    }

    /// What is known in the present context.
    pub(super) fn bounds(&self) -> Bounds<'_> {
        let facts = self.context.as_ref().map_or(self.env.facts.as_slice(), |c| &c.facts);
        Bounds { ranges: &self.ranges, facts }
    }

    pub(super) fn exact(&self, atoms: &Atoms, form: Affine) -> Value {
        let (low, high) = self.bounds().of(atoms, &form);
        Value { form, low, high }
    }

    /// A value known by its range alone, from `low` to `high`: a constant if that is one number, otherwise a free atom.
    pub(super) fn unknown(&self, atoms: &mut Atoms, node: NodeId, low: i128, high: i128) -> Value {
        if low == high {
            return Value { form: Affine::constant(low), low, high };
        }
        let id = self.free(atoms, node, low, high - low);
        // An atom first seen with another range keeps the looser one; so must the value.
        let high = low + atoms.max(id);
        let mut form = Affine::atom(id);
        form.constant = low;
        Value { form, low, high }
    }

    pub(super) fn any(&self, atoms: &mut Atoms, node: NodeId) -> Value {
        let width = self.analysis.exprs.get(node).width();
        self.unknown(atoms, node, 0, i128::from(mask(width)))
    }

    pub(super) fn value(&mut self, atoms: &mut Atoms, node: NodeId) -> Value {
        let memo = if self.context.is_some() { &self.memo } else { &self.base };
        if let Some(value) = memo.get(&node) {
            return value.clone();
        }
        let value = self.compute(atoms, node).unwrap_or_else(|| self.any(atoms, node));
        let memo = if self.context.is_some() { &mut self.memo } else { &mut self.base };
        memo.insert(node, value.clone());
        value
    }

    fn compute(&mut self, atoms: &mut Atoms, node: NodeId) -> Option<Value> {
        let form = match self.analysis.exprs.get(node) {
            Node::Const { value, width } => {
                // Small negative constants are meant as such; congruence makes both right.
                let signed = sign_extend(*value, *width);
                Affine::constant(if signed < 0 { i128::from(signed) } else { i128::from(*value) })
            }
            Node::Id { kind, dim } => {
                let dim = usize::from(*dim).min(2);
                match kind {
                    IdKind::Global => self.env.global[dim].clone(),
                    IdKind::Local => self.env.local[dim].clone(),
                    IdKind::Group => self.env.group[dim].clone(),
                    IdKind::GroupCount => Affine::constant(i128::from(self.env.groups[dim])),
                }
            }
            Node::LocalIndex => {
                let size = self.env.local_size;
                self.env.local[0]
                    .plus(&self.env.local[1], i128::from(size[0]))?
                    .plus(&self.env.local[2], i128::from(size[0]) * i128::from(size[1]))?
            }
            Node::Subgroup(value) => {
                let (low, high) = self.of_subgroup(*value);
                return Some(self.unknown(atoms, node, low, high));
            }
            Node::Push { offset, width } => {
                let bytes = self.env.push.get(*offset as usize..)?.get(..usize::from(*width / 8))?;
                let value = bytes.iter().rev().fold(0u64, |word, &b| (word << 8) | u64::from(b));
                number(value, *width)
            }
            Node::Length { binding, offset, stride } => {
                let length = self.env.sizes.get(usize::from(*binding))?.bytes;
                let room = length.saturating_sub(u64::from(*offset));
                Affine::constant(i128::from(room / u64::from((*stride).max(1))))
            }
            Node::Image { binding, query } => {
                let image = self.env.sizes.get(usize::from(*binding))?.image?;
                Affine::constant(i128::from(image.answer(*query)?))
            }
            Node::Cell { binding, offset, width, .. } => {
                let binding = usize::from(*binding);
                let Constant { buffer, start, numbers } =
                    self.env.constants.get(binding).copied().flatten()?;
                // Behind the end of what is bound there is no number that another view would find as well.
                if u64::from(*offset) + u64::from(*width / 8) > self.env.sizes.get(binding)?.bytes {
                    return None;
                }
                if let Some(value) = numbers.and_then(|numbers| numbers.get(*offset, *width)) {
                    return Some(self.exact(atoms, number(value, *width)));
                }
                let buffer = if mutant!(CellsAreOne) { 0 } else { buffer };
                let cell = Atom::Cell { buffer, offset: start + u64::from(*offset), width: *width };
                Affine::atom(atoms.intern(cell, i128::from(mask(*width))))
            }
            Node::Binary { op, width, a, b } => {
                return self.binary(atoms, node, *op, *width, *a, *b);
            }
            Node::Convert { signed, from, width, a } => {
                let value = self.value(atoms, *a);
                if width < from {
                    value.form
                } else if *signed {
                    as_signed(&value, *from)?.form
                } else {
                    as_unsigned(&value, *from)?.form
                }
            }
            Node::Join { inputs, .. } => {
                let inputs = inputs.clone();
                return self.hull(atoms, node, &inputs);
            }
            Node::Select { condition, a, b, .. } => {
                let (condition, a, b) = (*condition, *a, *b);
                return match self.decide(atoms, condition) {
                    Some(true) => Some(self.value(atoms, a)),
                    Some(false) => Some(self.value(atoms, b)),
                    None if mutant!(SelectTakesFirst) => Some(self.value(atoms, a)),
                    None => self.choice(atoms, node, condition, [a, b]),
                };
            }
            Node::Counter { init, step, of, under, .. } => {
                let steps = self.has_taken(under);
                return self.counter(atoms, node, (*init, *step), *of as usize, steps);
            }
            Node::Final { counter, .. } => return self.counter_behind(atoms, *counter),
            Node::Compare { .. }
            | Node::BoolAnd(..)
            | Node::BoolOr(..)
            | Node::BoolNot(_)
            | Node::Opaque { .. } => {
                return None;
            }
        };
        Some(self.exact(atoms, form))
    }

    /// What a value of a sub-group lies between. Each has an invocation of the work-group, and at most as many as a ballot has bits;
    /// nothing is supposed of how they follow from local ids.
    fn of_subgroup(&self, value: SubgroupValue) -> (i128, i128) {
        const MOST: i128 = 128;
        let invocations: i128 = self.env.local_size.iter().map(|&size| i128::from(size)).product();
        match value {
            SubgroupValue::Id | SubgroupValue::Lane if mutant!(OneSubgroup) => (0, 0),
            SubgroupValue::Id => (0, invocations - 1),
            SubgroupValue::Count => (1, invocations),
            SubgroupValue::Size => (1, MOST),
            SubgroupValue::Lane => (0, MOST - 1),
        }
    }

    /// Equal forms stay; otherwise only the common range is known.
    pub(super) fn hull(&mut self, atoms: &mut Atoms, node: NodeId, inputs: &[NodeId]) -> Option<Value> {
        let values: Vec<Value> = inputs.iter().map(|&input| self.value(atoms, input)).collect();
        let first = values.first()?;
        if values.iter().all(|v| v.form == first.form) {
            return Some(first.clone());
        }
        let low = values.iter().map(|v| v.low).min()?;
        let high = values.iter().map(|v| v.high).max()?;
        (high - low < 1 << 62).then(|| self.unknown(atoms, node, low, high))
    }
}

/// A word that the host gave. Small negative numbers are meant as such; congruence makes both right.
fn number(value: u64, width: u8) -> Affine {
    let signed = sign_extend(value, width);
    Affine::constant(if signed < 0 && signed > -4096 { i128::from(signed) } else { i128::from(value) })
}
