//! Internalized buffers: what they hold, who may read them, and when they are good again.

use vkfuse::{
    BufferError, Error, FusionProperties, FusionWrapper, Internalization, Outcome, Policy, Reason,
    SubmitError, Unreadable,
};

use crate::{N, add, iota, multiples, poison, scale, support::Rig};

/// Runs `tmp = a + a; out = tmp * 3` fused, with `tmp` kept private.
fn internalize(rig: &Rig, tmp: &vkfuse::Buffer<i32>) -> vkfuse::Buffer<i32> {
    let (a, out) = (iota(rig), poison(rig));
    let done = rig.queue.fuse(|queue| {
        add(rig, queue, &a, &a, tmp)?;
        scale(rig, queue, tmp, 3, &out).map(drop)
    });
    assert_eq!(done.unwrap().outcome(), Outcome::Fused);
    assert_eq!(out.download().unwrap(), multiples(6));
    out
}

#[test]
fn reading_an_internalized_buffer_names_it() {
    let rig = rig!();
    let tmp = poison(&rig).named("tmp").promote_private();
    let out = internalize(&rig, &tmp);
    let error = tmp.download().unwrap_err();
    assert!(error.to_string().contains("`tmp`"), "{error}");
    let internalized = |error| {
        matches!(error, Error::Buffer { problem: BufferError::Unreadable(Unreadable::Internalized), .. })
    };
    assert!(internalized(error));
    assert!(internalized(tmp.host_read(|_| ()).unwrap_err()));
    assert!(internalized(rig.queue.copy(tmp.read(), out.write()).unwrap_err()));
    let submit = scale(&rig, &rig.queue, &tmp, 1, &out).unwrap_err();
    assert!(
        matches!(&submit, Error::Submit { problem: SubmitError::Unreadable { buffer, .. }, .. } if buffer == "tmp"),
        "{submit}"
    );
    assert_eq!(tmp.download_stale().unwrap(), vec![-1; N], "nothing was written");
    // In fusion mode as well, unless the list writes it first.
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    assert!(scale(&rig, &rig.queue, &tmp, 1, &out).is_err());
    let a = iota(&rig);
    add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
    scale(&rig, &rig.queue, &tmp, 5, &out).unwrap();
    wrapper.cancel_fusion().unwrap();
    assert_eq!(tmp.download().unwrap(), multiples(2), "the cancelled list wrote it");
    assert_eq!(out.download().unwrap(), multiples(10));
    rig.assert_no_validation_messages();
}

#[test]
fn a_write_makes_it_good_again() {
    let rig = rig!();
    let tmp = poison(&rig).promote_private();
    internalize(&rig, &tmp);
    tmp.upload(&vec![4; N]).unwrap();
    assert_eq!(tmp.download().unwrap(), vec![4; N]);
    internalize(&rig, &tmp);
    tmp.fill(9).unwrap();
    assert_eq!(tmp.download().unwrap(), vec![9; N]);
    internalize(&rig, &tmp);
    tmp.host_write(|data| data[0] = 1).unwrap();
    assert_eq!(tmp.download().unwrap()[..2], [1, 9]);
    internalize(&rig, &tmp);
    let a = iota(&rig);
    add(&rig, &rig.queue, &a, &a, &tmp).unwrap();
    assert_eq!(tmp.download().unwrap(), multiples(2));
    internalize(&rig, &tmp);
    rig.queue.update(tmp.write().range(10, 5), &[3i32; 5]).unwrap();
    assert_eq!(tmp.download_range(10..15).unwrap(), vec![3; 5]);
    assert!(tmp.download_range(9..15).is_err());
}

#[test]
fn scratch_that_stays_inside_needs_no_memory() {
    let rig = rig!();
    let buffers = || {
        rig.context.wait().unwrap();
        rig.context.objects().buffers
    };
    // Once before, so that what the context itself keeps (staging memory) is there.
    internalize(&rig, &rig.context.scratch::<i32>(N).unwrap());
    let before = buffers();
    let tmp = rig.context.scratch::<i32>(N).unwrap();
    internalize(&rig, &tmp);
    assert_eq!(buffers(), before, "the others are gone, and this one has none");
    let fresh = rig.context.scratch::<i32>(N).unwrap();
    assert_eq!(fresh.download().unwrap(), vec![0; N], "zeros like any other buffer");
}

#[test]
fn contradicting_promotions_are_an_error_and_opting_out_is_not() {
    let rig = rig!();
    let (a, out) = (iota(&rig), poison(&rig));
    let tmp = poison(&rig).named("tmp").promote_private();
    let kernel = rig.kernel("pair/scale");
    let submit = |accessor: vkfuse::Accessor| {
        rig.queue.submit(|h| {
            h.arg(0, a.read())
                .arg(1, accessor)
                .push(&(N as u32))
                .push(&1i32)
                .dispatch_items(&kernel, [N as u32, 1, 1]);
        })
    };
    let error = submit(tmp.write().promote_local()).unwrap_err();
    assert!(matches!(error, Error::Submit { problem: SubmitError::PromotionConflict { .. }, .. }), "{error}");
    submit(tmp.write().promote_private()).unwrap();
    submit(tmp.write().no_promotion()).unwrap();

    let done = rig.queue.fuse_with(&FusionProperties::default(), |queue| {
        submit(tmp.write().no_promotion())?;
        queue.submit(|h| {
            h.arg(0, tmp.read().no_promotion())
                .arg(1, out.write())
                .push(&(N as u32))
                .push(&2i32)
                .dispatch_items(&kernel, [N as u32, 1, 1]);
        })?;
        Ok(())
    });
    assert_eq!(done.unwrap().outcome(), Outcome::Fused);
    assert_eq!(tmp.download().unwrap(), multiples(1), "it stayed in memory");
    assert_eq!(out.download().unwrap(), multiples(2));
}

/// `z[i] = x[i]` for even `i` only.
fn even(rig: &Rig, x: &vkfuse::Buffer<i32>, z: &vkfuse::Buffer<i32>) -> Result<vkfuse::Event, vkfuse::Error> {
    let (kernel, n) = (rig.kernel("access/even"), x.len() as u32);
    rig.queue.submit(|h| {
        h.arg(0, x.read().cast::<f32>())
            .arg(1, z.write().cast::<f32>())
            .push(&n)
            .dispatch_items(&kernel, [n, 1, 1]);
    })
}

#[test]
fn a_kernel_that_writes_only_a_part_does_not_make_the_rest_good() {
    let rig = rig!();
    let (a, tmp) = (iota(&rig), poison(&rig).named("tmp").promote_private());
    internalize(&rig, &tmp);
    even(&rig, &a, &tmp).unwrap();
    let error = tmp.download().unwrap_err();
    assert!(error.to_string().contains("tmp"), "{error}");
    // Nor does a kernel that stops before the end.
    let kernel = rig.kernel("pair/scale");
    let short = rig.queue.submit(|h| {
        h.arg(0, a.read()).arg(1, tmp.write()).push(&(N as u32 - 1)).push(&2i32);
        h.dispatch_items(&kernel, [N as u32, 1, 1]);
    });
    short.unwrap();
    assert!(tmp.download().is_err());
    // One that writes everything does, forwards or backwards.
    scale(&rig, &rig.queue, &a, 2, &tmp).unwrap();
    assert_eq!(tmp.download().unwrap(), multiples(2));
    internalize(&rig, &tmp);
    let reverse = rig.kernel("access/reverse");
    let reversed = rig.queue.submit(|h| {
        h.arg(0, a.read().cast::<f32>()).arg(1, tmp.write().cast::<f32>()).push(&(N as u32));
        h.dispatch_items(&reverse, [N as u32, 1, 1]);
    });
    reversed.unwrap();
    assert_eq!(tmp.download().unwrap()[0], N as i32 - 1);
    rig.assert_no_validation_messages();
}

/// `z` made of `x` by a kernel of `shaders/certain`.
fn certain(rig: &Rig, queue: &vkfuse::Queue, name: &str, x: &vkfuse::Buffer<i32>, z: &vkfuse::Buffer<i32>) {
    let (kernel, n) = (rig.kernel(&format!("certain/{name}")), x.len() as u32);
    let event = queue.submit(|h| {
        h.arg(0, x.read()).arg(1, z.write()).push(&n).dispatch_items(&kernel, [n, 1, 1]);
    });
    event.unwrap();
}

/// Every hundredth number is negative.
fn some_negative() -> Vec<i32> {
    (0..N as i32).map(|i| if i % 100 == 50 { -i } else { i }).collect()
}

#[test]
fn what_is_written_only_perhaps_stays_unreadable() {
    let rig = rig!();
    let (x, tmp) =
        (rig.context.buffer_from(&some_negative()).unwrap(), poison(&rig).named("tmp").promote_private());
    internalize(&rig, &tmp);
    for name in ["returns", "tested_late", "padded"] {
        certain(&rig, &rig.queue, name, &x, &tmp);
        let error = tmp.download().unwrap_err();
        assert!(error.to_string().contains("tmp"), "{name}: {error}");
    }
    certain(&rig, &rig.queue, "breaks", &x, &tmp);
    assert_eq!(tmp.download().unwrap(), some_negative());
    rig.assert_no_validation_messages();
}

/// What a kernel reads that an earlier one has not written is what memory holds, fused or not.
#[test]
fn what_is_written_only_perhaps_is_not_promoted() {
    let rig = rig!();
    let x = rig.context.buffer_from(&some_negative()).unwrap();
    for (name, expected) in [("returns", false), ("tested_late", false), ("breaks", true)] {
        let run = |is_fused: bool| {
            let (tmp, out) = (poison(&rig).promote_private(), poison(&rig));
            let list = |queue: &vkfuse::Queue| {
                certain(&rig, queue, name, &x, &tmp);
                scale(&rig, queue, &tmp, 3, &out).map(drop)
            };
            if is_fused {
                let done = rig.queue.fuse(list).unwrap();
                let report = done.report().unwrap();
                let kept = report.plan.buffers.iter().find(|buffer| buffer.buffer == tmp.id()).unwrap();
                let got = if expected { Internalization::Private } else { Internalization::None };
                assert_eq!((kept.got, report.dispatches), (got, 1), "{name}: {:#?}", report.plan);
            } else {
                list(&rig.queue).unwrap();
            }
            out.download().unwrap()
        };
        assert_eq!(run(true), run(false), "{name}");
    }
    rig.assert_no_validation_messages();
}

/// A kernel that stores, leaves out the items past the end, and stores again.
#[test]
fn what_is_stored_before_a_guard_is_stored_for_all() {
    let rig = rig!();
    let x = rig.context.buffer_from(&vec![5i32; N]).unwrap();
    let (clear, add) = (rig.kernel("certain/cleared"), rig.kernel("certain/added"));
    let length = 1024;
    for first in [256u32, 500, 512, 1000] {
        let z = rig.context.buffer_from(&vec![-1i32; length]).unwrap();
        let list = |queue: &vkfuse::Queue| {
            queue.submit(|h| {
                h.arg(0, z.write()).push(&first).dispatch_items(&clear, [length as u32, 1, 1]);
            })?;
            let event = queue.submit(|h| {
                h.arg(0, x.read()).arg(1, z.read_write()).push(&first);
                h.dispatch_items(&add, [length as u32, 1, 1]);
            });
            event.map(drop)
        };
        let done = rig.queue.fuse(list).unwrap();
        assert_eq!(done.outcome(), Outcome::Fused);
        let expected = |n| -> Vec<i32> { (0..length as u32).map(|i| if i < n { 6 } else { 0 }).collect() };
        assert_eq!(z.download().unwrap(), expected(first), "{first}");
        // Kept, and bound to another number: what was decided for the first is not what holds for it.
        let wrapper = FusionWrapper::new(&rig.queue).unwrap();
        wrapper.start_fusion().unwrap();
        list(&rig.queue).unwrap();
        let (_, kept) = wrapper.complete_and_keep(&FusionProperties::default()).unwrap();
        for other in [first, 501, 768] {
            let kept = kept.rebind().push(0, &other).push(1, &other).finish().unwrap();
            kept.run().unwrap();
            assert_eq!(z.download().unwrap(), expected(other), "{first}, then {other}");
        }
    }
    rig.assert_no_validation_messages();
}

/// As many rows as there are work-groups, in loops over the columns.
#[test]
fn what_loops_write_is_good_again_as_far_as_they_go() {
    let rig = rig!();
    let (a, tmp) = (iota(&rig), poison(&rig).named("tmp").promote_private());
    let (x, most) = (rig.context.buffer_from(&[0.0_f32; N]).unwrap(), rig.context.buffer::<f32>(8).unwrap());
    let rows = rig.kernel("softmax/exp_sub");
    let write = |groups: u32| {
        let event = rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, most.read()).arg(2, tmp.write().cast::<f32>()).push(&(N as u32 / 8));
            h.dispatch(&rows, [groups, 1, 1]);
        });
        event.unwrap();
    };
    internalize(&rig, &tmp);
    write(7);
    let error = tmp.download().unwrap_err();
    assert!(error.to_string().contains("tmp"), "{error}");
    write(8);
    tmp.download().unwrap();
    scale(&rig, &rig.queue, &a, 2, &tmp).unwrap();
    assert_eq!(tmp.download().unwrap(), multiples(2));
    rig.assert_no_validation_messages();
}

#[test]
fn a_list_that_writes_only_a_part_cannot_read_the_rest() {
    let rig = rig!();
    let (a, out, tmp) = (iota(&rig), poison(&rig), poison(&rig).named("tmp").promote_private());
    internalize(&rig, &tmp);
    let done = rig.queue.fuse(|queue| {
        even(&rig, &a, &tmp)?;
        let error = scale(&rig, queue, &tmp, 3, &out).unwrap_err();
        assert!(error.to_string().contains("tmp"), "{error}");
        scale(&rig, queue, &a, 2, &tmp)?;
        scale(&rig, queue, &tmp, 3, &out).map(drop)
    });
    assert_eq!(done.unwrap().report().unwrap().submissions, 3);
    assert_eq!(out.download().unwrap(), multiples(6));
    rig.assert_no_validation_messages();
}

#[test]
fn a_buffer_that_is_reached_by_its_address_stays_in_memory() {
    let rig = rig!();
    let (a, out, tmp) = (iota(&rig), poison(&rig), poison(&rig).named("tmp").promote_private());
    if tmp.device_address().is_err() {
        return;
    }
    for policy in [Policy::Prove, Policy::Trust] {
        let addresses = rig.kernel("pair/addresses");
        let done = rig.queue.fuse_with(&FusionProperties::new().policy(policy), |queue| {
            scale(&rig, queue, &a, 2, &tmp)?;
            scale(&rig, queue, &tmp, 3, &out)?;
            let by_address = queue.submit(|h| {
                for buffer in [&tmp, &out, &out] {
                    h.push(&buffer.device_address()?);
                }
                h.uses(tmp.read()).uses(out.read_write());
                h.push(&(N as u32)).dispatch_items(&addresses, [N as u32, 1, 1]);
                Ok(())
            });
            by_address.map(drop)
        });
        let report = done.unwrap().report().unwrap();
        // The two that go by bindings fuse; the third only when it is trusted.
        assert_eq!(report.dispatches, if policy == Policy::Trust { 1 } else { 2 }, "{:#?}", report.plan);
        let kept = report.plan.buffers.iter().find(|buffer| buffer.buffer == tmp.id()).unwrap();
        assert_eq!((kept.got, &kept.reason), (Internalization::None, &Some(Reason::Addressed)));
        assert_eq!(out.download().unwrap(), multiples(8));
        assert_eq!(tmp.download().unwrap(), multiples(2));
    }
    rig.assert_no_validation_messages();
}

/// A promoted buffer that is longer than what the list uses of it: the list runs again, and what it does not use stays unreadable.
#[test]
fn a_list_on_a_part_of_a_longer_buffer_runs_again() {
    let rig = rig!();
    let (a, out) = (iota(&rig), poison(&rig));
    let tmp = poison(&rig).named("tmp").promote_private();
    let kernel = rig.kernel("pair/scale");
    let n = N as u32 - 100;
    let list = |reads: u32| {
        rig.queue.fuse(|queue| {
            for (x, z, n) in [(&a, &tmp, n), (&tmp, &out, reads)] {
                queue.submit(|h| {
                    h.arg(0, x.read()).arg(1, z.write()).push(&n).push(&3i32);
                    h.dispatch_items(&kernel, [n, 1, 1]);
                })?;
            }
            Ok(())
        })
    };
    for _ in 0..4 {
        let done = list(n).unwrap();
        done.wait().unwrap();
        assert_eq!(done.outcome(), Outcome::Fused);
        let mut wanted = multiples(9);
        wanted[n as usize..].fill(-1);
        assert_eq!(out.download().unwrap(), wanted);
    }
    // One element more is one that nothing here has written.
    let error = list(n + 1).unwrap_err().to_string();
    assert!(error.contains("`tmp`"), "{error}");
    rig.queue.wait().unwrap();
    rig.assert_no_validation_messages();
}
