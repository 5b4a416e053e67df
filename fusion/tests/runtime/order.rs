//! Order by what is touched: barriers only where needed, host access and host tasks in their place.

use vkfuse::{BufferError, Error, FusionProperties, Outcome, Policy, QueueOptions};

use crate::{N, add, iota, multiples, poison, scale, support::Rig};

#[test]
fn barriers_only_between_what_conflicts() {
    let rig = rig!();
    let buffers: Vec<_> = (0..4).map(|_| poison(&rig)).collect();
    let a = iota(&rig);
    // Builds both pipelines, so that nothing but submissions is counted below.
    scale(&rig, &rig.queue, &a, 1, &buffers[0]).unwrap().wait().unwrap();
    rig.context.wait().unwrap();

    let before = rig.context.stats();
    let done = rig.queue.fuse(|queue| {
        for (factor, buffer) in buffers.iter().enumerate() {
            scale(&rig, queue, &a, factor as i32, buffer)?;
        }
        Err(Error::custom("cancel"))
    });
    assert!(done.is_err());
    let independent = rig.context.stats() - before;
    assert_eq!((independent.dispatches, independent.submits, independent.barriers), (4, 1, 0));
    rig.context.wait().unwrap();

    let before = rig.context.stats();
    let _ = rig.queue.fuse(|queue| {
        scale(&rig, queue, &a, 2, &buffers[0])?;
        scale(&rig, queue, &a, 3, &buffers[1])?;
        add(&rig, queue, &buffers[0], &buffers[1], &buffers[2])?;
        add(&rig, queue, &buffers[1], &buffers[0], &buffers[3])?;
        Err(Error::custom("cancel"))
    });
    let diamond = rig.context.stats() - before;
    assert_eq!((diamond.dispatches, diamond.submits, diamond.barriers), (4, 1, 1));
    assert_eq!(buffers[2].download().unwrap(), multiples(5));
    assert_eq!(buffers[3].download().unwrap(), multiples(5));
    rig.assert_no_validation_messages();
}

#[test]
fn a_long_chain_keeps_its_order() {
    let rig = rig!();
    let (x, y) = (iota(&rig), poison(&rig));
    let mut factor = 1i32;
    for round in 0..50 {
        let (from, to) = if round % 2 == 0 { (&x, &y) } else { (&y, &x) };
        scale(&rig, &rig.queue, from, 3, to).unwrap();
        factor = factor.wrapping_mul(3);
    }
    assert!(rig.queue.dependency_dot().starts_with("digraph"));
    assert_eq!(x.download().unwrap(), multiples(factor));
}

#[test]
fn queues_are_ordered_by_buffers() {
    let rig = rig!();
    let queues: Vec<_> = (0..3).map(|_| rig.context.queue(QueueOptions::new()).unwrap()).collect();
    let (x, y) = (iota(&rig), poison(&rig));
    for round in 0..30 {
        let (from, to) = if round % 2 == 0 { (&x, &y) } else { (&y, &x) };
        scale(&rig, &queues[round % 3], from, -1, to).unwrap();
    }
    assert_eq!(x.download().unwrap(), multiples(1));
    rig.assert_no_validation_messages();
}

#[test]
fn commands_take_their_place() {
    let rig = rig!();
    let (a, b, c) = (iota(&rig), poison(&rig), poison(&rig));
    scale(&rig, &rig.queue, &a, 2, &b).unwrap();
    rig.queue.copy(b.read(), c.write()).unwrap();
    rig.queue.fill(b.write().range(0, 10), 7i32).unwrap();
    add(&rig, &rig.queue, &b, &c, &a).unwrap();
    rig.queue.update(c.write().range(1, 2), &[100i32, 200]).unwrap();
    let mut expected = multiples(4);
    for (i, value) in expected.iter_mut().take(10).enumerate() {
        *value = 7 + 2 * i as i32;
    }
    assert_eq!(a.download().unwrap(), expected);
    assert_eq!(c.download().unwrap()[..4], [0, 100, 200, 6]);
    let large = rig.context.buffer::<u8>(300_001).unwrap();
    let bytes: Vec<u8> = (0..300_001u32).map(|i| (i * 7) as u8).collect();
    rig.queue.update(&large, &bytes).unwrap();
    assert_eq!(large.download().unwrap(), bytes);
    rig.queue.fill(large.write().range(1, 2), 9u8).unwrap();
    assert_eq!(large.download_range(0..4).unwrap(), [0, 9, 9, 21]);
    rig.assert_no_validation_messages();
}

#[test]
fn commands_that_do_not_fit_are_refused() {
    let rig = rig!();
    let (a, b) = (iota(&rig), poison(&rig));
    let problem = |error| match error {
        Error::Buffer { problem, .. } => problem,
        other => panic!("{other}"),
    };
    let copy = rig.queue.copy(a.read().range(0, 10), a.write().range(5, 10));
    assert_eq!(problem(copy.unwrap_err()), BufferError::CopyOverlap);
    let copy = rig.queue.copy(a.read().range(0, 10), b.write().range(5, 11));
    assert!(matches!(problem(copy.unwrap_err()), BufferError::CopyLength { .. }));
    let fill = rig.queue.fill(a.write().range(N - 1, 2), 1i32);
    assert!(matches!(problem(fill.unwrap_err()), BufferError::OutOfRange { .. }));
    // Each command keeps to what its accessors say, and to the elements of its buffer.
    let (a, b) = (a.named("a"), b.named("b"));
    let floats = rig.context.buffer::<f32>(N).unwrap().named("floats");
    for (done, said) in [
        (
            rig.queue.copy(a.write(), b.read()),
            "buffer `a`: the source is passed as `write`, and the destination, buffer `b`, as `read`",
        ),
        (rig.queue.copy(a.write(), b.write()), "buffer `a`: a copy reads it"),
        (rig.queue.copy(a.read(), b.read()), "buffer `b`: a copy writes it"),
        (rig.queue.fill(b.read(), 1i32), "buffer `b`: a fill writes it"),
        (rig.queue.update(b.read(), &[1i32; N]), "buffer `b`: an update writes it"),
        (
            rig.queue.fill(floats.write(), 1.0),
            "buffer `floats`: it has elements of f32, and the value is f64",
        ),
        (rig.queue.fill(floats.write(), 1), "buffer `floats`: it has elements of f32, and the value is i32"),
        (
            rig.queue.update(floats.write(), &[1u32; N]),
            "buffer `floats`: it has elements of f32, and the value is u32",
        ),
        (
            rig.queue.update(floats.write(), &[1f32]),
            &format!("buffer `floats`: it takes {N} elements ({} bytes), and got 1 element (4 bytes)", 4 * N),
        ),
        (
            rig.queue.fill(floats.write().range(0, 3), [1f32; 2]),
            "buffer `floats`: 12 bytes are no whole number of values of 8 bytes",
        ),
    ] {
        let error = done.unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
    rig.queue.fill(floats.write().cast::<u32>(), 1f32.to_bits()).unwrap();
    assert_eq!(floats.download().unwrap(), [1.0; N]);
    rig.queue.copy(&floats, a.read_write()).unwrap();
    assert!(matches!(problem(a.upload(&[1, 2]).unwrap_err()), BufferError::Length { .. }));
    assert!(matches!(problem(a.upload_at(N, &[1]).unwrap_err()), BufferError::OutOfRange { .. }));
    assert!(matches!(problem(a.upload_at(usize::MAX, &[1]).unwrap_err()), BufferError::OutOfRange { .. }));
    let (start, end) = (N / 2, N / 4);
    assert_eq!(problem(a.download_range(start..end).unwrap_err()), BufferError::Reversed { start, end });
}

#[test]
fn host_tasks_take_their_place() {
    let rig = rig!();
    let (a, b, c) = (iota(&rig), poison(&rig), poison(&rig));
    scale(&rig, &rig.queue, &a, 2, &b).unwrap();
    let buffer = b.clone();
    let task = rig.queue.host_task([b.read_write()], move |scope| {
        scope.write(&buffer, |data| data.iter_mut().for_each(|value| *value += 1))
    });
    scale(&rig, &rig.queue, &b, 10, &c).unwrap();
    assert_eq!(c.download().unwrap(), multiples(20).iter().map(|v| v + 10).collect::<Vec<_>>());
    task.unwrap().wait().unwrap();

    let failing = rig.queue.host_task([b.read()], |_| panic!("in the task")).unwrap();
    let error = failing.wait().unwrap_err();
    assert_eq!(error.to_string(), "the work waited for had failed: the host task panicked: in the task");
    assert!(rig.queue.wait().is_err(), "the queue tells it once");
    rig.queue.wait().unwrap();

    let (listed, other) = (b.clone(), c.clone());
    let task = rig.queue.host_task([b.read()], move |scope| {
        assert!(scope.read(&other).is_err(), "not listed");
        assert!(scope.write(&listed, |_| ()).is_err(), "listed to be read");
        let outside = listed.upload(&vec![0; N]).unwrap_err();
        assert!(matches!(outside, Error::Buffer { problem: BufferError::HostAccess, .. }), "{outside}");
        scope.read(&listed).map(drop)
    });
    task.unwrap().wait().unwrap();
}

#[test]
fn using_a_buffer_inside_its_own_host_access_is_an_error() {
    let rig = rig!();
    let (a, b) = (iota(&rig), poison(&rig));
    a.host_write(|_| {
        let error = scale(&rig, &rig.queue, &a, 2, &b).unwrap_err();
        assert!(matches!(error, Error::Buffer { problem: BufferError::HostAccess, .. }), "{error}");
    })
    .unwrap();
    a.host_read(|_| scale(&rig, &rig.queue, &a, 2, &b).unwrap()).unwrap();
    assert_eq!(b.download().unwrap(), multiples(2));
}

#[test]
fn explicit_dependencies_hold_over_lists_and_queues() {
    let rig = rig!();
    let other = rig.context.queue(QueueOptions::new()).unwrap();
    let (a, b, c) = (iota(&rig), poison(&rig), poison(&rig));
    let kernel = rig.kernel("pair/scale");
    let first = scale(&rig, &other, &a, 2, &b).unwrap();
    let second = rig.queue.submit(|h| {
        h.arg(0, a.read()).arg(1, c.write()).push(&(N as u32)).push(&3i32);
        h.dispatch_items(&kernel, [N as u32, 1, 1]).depends_on(&first);
    });
    second.unwrap().wait().unwrap();
    assert!(first.is_complete());
    assert_eq!(c.download().unwrap(), multiples(3));
}

/// Runs `z = x + y` through addresses.
fn add_by_address(
    rig: &Rig,
    [x, y, z]: [&vkfuse::Buffer<i32>; 3],
    declare: bool,
) -> Result<vkfuse::Event, Error> {
    let kernel = rig.kernel("pair/addresses");
    let [px, py, pz] = [x, y, z].map(|buffer| buffer.device_address().unwrap());
    rig.queue.submit(|h| {
        if declare {
            h.uses(x.read()).uses(y.read()).uses(z.write());
        }
        h.push(&px).push(&py).push(&pz).push(&(N as u32)).dispatch_items(&kernel, [N as u32, 1, 1]);
    })
}

#[test]
fn kernels_that_follow_addresses_fuse_when_trusted() {
    let rig = rig!();
    for declare in [false, true] {
        let (a, b, c, d) = (iota(&rig), poison(&rig), poison(&rig), poison(&rig));
        let run = |factor: i32| {
            rig.queue.fuse_with(&FusionProperties::new().policy(Policy::Trust), |queue| {
                scale(&rig, queue, &a, factor, &b)?;
                add_by_address(&rig, [&a, &b, &c], declare)?;
                add_by_address(&rig, [&c, &c, &d], declare)?;
                scale(&rig, queue, &d, 10, &b).map(drop)
            })
        };
        for factor in [2, 3] {
            let before = rig.context.stats();
            let event = run(factor).unwrap();
            event.wait().unwrap();
            assert_eq!(event.outcome(), Outcome::Fused);
            assert_eq!((rig.context.stats() - before).dispatches, 1);
            let report = event.report().unwrap();
            assert_eq!(report.plan.trusted.iter().filter(|pair| pair.buffer.is_none()).count(), 3);
            assert!(report.plan.groups[0].barriers.iter().all(|barrier| barrier.kept), "{report:#?}");
            assert_eq!(d.download().unwrap(), multiples(2 + 2 * factor));
            assert_eq!(b.download().unwrap(), multiples(10 * (2 + 2 * factor)));
        }
    }
    rig.assert_no_validation_messages();
}

#[test]
fn kernels_that_follow_addresses_keep_their_order() {
    let rig = rig!();
    for declare in [false, true] {
        let (a, b, c, d) = (iota(&rig), poison(&rig), poison(&rig), poison(&rig));
        for fused in [false, true] {
            let run = |queue: &vkfuse::Queue| {
                scale(&rig, queue, &a, 2, &b)?;
                add_by_address(&rig, [&a, &b, &c], declare)?;
                add_by_address(&rig, [&c, &c, &d], declare)?;
                scale(&rig, queue, &d, 10, &b).map(drop)
            };
            if fused {
                rig.queue.fuse(run).unwrap();
            } else {
                run(&rig.queue).unwrap();
            }
            assert_eq!(b.download().unwrap(), multiples(60));
            assert_eq!(d.download().unwrap(), multiples(6));
        }
    }
    let (a, b) = (iota(&rig), poison(&rig));
    rig.context.wait().unwrap();
    let before = rig.context.stats();
    add_by_address(&rig, [&a, &a, &b], true).unwrap();
    assert_eq!((rig.context.stats() - before).barriers, 0, "it said what it reaches");
    assert_eq!(b.download().unwrap(), multiples(2), "and the host waits for it");
    rig.assert_no_validation_messages();
}
