//! A list with its buffers, and what is known of it by construction.

use std::fmt::Write as _;
use std::sync::Arc;

use super::pool::{Kind, PoolKernel};
use super::random::Random;
use super::text::ORDERS;
use vkfuse_jit::plan::Submission;

/// What kind of kernels a list is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Every item keeps to its own elements.
    Elementwise,
    /// Items of a work-group exchange data, through shared memory, buffers, or one element for each group.
    Tile,
    /// Work-groups walk along rows, as in a softmax.
    Rows,
    /// Stencils, permutations, scatters, reductions over all, shared counters.
    Access,
    /// Several views of few buffers.
    Views,
    /// Anything after anything.
    Mixed,
    /// Two lists of the others, by turns.
    Turns,
    /// One of the others, with buffers that are used again.
    Reused,
    /// Kernels by elements and by rows ([`Seams`](super::Seams)).
    Seams,
    /// Kernels over a grid that read neighbours ([`Grids`](super::Grids)).
    Grids,
    /// Kernels that store elements in an order of their own, with epilogues ([`Epilogues`](super::Epilogues)).
    Epilogues,
    /// Kernels by elements that go by columns ([`Columns`](super::Columns)).
    Columns,
    /// Forms that real programs submit ([`Forms`](super::Forms)).
    Forms,
}

impl Family {
    /// All of a [`Generator`](super::Generator).
    pub const ALL: [Self; 8] = [
        Self::Elementwise,
        Self::Tile,
        Self::Rows,
        Self::Access,
        Self::Views,
        Self::Mixed,
        Self::Turns,
        Self::Reused,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Elementwise => "elementwise",
            Self::Tile => "tile",
            Self::Rows => "rows",
            Self::Access => "access",
            Self::Views => "views",
            Self::Mixed => "mixed",
            Self::Turns => "turns",
            Self::Reused => "reused",
            Self::Seams => "seams",
            Self::Grids => "grids",
            Self::Epilogues => "epilogues",
            Self::Columns => "columns",
            Self::Forms => "forms",
        }
    }
}

/// Whether a list may be fused as a whole, by construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Legality {
    /// No work-group touches what another one has to do with.
    Legal,
    /// Two work-groups meet, so one kernel cannot be right.
    Illegal,
    /// Made at random.
    Unlabelled,
}

impl Legality {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Legal, Self::Illegal, Self::Unlabelled];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Legal => "legal",
            Self::Illegal => "illegal",
            Self::Unlabelled => "unlabelled",
        }
    }
}

/// One list to fuse, and what its buffers hold at first.
#[derive(Clone)]
pub struct Case {
    /// What it is made of.
    pub family: Family,
    /// Whether it may be fused as a whole.
    pub legality: Legality,
    /// What makes an illegal list illegal.
    pub violation: &'static str,
    /// The list.
    pub submissions: Vec<Submission>,
    /// The kernel of each submission.
    pub kernels: Vec<Arc<PoolKernel>>,
    /// Initial contents by buffer number.
    pub buffers: Vec<Vec<u8>>,
}

impl Case {
    /// The case as text, to reproduce it by hand.
    pub fn describe(&self) -> String {
        let mut text = format!("{} {} {}\n", self.family.name(), self.legality.name(), self.violation);
        for (number, (submission, kernel)) in self.submissions.iter().zip(&self.kernels).enumerate() {
            let args: Vec<String> = submission
                .args
                .iter()
                .map(|a| {
                    let range = a.offset..a.offset + a.len;
                    format!(
                        "{}.{} -> buffer {} {range:?} {:?}",
                        a.at.set, a.at.binding, a.buffer.0, a.promote
                    )
                })
                .collect();
            let push: Vec<u32> = submission
                .push
                .chunks_exact(4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            let _ = writeln!(
                text,
                "--- submission {number}: groups {:?}, push {push:?}, constants {:?}, {}\n{}",
                submission.groups,
                kernel.spec,
                args.join(", "),
                kernel.text
            );
        }
        text
    }

    /// The same list with other factors among its push constants, some of them equal. Sizes stay the same.
    pub fn with_other_values(&self, random: &mut Random) -> Case {
        let mut case = self.clone();
        for (submission, kernel) in case.submissions.iter_mut().zip(&self.kernels) {
            let Kind::Known { recipe, .. } = &kernel.kind else { continue };
            let Some(at) = ORDERS[recipe.order].iter().position(|&field| field == 'k') else { continue };
            if let Some(word) = submission.push.get_mut(4 * at..4 * at + 4) {
                word.copy_from_slice(&(1 + random.below(4) as u32).to_le_bytes());
            }
        }
        case
    }

    /// A shorter case that is still wrong, if `wrong` says so of any: submissions and promotions left out one by one.
    pub fn shrunk(&self, wrong: &mut dyn FnMut(&Case) -> bool) -> Case {
        let mut best = self.clone();
        let mut at = 0;
        while at < best.submissions.len() {
            let mut smaller = best.clone();
            smaller.submissions.remove(at);
            smaller.kernels.remove(at);
            if !smaller.submissions.is_empty() && wrong(&smaller) {
                best = smaller;
            } else {
                at += 1;
            }
        }
        for buffer in 0..best.buffers.len() as u64 {
            let mut smaller = best.clone();
            let args = smaller.submissions.iter_mut().flat_map(|s| &mut s.args);
            args.filter(|a| a.buffer.0 == buffer).for_each(|a| a.promote = vkfuse_jit::plan::Promote::None);
            if wrong(&smaller) {
                best = smaller;
            }
        }
        best
    }
}
