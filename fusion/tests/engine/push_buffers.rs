//! Arguments that do not fit together into push constants, and go to a buffer of the engine's own.

use crate::support::Rig;
use vkfuse::{
    Buffer, CacheOptions, ContextOptions, Error, Event, FusedList, FusionProperties, FusionWrapper, Outcome,
    Queue, QueueOptions, Tuning,
};

const N: usize = 1000;

/// A context whose fused kernels have this many bytes of push constants at the most.
fn rig_with(bytes: u32, change: impl Fn(ContextOptions) -> ContextOptions) -> Option<Rig> {
    let options = ContextOptions::from_env().validation_layer(true).cache(CacheOptions::default().no_disk());
    Rig::with(change(options.tuning(Tuning::new().push_bytes(bytes))))
}

fn iota(by: i32) -> Vec<i32> {
    (0..N as i32).map(|i| i.wrapping_mul(by)).collect()
}

/// Odd numbers, so that no product is zero: as many as asked for, others for each `round`.
fn factors(count: usize, round: usize) -> Vec<i32> {
    (0..count).map(|k| (2 * (k + 7 * round) + 3) as i32).collect()
}

fn product(factors: &[i32]) -> i32 {
    factors.iter().fold(1, |product, factor| product.wrapping_mul(*factor))
}

/// `x` times one factor after the other, through two buffers in turn.
struct Chain {
    x: Buffer<i32>,
    turns: [Buffer<i32>; 2],
}

impl Chain {
    fn new(rig: &Rig) -> Chain {
        let empty = || rig.context.buffer_from(&[-1; N]).unwrap();
        Chain { x: rig.context.buffer_from(&iota(1)).unwrap(), turns: [empty(), empty()] }
    }

    fn submit(&self, rig: &Rig, queue: &Queue, factors: &[i32]) -> Result<(), Error> {
        let kernel = rig.kernel("pair/scale");
        for (at, factor) in factors.iter().enumerate() {
            let from = if at == 0 { &self.x } else { &self.turns[(at - 1) % 2] };
            queue.submit(|h| {
                h.arg(0, from.read()).arg(1, self.turns[at % 2].write()).push(&(N as u32)).push(factor);
                h.dispatch_items(&kernel, [N as u32, 1, 1]);
            })?;
        }
        Ok(())
    }

    fn fuse(&self, rig: &Rig, queue: &Queue, factors: &[i32]) -> Event {
        queue.fuse(|queue| self.submit(rig, queue, factors)).unwrap()
    }

    fn keep(&self, rig: &Rig, factors: &[i32]) -> FusedList {
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        self.submit(rig, &rig.queue, factors).unwrap();
        let (event, list) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
        assert_eq!((event.outcome(), behind(&event)), (Outcome::Fused, bytes_behind(factors.len())));
        list
    }

    fn assert(&self, factors: &[i32]) {
        let last = &self.turns[(factors.len() - 1) % 2];
        assert_eq!(last.download().unwrap(), iota(product(factors)));
    }
}

/// Bytes of a list's push constants that are in a buffer.
fn behind(event: &Event) -> u32 {
    event.report().unwrap().plan.groups.iter().map(|group| group.push_buffer_bytes).sum()
}

/// Of a chain, where 16 bytes are push constants: the number of elements, and the factors.
fn bytes_behind(factors: usize) -> u32 {
    (4 * (1 + factors as u32) - 16).next_multiple_of(16)
}

#[test]
fn what_does_not_fit_is_in_a_buffer() {
    let Some(rig) = rig_with(16, |options| options) else { return };
    let chain = Chain::new(&rig);
    for round in 0..8 {
        let factors = factors(8, round);
        let before = rig.context.stats();
        let event = chain.fuse(&rig, &rig.queue, &factors);
        chain.assert(&factors);
        let made = rig.context.stats() - before;
        assert_eq!((made.dispatches, made.jit_builds), (1, u64::from(round == 0)), "round {round}");
        assert_eq!((event.outcome(), behind(&event)), (Outcome::Fused, bytes_behind(8)));
    }
    // The same again: what was recorded has its own arguments.
    for _ in 0..4 {
        for round in [3, 3, 5] {
            let factors = factors(8, round);
            chain.fuse(&rig, &rig.queue, &factors);
            chain.assert(&factors);
        }
    }
    rig.assert_no_validation_messages();
}

/// More than any device has, without having been asked.
#[test]
fn long_lists_go_beyond_the_devices_limit() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let limit = rig.context.device_info().limits.max_push_bytes as usize;
    for count in [64, limit.min(1024) / 4 + 8] {
        let factors = factors(count, 0);
        let before = rig.context.stats();
        let event = chain.fuse(&rig, &rig.queue, &factors);
        chain.assert(&factors);
        assert_eq!((event.outcome(), (rig.context.stats() - before).dispatches), (Outcome::Fused, 1));
        assert_eq!(behind(&event) > 0, 4 * (count + 1) > limit, "{count} kernels, {limit} bytes");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn kept_lists_run_with_other_arguments_and_buffers() {
    let Some(rig) = rig_with(16, |options| options) else { return };
    let chain = Chain::new(&rig);
    let first = factors(8, 0);
    let list = chain.keep(&rig, &first);
    let before = rig.context.stats();
    let mut other = list.rebind();
    let second = factors(8, 9);
    for (at, factor) in second.iter().enumerate() {
        other = other.push(at, &[N as i32, *factor]);
    }
    let other = other.finish().unwrap();
    let elsewhere = Chain::new(&rig);
    let moved = other.rebind().buffer(&chain.x, &elsewhere.x);
    let moved =
        moved.buffer(&chain.turns[0], &elsewhere.turns[0]).buffer(&chain.turns[1], &elsewhere.turns[1]);
    let moved = moved.finish().unwrap();
    for _ in 0..4 {
        list.run().unwrap();
        chain.assert(&first);
        moved.run().unwrap();
        other.run().unwrap();
        chain.assert(&second);
        elsewhere.assert(&second);
    }
    assert_eq!((rig.context.stats() - before).jit_builds, 0);
    rig.assert_no_validation_messages();
}

/// No one waits: each run has its own arguments for as long as it is pending.
#[test]
fn runs_in_flight_have_their_own_arguments() {
    let Some(rig) = rig_with(16, |options| options) else { return };
    let other = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let chains: Vec<Chain> = (0..120).map(|_| Chain::new(&rig)).collect();
    for round in 0..2 {
        for (number, chain) in chains.iter().enumerate() {
            let queue = if number % 2 == 0 { &rig.queue } else { &other };
            chain.fuse(&rig, queue, &factors(8, number + 500 * round));
        }
        for (number, chain) in chains.iter().enumerate() {
            chain.assert(&factors(8, number + 500 * round));
        }
    }
    rig.assert_no_validation_messages();
}

/// One after the other on the same buffers, kept and not, from several threads.
#[test]
fn runs_of_many_threads_do_not_mix_their_arguments() {
    let Some(rig) = rig_with(16, |options| options) else { return };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let rig = &rig;
            scope.spawn(move || {
                let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
                let chain = Chain::new(rig);
                for round in 0..40 {
                    let factors = factors(8, 50 * thread + round % 3 * round);
                    chain.fuse(rig, &queue, &factors);
                    chain.assert(&factors);
                }
            });
        }
    });
    rig.assert_no_validation_messages();
}

/// What runs is also what the interpreter runs, and what the device gives unfused.
#[test]
fn fused_code_with_a_buffer_is_compared() {
    let Some(rig) = rig_with(0, |options| options.validate_code(true)) else { return };
    let chain = Chain::new(&rig);
    let factors = factors(8, 1);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    chain.submit(&rig, &rig.queue, &factors).unwrap();
    let event = fusion.complete_fusion(&FusionProperties::default().verify_first_run(true)).unwrap();
    chain.assert(&factors);
    let report = event.report().unwrap();
    assert_eq!((event.outcome(), behind(&event)), (Outcome::Fused, 48));
    assert!(!report.checks.is_empty());
    rig.assert_no_validation_messages();
}
