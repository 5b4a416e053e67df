//! The kernels that are submitted, and what they do.

use std::ops::Range;

use vkfuse::{Accessor, Handler, Kernel, Promote, module::ElementType};

use super::{
    data::{Memory, Part, Touch},
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
    /// Items of a work-group, a specialization constant.
    pub items: usize,
    /// The promotions that its buffers asked for when it was submitted, once it was.
    pub asked: Option<[Promote; 3]>,
}

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
        let fewer = if random.once_in(4) { [1, 7, 20, 31][random.below(4)] } else { 0 };
        let base = if !matches!(kind, Sum | Address) && random.once_in(10) { 1 } else { 0 };
        let items = if random.once_in(8) { [8, 32][random.below(2)] } else { 16 };
        let factor = 2 + random.below(3) as u32;
        Call { kind, buffers: bufs, parts, promote, fewer, factor, base, items, asked: None }
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
        let promoted = |k: usize| match (self.promote[k], self.asks(memory, k)) {
            _ if self.kind == Kind::Address => false,
            (Some(Promote::None), _) => false,
            (asked, property) => asked.unwrap_or_default() != Promote::None || property != Promote::None,
        };
        let touch = |(k, (reads, writes)): (usize, &(bool, bool))| {
            let (buffer, range) = (self.buffers[k], self.parts[k].range());
            Touch { promoted: promoted(k), ..memory[buffer].touch(buffer, range, *reads, *writes) }
        };
        self.accesses().iter().enumerate().map(touch).collect()
    }

    /// The elements of an argument that it reads, if it reads any.
    pub fn reads(&self, k: usize) -> Range<usize> {
        let start = self.parts[k].range().start;
        let is_sum = self.kind == Kind::Sum && k > 0;
        start..start + if is_sum { 1 } else { self.count() }
    }

    /// The promotion that the buffer of an argument asked for as it was submitted, or asks for now.
    fn asks(&self, memory: &[Memory], k: usize) -> Promote {
        self.asked.map_or(memory[self.buffers[k]].property, |asked| asked[k])
    }

    /// The same call with what its buffers ask for now.
    pub fn as_submitted(&self, memory: &[Memory]) -> Call {
        Call { asked: Some(self.buffers.map(|buffer| memory[buffer].property)), ..self.clone() }
    }

    /// What was asked for of a buffer, by each argument that it is.
    pub fn asked_of(&self, buffer: usize) -> impl Iterator<Item = Promote> {
        let taken = self.accesses().len();
        let of = self.buffers.into_iter().zip(self.asked.unwrap_or_default()).take(taken);
        of.filter(move |(one, _)| *one == buffer).map(|(_, asked)| asked)
    }

    /// Whether its own items are in each other's way, so that there is no one result: different buffers may be the same
    /// bytes.
    pub fn is_racy(&self, memory: &[Memory]) -> bool {
        let touches = self.touches(memory);
        let meets = |i: usize, j: usize| touches[i].conflicts(&touches[j]);
        let any = |races: &dyn Fn(usize, usize) -> bool| {
            (0..touches.len()).any(|j| (0..j).any(|i| meets(i, j) && races(i, j)))
        };
        match self.kind {
            Kind::Reverse | Kind::Sum => any(&|_, _| true),
            // Items go through equal ranges in step, and through ranges that overlap in part out of step.
            _ => any(&|i, j| touches[i].bytes != touches[j].bytes),
        }
    }

    /// Whether the engine has to refuse it, whatever is listed or pending.
    pub fn is_mistake(&self, memory: &[Memory]) -> bool {
        if self.kind == Kind::Address {
            return false;
        }
        let contradicts = |k: usize| {
            let exact = |promote| matches!(promote, Promote::Private | Promote::Local);
            let (asked, property) = (self.promote[k].unwrap_or_default(), memory[self.buffers[k]].property);
            exact(asked) && exact(property) && asked != property
        };
        (0..self.accesses().len()).any(contradicts)
    }

    /// What is to be written into a handler, on any thread.
    pub fn prepare(&self, rig: &Rig, memory: &[Memory]) -> Prepared {
        let accessor = |k: usize| -> Accessor<'static> {
            let (buffer, (reads, writes)) = (&memory[self.buffers[k]].real, self.accesses()[k]);
            let accessor = match (reads, writes) {
                (true, false) => buffer.read(),
                (false, _) => buffer.write(),
                _ => buffer.read_write(),
            };
            // Words stand for elements of any type.
            let accessor = self.parts[k].of(accessor).elements(ElementType::Bytes).into_owned();
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
        let addresses = (self.kind == Kind::Address).then(|| {
            let address = |k: usize| {
                let address = memory[self.buffers[k]].real.device_address().expect("an address");
                address + 4 * self.parts[k].range().start as u64
            };
            [0, 1, 2].map(address)
        });
        Prepared {
            kernel: rig.kernel(name),
            accessors: (0..self.accesses().len()).map(accessor).collect(),
            addresses,
            n,
            factor: matches!(self.kind, Kind::Scale | Kind::InPlace).then_some(self.factor),
            base: self.base as u32,
            items: self.items as u32,
        }
    }

    /// Does to the model what the kernel does to memory. What it certainly overwrites can be read again, and a kernel that
    /// goes by bindings and writes everything is known to.
    pub fn apply(&self, memory: &[Memory]) {
        let [_, y, z] = self.buffers;
        let target = match self.kind {
            _ if self.fewer > 0 || self.base > 0 => None,
            Kind::Add => Some((z, self.parts[2])),
            Kind::Scale | Kind::Reverse => Some((y, self.parts[1])),
            _ => None,
        };
        if let Some((buffer, part)) = target {
            memory[buffer].mark(&part.range(), false);
        }
        self.compute(memory);
    }

    fn compute(&self, memory: &[Memory]) {
        let [x, y, z] = self.buffers;
        let [at_x, at_y, at_z] = self.parts.map(|part| part.range().start);
        let n = self.count();
        let items = self.items * self.base..n;
        let source = memory[x].values(at_x..at_x + n);
        match self.kind {
            Kind::Add | Kind::Address => {
                let other = memory[y].values(at_y..at_y + n);
                for i in items {
                    memory[z].set(at_z + i, source[i].wrapping_add(other[i]));
                }
            }
            Kind::Scale => items.for_each(|i| memory[y].set(at_y + i, source[i].wrapping_mul(self.factor))),
            Kind::InPlace => items.for_each(|i| memory[x].set(at_x + i, source[i].wrapping_mul(self.factor))),
            Kind::Reverse => items.for_each(|i| memory[y].set(at_y + n - 1 - i, source[i])),
            Kind::Even => (2 * items.start..n).step_by(2).for_each(|i| memory[y].set(at_y + i, source[i])),
            Kind::Sum => {
                let sum = source
                    .iter()
                    .fold(memory[y].values(at_y..at_y + 1)[0], |sum, value| sum.wrapping_add(*value));
                memory[y].set(at_y, sum);
                let most = source.iter().copied().fold(memory[z].values(at_z..at_z + 1)[0], u32::max);
                memory[z].set(at_z, most);
            }
        }
    }
}

/// A call with everything it needs at hand.
pub struct Prepared {
    kernel: Kernel,
    accessors: Vec<Accessor<'static>>,
    /// Instead of bindings.
    addresses: Option<[u64; 3]>,
    n: u32,
    factor: Option<u32>,
    base: u32,
    items: u32,
}

impl Prepared {
    /// Writes it into a handler.
    pub fn fill<'a>(&'a self, h: &mut Handler<'a>) {
        for (k, accessor) in self.accessors.iter().enumerate() {
            match self.addresses {
                Some(addresses) => h.push(&addresses[k]).uses(accessor),
                None => h.arg(k as u32, accessor),
            };
        }
        h.push(&self.n);
        if let Some(factor) = self.factor {
            h.push(&factor);
        }
        h.spec(0, self.items);
        if self.base > 0 {
            let groups = self.n.div_ceil(self.items) - self.base;
            h.dispatch_base(&self.kernel, [self.base, 0, 0], [groups, 1, 1]);
        } else {
            h.dispatch_items(&self.kernel, [self.n, 1, 1]);
        }
    }
}
