//! `condition ? a : b` with the numbers put in: each arm under what the condition says there.
//!
//! # Requires
//! - a condition and two values that are seen from the same place
//!
//! # Guarantees
//! - the range holds `a` wherever the condition does, and `b` wherever it does not
//! - of an arm that was looked at by itself only the range is used: its atoms may mean nothing elsewhere

use super::affine::{Affine, Atoms};
use super::evaluate::{Arms, Context, Evaluator};
use super::expr::NodeId;
use super::word::Value;

/// Deepest nesting of choices whose arms are looked at.
const MAX_DEPTH: u32 = 3;

/// Most arms that one evaluator looks at. Nodes are shared, so a small expression can have any number of paths.
const MAX_ARMS: u32 = 1024;

/// What is known of an arm.
enum Arm {
    Between(i128, i128),
    /// The condition never chooses it.
    Never,
}

impl Evaluator<'_> {
    /// What is known of a choice that may go either way.
    pub(super) fn choice(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        condition: NodeId,
        [a, b]: [NodeId; 2],
    ) -> Option<Value> {
        let (yes, no) = (self.value(atoms, a), self.value(atoms, b));
        if yes.form == no.form {
            return Some(yes);
        }
        let on_true = self.arm(atoms, condition, true, a, &yes);
        let on_false = self.arm(atoms, condition, false, b, &no);
        let (low, high) = match (on_true, on_false) {
            (Arm::Never, Arm::Between(..)) => return Some(no),
            (Arm::Between(..), Arm::Never) => return Some(yes),
            (Arm::Between(a, b), Arm::Between(c, d)) => (a.min(c), b.max(d)),
            // What is under such facts does not happen.
            (Arm::Never, Arm::Never) => (yes.low.min(no.low), yes.high.max(no.high)),
        };
        if !(0..1 << 62).contains(&(high - low)) {
            return None;
        }
        let Value { form, .. } = self.unknown(atoms, node, low, high);
        // Elsewhere the atom may be more than here.
        form.terms.iter().for_each(|&(id, _)| self.ranges.at_most(atoms, id, high - low));
        Some(Value { form, low, high })
    }

    /// The range of an arm where the condition is `truth`. `anywhere` is the arm's value whatever the condition is.
    fn arm(
        &mut self,
        atoms: &mut Atoms,
        condition: NodeId,
        truth: bool,
        arm: NodeId,
        anywhere: &Value,
    ) -> Arm {
        let wide = Arm::Between(anywhere.low, anywhere.high);
        let Arms { count, depth } = self.arms;
        if count >= MAX_ARMS || depth >= MAX_DEPTH || anywhere.constant().is_some() {
            return wide;
        }
        self.arms = Arms { count: count + 1, depth: depth + 1 };
        let around = (self.context.clone(), self.ranges.clone(), std::mem::take(&mut self.memo));
        let truth = if mutant!(ArmsAreSwapped) { !truth } else { truth };
        let found = match self.suppose(atoms, condition, truth) {
            Some(true) => {
                let value = self.value(atoms, arm);
                let (least, most) = self.bounds().of(atoms, &value.form);
                let (low, high) = (value.low.max(least), value.high.min(most));
                // Of two ranges of one word: they may differ by multiples of its period, so their overlap says nothing.
                if low <= high && high - low < anywhere.high - anywhere.low {
                    Arm::Between(low, high)
                } else {
                    wide
                }
            }
            Some(false) => Arm::Never,
            None => wide,
        };
        (self.context, self.ranges, self.memo) = around;
        self.arms.depth = depth;
        found
    }

    /// Adds what a condition says to the present context. Returns whether it may be `truth`; `None` if it says nothing.
    fn suppose(&mut self, atoms: &mut Atoms, condition: NodeId, truth: bool) -> Option<bool> {
        let mut context = self.context.take().unwrap_or_else(|| self.outside());
        let mut says = None;
        // Once more with what is known then: a part may keep another one from wrapping.
        for _ in 0..2 {
            let mut new = Vec::new();
            self.context = Some(context.clone());
            self.memo.clear();
            self.assume(atoms, condition, truth, &mut new);
            let undivided: Vec<Affine> = new.iter().filter_map(|fact| fact.undivided(atoms)).collect();
            let unreduced: Vec<Affine> = new.iter().filter_map(|fact| fact.unreduced(atoms)).collect();
            new.extend(undivided);
            new.extend(unreduced);
            new.retain(|fact| !context.facts.contains(fact));
            if new.is_empty() {
                break;
            }
            context.facts.extend(new);
            self.ranges.apply(atoms, &context.facts);
            says = Some(!self.ranges.is_empty() && !self.is_excluded(atoms, &context.facts));
            if says == Some(false) {
                break;
            }
        }
        self.context = Some(context);
        self.memo.clear();
        says
    }

    /// The context of no access.
    fn outside(&self) -> Context {
        Context { guards: Vec::new(), facts: self.env.facts.clone(), conditions: Vec::new(), exact: true }
    }
}
