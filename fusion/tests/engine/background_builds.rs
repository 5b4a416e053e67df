//! Fused code that is built in the background, while lists run unfused; and the code of several steps, built together.

use std::sync::Arc;

use crate::support::{Rig, own::Own};
use vkfuse::{Buffer, Error, Event, FusionProperties, FusionWrapper, Outcome};

const N: usize = 1024;

struct Chain {
    x: Buffer<i32>,
    tmp: Buffer<i32>,
    out: Buffer<i32>,
}

impl Chain {
    fn new(rig: &Rig) -> Chain {
        let data: Vec<i32> = (0..N as i32).collect();
        let x = rig.context.buffer_from(&data).unwrap();
        Chain { x, tmp: rig.context.scratch(N).unwrap(), out: rig.context.buffer(N).unwrap() }
    }

    fn submit(&self, rig: &Rig) -> Result<(), Error> {
        let scale = rig.kernel("pair/scale");
        for (from, to, factor) in [(&self.x, &self.tmp, 2i32), (&self.tmp, &self.out, 3)] {
            rig.queue.submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&factor);
                h.dispatch_items(&scale, [N as u32, 1, 1]);
            })?;
        }
        Ok(())
    }

    fn run(&self, rig: &Rig, properties: &FusionProperties) -> Event {
        let event = rig.queue.fuse_with(properties, |_| self.submit(rig)).unwrap();
        let expected: Vec<i32> = (0..N as i32).map(|i| 6 * i).collect();
        assert_eq!(self.out.download().unwrap(), expected);
        event
    }
}

#[test]
fn a_list_runs_unfused_until_its_code_is_there() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let properties = FusionProperties::new().build_in_background();
    let first = chain.run(&rig, &properties);
    assert_eq!(first.outcome(), Outcome::Building);
    let report = first.report().unwrap();
    assert_eq!((report.submissions, report.dispatches), (2, 2));
    assert!(chain.tmp.download().is_ok(), "unfused, the temporary is written");
    rig.context.wait_for_builds();
    for _ in 0..4 {
        let later = chain.run(&rig, &properties);
        assert_eq!(later.outcome(), Outcome::Fused);
        assert_eq!(later.report().unwrap().dispatches, 1);
        assert!(chain.tmp.download().is_err(), "fused, it stays inside");
    }
    let stats = rig.context.stats();
    assert_eq!((stats.lists_building, stats.lists_fused), (1, 4));
    rig.assert_no_validation_messages();
}

#[test]
fn a_kept_list_switches_too() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    chain.submit(&rig).unwrap();
    let properties = FusionProperties::new().build_in_background();
    let (first, list) = fusion.complete_and_keep(&properties).unwrap();
    assert_eq!(first.outcome(), Outcome::Building);
    rig.context.wait_for_builds();
    for _ in 0..3 {
        assert_eq!(list.run().unwrap().outcome(), Outcome::Fused);
    }
    assert_eq!(chain.out.download().unwrap()[10], 60);
    rig.assert_no_validation_messages();
}

/// No one calls the driver any more once a context is gone: a program may end then.
#[test]
fn a_context_that_goes_waits_for_what_is_being_built() {
    let Some(own) = Own::open() else { return };
    let before = Arc::strong_count(&own.device);
    for _ in 0..3 {
        let rig = Rig::over(own.context());
        let chain = Chain::new(&rig);
        let first = chain.run(&rig, &FusionProperties::new().build_in_background());
        assert_eq!(first.outcome(), Outcome::Building);
        drop((first, chain, rig));
        assert_eq!(Arc::strong_count(&own.device), before, "a thread still has the device");
    }
    assert_eq!(own.close(), 0);
}

#[test]
fn what_is_in_memory_is_used_at_once() {
    let rig = rig!();
    let chain = Chain::new(&rig);
    assert_eq!(chain.run(&rig, &FusionProperties::new()).outcome(), Outcome::Fused);
    let background = FusionProperties::new().build_in_background();
    assert_eq!(chain.run(&rig, &background).outcome(), Outcome::Fused);
}

#[test]
fn the_steps_of_a_split_list_are_all_built() {
    let rig = rig!();
    // Reversing across work-groups cannot be fused with what comes before, so this is several steps.
    let (a, b, c, d) = (
        rig.context.buffer_from(&(0..N as i32).collect::<Vec<_>>()).unwrap(),
        rig.context.buffer::<i32>(N).unwrap(),
        rig.context.buffer::<i32>(N).unwrap(),
        rig.context.buffer::<i32>(N).unwrap(),
    );
    let (scale, add) = (rig.kernel("pair/scale"), rig.kernel("pair/add"));
    let n = N as u32;
    let run = || {
        rig.queue.fuse(|queue| {
            for (from, to, factor) in [(&a, &b, 2i32), (&b, &c, 3)] {
                queue.submit(|h| {
                    h.arg(0, from.read()).arg(1, to.write()).push(&n).push(&factor);
                    h.dispatch_items(&scale, [n, 1, 1]);
                })?;
            }
            // Reads the second half of what the group before wrote.
            let half = N / 2;
            let (front, back) = (c.read().range(0, half), c.read().range(half, half));
            queue.submit(|h| {
                h.arg(0, front).arg(1, back).arg(2, d.write()).push(&(half as u32));
                h.dispatch_items(&add, [n, 1, 1]);
            })?;
            queue.submit(|h| {
                h.arg(0, d.read()).arg(1, a.write()).push(&n).push(&1i32);
                h.dispatch_items(&scale, [n, 1, 1]);
            })?;
            Ok(())
        })
    };
    for _ in 0..3 {
        let first: Vec<i32> = a.download().unwrap();
        run().unwrap();
        let got = a.download().unwrap();
        for i in 0..N / 2 {
            assert_eq!(got[i], 6 * (first[i] + first[i + N / 2]), "element {i}");
        }
    }
    rig.assert_no_validation_messages();
}
