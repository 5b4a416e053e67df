//! Bindings of one kernel that share some bytes of a buffer but not all, where the kernel writes one of them: valid in Vulkan as long as the kernel
//! does not race with itself. Such a submission runs by itself, as it was given, and the report says why.

use crate::support::Rig;
use vkfuse::{Buffer, Event, FusionProperties, FusionWrapper, Outcome, Reason, SetBinding};

/// Elements of a part; 64 work-groups of 64.
const N: usize = 4096;

/// `d[i] = 2 a[i]` on parts of buffers, by their first element and length.
type Part<'a> = (&'a Buffer<f32>, usize, usize);

fn double(rig: &Rig, a: Part<'_>, d: Part<'_>) -> Event {
    let kernel = rig.kernel("views/double");
    let event = rig.queue.submit(|h| {
        h.arg(0, a.0.read().range(a.1, a.2)).arg(1, d.0.read_write().range(d.1, d.2));
        h.push(&(N as u32)).dispatch(&kernel, [64, 1, 1]);
    });
    event.unwrap()
}

fn numbers(rig: &Rig, parts: usize) -> (Buffer<f32>, Vec<f32>) {
    let held: Vec<f32> = (0..N * parts).map(|i| i as f32).collect();
    (rig.context.buffer_from(&held).unwrap(), held)
}

fn doubled(held: &[f32], from: usize) -> Vec<f32> {
    held[from..from + N].iter().map(|x| 2.0 * x).collect()
}

/// What is read lies behind what is written, and the binding that is written covers both; and the other way round, and at its ends.
#[test]
fn they_run_as_they_are() {
    let rig = rig!();
    for (a, d) in [
        ((N, N), (0, 3 * N)),
        ((2 * N, N), (0, 3 * N)),
        ((N, 2 * N), (0, 2 * N)),
        ((0, 2 * N), (N, 2 * N)),
        ((0, 3 * N), (2 * N, N)),
        ((0, N + 64), (N, N)),
    ] {
        let (x, held) = numbers(&rig, 3);
        let event = double(&rig, (&x, a.0, a.1), (&x, d.0, d.1));
        event.wait().unwrap();
        assert_eq!(event.outcome(), Outcome::Unfused);
        let mut wanted = held.clone();
        wanted[d.0..d.0 + N].copy_from_slice(&doubled(&held, a.0));
        assert_eq!(x.download().unwrap(), wanted, "{a:?} {d:?}");
    }
    rig.assert_no_validation_messages();
}

/// The tail of a buffer is read, and its beginning read by the next kernel; then others fuse behind it.
#[test]
fn lists_fuse_around_them() {
    let rig = rig!();
    let [o, p, q] = [(); 3].map(|()| rig.context.buffer_from(&vec![-1.0f32; N]).unwrap());
    let whole = |buffer| (buffer, 0, N);
    let mut last = None;
    for round in 0..5 {
        let (x, held) = numbers(&rig, 3);
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        double(&rig, (&x, 2 * N, N), whole(&p));
        double(&rig, whole(&p), whole(&q));
        double(&rig, (&x, N, N), (&x, 0, 3 * N));
        double(&rig, (&x, 0, N), whole(&o));
        double(&rig, whole(&o), whole(&p));
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        assert_eq!(event.outcome(), Outcome::Split, "{round}");
        let report = event.report().unwrap();
        let groups: Vec<_> =
            report.plan.groups.iter().map(|group| group.members.as_range().unwrap()).collect();
        assert_eq!(groups, [0..2, 2..3, 3..5]);
        let reason = Reason::Overlap { first: SetBinding::from(0), second: SetBinding::from(1) };
        for split in &report.plan.splits {
            assert_eq!(split.reason, reason);
        }
        let wanted: Vec<f32> = doubled(&held, N).iter().map(|x| 4.0 * x).collect();
        assert_eq!(p.download().unwrap(), wanted, "{round}");
        assert_eq!(q.download().unwrap(), doubled(&held, 2 * N).iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        let memory = x.download().unwrap();
        assert_eq!((&memory[..N], &memory[N..]), (&doubled(&held, N)[..], &held[N..]));
        last = Some(report);
    }
    drop(last);
    rig.assert_no_validation_messages();
}

/// A kept list with such a submission runs again and on other buffers; what shares bytes has to share them there.
#[test]
fn kept_lists_with_them_run_again() {
    let rig = rig!();
    let (x, held) = numbers(&rig, 3);
    let (y, _) = numbers(&rig, 3);
    let o = rig.context.buffer_from(&vec![-1.0f32; N]).unwrap();
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    double(&rig, (&x, N, N), (&x, 0, 2 * N));
    double(&rig, (&x, 0, N), (&o, 0, N));
    let (event, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    event.wait().unwrap();
    let wanted: Vec<f32> = doubled(&held, N).iter().map(|x| 2.0 * x).collect();
    assert_eq!(o.download().unwrap(), wanted);
    for _ in 0..4 {
        x.upload(&held).unwrap();
        o.fill(0.0).unwrap();
        kept.run().unwrap().wait().unwrap();
        assert_eq!(o.download().unwrap(), wanted);
    }
    let rebound = kept.rebind().buffer(&x, &y).finish().unwrap();
    x.fill(5.0).unwrap();
    for _ in 0..4 {
        y.upload(&held).unwrap();
        o.fill(0.0).unwrap();
        rebound.run().unwrap().wait().unwrap();
        assert_eq!(o.download().unwrap(), wanted);
    }
    assert_eq!(x.download().unwrap(), vec![5.0; 3 * N]);
    rig.assert_no_validation_messages();
}

/// What overlaps and is only read is followed, and so are bindings on the same bytes and on bytes apart.
#[test]
fn what_is_the_same_or_apart_or_only_read_fuses() {
    let rig = rig!();
    let add = rig.kernel("pair/add");
    for (x, y, z, fused) in [
        ((0, 256), (64, 256), (512, 256), true),
        ((0, 256), (0, 256), (0, 256), true),
        ((256, 256), (256, 256), (512, 256), true),
        ((0, 256), (256, 256), (128, 256), false),
        ((0, 512), (512, 256), (0, 256), false),
    ] {
        let held: Vec<u32> = (0..768).collect();
        let pool = rig.context.buffer_from(&held).unwrap();
        let out = rig.context.buffer_from(&[7u32; 256]).unwrap();
        let done = rig.queue.fuse(|queue| {
            let part = |(start, len): (usize, usize)| pool.read_write().range(start, len);
            queue.submit(|h| {
                h.arg(0, part(x)).arg(1, part(y)).arg(2, part(z)).push(&16u32).dispatch(&add, [1, 1, 1]);
            })?;
            queue.submit(|h| {
                h.arg(0, part(z)).arg(1, part(z)).arg(2, out.write()).push(&16u32).dispatch(&add, [1, 1, 1]);
            })?;
            Ok(())
        });
        let event = done.unwrap();
        event.wait().unwrap();
        assert_eq!(event.outcome() == Outcome::Fused, fused, "{x:?} {y:?} {z:?}: {:?}", event.outcome());
        let found = out.download().unwrap();
        // The items go through the first elements in step, so that none reads what another wrote.
        for i in 0..16 {
            assert_eq!(found[i], 2 * (held[x.0 + i] + held[y.0 + i]), "{x:?} {y:?} {z:?} {i}");
        }
        assert!(found[16..].iter().all(|word| *word == 7));
    }
    rig.assert_no_validation_messages();
}
