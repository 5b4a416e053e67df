//! Kernels of the Vulkan memory model and of GLSL450 in one list, and kernels that compute with floats in different ways:
//! each list has the numbers that it has to have, and is as few dispatches as one of kernels that are all alike.

use crate::support::{Buf, Ran, Rig, Size, Submit, Workload};
use vkfuse::{Promote, Reason};

const N: u32 = 1024;
const GROUPS: Size = Size::Groups([N / 64, 1, 1]);

/// Kernels that double an element, of both models. The stores of some are private, those of others are not, or state
/// that they are available.
const DOUBLE: [&str; 8] = [
    "model/globals",
    "model/globals_vulkan.13",
    "model/globals_vulkan.14",
    "model/globals_vulkan.15",
    "model/access.own",
    "model/access.nonprivate",
    "model/access.coherent",
    "model/access.group",
];

fn inputs() -> impl Iterator<Item = f32> {
    (0..N).map(|i| i as f32 * 0.75 - 300.0)
}

/// A list over three buffers; the one in the middle may be promoted.
fn through_one(promote: Promote) -> (Workload, [Buf; 3]) {
    let mut list = Workload::default();
    let x = list.floats("x", inputs());
    let (tmp, out) = (list.poisoned("tmp", N as usize), list.poisoned("out", N as usize));
    list.promote(tmp, promote);
    (list, [x, tmp, out])
}

fn submit(kernel: &str, from: Buf, to: Buf) -> Submit {
    let submit = Submit::new(kernel, GROUPS).read(0, from).write(1, to);
    if kernel.contains("exchange") || kernel.contains("mirror") { submit } else { submit.push(N) }
}

/// Runs two kernels, and demands one dispatch.
fn two(rig: &Rig, kernels: [&str; 2], promote: Promote) -> (Ran, [Buf; 3]) {
    let (mut list, [x, tmp, out]) = through_one(promote);
    list.submit(submit(kernels[0], x, tmp));
    list.submit(submit(kernels[1], tmp, out));
    let ran = list.check_equal(rig);
    assert_eq!(ran.stats.dispatches, 1, "{kernels:?}: {:#?}", ran.report().plan);
    (ran, [x, tmp, out])
}

#[test]
fn kernels_of_both_models_hand_elements_on() {
    let rig = rig!();
    let wanted: Vec<f32> = inputs().map(|x| 4.0 * x).collect();
    for first in DOUBLE {
        for second in DOUBLE {
            let (ran, [_, tmp, out]) = two(&rig, [first, second], Promote::Private);
            ran.assert_internalized(tmp, Promote::Private);
            assert_eq!(ran.floats(out), wanted, "{first}, {second}");
        }
    }
    rig.assert_no_validation_messages();
}

/// What a kernel stores by an access that is not private is computed where it is read, as any other.
#[test]
fn stores_that_are_not_private_are_worked_out_elsewhere() {
    let rig = rig!();
    let x: Vec<f32> = inputs().collect();
    let next = |i: usize| x[(i + 1).min(x.len() - 1)];
    let wanted: Vec<f32> = (0..x.len()).map(|i| 2.0 * x[i] + 2.0 * next(i)).collect();
    for first in DOUBLE {
        let (ran, [.., out]) = two(&rig, [first, "model/access.shift"], Promote::Auto);
        assert_eq!(ran.floats(out), wanted, "{first}");
        assert_eq!(ran.report().plan.inlined.len(), 1, "{first}");
    }
    rig.assert_no_validation_messages();
}

/// Between members, and those that kernels have themselves, in shared memory and in a buffer.
#[test]
fn kernels_of_both_models_have_barriers() {
    let rig = rig!();
    let x: Vec<f32> = inputs().collect();
    let mirrored = |i: usize| i / 64 * 64 + 63 - i % 64;
    let turning = ["model/mirror", "model/exchange.shared", "model/exchange.buffer"];
    for first in DOUBLE {
        for second in turning {
            let (ran, [.., out]) = two(&rig, [first, second], Promote::None);
            let wanted: Vec<f32> = (0..x.len()).map(|i| 4.0 * x[mirrored(i)]).collect();
            assert_eq!(ran.floats(out), wanted, "{first}, {second}");
        }
    }
    for first in turning {
        for second in turning {
            let (ran, [.., out]) = two(&rig, [first, second], Promote::None);
            let wanted: Vec<f32> = x.iter().map(|x| 4.0 * x).collect();
            assert_eq!(ran.floats(out), wanted, "{first}, {second}");
        }
    }
    rig.assert_no_validation_messages();
}

/// What moves words stands beside any kernel, and keeps kernels apart that differ.
#[test]
fn copies_and_fills_join_any_group() {
    let rig = rig!();
    let modes = ["plain", "half", "rte", "rtz"];
    let known =
        |mode: &str| rig.context.load_spirv(crate::support::shader(&format!("model/modes.{mode}"))).is_ok();
    for mode in modes.into_iter().filter(|mode| known(mode)) {
        let kernel = &*format!("model/modes.{mode}");
        for kernels in [["model/words.copy", kernel], [kernel, "model/words.copy"]] {
            let (mut list, [x, tmp, out]) = through_one(Promote::Private);
            for (kernel, (from, to)) in kernels.into_iter().zip([(x, tmp), (tmp, out)]) {
                let submit = submit(kernel, from, to);
                list.submit(if kernel.ends_with("copy") { submit.push(0) } else { submit });
            }
            let ran = list.check_equal(&rig);
            assert_eq!(ran.stats.dispatches, 1, "{kernels:?}: {:#?}", ran.report().plan);
            assert_eq!(ran.floats(out), inputs().map(|x| 2.0 * x).collect::<Vec<_>>(), "{kernels:?}");
        }
        let (mut list, [_, tmp, out]) = through_one(Promote::Private);
        let fill = Submit::new("model/words.fill", GROUPS).write(1, tmp).push(N).push(1.5f32.to_bits());
        list.submit(fill);
        list.submit(submit(kernel, tmp, out));
        let ran = list.check_equal(&rig);
        assert_eq!(ran.stats.dispatches, 1, "{mode}: {:#?}", ran.report().plan);
        assert!(ran.floats(out).iter().all(|&x| x == 3.0), "{mode}");
    }
    if known("rtz") && known("rte") {
        let (mut list, [x, tmp, out]) = through_one(Promote::None);
        list.submit(submit("model/modes.rte", x, tmp));
        list.submit(submit("model/words.copy", tmp, out).push(0));
        list.submit(submit("model/modes.rtz", out, tmp));
        let ran = list.check_equal(&rig);
        assert_eq!(ran.stats.dispatches, 2);
        assert_eq!(ran.report().plan.splits[0].reason, Reason::FloatControls);
    }
    rig.assert_no_validation_messages();
}
