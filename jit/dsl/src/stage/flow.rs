//! Control flow: structured, as SPIR-V asks for. Every branch of the body is walked once.

use rspirv::{
    dr::Operand,
    spirv::{LoopControl, Op, SelectionControl},
};

use super::{
    Val,
    builder::{Builder, Loop},
    shape, with,
};
use crate::{
    capture::Value,
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

impl<T: Value> Yield for Val<T> {
    fn keep(self, slot: &mut Option<u32>) {
        let shape = shape::<T>();
        with(|b| {
            let root = *slot.get_or_insert_with(|| {
                let ty = b.value_type(&shape);
                b.local(ty)
            });
            b.store(root, self.id);
        });
    }

    fn kept(slot: Option<u32>) -> Self {
        let shape = shape::<T>();
        with(|b| {
            let ty = b.value_type(&shape);
            let root = slot.unwrap_or_else(|| b.local(ty));
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
    if !with(Builder::reachable) {
        return apart(|| {
            if let Some(check) = check {
                check();
            }
            body();
        });
    }
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
    with(|b| b.function().loops.push(Loop { merge, next: cont, left }));
    apart(body);
    with(|b| {
        if b.reachable() {
            b.branch(cont);
        }
        left = b.function().loops.pop().is_some_and(|l| l.left);
        b.label(cont);
    });
    next();
    with(|b| {
        b.branch(header);
        b.label(merge);
        if !left {
            b.terminate(Op::Unreachable, Vec::new());
        }
    });
}

/// `loop`.
pub fn loop_(body: impl FnOnce()) {
    rounds(None, body, || {});
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

/// `break`.
pub fn break_() {
    with(|b| {
        if b.reachable()
            && let Some(l) = b.function().loops.last_mut()
        {
            l.left = true;
            let merge = l.merge;
            b.branch(merge);
        }
    });
}

/// `continue`.
pub fn continue_() {
    with(|b| {
        if b.reachable()
            && let Some(l) = b.function().loops.last().copied()
        {
            b.branch(l.next);
        }
    });
}

/// `return` from the kernel itself.
pub fn return_unit() {
    with(|b| {
        if b.reachable() {
            b.terminate(Op::Return, Vec::new());
        }
    });
}

/// A value where none is reached.
pub fn never<T: Value>() -> Val<T> {
    Val::new(0)
}
