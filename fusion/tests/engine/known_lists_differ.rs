//! Lists that are like a known one, except for their buffers, their push constants, or anything else.

use std::cell::Cell;

use super::known_lists::{Chain, N, iota};
use vkfuse::{Buffer, CancelCause, FusionProperties, FusionWrapper, Outcome};

/// Anyone who runs the same list in a loop rarely does so on the same buffers.
#[test]
fn the_same_list_on_other_buffers() {
    let rig = rig!();
    let chains: Vec<Chain> = (0..12).map(|_| Chain::new(&rig)).collect();
    for (at, chain) in chains.iter().cycle().take(30).enumerate() {
        let round = at as i32 + 1;
        chain.x.upload(&iota(round)).unwrap();
        chain.out.fill(-1).unwrap();
        chain.out.set_name(&format!("out {round}"));
        let before = rig.context.stats();
        let event = chain.fuse(&rig.queue, 2, 3);
        assert_eq!(event.outcome(), Outcome::Fused);
        assert_eq!(chain.out.download().unwrap(), iota(6 * round), "round {round}");
        assert!(chain.tmp.download().is_err(), "round {round}: the temporary stays inside");
        let made = rig.context.stats() - before;
        assert_eq!((made.dispatches, made.made_again), (1, u64::from(round > 2)), "round {round}");
        let report = event.report().unwrap();
        assert_eq!(report.buffer_name(chain.out.id()), Some(&*format!("out {round}")));
        assert_eq!(report.buffer_name(chain.x.id()), Some(&*chain.x.name()));
        assert!(report.plan.buffers.iter().any(|one| one.buffer == chain.tmp.id()), "{:?}", report.plan);
    }
    rig.assert_no_validation_messages();
}

/// A run on other buffers comes after what the same list did to them before, and before what comes then.
#[test]
fn other_buffers_in_turn_keep_their_order() {
    let rig = rig!();
    let (a, b) = (Chain::new(&rig), Chain::new(&rig));
    for round in 0..4 {
        for (from, to) in [(&a.x, &b.x), (&b.x, &a.x)] {
            rig.queue
                .fuse(|queue| {
                    a.one(queue, from, 3, &a.tmp)?;
                    a.one(queue, &a.tmp, 1, to)?;
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(rig.context.stats().made_again, (2 * (round + 1) as u64).saturating_sub(2));
    }
    assert_eq!(a.x.download().unwrap(), iota(3i32.pow(8)));
    rig.assert_no_validation_messages();
}

/// Lists that begin alike, and end earlier or in another way, take turns: each is known by itself.
#[test]
fn lists_that_end_differently_are_known_side_by_side() {
    let rig = rig!();
    let (fused, apart) = (Chain::new(&rig), Chain::new(&rig));
    for round in 1..=6 {
        let before = rig.context.stats();
        for chain in [&fused, &apart] {
            chain.x.upload(&iota(round)).unwrap();
        }
        let wrapper = FusionWrapper::new(&rig.queue).unwrap();
        wrapper.start_fusion().unwrap();
        apart.one(&rig.queue, &apart.x, 2, &apart.tmp).unwrap();
        apart.one(&rig.queue, &apart.tmp, 3, &apart.out).unwrap();
        let event = wrapper.complete_fusion(&FusionProperties::new().unfused()).unwrap();
        assert!(!matches!(event.outcome(), Outcome::Fused), "round {round}");
        assert_eq!(fused.fuse(&rig.queue, 2, 3).outcome(), Outcome::Fused, "round {round}");
        wrapper.start_fusion().unwrap();
        fused.one(&rig.queue, &fused.x, 5, &fused.tmp).unwrap();
        wrapper.complete_fusion(&FusionProperties::new()).unwrap();
        for (buffer, factor) in [(&apart.tmp, 2), (&apart.out, 6), (&fused.out, 6), (&fused.tmp, 5)] {
            assert_eq!(buffer.download().unwrap(), iota(factor * round), "round {round}");
        }
        let made = rig.context.stats() - before;
        assert_eq!((made.dispatches, made.made_again), (4, if round > 2 { 3 } else { 0 }), "round {round}");
    }
    rig.assert_no_validation_messages();
}

/// A list is known. Lists that differ from it in one thing do what they say, and are not taken for it.
#[test]
fn lists_that_differ_in_one_thing_are_not_taken_for_each_other() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let add = rig.kernel("pair/add");
    let other = Chain::new(&rig);
    // `out = x * a`, then `z = out + y`, with a given factor, on given parts of given buffers.
    let local = Cell::new(16u32);
    let run = |factor: i32, y: &Buffer<i32>, z: &Buffer<i32>, n: u32, items: u32, part: usize| {
        rig.queue
            .fuse(|queue| {
                queue.submit(|h| {
                    h.arg(0, chain.x.read()).arg(1, chain.out.write()).push(&(N as u32)).push(&factor);
                    h.dispatch_items(&chain.scale, [N as u32, 1, 1]);
                })?;
                queue.submit(|h| {
                    h.arg(0, chain.out.read().range(0, part)).arg(1, y.read()).arg(2, z.write());
                    h.push(&n).spec(0, local.get()).dispatch_items(&add, [items, 1, 1]);
                })?;
                Ok(())
            })
            .unwrap();
    };
    let n = N as u32;
    let expect = |what: &str, z: &Buffer<i32>, up_to: usize, factor: i32, rest: i32| {
        let expected: Vec<i32> =
            (0..N as i32).map(|i| if (i as usize) < up_to { factor * i } else { rest }).collect();
        assert_eq!(z.download().unwrap(), expected, "{what}");
    };
    for _ in 0..4 {
        run(2, &other.x, &other.out, n, n, N);
        expect("the list itself", &other.out, N, 3, 0);
    }
    let made = rig.context.stats().made_again;
    assert_eq!(made, 2);
    let fresh = || rig.context.buffer_from(&[-7; N]).unwrap();
    let like_x = || rig.context.buffer_from(&iota(1)).unwrap();
    let unknown = |what: &str| assert_eq!(rig.context.stats().made_again, made, "{what}");
    other.out.fill(-7).unwrap();
    run(2, &other.x, &other.out, n / 2, n, N);
    expect("another scalar, which is a length", &other.out, N / 2, 3, -7);
    other.out.fill(-7).unwrap();
    run(2, &other.x, &other.out, n, 64, N);
    expect("another number of work-groups", &other.out, 64, 3, -7);
    other.out.fill(-7).unwrap();
    run(2, &other.x, &other.out, n, 512, 512);
    expect("another range", &other.out, 512, 3, -7);
    local.set(32);
    run(2, &other.x, &other.out, n, n, N);
    expect("another constant", &other.out, N, 3, 0);
    local.set(16);
    // Aliases: the second input is the first kernel's, or the result goes where the first input was.
    other.out.fill(-7).unwrap();
    run(2, &chain.x, &other.out, n, n, N);
    expect("an input that was another", &other.out, N, 3, 0);
    run(2, &chain.out, &other.out, n, n, N);
    expect("an input that is the one written before", &other.out, N, 4, 0);
    run(2, &other.x, &chain.x, n, n, N);
    expect("a result over the first input", &chain.x, N, 3, 0);
    chain.x.upload(&iota(1)).unwrap();
    unknown("none of these is the list that is known");
    // With a scalar that is passed on it is that list, and with what the next list is passed it is the next one's.
    for factor in [5, 2, -1] {
        other.out.fill(-7).unwrap();
        run(factor, &other.x, &other.out, n, n, N);
        expect("another scalar", &other.out, N, factor + 1, 0);
    }
    let made = made + 3;
    assert_eq!(rig.context.stats().made_again, made);
    // And the same on others is.
    let z = fresh();
    run(2, &like_x(), &z, n, n, N);
    expect("the same on other buffers", &z, N, 3, 0);
    assert_eq!(rig.context.stats().made_again, made + 1);
    // Another promotion, a name that says nothing, an address that is known.
    let z = fresh().no_promotion().named("z");
    run(2, &other.x, &z, n, n, N);
    expect("a name", &z, N, 3, 0);
    assert_eq!(rig.context.stats().made_again, made + 2);
    let y = like_x().promote_auto();
    run(2, &y, &fresh(), n, n, N);
    assert_eq!(rig.context.stats().made_again, made + 2, "a promotion");
    if y.device_address().is_ok() {
        let y = like_x();
        y.device_address().unwrap();
        run(2, &y, &fresh(), n, n, N);
        assert_eq!(rig.context.stats().made_again, made + 2, "an address that was given out");
    }
    rig.assert_no_validation_messages();
}

/// Arguments that are equal share a slot of the fused kernel's block: where other ones are equal, it is another list.
#[test]
fn different_arguments_are_not_taken_for_equal_ones() {
    for equal in [3, N as i32] {
        let rig = rig!();
        let chain = Chain::new(&rig);
        // Known with both in one slot; with the number of elements in it too, the second time.
        for _ in 0..3 {
            chain.fuse(&rig.queue, equal, equal);
        }
        assert_eq!(rig.context.stats().made_again, 1);
        for (a, b) in [(3, 5), (5, 3), (N as i32, 3), (7, 7), (3, 3), (3, N as i32)] {
            chain.fuse(&rig.queue, a, b);
            assert_eq!(chain.out.download().unwrap(), iota(a * b), "{a} and {b} after {equal}");
        }
        rig.assert_no_validation_messages();
    }
}

/// And the other way round.
#[test]
fn equal_arguments_are_not_taken_for_different_ones() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let cases =
        [(3, 3), (3, 5), (5, 3), (4, 4), (N as i32, 4), (4, N as i32), (7, 2), (2, 2), (-1, 0), (0, 0)];
    for round in 0..5 {
        for (a, b) in cases {
            chain.out.fill(-7).unwrap();
            let event = chain.fuse(&rig.queue, a, b);
            assert_eq!(event.outcome(), Outcome::Fused);
            assert_eq!(chain.out.download().unwrap(), iota(a * b), "round {round}: {a} and {b}");
        }
    }
    let made = rig.context.stats().made_again;
    for _ in 0..4 {
        for (a, b) in cases {
            chain.out.fill(-7).unwrap();
            chain.fuse(&rig.queue, 10 * a, 10 * b);
            assert_eq!(chain.out.download().unwrap(), iota(100 * a * b), "{a} and {b}, times 10");
        }
    }
    // None of these is equal to the number of elements, which the kernels have as an argument too, but 10 and 0 are equal
    // where 1 and 0 were.
    assert_eq!(rig.context.stats().made_again - made, 4 * cases.len() as u64);
    rig.assert_no_validation_messages();
}

/// A list follows a known one with other push constants, and then something happens.
#[test]
fn other_scalars_are_kept_when_a_list_departs() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let last = rig.context.buffer::<i32>(N).unwrap();
    for round in 0..3 {
        chain.fuse(&rig.queue, 2 + round, 30);
    }
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    for factor in [7, 8, 9] {
        // Somebody looks.
        fusion.start_fusion().unwrap();
        let listed = chain.one(&rig.queue, &chain.x, factor, &chain.tmp).unwrap();
        assert_eq!(chain.tmp.download().unwrap(), iota(factor));
        assert_eq!(listed.outcome(), Outcome::Cancelled { by: CancelCause::HostRead });
        // It goes on in another way.
        let event = rig
            .queue
            .fuse(|queue| {
                chain.one(queue, &chain.x, factor, &chain.tmp)?;
                chain.one(queue, &chain.tmp, factor + 1, &chain.out)?;
                chain.one(queue, &chain.out, factor + 2, &last)?;
                Ok(())
            })
            .unwrap();
        assert_eq!(event.report().unwrap().submissions, 3);
        assert_eq!(last.download().unwrap(), iota(factor * (factor + 1) * (factor + 2)));
        // It is kept, and becomes a list with other scalars.
        fusion.start_fusion().unwrap();
        chain.one(&rig.queue, &chain.x, factor, &chain.tmp).unwrap();
        chain.one(&rig.queue, &chain.tmp, factor + 1, &chain.out).unwrap();
        let (_, kept) = fusion.complete_and_keep(&FusionProperties::new()).unwrap();
        for _ in 0..2 {
            chain.out.fill(-7).unwrap();
            kept.run().unwrap();
            assert_eq!(chain.out.download().unwrap(), iota(factor * (factor + 1)));
        }
        chain.fuse(&rig.queue, factor, 1);
        assert_eq!(chain.out.download().unwrap(), iota(factor));
    }
    rig.assert_no_validation_messages();
}

/// Of a kernel that runs by itself, all but what its accesses depend on is passed on.
#[test]
fn other_scalars_outside_fusion_mode() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    for factor in 1..9 {
        chain.tmp.fill(-7).unwrap();
        chain.one(&rig.queue, &chain.x, factor, &chain.tmp).unwrap();
        assert_eq!(chain.tmp.download().unwrap(), iota(factor));
        assert_eq!(rig.context.stats().made_again, (factor as u64).saturating_sub(2));
    }
    // Fewer elements: what is not written certainly cannot be read where it could not before.
    let scratch = rig.context.scratch::<i32>(N).unwrap();
    let some = |count: usize| {
        rig.queue.submit(|h| {
            h.arg(0, chain.x.read()).arg(1, scratch.write()).push(&(count as u32)).push(&3i32);
            h.dispatch_items(&chain.scale, [N as u32, 1, 1]);
        })
    };
    for _ in 0..3 {
        some(N).unwrap();
        assert_eq!(scratch.download().unwrap(), iota(3));
    }
    chain.one(&rig.queue, &chain.x, 5, &scratch).unwrap();
    some(N / 2).unwrap();
    let held = scratch.download().unwrap();
    assert_eq!((held[N / 2 - 1], held[N / 2]), (3 * (N as i32 / 2 - 1), 5 * (N as i32 / 2)));
    rig.assert_no_validation_messages();
}
