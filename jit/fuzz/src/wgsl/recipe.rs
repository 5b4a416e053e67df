//! Random kernels as data: what a kernel reads, does and writes.

use super::bench::{Bench, Cover, Element};
use super::pattern::Pattern;
use super::random::Random;

/// What a kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Each item keeps to its own elements.
    Elementwise,
    /// Items of a group exchange data, through shared memory or through buffers.
    Tile,
    /// One access goes to other groups' elements.
    Cross,
}

/// What happens between reading and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing.
    Plain,
    /// A short loop in registers.
    Loop,
    /// Shared memory, a barrier, another item's value.
    Exchange,
    /// The sum of the group's values up to the item's.
    Scan,
    /// The group's sum, taken off every value.
    Normalise,
    /// The group's sum, written by one item.
    Reduce,
}

/// How the result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Plain,
    /// Only under a condition.
    Conditional,
    /// Under a condition, and something else otherwise.
    Branches,
    Switch,
    Select,
    /// Added to what is there.
    InPlace,
    /// By an atomic operation: add, maximum, minimum, xor.
    Atomic(u8),
}

/// A small table that each element picks a number from: something read at a place that varies, and no buffer of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// An array among the push constants.
    Push,
    /// A component of a vector among the push constants.
    PushVector,
    /// A uniform buffer.
    Uniform,
    /// A constant array.
    Constant,
    /// An array of each invocation's own, which changes as it goes.
    Private,
}

impl Pick {
    const ALL: [Self; 6] =
        [Self::Push, Self::Push, Self::PushVector, Self::Uniform, Self::Constant, Self::Private];

    /// Bytes of push constants of a kernel that picks from those, which are kept in one block.
    pub(crate) fn push_bytes(self) -> usize {
        match self {
            Self::Push => 36,
            Self::PushVector => 48,
            _ => 0,
        }
    }

    /// How many numbers it has.
    pub(crate) fn len(self) -> u32 {
        match self {
            Self::Push | Self::PushVector | Self::Uniform => 4,
            Self::Constant => 5,
            Self::Private => 3,
        }
    }
}

/// How the items beyond the last element are kept out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// By an early return.
    Return,
    /// By an `if` around the work.
    Inside,
    /// By several `if`s, one for each dimension, or by another comparison.
    Nested,
    /// In signed arithmetic.
    Signed,
    /// By the length of the output.
    Length,
    /// By a specialization constant, which is less than there may be.
    Constant,
    /// There are none.
    Exact,
}

/// A kernel.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) bench: Bench,
    pub(crate) reads: Vec<Pattern>,
    pub(crate) write: Pattern,
    /// A second output, at the item's own element.
    pub(crate) second: bool,
    pub(crate) work: Work,
    pub(crate) store: Store,
    pub(crate) guard: Guard,
    /// Whether nothing but the global id is used.
    pub(crate) item_only: bool,
    /// Whether four elements go as one vector.
    pub(crate) wide: bool,
    /// Whether the local size and a factor are specialization constants.
    pub(crate) open: bool,
    /// Order of the push constants.
    pub(crate) order: usize,
    /// Which of several ways of writing the same.
    pub(crate) variant: usize,
    /// The output is in descriptor set 1.
    pub(crate) far: bool,
    pub(crate) pick: Option<Pick>,
}

const OWN: [Pattern; 8] = [
    Pattern::Own,
    Pattern::Own,
    Pattern::Own,
    Pattern::Own,
    Pattern::Shift(3),
    Pattern::Reverse,
    Pattern::Even,
    Pattern::Odd,
];

impl Recipe {
    /// A random kernel of a bench for a role.
    pub(crate) fn random(random: &mut Random, bench: Bench, role: Role) -> Self {
        let mut recipe = Self::elementwise(random, bench);
        match role {
            Role::Elementwise => {}
            Role::Tile => recipe.make_tile(random),
            Role::Cross => recipe.make_cross(random),
        }
        let plain = recipe.work == Work::Plain || recipe.work == Work::Loop;
        let patterns = || recipe.reads.iter().chain([&recipe.write]);
        let by_group =
            |p: &Pattern| p.is_shared_in_group() || matches!(p, Pattern::NextSlot | Pattern::AllSlots);
        recipe.item_only = plain
            && matches!(bench.cover, Cover::One | Cover::Blocked(_))
            && !patterns().any(by_group)
            && !random.one_in(3);
        if bench.local[1] * bench.local[2] > 1 || recipe.wide {
            recipe.open = false;
        }
        if bench.cover != Cover::One || (!plain && recipe.guard == Guard::Return) {
            recipe.guard = Guard::Inside;
        }
        if recipe.guard == Guard::Length && (bench.dims > 1 || recipe.write != Pattern::Own) {
            recipe.guard = Guard::Nested;
        }
        if recipe.guard == Guard::Constant && (bench.dims > 1 || !recipe.open) {
            recipe.guard = Guard::Signed;
        }
        recipe
    }

    fn elementwise(random: &mut Random, bench: Bench) -> Self {
        let pattern = |random: &mut Random| match bench.dims {
            2 if random.one_in(5) => Pattern::Transpose,
            _ => *random.pick(&OWN),
        };
        let reads = (0..1 + random.below(2)).map(|_| pattern(random)).collect();
        let store = match random.below(14) {
            0 => Store::Conditional,
            1 => Store::Branches,
            2 => Store::Switch,
            3 => Store::Select,
            4 | 5 => Store::InPlace,
            6 if bench.element == Element::U32 => Store::Atomic(random.below(4) as u8),
            _ => Store::Plain,
        };
        let guards = [
            Guard::Return,
            Guard::Return,
            Guard::Inside,
            Guard::Inside,
            Guard::Nested,
            Guard::Signed,
            Guard::Length,
            Guard::Constant,
            Guard::Exact,
        ];
        let mut recipe = Self {
            bench,
            reads,
            write: if random.one_in(3) { pattern(random) } else { Pattern::Own },
            second: random.one_in(6),
            work: if random.one_in(5) { Work::Loop } else { Work::Plain },
            store,
            guard: *random.pick(&guards),
            item_only: false,
            wide: bench.cover == Cover::Blocked(4) && random.one_in(3),
            open: random.one_in(4),
            order: random.below(3),
            variant: random.below(4),
            far: random.one_in(6),
            pick: random.one_in(3).then(|| *random.pick(&Pick::ALL)),
        };
        if recipe.wide {
            recipe.reads.iter_mut().for_each(|p| *p = Pattern::Own);
            recipe.write = Pattern::Own;
            recipe.store = Store::Plain;
            recipe.second = false;
            recipe.pick = None;
        }
        recipe
    }

    fn make_tile(&mut self, random: &mut Random) {
        self.wide = false;
        self.store = Store::Plain;
        self.second = false;
        let own = |p: &mut Pattern| *p = Pattern::Own;
        if self.bench.cover == Cover::Rows {
            self.write = Pattern::Own;
            self.reads.iter_mut().for_each(own);
            match random.below(4) {
                0 => {
                    self.work = Work::Reduce;
                    self.write = Pattern::Slot;
                }
                1 => self.reads.push(Pattern::Slot),
                2 => {
                    self.reads[0] =
                        *random.pick(&[Pattern::GroupReverse, Pattern::GroupRotate, Pattern::Leader])
                }
                _ => self.write = Pattern::GroupReverse,
            }
            return;
        }
        let by_memory = |random: &mut Random, bench: &Bench| match bench.items() {
            _ if bench.dims > 1 => Pattern::Leader,
            n if n.is_multiple_of(2) && random.one_in(3) => Pattern::GroupXor,
            _ => *random.pick(&[
                Pattern::GroupReverse,
                Pattern::GroupReverse,
                Pattern::GroupRotate,
                Pattern::Leader,
            ]),
        };
        self.reads.iter_mut().for_each(own);
        self.write = Pattern::Own;
        match random.below(9) {
            0 | 1 => self.work = Work::Exchange,
            2 => self.work = Work::Scan,
            3 => self.work = Work::Normalise,
            4 => {
                self.work = Work::Reduce;
                self.write = Pattern::Slot;
            }
            5 => self.reads.push(Pattern::Slot),
            6 => self.reads[0] = by_memory(random, &self.bench),
            7 if self.bench.element == Element::U32 => {
                self.write = Pattern::Slot;
                self.store = Store::Atomic(random.below(4) as u8);
            }
            _ if self.bench.dims == 1 => {
                let pattern = by_memory(random, &self.bench);
                self.write = if pattern == Pattern::Leader { Pattern::GroupReverse } else { pattern };
            }
            _ => self.work = Work::Exchange,
        }
        if self.work != Work::Plain && self.work != Work::Loop && random.one_in(4) {
            self.store = Store::InPlace;
        }
        if self.write == Pattern::Slot && self.store == Store::InPlace {
            self.store = Store::Plain;
        }
    }

    fn make_cross(&mut self, random: &mut Random) {
        use Pattern::{
            AllSlots, Below, Bin, Half, Next, NextSlot, Previous, Reverse, Rotate, Table, Thrice, Transpose,
            Zero,
        };
        self.wide = false;
        let by_rows = self.bench.cover == Cover::Rows;
        self.reads.iter_mut().for_each(|p| *p = Pattern::Own);
        if matches!(self.store, Store::Conditional | Store::Atomic(_)) {
            self.store = Store::Plain;
        }
        if matches!(self.guard, Guard::Constant) {
            self.guard = Guard::Inside;
        }
        let turned = match self.bench.dims {
            2 => Transpose,
            _ if by_rows => Rotate,
            _ => Reverse,
        };
        match random.below(12) {
            0 | 1 => self.reads = vec![Next, Previous],
            2 => self.reads = vec![if self.bench.dims > 1 || by_rows { Below } else { Next }, Pattern::Own],
            3 => self.reads[0] = turned,
            4 => self.reads[0] = *random.pick(&[Zero, Half, Thrice]),
            5 => self.reads[0] = Table,
            6 => self.reads.push(*random.pick(&[NextSlot, AllSlots])),
            7 | 8 => self.write = turned,
            9 => self.write = *random.pick(&[Rotate, Table]),
            _ if self.bench.element == Element::U32 => {
                self.store = Store::Atomic(random.below(4) as u8);
                self.write = *random.pick(&[Bin, Zero]);
            }
            _ => self.write = Rotate,
        }
        if matches!(self.reads.last(), Some(NextSlot | AllSlots)) && self.bench.cover == Cover::GridStride {
            self.reads = vec![Zero];
        }
        // An output that is read too must be read at the same place, so that the kernel does not race.
        if self.write.form() == super::pattern::Form::Cross && self.store == Store::InPlace {
            self.store = Store::Plain;
        }
    }

    /// Whether every element is written, whatever the data are.
    pub(crate) fn writes_all(&self) -> bool {
        let partial = matches!(self.store, Store::Conditional) || self.guard == Guard::Constant || self.wide;
        !partial
    }

    /// Whether every element is read.
    pub(crate) fn reads_all(&self) -> bool {
        self.guard != Guard::Constant && !self.wide && !self.reads_on_one_side()
    }

    /// Whether there is a branch on the element's number, with nothing loaded on its other side.
    pub(crate) fn reads_on_one_side(&self) -> bool {
        self.store == Store::Branches && self.order == 0 && self.variant < 2 && !self.second
    }
}
