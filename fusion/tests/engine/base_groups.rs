//! Dispatches whose work-group ids do not start at 0: right by themselves, and never fused, with the reason.

use crate::support::{Rig, own::Own, poison};
use vkfuse::{
    Buffer, DeviceError, Error, Event, FusionProperties, FusionWrapper, Outcome, Reason, SubmitError,
};

/// Four work-groups of 128.
const N: u32 = 512;

struct Data {
    x: Buffer<u32>,
    y: Buffer<u32>,
    z: Buffer<u32>,
}

impl Data {
    fn new(rig: &Rig) -> Data {
        let ints =
            |factor: u32| rig.context.buffer_from(&(0..N).map(|i| factor * i).collect::<Vec<_>>()).unwrap();
        let z = rig.context.buffer_from(&poison(N as usize)).unwrap();
        Data { x: ints(2), y: ints(3), z: z.named("z") }
    }

    /// `z = x + y` by work-groups from `base` on.
    fn add(&self, rig: &Rig, kernel: &str, base: u32, groups: u32) -> Result<Event, Error> {
        let kernel = rig.kernel(kernel);
        rig.queue.submit(|h| {
            h.arg(0, self.x.read()).arg(1, self.y.read()).arg(2, self.z.write());
            if kernel.specialized(&[])?.interface.push.is_some() {
                h.push(&N);
            }
            h.spec(0, 128_u32).dispatch_base(&kernel, [base, 0, 0], [groups, 1, 1]);
            Ok(())
        })
    }

    /// Demands sums in these elements and what was there before in the others.
    fn assert_added(&self, elements: std::ops::Range<usize>) {
        let before = poison(N as usize);
        for (i, value) in self.z.download().unwrap().into_iter().enumerate() {
            let expected = if elements.contains(&i) { 5 * i as u32 } else { before[i] };
            assert_eq!(value, expected, "z[{i}]");
        }
    }
}

/// Kernels that go by work-group id and by global id.
const KERNELS: [&str; 2] = ["pair/add_grouped", "pair/add"];

#[test]
fn ids_start_at_the_base() {
    let rig = rig!();
    for kernel in KERNELS {
        for (base, groups) in [(0, 2), (1, 2), (2, 2), (3, 1)] {
            let data = Data::new(&rig);
            let before = rig.context.stats();
            assert_eq!(data.add(&rig, kernel, base, groups).unwrap().outcome(), Outcome::Unfused);
            data.assert_added(128 * base as usize..128 * (base + groups) as usize);
            assert_eq!((rig.context.stats() - before).dispatches, 1);
        }
    }
    rig.assert_no_validation_messages();
}

/// The same base in all, in some, and different ones: each of them runs by itself, and the report says why.
#[test]
fn runs_by_itself_in_a_list() {
    let rig = rig!();
    for kernel in KERNELS {
        for bases in [[2, 2], [0, 2], [2, 0], [1, 3]] {
            let (first, second) = (Data::new(&rig), Data::new(&rig));
            let before = rig.context.stats();
            let fusion = FusionWrapper::new(&rig.queue).unwrap();
            fusion.start_fusion().unwrap();
            first.add(&rig, kernel, bases[0], 1).unwrap();
            second.add(&rig, kernel, bases[1], 1).unwrap();
            let done = fusion.complete_fusion(&FusionProperties::default()).unwrap();
            let base = [if bases[0] > 0 { bases[0] } else { bases[1] }, 0, 0];
            assert_eq!(done.outcome(), Outcome::Refused { reason: Reason::BaseGroups { base } }, "{bases:?}");
            for (data, base) in [(&first, bases[0]), (&second, bases[1])] {
                data.assert_added(128 * base as usize..128 * (base + 1) as usize);
            }
            assert_eq!((rig.context.stats() - before).dispatches, 2);
        }
    }
    rig.assert_no_validation_messages();
}

/// What comes before and after it fuses around it, in order.
#[test]
fn splits_a_list() {
    let rig = rig!();
    let data = Data::new(&rig);
    let scale = rig.kernel("access/scale_in_place");
    let double = || {
        rig.queue.submit(|h| {
            h.arg(0, data.x.read_write()).push(&N).push(&2_u32).dispatch_items(&scale, [N, 1, 1]);
        })
    };
    let before = rig.context.stats();
    let done = rig.queue.fuse(|_| {
        double()?;
        double()?;
        data.add(&rig, "pair/add", 1, 2)?;
        double()?;
        double().map(drop)
    });
    assert_eq!(done.unwrap().outcome(), Outcome::Split);
    let z = data.z.download().unwrap();
    assert_eq!((z[127], z[128], z[383], z[384]), (poison(512)[127], 11 * 128, 11 * 383, poison(512)[384]));
    assert_eq!(data.x.download().unwrap()[3], 2 * 3 * 16);
    assert_eq!((rig.context.stats() - before).dispatches, 3);
    rig.assert_no_validation_messages();
}

#[test]
fn the_last_group_is_within_the_limit() {
    let rig = rig!();
    let data = Data::new(&rig);
    let limit = rig.context.device_info().limits.max_groups[0];
    let error = data.add(&rig, "pair/add", limit, 1).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::OverLimit { .. })), "{error}");
    data.assert_added(0..0);
    rig.assert_no_validation_messages();
}

/// What cannot be folded to the device's limit is an error of the submission that has it, and the list before it is as it was.
#[test]
fn more_groups_than_the_driver_counts_are_an_error_of_their_submission() {
    let rig = rig!();
    if rig.context.device_info().driver != "llvmpipe" {
        return;
    }
    let data = Data::new(&rig);
    let kernel = rig.kernel("pair/add");
    let submit = |groups: [u32; 3]| {
        rig.queue.submit(|h| {
            h.arg(0, data.x.read()).arg(1, data.y.read()).arg(2, data.z.write()).push(&N);
            h.dispatch(&kernel, groups);
        })
    };
    for groups in [[u32::MAX, 1, 1], [65_535, 32_769, 2]] {
        let error = submit(groups).unwrap_err();
        let Error::Submit { problem: SubmitError::GroupTotal { .. }, .. } = &error else { panic!("{error}") };
    }
}

#[test]
fn more_groups_than_the_device_dispatches_are_an_error_of_their_submission() {
    let rig = rig!();
    let data = Data::new(&rig);
    let kernel = rig.kernel("pair/add");
    let wrapper = FusionWrapper::new(&rig.queue).unwrap();
    wrapper.start_fusion().unwrap();
    data.add(&rig, "pair/add", 0, 4).unwrap();
    let error = rig.queue.submit(|h| {
        h.arg(0, data.x.read()).arg(1, data.y.read()).arg(2, data.z.write()).push(&N);
        h.dispatch(&kernel, [217, u32::MAX, u32::MAX]);
    });
    let error = error.unwrap_err();
    let Error::Submit { kernel, problem } = &error else { panic!("{error}") };
    assert!(matches!(problem, SubmitError::GroupCount { dim: 1, count: u32::MAX, .. }), "{error}");
    let said = format!(
        "kernel `{kernel}`: 4294967295 work-groups in y are over the device's `maxComputeWorkGroupCount` of "
    );
    assert!(error.to_string().starts_with(&said), "{error}");
    wrapper.complete_fusion(&FusionProperties::new()).unwrap();
    data.assert_added(0..512);
    rig.assert_no_validation_messages();
}

/// The caller's device may lack what the engine's has, and its queues may be of another kind.
#[test]
fn ids_start_at_the_base_on_a_device_of_the_callers() {
    let Some(own) = Own::open() else { return };
    let rig = Rig::over(own.context());
    for kernel in KERNELS {
        for (base, groups) in [(0, 4), (1, 2), (3, 1)] {
            let data = Data::new(&rig);
            data.add(&rig, kernel, base, groups).unwrap();
            data.assert_added(128 * base as usize..128 * (base + groups) as usize);
        }
    }
    drop(rig);
    assert_eq!(own.close(), 0, "validation messages");
}
