//! Control flow: structured, as SPIR-V asks for. Every branch of the body is walked once.

use std::{cell::Cell, collections::BTreeSet, marker::PhantomData};

use rspirv::{
    dr::Operand,
    spirv::{LoopControl, Op, SelectionControl},
};

use super::{
    Place, Val, assign,
    builder::{Builder, CHECK_ASSERTED, Label, Loop},
    constant, not, rd, shape, var, with,
};
use crate::{
    capture::Local,
    shape::ScalarType,
    value::{Int, Ordered},
};

/// What a branch gives.
pub trait Yield: Sized {
    /// Keeps what a branch gave, where it can be reached.
    fn keep(self, slot: &mut Option<u32>);
    /// What was kept.
    fn kept(slot: Option<u32>) -> Self;
}

impl Yield for () {
    fn keep(self, _: &mut Option<u32>) {}
    fn kept(_: Option<u32>) {}
}

impl<T: Local> Yield for Val<T> {
    fn keep(self, slot: &mut Option<u32>) {
        let shape = shape::<T>();
        with(|b| {
            let root = *slot.get_or_insert_with(|| {
                let ty = b.value_type(&shape);
                b.temporary(ty)
            });
            b.store(root, self.id);
        });
    }

    fn kept(slot: Option<u32>) -> Self {
        let shape = shape::<T>();
        with(|b| {
            let ty = b.value_type(&shape);
            let root = slot.unwrap_or_else(|| b.temporary(ty));
            Val::new(b.load(root, ty))
        })
    }
}

impl Builder {
    pub(super) fn selection_merge(&mut self, merge: u32) {
        let none = Operand::SelectionControl(SelectionControl::NONE);
        self.effect(Op::SelectionMerge, vec![Operand::IdRef(merge), none]);
    }
}

/// `if` with a value, and the short-circuit operators.
pub fn if_value<R: Yield>(condition: Val<bool>, then: impl FnOnce() -> R, other: impl FnOnce() -> R) -> R {
    if !with(Builder::reachable) {
        // For their types alone.
        let value = apart(then);
        apart(other);
        return value;
    }
    let (no, merge) = with(|b| {
        let (yes, no, merge) = (b.fresh(), b.fresh(), b.fresh());
        b.selection_merge(merge);
        b.branch_if(condition.id, yes, no);
        b.label(yes);
        (no, merge)
    });
    let mut slot = None;
    let mut reached = branch(then, merge, &mut slot);
    with(|b| b.label(no));
    reached |= branch(other, merge, &mut slot);
    with(|b| b.label(merge));
    if !reached {
        with(|b| b.terminate(Op::Unreachable, Vec::new()));
    }
    R::kept(slot)
}

/// Runs what is not always reached. What it put into memory is not there afterwards.
fn apart<R>(f: impl FnOnce() -> R) -> R {
    let spilled = with(|b| b.function().spilled.clone());
    let result = f();
    with(|b| b.function().spilled = spilled);
    result
}

fn branch<R: Yield>(f: impl FnOnce() -> R, merge: u32, slot: &mut Option<u32>) -> bool {
    let value = apart(f);
    let reached = with(Builder::reachable);
    if reached {
        value.keep(slot);
        with(|b| b.branch(merge));
    }
    reached
}

/// `if` without `else` and without a value.
pub fn if_then(condition: Val<bool>, then: impl FnOnce()) {
    if !with(Builder::reachable) {
        return apart(then);
    }
    let merge = with(|b| {
        let (yes, merge) = (b.fresh(), b.fresh());
        b.selection_merge(merge);
        b.branch_if(condition.id, yes, merge);
        b.label(yes);
        merge
    });
    branch(then, merge, &mut None);
    with(|b| b.label(merge));
}

/// The parts of a loop: what decides whether a round is done, the round, and what is done before the next.
fn rounds(check: Option<&mut dyn FnMut() -> Val<bool>>, body: impl FnOnce(), next: impl FnOnce()) {
    rounds_of(false, check, body, next);
}

fn rounds_of(
    once: bool,
    check: Option<&mut dyn FnMut() -> Val<bool>>,
    body: impl FnOnce(),
    next: impl FnOnce(),
) {
    let label = with(|b| b.function().label.take());
    if !with(Builder::reachable) {
        return apart(|| {
            if let Some(check) = check {
                check();
            }
            body();
        });
    }
    let label = label.map(|name| with(|b| b.named(name)));
    let (header, cont, merge) = with(|b| {
        let (header, first) = (b.fresh(), b.fresh());
        let (cont, merge) = (b.fresh(), b.fresh());
        b.branch(header);
        b.label(header);
        let none = Operand::LoopControl(LoopControl::NONE);
        b.effect(Op::LoopMerge, vec![Operand::IdRef(merge), Operand::IdRef(cont), none]);
        b.branch(first);
        b.label(first);
        (header, cont, merge)
    });
    let mut left = false;
    if let Some(check) = check {
        let go = check();
        with(|b| {
            let round = b.fresh();
            b.branch_if(go.id, round, merge);
            b.label(round);
        });
        left = true;
    }
    let through = BTreeSet::new();
    with(|b| b.function().loops.push(Loop { merge, next: cont, left, label, once, through }));
    apart(body);
    let mut through = BTreeSet::new();
    with(|b| {
        if b.reachable() {
            b.branch(cont);
        }
        if let Some(ended) = b.function().loops.pop() {
            (left, through) = (ended.left, ended.through);
        }
        b.label(cont);
    });
    next();
    with(|b| {
        b.branch(header);
        b.label(merge);
        if !left {
            b.terminate(Op::Unreachable, Vec::new());
        }
        for (to, end) in through {
            b.pass(to, end);
        }
    });
}

/// Gives the loop that comes next a label.
pub fn label(name: &'static str) {
    with(|b| b.function().label = Some(name));
}

impl Builder {
    /// A label, which nothing was left for yet.
    fn named(&mut self, name: &'static str) -> Label {
        let (ty, no) = (self.bool_type(), self.scalar(ScalarType::Bool, 0));
        let asked = [0; 2].map(|_| {
            let asked = self.temporary(ty);
            self.store(asked, no);
            asked
        });
        Label { name, asked }
    }

    /// Leaves the innermost loop.
    fn leave(&mut self, end: bool) {
        if let Some(l) = self.function().loops.last_mut() {
            l.left |= end;
            let to = if end { l.merge } else { l.next };
            self.branch(to);
        }
    }

    /// Leaves the loop that a body is directly inside of.
    fn leave_innermost(&mut self, end: bool) {
        let loops = &self.function().loops;
        let Some(last) = loops.len().checked_sub(1) else { return };
        match (loops[last].once, end) {
            (true, true) => self.leave_to(last - 1, true),
            (true, false) => self.leave(true),
            (false, end) => self.leave(end),
        }
    }

    /// Leaves for a loop with a label.
    fn leave_for(&mut self, name: &str, end: bool) {
        let loops = &self.function().loops;
        let is_named = |l: &Loop| l.label.as_ref().is_some_and(|label| label.name == name);
        let Some(to) = loops.iter().rposition(is_named) else { return };
        // The next round of a loop over captures is behind the end of this one.
        if !end && loops.get(to + 1).is_some_and(|round| round.once) {
            return self.leave_to(to + 1, true);
        }
        self.leave_to(to, end);
    }

    /// Leaves for a loop around. SPIR-V can leave one loop at a time: what is inside of that loop ends, and behind its end the
    /// variable of the label says to go on.
    fn leave_to(&mut self, to: usize, end: bool) {
        let loops = &mut self.function().loops;
        if to + 1 == loops.len() {
            return self.leave(end);
        }
        let asked = loops[to].label.as_ref().map(|label| label.asked[usize::from(end)]);
        loops[to + 1..].iter_mut().for_each(|l| _ = l.through.insert((to, end)));
        let yes = self.scalar(ScalarType::Bool, 1);
        self.store(asked.unwrap_or(0), yes);
        self.leave(true);
    }

    /// Goes on to a loop around, if that is what the loop that ended here was left for.
    fn pass(&mut self, to: usize, end: bool) {
        let loops = &self.function().loops;
        let (is_there, label) = (to + 1 == loops.len(), loops.get(to).and_then(|l| l.label.as_ref()));
        let Some(asked) = label.map(|label| label.asked[usize::from(end)]) else { return };
        let (ty, no) = (self.bool_type(), self.scalar(ScalarType::Bool, 0));
        let condition = self.load(asked, ty);
        let (yes, merge) = (self.fresh(), self.fresh());
        self.selection_merge(merge);
        self.branch_if(condition, yes, merge);
        self.label(yes);
        if is_there {
            self.store(asked, no);
            self.leave(end);
        } else {
            self.leave(true);
        }
        self.label(merge);
    }
}

/// What `break` gives to a `loop`.
#[derive(Debug)]
pub struct Broken<R> {
    slot: Cell<Option<u32>>,
    ty: PhantomData<fn(R)>,
}

impl<R: Yield> Broken<R> {
    /// Gives it; `break` follows.
    pub fn give(&self, value: R) {
        let mut slot = self.slot.get();
        value.keep(&mut slot);
        self.slot.set(slot);
    }
}

/// `loop` with a value.
pub fn loop_value<R: Yield>(body: impl FnOnce(&Broken<R>)) -> R {
    let broken = Broken { slot: Cell::new(None), ty: PhantomData };
    loop_(|| body(&broken));
    R::kept(broken.slot.get())
}

/// What a chain of conditions comes to.
pub struct Chain<R> {
    holds: Place<bool>,
    gives: Broken<R>,
}

impl<R: Yield> Chain<R> {
    /// All of them hold.
    pub fn holds(&self, then: impl FnOnce() -> R) {
        assign(self.holds, constant(true));
        self.give(then());
    }

    fn give(&self, value: R) {
        if with(Builder::reachable) {
            self.gives.give(value);
        }
    }
}

/// `if` with several conditions that may bind names. `conditions` runs them nested in each other, with the code for the case that
/// all hold innermost. `other` is the code of the `else` branch, which stands once behind them: nested, there would be a copy for each condition.
pub fn if_chain<R: Yield>(conditions: impl FnOnce(&Chain<R>), other: impl FnOnce() -> R) -> R {
    let chain =
        Chain { holds: var(constant(false)), gives: Broken { slot: Cell::new(None), ty: PhantomData } };
    conditions(&chain);
    if_then(not(rd(chain.holds)), || chain.give(other()));
    R::kept(chain.gives.slot.get())
}

/// `loop`.
pub fn loop_(body: impl FnOnce()) {
    rounds(None, body, || {});
}

/// A body once for each number, one after the other: a loop of one round around them all, which `break` leaves, and one around
/// each, which `continue` leaves.
pub(super) fn once_each(count: usize, mut body: impl FnMut(usize)) {
    let hidden = |b: &mut Builder| _ = b.function().label.get_or_insert("");
    with(hidden);
    rounds(
        None,
        || {
            for k in 0..count {
                with(hidden);
                let round = || {
                    body(k);
                    with(|b| {
                        if b.reachable() {
                            b.leave(true);
                        }
                    });
                };
                rounds_of(true, None, round, || {});
            }
            with(|b| {
                if b.reachable() {
                    b.leave(true);
                }
            });
        },
        || {},
    );
}

/// `while`.
pub fn while_(mut check: impl FnMut() -> Val<bool>, body: impl FnOnce()) {
    rounds(Some(&mut check), body, || {});
}

/// `for` over `first..end`.
pub fn for_range<T: Int>(first: Val<T>, end: Val<T>, body: impl FnOnce(Val<T>)) {
    let counter = super::var(first);
    rounds(
        Some(&mut || super::lt(super::rd(counter), end)),
        || body(super::rd(counter)),
        || {
            let next = super::add(super::rd(counter), super::constant(T::ONE));
            super::assign(counter, next);
        },
    );
}

/// `for` over `first..=last`: as many rounds as Rust makes, also where `last` is the greatest number of its type.
pub fn for_inclusive<T: Int + Ordered>(first: Val<T>, last: Val<T>, body: impl FnOnce(Val<T>)) {
    let counter = super::var(first);
    let go = super::var(super::le(first, last));
    rounds(
        Some(&mut || super::rd(go)),
        || body(super::rd(counter)),
        || {
            let now = super::rd(counter);
            super::assign(go, super::ne(now, last));
            super::assign(counter, super::add(now, super::constant(T::ONE)));
        },
    );
}

/// `for` over a range, from its end on if `back`, and in steps if there is a `step`; one of zero is one. As many rounds as Rust
/// makes, also where a further step would leave the type.
pub fn for_steps<T: Int + Ordered>(
    (first, end): (Val<T>, Val<T>),
    inclusive: bool,
    back: bool,
    step: Option<Val<u32>>,
    body: impl FnOnce(Val<T>),
) {
    let one = super::constant(T::ONE);
    if back && step.is_none() && !inclusive {
        // What is common gets the form in which rounds can be counted.
        let counter = super::var(end);
        let down = || {
            let now = super::sub(super::rd(counter), one);
            super::assign(counter, now);
            body(now);
        };
        return rounds(Some(&mut || super::gt(super::rd(counter), first)), down, || {});
    }
    let (any, last) =
        if inclusive { (super::le(first, end), end) } else { (super::lt(first, end), super::sub(end, one)) };
    let (from, to) = if back { (last, first) } else { (first, last) };
    let step = step.map(|step| super::max(step, super::constant(1_u32)));
    let (counter, go) = (super::var(from), super::var(any));
    rounds(
        Some(&mut || super::rd(go)),
        || body(super::rd(counter)),
        || {
            let now = super::rd(counter);
            super::assign(go, step.map_or_else(|| super::ne(now, to), |step| is_as_far(now, to, back, step)));
            let step = step.map_or(one, super::cast::<u32, T>);
            super::assign(counter, if back { super::sub(now, step) } else { super::add(now, step) });
        },
    );
}

/// Whether from `now` to `to`, where the way back goes down, there is room for a step.
fn is_as_far<T: Int>(now: Val<T>, to: Val<T>, back: bool, step: Val<u32>) -> Val<bool> {
    let (low, high) = if back { (to, now) } else { (now, to) };
    // Without their signs, the distance of any two has room in the words that hold them.
    if T::TYPE.bits() == 64 {
        let way = super::sub(super::cast::<T, u64>(high), super::cast::<T, u64>(low));
        return super::ge(way, super::cast::<u32, u64>(step));
    }
    let way = super::sub(super::cast::<T, u32>(high), super::cast::<T, u32>(low));
    super::ge(way, step)
}

/// `break`.
pub fn break_() {
    with(|b| {
        if b.reachable() {
            b.leave_innermost(true);
        }
    });
}

/// `continue`.
pub fn continue_() {
    with(|b| {
        if b.reachable() {
            b.leave_innermost(false);
        }
    });
}

/// `break` with a label.
pub fn break_to(label: &str) {
    with(|b| {
        if b.reachable() {
            b.leave_for(label, true);
        }
    });
}

/// `continue` with a label.
pub fn continue_to(label: &str) {
    with(|b| {
        if b.reachable() {
            b.leave_for(label, false);
        }
    });
}

/// `return` from the kernel itself.
pub fn return_unit() {
    with(|b| b.leave_with(None));
}

/// A value where none is reached.
pub fn never<T: Local>() -> Val<T> {
    Val::new(0)
}

/// `assert!`: the checking mode reports where it does not hold.
pub fn assert(condition: Val<bool>, what: &'static str) {
    with(|b| {
        if !b.options.checking || !b.reachable() {
            return;
        }
        let known = b.assertions.iter().position(|&known| known == what);
        let number = known.unwrap_or_else(|| {
            b.assertions.push(what);
            b.assertions.len() - 1
        });
        let number = b.u32(number as u32);
        b.report_out_of_range(condition.id, CHECK_ASSERTED, number);
    });
}

/// `unreachable!`: the checking mode reports that it was reached, and otherwise the value is zero.
pub fn nowhere<T: Local>(what: &'static str) -> Val<T> {
    assert(super::constant(false), what);
    with(|b| Val::new(b.zero(&shape::<T>())))
}
