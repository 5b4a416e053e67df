//! Expressions with the numbers put in: affine forms over the invocation, with exact ranges.
//!
//! An [`Affine`] is an exact integer: the sum of atoms times coefficients, plus a constant. An atom is
//! a component of the work-group id or of the local id of the *fused* kernel, a quotient or remainder
//! of another form by a constant, or a *free* value of which only the range is known. A machine word
//! of width `w` is represented by a form it is congruent to modulo 2^w; wherever SPIR-V gives a word a
//! meaning (comparison, division, index) the form is used only if its range shows that no wrap-around
//! stands between the two. Otherwise the result is a fresh free atom: unknown, never guessed.

use ahash::AHashMap;

use super::access::{Access, KernelAnalysis};
use super::atoms::{Affine, Atom, AtomId, Atoms, Ranges, gcd, rejoin, split};
use super::expr::{BinaryOp, CompareOp, IdKind, Node, NodeId, mask, sign_extend};
use super::trips::Rounds;

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
    /// Byte length of each binding.
    pub(crate) lengths: &'a [u64],
    /// What the mapping itself guarantees: each form is at most zero.
    pub(crate) facts: Vec<Affine>,
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
    /// What has to hold for the access to happen: the facts, but for those that end loops.
    pub(crate) conditions: Vec<Affine>,
    /// Whether the conditions say everything those guards say.
    pub(crate) exact_conditions: bool,
    /// The index could not be followed: any byte of the accessor may be meant.
    pub(crate) unknown: bool,
    /// First byte of the accessor.
    pub(crate) accessor_start: i128,
}

/// A word: the form it is congruent to, and the form's range.
#[derive(Clone, Debug)]
struct Value {
    form: Affine,
    low: i128,
    high: i128,
}

/// Puts numbers into the expressions of one member.
pub(crate) struct Evaluator<'a> {
    analysis: &'a KernelAnalysis,
    env: &'a Environment<'a>,
    memo: Vec<Option<Value>>,
    /// Rounds of the loops whose counters have been met.
    rounds: AHashMap<NodeId, i128>,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(analysis: &'a KernelAnalysis, env: &'a Environment<'a>) -> Self {
        Self { analysis, env, memo: vec![None; analysis.exprs.len()], rounds: AHashMap::new() }
    }

    /// Most rounds of all loops of the kernel together, if every loop's are known.
    pub(crate) fn loop_rounds(&mut self, atoms: &mut Atoms) -> Option<u128> {
        let analysis = self.analysis;
        let mut each: Vec<u128> = Vec::with_capacity(analysis.loops.len());
        let mut total = 0u128;
        for one in &analysis.loops {
            let rounds = match one.rounds {
                Rounds::AtMost(n) => u128::from(n),
                Rounds::Counter(node) => {
                    self.value(atoms, node);
                    u128::try_from(*self.rounds.get(&node)?).ok()?
                }
                Rounds::Unknown => return None,
            };
            // The round that finds the loop at its end counts as one.
            let around = one.parent.map_or(1, |parent| each[parent]);
            each.push(around.checked_mul(rounds + 1)?);
            total = total.checked_add(each[each.len() - 1])?;
        }
        Some(total)
    }

    /// Rounds of a loop that goes round equally often in every invocation, and the atom that counts them.
    pub(crate) fn exact_rounds(&mut self, atoms: &mut Atoms, index: usize) -> Option<(AtomId, u32)> {
        let Rounds::Counter(node) = self.analysis.loops[index].rounds else { return None };
        let Node::Counter { width, init, step, bound: Some(bound), .. } = *self.analysis.exprs.get(node)
        else {
            return None;
        };
        self.value(atoms, node);
        let most = *self.rounds.get(&node)?;
        let meaning = if bound.signed { as_signed } else { as_unsigned };
        let init = meaning(&self.value(atoms, init), width)?;
        let limit = meaning(&self.value(atoms, bound.limit), width)?;
        let step = self.value(atoms, step).form.constant;
        let last = limit.low - i128::from(!bound.inclusive);
        let least = if last < init.high { 0 } else { (last - init.high) / step + 1 };
        let counter = atoms.find(&Atom::Free { member: self.env.member, node })?;
        (bound.only_exit && least == most).then_some((counter, u32::try_from(most).ok()?))
    }

    /// The byte range of an access whose accessor starts at byte `base` of its memory object.
    pub(crate) fn access(&mut self, atoms: &mut Atoms, access: &Access, base: u64) -> AccessForm {
        let mut facts = self.env.facts.clone();
        let mut conditions = facts.clone();
        let mut exact_conditions = true;
        for guard in &access.guards {
            self.assume(atoms, guard.condition, guard.holds, &mut facts);
            if !guard.ends_loop {
                exact_conditions &= self.assume(atoms, guard.condition, guard.holds, &mut conditions);
            }
        }
        let mut offset = Affine::constant(i128::from(base) + i128::from(access.constant));
        let mut ranges = Ranges::default();
        ranges.apply(atoms, &facts);
        let mut unknown = false;
        for term in &access.terms {
            let index = self.index(atoms, term.index, term.count, &ranges);
            match index.and_then(|index| offset.plus(&index, i128::from(term.stride))) {
                Some(sum) => offset = sum,
                None => unknown = true,
            }
        }
        let offset = rejoin(atoms, offset);
        ranges.apply(atoms, &facts);
        AccessForm {
            offset,
            size: i128::from(access.size),
            facts,
            ranges,
            conditions,
            exact_conditions,
            unknown,
            accessor_start: i128::from(base),
        }
    }

    /// The byte offset of the array element an access lies in, the start of the array left out.
    pub(crate) fn element(&mut self, atoms: &mut Atoms, access: &Access, base: u64) -> Option<Affine> {
        let index = access.element?.index?;
        let mut ranges = Ranges::default();
        let mut facts = self.env.facts.clone();
        for guard in &access.guards {
            self.assume(atoms, guard.condition, guard.holds, &mut facts);
        }
        ranges.apply(atoms, &facts);
        let form = self.index(atoms, index.node, None, &ranges)?;
        Affine::constant(i128::from(base)).plus(&rejoin(atoms, form), i128::from(index.stride))
    }

    /// An index as an exact integer. `count` elements exist where the type says so.
    fn index(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        count: Option<u64>,
        ranges: &Ranges,
    ) -> Option<Affine> {
        let width = self.analysis.exprs.get(node).width();
        let value = self.value(atoms, node);
        let (low, high) = value.form.bounds(|id| ranges.get(atoms, id));
        // SPIR-V reads an index as a signed number.
        let half = 1i128 << (width - 1);
        if low >= -half && high < half {
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

    fn free(&self, atoms: &mut Atoms, node: NodeId, max: i128) -> AtomId {
        atoms.intern(Atom::Free { member: self.env.member, node }, max)
    }

    fn exact(&self, atoms: &Atoms, form: Affine) -> Value {
        let (low, high) = form.bounds(|id| (0, atoms.max(id)));
        Value { form, low, high }
    }

    /// A value of which only the range is known.
    fn unknown(&self, atoms: &mut Atoms, node: NodeId, low: i128, high: i128) -> Value {
        if low == high {
            return Value { form: Affine::constant(low), low, high };
        }
        let id = self.free(atoms, node, high - low);
        // An atom first seen with another range keeps the looser one; so must the value.
        let high = low + atoms.max(id);
        let mut form = Affine::atom(id);
        form.constant = low;
        Value { form, low, high }
    }

    fn any(&self, atoms: &mut Atoms, node: NodeId) -> Value {
        let width = self.analysis.exprs.get(node).width();
        self.unknown(atoms, node, 0, i128::from(mask(width)))
    }

    fn value(&mut self, atoms: &mut Atoms, node: NodeId) -> Value {
        if let Some(value) = &self.memo[node.0 as usize] {
            return value.clone();
        }
        let value = self.compute(atoms, node).unwrap_or_else(|| self.any(atoms, node));
        self.memo[node.0 as usize] = Some(value.clone());
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
            Node::Push { offset, width } => {
                let bytes = self.env.push.get(*offset as usize..)?.get(..usize::from(*width / 8))?;
                let value = bytes.iter().rev().fold(0u64, |word, &b| (word << 8) | u64::from(b));
                let signed = sign_extend(value, *width);
                Affine::constant(if signed < 0 && signed > -4096 {
                    i128::from(signed)
                } else {
                    i128::from(value)
                })
            }
            Node::Length { binding, offset, stride } => {
                let length = *self.env.lengths.get(usize::from(*binding))?;
                let room = length.saturating_sub(u64::from(*offset));
                Affine::constant(i128::from(room / u64::from((*stride).max(1))))
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
                    None => self.hull(atoms, node, &[a, b]),
                };
            }
            Node::Counter { width, init, step, bound, .. } => {
                let bound = (*bound)?;
                let (width, init, step) = (*width, *init, *step);
                return self.counter(atoms, node, width, init, step, bound);
            }
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

    /// Equal forms stay; otherwise only the common range is known.
    fn hull(&mut self, atoms: &mut Atoms, node: NodeId, inputs: &[NodeId]) -> Option<Value> {
        let values: Vec<Value> = inputs.iter().map(|&input| self.value(atoms, input)).collect();
        let first = values.first()?;
        if values.iter().all(|v| v.form == first.form) {
            return Some(first.clone());
        }
        let low = values.iter().map(|v| v.low).min()?;
        let high = values.iter().map(|v| v.high).max()?;
        (high - low < 1 << 62).then(|| self.unknown(atoms, node, low, high))
    }

    fn counter(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        width: u8,
        init: NodeId,
        step: NodeId,
        bound: super::expr::LoopBound,
    ) -> Option<Value> {
        let meaning = if bound.signed { as_signed } else { as_unsigned };
        let init = meaning(&self.value(atoms, init), width)?;
        let step = self.value(atoms, step);
        let limit = meaning(&self.value(atoms, bound.limit), width)?;
        if !step.form.terms.is_empty() || step.form.constant <= 0 {
            return None;
        }
        let step = step.form.constant;
        // The counter steps only while it is below the limit, so this is the most it can become.
        let last = limit.high - i128::from(!bound.inclusive);
        let top = init.high.max(last + step);
        let wrap = 1i128 << if bound.signed { width - 1 } else { width };
        if top >= wrap {
            return None;
        }
        let rounds = if last < init.low { 0 } else { (last - init.low) / step + 1 };
        self.rounds.insert(node, rounds);
        let iteration = self.free(atoms, node, rounds);
        let form = init.form.plus(&Affine::atom(iteration), step)?;
        Some(self.exact(atoms, form))
    }

    fn binary(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        op: BinaryOp,
        width: u8,
        a: NodeId,
        b: NodeId,
    ) -> Option<Value> {
        let left = self.value(atoms, a);
        let right = self.value(atoms, b);
        let constant = right.form.terms.is_empty().then_some(right.form.constant);
        let form = match op {
            BinaryOp::Add => left.form.plus(&right.form, 1)?,
            BinaryOp::Sub => left.form.plus(&right.form, -1)?,
            BinaryOp::Mul => match (left.form.terms.is_empty(), constant) {
                (_, Some(factor)) => left.form.scaled(factor)?,
                (true, None) => right.form.scaled(left.form.constant)?,
                (false, None) => return None,
            },
            BinaryOp::Shl => {
                let shift = constant.filter(|s| (0..i128::from(width)).contains(s))?;
                left.form.scaled(1 << shift)?
            }
            BinaryOp::UDiv | BinaryOp::UMod => {
                let divisor = as_unsigned(&right, width)?.form;
                let divisor = divisor.terms.is_empty().then_some(divisor.constant).filter(|&d| d > 0)?;
                return self.divide(atoms, node, &left, width, divisor, op == BinaryOp::UDiv);
            }
            BinaryOp::SDiv | BinaryOp::SRem | BinaryOp::SMod => {
                let divisor = constant.filter(|&d| d > 0 && d < 1 << (width - 1))?;
                let dividend = as_signed(&left, width)?;
                if dividend.low < 0 {
                    let (low, high) = match op {
                        BinaryOp::SDiv => (dividend.low / divisor, dividend.high.max(0) / divisor),
                        BinaryOp::SRem => (1 - divisor, divisor - 1),
                        _ => (0, divisor - 1),
                    };
                    return Some(self.unknown(atoms, node, low, high));
                }
                return self.divide(atoms, node, &dividend, width, divisor, op == BinaryOp::SDiv);
            }
            BinaryOp::ShrLogical | BinaryOp::ShrArithmetic => {
                let shift = constant.filter(|s| (0..i128::from(width)).contains(s))?;
                let value = if op == BinaryOp::ShrArithmetic {
                    as_signed(&left, width)?
                } else {
                    as_unsigned(&left, width)?
                };
                if value.low < 0 {
                    return None;
                }
                return self.divide(atoms, node, &value, width, 1 << shift, true);
            }
            BinaryOp::And => {
                let (value, bits) = match (constant, left.form.terms.is_empty()) {
                    (Some(bits), _) => (&left, bits),
                    (None, true) => (&right, left.form.constant),
                    (None, false) => return None,
                };
                let bits = bits & i128::from(mask(width));
                if (bits + 1) & bits == 0 {
                    return self.divide(atoms, node, value, width, bits + 1, false);
                }
                return Some(self.unknown(atoms, node, 0, bits));
            }
            BinaryOp::Xor => return self.flip(atoms, node, &left, &right, width),
            BinaryOp::Or => {
                // Without a common bit, or is addition.
                let bits = constant.filter(|&c| c >= 0)?;
                let value = as_unsigned(&left, width)?;
                let step = value.form.terms.iter().fold(value.form.constant, |g, t| gcd(g, t.1));
                let lowest = if step == 0 { i128::MAX } else { 1 << step.trailing_zeros().min(100) };
                if bits >= lowest {
                    return None;
                }
                value.form.plus(&right.form, 1)?
            }
            BinaryOp::UMin | BinaryOp::UMax | BinaryOp::SMin | BinaryOp::SMax => {
                let signed = matches!(op, BinaryOp::SMin | BinaryOp::SMax);
                let meaning = if signed { as_signed } else { as_unsigned };
                let (x, y) = (meaning(&left, width)?, meaning(&right, width)?);
                let least = matches!(op, BinaryOp::UMin | BinaryOp::SMin);
                return Some(if x.high <= y.low {
                    if least { x } else { y }
                } else if y.high <= x.low {
                    if least { y } else { x }
                } else if least {
                    self.unknown(atoms, node, x.low.min(y.low), x.high.min(y.high))
                } else {
                    self.unknown(atoms, node, x.low.max(y.low), x.high.max(y.high))
                });
            }
        };
        Some(self.exact(atoms, form))
    }

    /// Quotient or remainder by a positive constant.
    fn divide(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        value: &Value,
        width: u8,
        divisor: i128,
        quotient: bool,
    ) -> Option<Value> {
        let power = divisor & (divisor - 1) == 0;
        let value = match as_unsigned(value, width) {
            Some(value) => value,
            // Modulo a power of two, wrap-around does not matter: add multiples until it is positive.
            None if !quotient && power => {
                let mut form = value.form.clone();
                form.constant = form
                    .constant
                    .checked_add((-value.low).max(0).div_euclid(divisor).checked_add(1)? * divisor)?;
                self.exact(atoms, form)
            }
            None => {
                return Some(if quotient {
                    self.any(atoms, node)
                } else {
                    self.unknown(atoms, node, 0, divisor - 1)
                });
            }
        };
        let form = split(atoms, &value.form, divisor, quotient)?;
        Some(self.exact(atoms, form))
    }

    /// Exclusive or with a constant.
    fn flip(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        left: &Value,
        right: &Value,
        width: u8,
    ) -> Option<Value> {
        let (value, bits) = match (left.form.terms.is_empty(), right.form.terms.is_empty()) {
            (_, true) => (left, right.form.constant),
            (true, false) => (right, left.form.constant),
            _ => return None,
        };
        let bits = bits & i128::from(mask(width));
        let value = as_unsigned(value, width)?;
        if bits == 0 {
            return Some(value);
        }
        let above = 1i128 << (128 - bits.leading_zeros());
        // x = high * above + low: only the low part changes.
        let low = self.divide(atoms, node, &value, width, above, false)?;
        let high = value.form.plus(&low.form, -1)?;
        let flipped = if bits == above - 1 {
            // All low bits flip: a subtraction.
            Affine::constant(bits).plus(&low.form, -1)?
        } else if bits & (bits - 1) == 0 {
            // One bit flips: low + bit - 2 * (bit of low).
            let of_low = self.divide(atoms, node, &low, width, bits, true)?;
            low.form.plus(&Affine::constant(bits), 1)?.plus(&of_low.form, -2 * bits)?
        } else {
            self.unknown(atoms, node, 0, above - 1).form
        };
        let form = high.plus(&flipped, 1)?;
        let exact = self.exact(atoms, form);
        // The bound by atoms is loose where a form subtracts what it contains.
        let high = value.high | bits;
        Some(Value { form: exact.form, low: exact.low.max(0), high: exact.high.min(next_ones(high)) })
    }

    /// The truth of a condition that is the same for every invocation.
    fn decide(&mut self, atoms: &mut Atoms, condition: NodeId) -> Option<bool> {
        for truth in [true, false] {
            let mut facts = Vec::new();
            self.assume(atoms, condition, truth, &mut facts);
            if facts.iter().any(|fact| fact.bounds(|id| (0, atoms.max(id))).0 > 0) {
                return Some(!truth);
            }
        }
        None
    }

    /// Adds what follows from `condition` being `truth`: forms that are at most zero. Returns whether
    /// the facts say everything the condition says.
    pub(crate) fn assume(
        &mut self,
        atoms: &mut Atoms,
        condition: NodeId,
        truth: bool,
        facts: &mut Vec<Affine>,
    ) -> bool {
        // Nodes are shared, so a small condition can have any number of paths.
        let mut budget = 64;
        self.assume_within(atoms, condition, truth, facts, &mut budget)
    }

    fn assume_within(
        &mut self,
        atoms: &mut Atoms,
        condition: NodeId,
        truth: bool,
        facts: &mut Vec<Affine>,
        budget: &mut u32,
    ) -> bool {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        match self.analysis.exprs.get(condition).clone() {
            Node::Const { value, .. } => {
                if (value != 0) != truth {
                    facts.push(Affine::constant(1));
                }
                true
            }
            Node::BoolNot(inner) => self.assume_within(atoms, inner, !truth, facts, budget),
            Node::BoolAnd(a, b) if truth => {
                self.assume_within(atoms, a, true, facts, budget)
                    & self.assume_within(atoms, b, true, facts, budget)
            }
            Node::BoolOr(a, b) if !truth => {
                self.assume_within(atoms, a, false, facts, budget)
                    & self.assume_within(atoms, b, false, facts, budget)
            }
            Node::Compare { op, width, a, b } => {
                let (a, b) = (self.value(atoms, a), self.value(atoms, b));
                let signed = matches!(op, CompareOp::SLess | CompareOp::SLessEqual);
                let both = |meaning: fn(&Value, u8) -> Option<Value>| {
                    Some((meaning(&a, width)?, meaning(&b, width)?))
                };
                let pair = match op {
                    CompareOp::Equal | CompareOp::NotEqual => both(as_unsigned).or_else(|| both(as_signed)),
                    _ if signed => both(as_signed),
                    _ => both(as_unsigned),
                };
                let Some((a, b)) = pair else { return false };
                let (Some(less), Some(more)) = (a.form.plus(&b.form, -1), b.form.plus(&a.form, -1)) else {
                    return false;
                };
                let strictly = |mut form: Affine| {
                    form.constant += 1;
                    form
                };
                match (op, truth) {
                    (CompareOp::Equal, true) | (CompareOp::NotEqual, false) => facts.extend([less, more]),
                    (CompareOp::Equal, false) | (CompareOp::NotEqual, true) => {
                        // Only `x != 0` of an unsigned x says anything about a range.
                        if b.form == Affine::constant(0) && a.low >= 0 {
                            facts.push(strictly(more));
                            return true;
                        }
                        return false;
                    }
                    (CompareOp::ULess | CompareOp::SLess, true) => facts.push(strictly(less)),
                    (CompareOp::ULessEqual | CompareOp::SLessEqual, true) => facts.push(less),
                    (CompareOp::ULess | CompareOp::SLess, false) => facts.push(more),
                    (CompareOp::ULessEqual | CompareOp::SLessEqual, false) => facts.push(strictly(more)),
                }
                true
            }
            _ => false,
        }
    }
}

/// The form as the number an unsigned reading of the word gives.
fn as_unsigned(value: &Value, width: u8) -> Option<Value> {
    shifted(value, width, 0)
}

/// The form as the number a signed reading of the word gives.
fn as_signed(value: &Value, width: u8) -> Option<Value> {
    shifted(value, width, -(1i128 << (width - 1)))
}

/// Moves the form by a multiple of 2^width into `start .. start + 2^width`, if one multiple does for
/// all of its range.
fn shifted(value: &Value, width: u8, start: i128) -> Option<Value> {
    let period = 1i128 << width;
    let shift = (value.low - start).div_euclid(period) * period;
    if value.high - shift >= start + period {
        return None;
    }
    let mut form = value.form.clone();
    form.constant -= shift;
    Some(Value { form, low: value.low - shift, high: value.high - shift })
}

/// The least number of the form 2^n - 1 that is not below `x`.
fn next_ones(x: i128) -> i128 {
    if x <= 0 { 0 } else { (1i128 << (128 - x.leading_zeros())) - 1 }
}
