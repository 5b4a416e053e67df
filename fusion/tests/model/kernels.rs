//! The kernels that are submitted, and what they do.

use vkfuse::{Accessor, Handler, Promote};

use super::{
    data::{LEN, Memory, Part, Touch},
    random::Random,
    support::Rig,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `z = x + y`
    Add,
    /// `z = x * factor`
    Scale,
    /// `x *= factor`
    InPlace,
    /// `z[n - 1 - i] = x[i]`: other work-groups read what is written.
    Reverse,
    /// Only the even elements of `z`.
    Even,
    /// Sum and greatest of `x` by atomic operations.
    Sum,
    /// `z = x + y` through addresses in push constants.
    Address,
}

/// One submission.
#[derive(Clone, Debug)]
pub struct Call {
    pub kind: Kind,
    pub buffers: [usize; 3],
    pub parts: [Part; 3],
    /// Promotions on the accessors.
    pub promote: [Option<Promote>; 3],
    /// How many elements fewer than there are.
    pub fewer: usize,
    pub factor: u32,
    /// The first work-group.
    pub base: usize,
}

/// Items of a work-group.
const ITEMS: usize = 16;

impl Call {
    pub fn random(random: &mut Random, buffers: usize) -> Call {
        use Kind::*;
        let kind = [Add, Scale, Scale, Add, InPlace, Reverse, Even, Sum, Scale, Address][random.below(10)];
        let mut bufs = [0; 3].map(|_| random.below(buffers as u64));
        if matches!(kind, Reverse | Sum) {
            bufs[1] = (bufs[0] + 1 + random.below(buffers as u64 - 1)) % buffers;
            bufs[2] = (0..buffers).find(|b| !bufs[..2].contains(b)).unwrap_or(0);
        }
        let halves = random.once_in(6);
        let mut part = || if random.once_in(2) { Part::First } else { Part::Second };
        let parts = if halves { [part(), part(), part()] } else { [Part::Whole; 3] };
        let mut promotion = || match random.below(24) {
            0 => Some(Promote::Private),
            1 => Some(Promote::Local),
            2 => Some(Promote::None),
            3 => Some(Promote::Auto),
            _ => None,
        };
        let promote = [promotion(), promotion(), promotion()];
        let fewer = if random.once_in(6) { 20 } else { 0 };
        let base = if !matches!(kind, Sum | Address) && random.once_in(10) { 1 } else { 0 };
        Call { kind, buffers: bufs, parts, promote, fewer, factor: 2 + random.below(3) as u32, base }
    }

    /// How many buffers it takes; and for each whether it reads and writes it.
    fn accesses(&self) -> &'static [(bool, bool)] {
        const READ: (bool, bool) = (true, false);
        const WRITE: (bool, bool) = (false, true);
        const BOTH: (bool, bool) = (true, true);
        match self.kind {
            Kind::Add | Kind::Address => &[READ, READ, WRITE],
            Kind::Scale | Kind::Reverse | Kind::Even => &[READ, WRITE],
            Kind::InPlace => &[BOTH],
            Kind::Sum => &[READ, BOTH, BOTH],
        }
    }

    /// Elements, those before the first work-group included.
    pub fn count(&self) -> usize {
        self.parts[0].range().len() - self.fewer
    }

    /// Whether a buffer is one of its arguments.
    pub fn uses(&self, buffer: usize) -> bool {
        self.buffers[..self.accesses().len()].contains(&buffer)
    }

    /// Takes another buffer for one.
    pub fn replace(&mut self, old: usize, new: usize) {
        let taken = self.accesses().len();
        self.buffers[..taken].iter_mut().filter(|buffer| **buffer == old).for_each(|buffer| *buffer = new);
    }

    /// What it touches, with the promotions in effect.
    pub fn touches(&self, memory: &[Memory]) -> Vec<Touch> {
        let promoted = |k: usize| match (self.promote[k], memory[self.buffers[k]].property) {
            _ if self.kind == Kind::Address => false,
            (Some(Promote::None), _) => false,
            (asked, property) => asked.unwrap_or_default() != Promote::None || property != Promote::None,
        };
        let touch = |(k, (reads, writes)): (usize, &(bool, bool))| Touch {
            buffer: self.buffers[k],
            id: memory[self.buffers[k]].real.id(),
            range: self.parts[k].range(),
            reads: *reads,
            writes: *writes,
            promoted: promoted(k),
        };
        self.accesses().iter().enumerate().map(touch).collect()
    }

    /// Whether the engine has to refuse it, whatever is listed or pending.
    pub fn is_mistake(&self, memory: &[Memory]) -> bool {
        let touches = self.touches(memory);
        if self.kind == Kind::Address {
            return false;
        }
        let contradicts = |k: usize| {
            let exact = |promote| matches!(promote, Promote::Private | Promote::Local);
            let (asked, property) = (self.promote[k].unwrap_or_default(), memory[self.buffers[k]].property);
            exact(asked) && exact(property) && asked != property
        };
        (0..touches.len()).any(contradicts)
            || (0..touches.len()).any(|j| {
                (0..j).any(|i| touches[i].conflicts(&touches[j]) && touches[i].range != touches[j].range)
            })
    }

    /// Writes it into a handler.
    pub fn record(&self, rig: &Rig, memory: &[Memory], h: &mut Handler) {
        let accessor = |k: usize| -> Accessor {
            let (buffer, (reads, writes)) = (&memory[self.buffers[k]].real, self.accesses()[k]);
            let accessor = match (reads, writes) {
                (true, false) => buffer.read(),
                (false, _) => buffer.write(),
                _ => buffer.read_write(),
            };
            let accessor = self.parts[k].of(accessor);
            match self.promote[k] {
                None => accessor,
                Some(Promote::Private) => accessor.promote_private(),
                Some(Promote::Local) => accessor.promote_local(),
                Some(Promote::Auto) => accessor.promote_auto(),
                Some(_) => accessor.no_promotion(),
            }
        };
        let n = self.count() as u32;
        let name = match self.kind {
            Kind::Add => "pair/add",
            Kind::Scale => "pair/scale",
            Kind::InPlace => "access/scale_in_place",
            Kind::Reverse => "access/reverse",
            Kind::Even => "access/even",
            Kind::Sum => "groups/reduce_atomic",
            Kind::Address => "pair/addresses",
        };
        for k in 0..self.accesses().len() {
            if self.kind == Kind::Address {
                let address = memory[self.buffers[k]].real.device_address().expect("an address");
                h.push(&(address + 4 * self.parts[k].range().start as u64)).uses(accessor(k));
            } else {
                h.arg(k as u32, accessor(k));
            }
        }
        h.push(&n);
        if matches!(self.kind, Kind::Scale | Kind::InPlace) {
            h.push(&self.factor);
        }
        let kernel = rig.kernel(name);
        h.spec(0, ITEMS as u32);
        if self.base > 0 {
            let groups = n.div_ceil(ITEMS as u32) - self.base as u32;
            h.dispatch_base(&kernel, [self.base as u32, 0, 0], [groups, 1, 1]);
        } else {
            h.dispatch_items(&kernel, [n, 1, 1]);
        }
    }

    /// Does to the model what the kernel does to memory. What it certainly overwrites can be read again, and a kernel that
    /// goes by bindings and writes everything is known to.
    pub fn apply(&self, memory: &mut [Memory]) {
        let [_, y, z] = self.buffers;
        let target = match self.kind {
            _ if self.fewer > 0 || self.base > 0 => None,
            Kind::Add => Some((z, self.parts[2])),
            Kind::Scale | Kind::Reverse => Some((y, self.parts[1])),
            _ => None,
        };
        let mut lost: Vec<Vec<bool>> = memory.iter().map(|memory| memory.lost.clone()).collect();
        if let Some((buffer, part)) = target {
            lost[buffer][part.range()].fill(false);
        }
        self.compute(memory);
        for (memory, lost) in memory.iter_mut().zip(lost) {
            memory.lost = lost;
        }
    }

    fn compute(&self, memory: &mut [Memory]) {
        let [x, y, z] = self.buffers;
        let [at_x, at_y, at_z] = self.parts.map(|part| part.range().start);
        let n = self.count();
        let items = ITEMS * self.base..n;
        let source = memory[x].data[at_x..at_x + n].to_vec();
        match self.kind {
            Kind::Add | Kind::Address => {
                let other = memory[y].data[at_y..at_y + n].to_vec();
                for i in items {
                    memory[z].set(at_z + i, source[i].wrapping_add(other[i]));
                }
            }
            Kind::Scale => items.for_each(|i| memory[y].set(at_y + i, source[i].wrapping_mul(self.factor))),
            Kind::InPlace => items.for_each(|i| memory[x].set(at_x + i, source[i].wrapping_mul(self.factor))),
            Kind::Reverse => items.for_each(|i| memory[y].set(at_y + n - 1 - i, source[i])),
            Kind::Even => (2 * items.start..n).step_by(2).for_each(|i| memory[y].set(at_y + i, source[i])),
            Kind::Sum => {
                let sum = source.iter().fold(memory[y].data[at_y], |sum, value| sum.wrapping_add(*value));
                memory[y].set(at_y, sum);
                let most = source.iter().copied().fold(memory[z].data[at_z], u32::max);
                memory[z].set(at_z, most);
            }
        }
        debug_assert!(memory.iter().all(|memory| memory.data.len() == LEN));
    }
}
