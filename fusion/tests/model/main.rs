//! Random sequences of all public calls, on one to three queues and threads, against a simple sequential model.
//!
//! The model is the promise of the crate: every call takes effect when it is made, in the order in which calls are made.
//! It keeps the bytes of every buffer, which submissions are listed on which queue, and what has to become of them; after
//! every call the engine must agree. Several threads either work on buffers of their own, or take turns with a lock around
//! each call that touches shared ones, so that the order is known.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_MODEL_SEQUENCES` | how many sequences to run; a few hundred without it |
//! | `VKFUSE_MODEL_FIRST` | the number of the first one |
//! | `VKFUSE_MODEL_SEED` | run this sequence only, and print its calls |
//! | `VKFUSE_MODEL_SECONDS` | stop after this many seconds even if there are sequences left |
//! | `VKFUSE_SOAK_SECONDS` | how many seconds the soak runs; 25 without it |

// The modules are this test's own.
#![allow(unreachable_pub)]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod calls;
mod data;
mod heap;
mod kept;
mod kernels;
mod op;
mod random;
mod sequence;
mod soak;
mod tasks;
mod watch;
mod world;

use std::{
    sync::{Mutex, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use sequence::{EACH, Engine, Shape};

/// One test at a time: the soak looks at the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Random sequences agree with the model: 0 differences, 0 hangs, 0 validation messages.
#[test]
fn sequences_agree_with_the_model() {
    let _alone = ALONE.lock();
    let first = number("VKFUSE_MODEL_SEED").or(number("VKFUSE_MODEL_FIRST")).unwrap_or(0);
    let Some(mut engine) = Engine::open(first) else { return };
    if let Some(seed) = number("VKFUSE_MODEL_SEED") {
        println!("{}", sequence::describe(seed));
        if let Err(difference) = sequence::run(&engine, seed) {
            panic!("{difference}");
        }
        engine.close();
        return;
    }
    let count = number("VKFUSE_MODEL_SEQUENCES").unwrap_or(u64::MAX);
    let seconds = match number("VKFUSE_MODEL_SECONDS") {
        None if count == u64::MAX => 20,
        limit => limit.unwrap_or(u64::MAX),
    };
    let (started, mut ran) = (Instant::now(), [0_u64; 4]);
    let (mut calls, mut lists) = (0, [0_u64; 5]);
    for seed in first..first.saturating_add(count) {
        if started.elapsed() >= Duration::from_secs(seconds) {
            break;
        }
        if seed > first && seed.is_multiple_of(EACH) {
            add(&mut lists, &engine);
            engine.close();
            engine = Engine::open(seed).expect("there was a device");
            eprintln!("{} sequences, {:.0?}", seed - first + 1, started.elapsed());
        }
        match sequence::run(&engine, seed) {
            Ok(made) => calls += made,
            Err(difference) => panic!("{}", sequence::shrink(&engine, seed, &difference)),
        }
        ran[Shape::of(seed).kind as usize] += 1;
    }
    add(&mut lists, &engine);
    let device = engine.rig.context.device_info().name.clone();
    engine.close();
    let total: u64 = ran.iter().sum();
    println!("on {device}");
    println!(
        "{total} sequences, {calls} calls: 0 differences, 0 hangs, 0 validation messages; \
         one thread {}, threads apart {}, threads sharing buffers {}, threads sharing queues {}; {:.0?}",
        ran[0],
        ran[1],
        ran[2],
        ran[3],
        started.elapsed()
    );
    let [dispatches, fused, split, cancelled, refused] = lists;
    println!(
        "{dispatches} dispatches; lists: {fused} fused, {split} split, {cancelled} cancelled, {refused} refused"
    );
    assert!(total > 0 && (total < 50 || fused.min(split).min(cancelled).min(refused) > 0));
    let waited = support::mock::queues::WAITED.load(Relaxed);
    assert!(total < 3 * EACH || waited > 0, "no hardware queue waited for another one");
}

/// What a context did: dispatches, and how its lists ended.
fn add(sum: &mut [u64; 5], engine: &Engine) {
    let stats = engine.rig.context.stats();
    let more =
        [stats.dispatches, stats.lists_fused, stats.lists_split, stats.lists_cancelled, stats.lists_refused];
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
