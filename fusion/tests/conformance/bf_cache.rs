//! Caching: one test per row of that part of the conformance table, named after the row.
//!
//! Where a peer compiles again for every value of a scalar, here a scalar is no part of the key; the rows say so.

use crate::support::Rig;
use vkfuse::{Buffer, CacheOptions, ContextOptions, Event, Outcome, Promote, Tier};

const N: u32 = 512;

/// A rig with a store in a folder.
fn rig_at(folder: &std::path::Path) -> Option<Rig> {
    Rig::with(ContextOptions::from_env().validation_layer(true).cache(CacheOptions::new().directory(folder)))
}

/// `tmp = (0, 1, 2, …) * alpha; out = tmp * beta` as one list; demands that it fused and is right.
fn run(rig: &Rig, n: u32, [alpha, beta]: [i32; 2], promote: Promote) -> Event {
    let x = rig.context.buffer_from(&(0..n as i32).collect::<Vec<_>>()).unwrap();
    let [tmp, out] = [(); 2].map(|()| rig.context.buffer_from(&vec![-1_i32; n as usize]).unwrap());
    let tmp = if promote == Promote::Private { tmp.promote_private() } else { tmp };
    let kernel = rig.kernel("pair/scale");
    let scale = |from: &Buffer<i32>, factor: i32, to: &Buffer<i32>| {
        rig.queue.submit(|h| {
            h.arg(0, from.read()).arg(1, to.write()).push(&n).push(&factor);
            h.dispatch_items(&kernel, [n, 1, 1]);
        })
    };
    let before = rig.context.stats();
    let event =
        rig.queue.fuse(|_| scale(&x, alpha, &tmp).and_then(|_| scale(&tmp, beta, &out)).map(drop)).unwrap();
    assert_eq!(event.outcome(), Outcome::Fused);
    event.wait().unwrap();
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    let expected: Vec<i32> = (0..n as i32).map(|i| i * alpha * beta).collect();
    assert_eq!(out.download().unwrap(), expected);
    assert_eq!(tmp.download().is_err(), promote == Promote::Private);
    rig.assert_no_validation_messages();
    event
}

fn memory(event: &Event) -> Tier {
    event.report().unwrap().memory()
}

/// The same list is a hit, other scalars too; another promotion is a miss.
#[test]
fn jit_caching() {
    let rig = rig!();
    assert_eq!(memory(&run(&rig, N, [2, 3], Promote::Private)), Tier::Miss);
    let before = rig.context.stats();
    assert_eq!(memory(&run(&rig, N, [2, 3], Promote::Private)), Tier::Hit);
    assert_eq!(memory(&run(&rig, N, [2, 5], Promote::Private)), Tier::Hit, "a scalar is no part of the key");
    assert_eq!((rig.context.stats() - before).driver_compiles, 0);
    assert_eq!(memory(&run(&rig, N, [2, 3], Promote::None)), Tier::Miss);
    assert_eq!(memory(&run(&rig, N, [7, 3], Promote::None)), Tier::Hit);
    assert_eq!((rig.context.stats() - before).jit_builds, 1);
}

/// A second device of the same kind takes the fused code from the store and only has its driver compile it.
#[test]
fn jit_caching_spirv() {
    let folder = tempfile::tempdir().unwrap();
    let Some(first) = rig_at(folder.path()) else { return };
    run(&first, N, [2, 3], Promote::Private);
    let second = rig_at(folder.path()).unwrap();
    let report = run(&second, N, [2, 3], Promote::Private).report().unwrap();
    assert_eq!((report.memory(), report.disk()), (Tier::Miss, Tier::Hit));
    assert_eq!(second.context.stats().jit_builds, 0);
}

/// Three devices, one after the other: built once.
#[test]
fn jit_caching_multispirv() {
    let folder = tempfile::tempdir().unwrap();
    for expected in [Tier::Miss, Tier::Hit, Tier::Hit] {
        let Some(rig) = rig_at(folder.path()) else { return };
        assert_eq!(run(&rig, 1024, [1, 2], Promote::None).report().unwrap().disk(), expected);
    }
}

/// A hit runs over the range of the new list, not that of the one that was built.
#[test]
fn cached_ndrange() {
    let rig = rig!();
    assert_eq!(memory(&run(&rig, 256, [3, 11], Promote::None)), Tier::Miss);
    assert_eq!(memory(&run(&rig, 512, [3, 11], Promote::None)), Tier::Hit);
    assert_eq!(memory(&run(&rig, 508, [3, 11], Promote::None)), Tier::Hit);
    // A kernel for what is no whole number of fours may be another, but it is the only other one.
    run(&rig, 509, [3, 11], Promote::None);
    assert_eq!(memory(&run(&rig, 1, [3, 11], Promote::None)), Tier::Hit);
}

/// Kernels of one item each: the driver compiles each once for a device, and the store has them for the next.
#[test]
fn kernel_binary_caching() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        let Some(rig) = rig_at(folder.path()) else { return };
        let add = rig.kernel("pair/add");
        let one = rig.context.buffer_from(&[1_i32]).unwrap();
        let sum = rig.context.buffer::<i32>(1).unwrap();
        let submit = || {
            rig.queue.submit(|h| {
                h.arg(0, one.read())
                    .arg(1, one.read())
                    .arg(2, sum.write())
                    .push(&1_u32)
                    .dispatch(&add, [1, 1, 1]);
            })
        };
        for repeated in 0..3 {
            let before = rig.context.stats();
            assert_eq!(submit().unwrap().outcome(), Outcome::Unfused);
            assert_eq!(sum.download().unwrap(), [2]);
            let did = rig.context.stats() - before;
            assert_eq!((did.dispatches, did.driver_compiles), (1, u64::from(repeated == 0)));
            assert_eq!(did.disk_hits, u64::from(repeated == 0 && number == 1));
        }
        rig.assert_no_validation_messages();
    }
}
