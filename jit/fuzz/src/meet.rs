//! Whether the members of a fused dispatch may run as one, judged by the accesses of each when it ran by itself.
//!
//! Two accesses of different members to one byte, at least one of them a write, keep their order only if the same owner does
//! both, or if the same work-group does and a barrier stands between the members. What a uniform view reads may be
//! read at any time, so it must not be written at all.

use vkfuse_interp::{AccessKind, Touched, Trace};
use vkfuse_jit::kernel::BindingKind;
use vkfuse_jit::plan::{Members, Plan, Step, Submission};

use crate::owner;

/// Why members may not run as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) uniform: bool,
    pub(crate) no_barrier: bool,
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) object: u32,
    pub(crate) byte: u64,
}

/// A set of numbers, as far as it matters: empty, a single number, or several.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Few(u32);

impl Few {
    const NONE: Self = Self(u32::MAX);
    const MANY: Self = Self(u32::MAX - 1);

    fn add(&mut self, number: u32) {
        if *self == Self::NONE {
            self.0 = number;
        } else if self.0 != number {
            *self = Self::MANY;
        }
    }

    fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Whether both have only this one number.
    fn is_one_with(self, other: Self) -> bool {
        self == other && self != Self::MANY
    }
}

#[derive(Clone, Copy)]
struct Side {
    item: Few,
    group: Few,
}

#[derive(Clone, Copy)]
struct Cell {
    reads: Side,
    writes: Side,
    uniform: bool,
}

const UNTOUCHED: Cell = {
    let nobody = Side { item: Few::NONE, group: Few::NONE };
    Cell { reads: nobody, writes: nobody, uniform: false }
};

/// The accesses of some members, byte by byte.
pub(crate) struct Touches {
    members: Members,
    /// By object: cells, member by member within a grain.
    objects: Vec<Vec<Cell>>,
    grain: u64,
}

fn is_uniform(member: &Submission, touched: &Touched) -> bool {
    let at = (touched.set, touched.binding).into();
    member.kernel.interface.bindings.iter().any(|b| b.at == at && b.kind == BindingKind::UniformBuffer)
}

impl Touches {
    pub(crate) fn of(
        list: &[Submission],
        plan: &Plan,
        step: &Step,
        trace: &Trace,
        lens: &[usize],
    ) -> Option<Self> {
        let placement = step.placement()?;
        let members = step.members.clone();
        let mine = || trace.touches.iter().filter(|t| members.contains(&(t.dispatch as usize)));
        let whole = mine().all(|t| t.offset % 4 == 0 && t.bytes % 4 == 0);
        let grain = if whole { 4 } else { 1 };
        let mut objects: Vec<Vec<Cell>> = vec![Vec::new(); lens.len()];
        for touched in mine() {
            let at = touched.dispatch as usize;
            let rewrite = plan.report.rewrites.iter().find(|one| one.submission == at);
            // Which round of an invocation it was is not written down.
            if rewrite.is_some_and(|one| one.rounds > 1) {
                return None;
            }
            let idle = rewrite.is_some_and(|one| !owner::has_place(one, &list[at], touched.invocation));
            if idle && matches!(touched.kind, AccessKind::Read) {
                continue;
            }
            let owner = owner::of(step, placement, &list[at], rewrite, touched.invocation);
            let cells = &mut objects[touched.object.0 as usize];
            if cells.is_empty() {
                cells.resize(
                    (lens[touched.object.0 as usize] / grain as usize + 1) * members.len(),
                    UNTOUCHED,
                );
            }
            let uniform = is_uniform(&list[at], touched);
            for byte in touched.offset / grain..(touched.offset + u64::from(touched.bytes)).div_ceil(grain) {
                let number = members.iter().position(|&member| member == at)?;
                let cell = &mut cells[byte as usize * members.len() + number];
                let reads = matches!(touched.kind, AccessKind::Read | AccessKind::AtomicRead);
                let side = if reads { &mut cell.reads } else { &mut cell.writes };
                side.item.add(owner.item);
                side.group.add(owner.group);
                cell.uniform |= uniform;
            }
        }
        Some(Self { members, objects, grain })
    }

    /// Bytes that one member writes and another one has to do with, each by its object: the first ones of their grains.
    pub(crate) fn handed(&self) -> Vec<(u32, u64)> {
        let n = self.members.len();
        let is_shared = |row: &[Cell]| {
            let busy = row.iter().filter(|c| !c.reads.item.is_empty() || !c.writes.item.is_empty()).count();
            busy > 1 && row.iter().any(|c| !c.writes.item.is_empty())
        };
        let of = |(object, cells): (usize, &Vec<Cell>)| {
            let shared = cells.chunks_exact(n).enumerate().filter(|(_, row)| is_shared(row));
            shared.map(|(at, _)| (object as u32, at as u64 * self.grain)).collect::<Vec<_>>()
        };
        self.objects.iter().enumerate().flat_map(of).collect()
    }

    /// The first pair of accesses that the plan does not keep in order. `barriers`: submissions behind which one stands.
    pub(crate) fn wrong(&self, barriers: &[usize]) -> Option<Wrong> {
        let n = self.members.len();
        for (object, cells) in self.objects.iter().enumerate() {
            for (number, row) in cells.chunks_exact(n).enumerate() {
                for second in 1..n {
                    for first in 0..second {
                        let (a, b) = (&row[first], &row[second]);
                        let Some((uniform, no_barrier)) = self.pair(a, b, first, second, barriers) else {
                            continue;
                        };
                        return Some(Wrong {
                            uniform,
                            no_barrier,
                            first: self.members[first],
                            second: self.members[second],
                            object: object as u32,
                            byte: number as u64 * self.grain,
                        });
                    }
                }
            }
        }
        None
    }

    fn pair(
        &self,
        a: &Cell,
        b: &Cell,
        first: usize,
        second: usize,
        barriers: &[usize],
    ) -> Option<(bool, bool)> {
        let barrier = barriers.iter().any(|at| self.members[first..second].contains(at));
        for (x, y) in [(a.writes, b.reads), (a.writes, b.writes), (a.reads, b.writes)] {
            if x.item.is_empty() || y.item.is_empty() {
                continue;
            }
            if a.uniform || b.uniform {
                return Some((true, false));
            }
            if x.item.is_one_with(y.item) {
                continue;
            }
            let together = x.group.is_one_with(y.group);
            if !(together && barrier) {
                return Some((false, together));
            }
        }
        None
    }
}
