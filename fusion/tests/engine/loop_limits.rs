//! Kernels whose loops a driver ends early are named in the report of a list and in the log.

use vkfuse::FusionProperties;

use crate::support::{Rig, Size, Submit, Workload};

/// The notes of a list of one kernel whose loop has this trip count.
fn notes(rig: &Rig, rounds: u32) -> Vec<String> {
    let mut list = Workload::default();
    let (x, z) = (list.words("x", 0..64), list.poisoned("z", 64));
    let submit = Submit::new("forms/rounds", Size::Groups([1, 1, 1])).read(0, x).write(1, z);
    list.submit(submit.push(64).push(rounds));
    let buffers = list.allocate(rig);
    let done = rig.queue.fuse_with(&FusionProperties::default(), |_| {
        list.submit_all(rig, &buffers);
        Ok(())
    });
    let done = done.unwrap();
    done.wait().unwrap();
    done.report().unwrap().kernels[0].notes.clone()
}

#[test]
fn loops_longer_than_the_driver_runs_them_are_named() {
    let rig = rig!();
    let info = rig.context.device_info();
    let version: Vec<u32> = info
        .driver_info
        .strip_prefix("Mesa ")
        .map(|text| {
            text.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok()).take(3).collect()
        })
        .unwrap_or_default();
    let leaves_early = info.driver == "llvmpipe" && version < vec![25, 0, 7];
    assert!(notes(&rig, 1000).is_empty());
    let long = notes(&rig, 70_000);
    assert_eq!(!long.is_empty(), leaves_early, "{long:?}");
    if leaves_early {
        assert!(long[0].contains("iterations") && long[0].contains("after 65535"), "{long:?}");
    }
    rig.assert_no_validation_messages();
}
