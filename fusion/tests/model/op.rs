//! The calls of a sequence, made from a seed before anything runs.

use vkfuse::Promote;

use super::{data::Part, kernels::Call, random::Random};

/// How a closure ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closure {
    Returns,
    Fails,
    Panics,
}

/// A number that is taken modulo the number of things there are when it is used.
pub type Pick = usize;

#[derive(Clone, Debug)]
pub enum Op {
    Start {
        queue: Pick,
    },
    Complete {
        queue: Pick,
        force: bool,
        background: bool,
    },
    Cancel {
        queue: Pick,
    },
    /// Completes a list and keeps it.
    Keep {
        queue: Pick,
    },
    /// Runs a kept list this many times, with another buffer in place of one or with another scalar if there is a pair.
    Again {
        kept: Pick,
        queue: Pick,
        changed: Option<(Pick, Pick)>,
        times: Pick,
    },
    Scope {
        queue: Pick,
        calls: Vec<Call>,
        end: Closure,
    },
    Submit {
        queue: Pick,
        call: Call,
        after: Option<Pick>,
        closure: Closure,
    },
    Copy {
        queue: Pick,
        from: (Pick, Part),
        to: (Pick, Part),
    },
    Fill {
        queue: Pick,
        to: (Pick, Part),
        value: u32,
    },
    Update {
        queue: Pick,
        to: (Pick, Part),
        value: u32,
    },
    Task {
        queue: Pick,
        reads: (Pick, Part),
        writes: (Pick, Part),
        value: u32,
        slow: bool,
        end: Closure,
        deed: Option<Deed>,
    },
    /// Writes bytes through an import of its own, which starts and ends anywhere, and reads them back.
    Bytes {
        queue: Pick,
        start: Pick,
        len: Pick,
        how: Pick,
        value: u32,
    },
    /// Changes the promotion that a buffer asks for.
    Ask {
        buffer: Pick,
        property: Promote,
    },
    Upload {
        to: (Pick, Part),
        value: u32,
    },
    Download {
        from: (Pick, Part),
    },
    Stale {
        from: Pick,
    },
    HostRead {
        from: Pick,
    },
    HostWrite {
        to: Pick,
        value: u32,
    },
    HostFill {
        to: Pick,
        value: u32,
    },
    Replace {
        buffer: Pick,
    },
    Wait {
        event: Pick,
    },
    WaitFor {
        event: Pick,
        micros: u64,
    },
    Poll {
        event: Pick,
    },
    WaitAll {
        events: Vec<Pick>,
    },
    WaitQueue {
        queue: Pick,
    },
    WaitContext,
    NewQueue {
        queue: Pick,
        keep_wrapper: bool,
    },
    ForgetCode,
    Graph,
}

/// What a host task does besides using its scope, before the call after it is made.
#[derive(Clone, Debug)]
pub enum Deed {
    Submit {
        queue: Pick,
        call: Call,
    },
    Download {
        from: (Pick, Part),
    },
    /// On a queue of its own.
    Fuse {
        calls: Vec<Call>,
    },
}

impl Deed {
    fn random(random: &mut Random, buffers: usize) -> Deed {
        match random.below(3) {
            0 => Deed::Submit { queue: random.below(6), call: Call::random(random, buffers) },
            1 => Deed::Download { from: (random.below(buffers as u64), Part::Whole) },
            _ => Deed::Fuse { calls: (0..2).map(|_| Call::random(random, buffers)).collect() },
        }
    }
}

impl Op {
    pub fn random(random: &mut Random, buffers: usize) -> Op {
        let queue = random.below(6);
        let event = random.below(1 << 20);
        let value = random.below(1000) as u32;
        let buffer = random.below(buffers as u64);
        let part = |random: &mut Random| match random.below(6) {
            0 => Part::First,
            1 => Part::Second,
            _ => Part::Whole,
        };
        match random.below(100) {
            0..=11 => Op::Start { queue },
            12..=16 => Op::Complete { queue, force: random.once_in(8), background: random.once_in(8) },
            17..=18 => Op::Keep { queue },
            19..=20 => Op::Cancel { queue },
            21..=22 => Op::Again {
                kept: event,
                queue,
                changed: random.once_in(3).then(|| (buffer, random.below(buffers as u64))),
                times: if random.once_in(2) { 1 + random.below(8) } else { 1 },
            },
            23..=27 => Op::Scope {
                queue,
                calls: (0..1 + random.below(4)).map(|_| Call::random(random, buffers)).collect(),
                end: closure(random, 3),
            },
            28..=58 => Op::Submit {
                queue,
                call: Call::random(random, buffers),
                after: random.once_in(5).then_some(event),
                closure: closure(random, 15),
            },
            59..=62 => {
                let from = (buffer, part(random));
                let to = if random.once_in(3) { (buffer, part(random)) } else { (buffer + 1, from.1) };
                Op::Copy { queue, from, to }
            }
            63..=64 => Op::Fill { queue, to: (buffer, part(random)), value },
            65..=66 => Op::Update { queue, to: (buffer, part(random)), value },
            67..=70 => Op::Task {
                queue,
                reads: (buffer, part(random)),
                writes: (buffer + 1 + random.below(buffers as u64 - 1), part(random)),
                value,
                slow: random.once_in(2),
                end: closure(random, 5),
                deed: random.once_in(2).then(|| Deed::random(random, buffers)),
            },
            71..=72 => Op::Upload { to: (buffer, part(random)), value },
            73..=76 => Op::Download { from: (buffer, part(random)) },
            77 => Op::Stale { from: buffer },
            78 if random.once_in(2) => Op::HostRead { from: buffer },
            78 => Op::Ask {
                buffer,
                property: [Promote::None, Promote::Auto, Promote::Private, Promote::Local][random.below(4)],
            },
            79..=80 => Op::HostWrite { to: buffer, value },
            81 => Op::HostFill { to: buffer, value },
            82..=83 => Op::Replace { buffer },
            84..=85 => Op::Wait { event },
            86..=87 => Op::WaitFor { event, micros: [0, 100, 30_000_000][random.below(3)] },
            88..=90 => Op::Poll { event },
            91 => Op::WaitAll { events: (0..3).map(|_| random.below(1 << 20)).collect() },
            92..=93 => Op::WaitQueue { queue },
            94 => Op::WaitContext,
            95..=96 => Op::NewQueue { queue, keep_wrapper: random.once_in(3) },
            97..=98 => Op::Bytes {
                queue,
                start: random.below(1500),
                len: 1 + random.below([24, 900][event % 2]),
                how: random.below(100),
                value,
            },
            99 if random.once_in(50) => Op::ForgetCode,
            _ => Op::Graph,
        }
    }
}

/// Fails or panics once in `n` times.
fn closure(random: &mut Random, n: u64) -> Closure {
    match random.below(2 * n) {
        0 => Closure::Fails,
        1 => Closure::Panics,
        _ => Closure::Returns,
    }
}
