//! The rest of what this engine itself got wrong: what a buffer is worth after its contents stayed inside, and what rests on
//! the user's word. These are about more than one list, or about its report.

use crate::frame::numbers;
use crate::support::{Size, Submit, Workload};
use vkfuse::Promote::Private;
use vkfuse::{FusionProperties, Policy};

/// `t` stays inside a list; then a kernel writes it perhaps. Its old bytes may not pass for new ones.
#[test]
fn a_perhaps_does_not_make_old_bytes_new() {
    let rig = rig!();
    for (name, stage, binding) in [("t", "maybe", 1), ("p", "padded", 2)] {
        let mut list = Workload::default();
        let a = list.words("a", numbers(256));
        let (t, out) = (list.poisoned(name, 512), list.poisoned("out", 256));
        list.promote(t, Private);
        let run = |stage: &str| Submit::new(&format!("museum/perhaps.{stage}"), Size::Groups([4, 1, 1]));
        list.submit(run("copy").read(0, a).write(1, t));
        list.submit(run("use").read(1, t).write(3, out));
        let ran = list.check_fused(&rig);
        ran.assert_internalized(t, Private);
        let (a, t) = (&ran.buffers[0], &ran.buffers[1]);
        let kernel = rig.kernel(&format!("museum/perhaps.{stage}"));
        let event = rig.queue.submit(|h| {
            h.arg(0, a.read().cast::<u8>()).arg(binding, t.write().cast::<u8>()).dispatch(&kernel, [4, 1, 1]);
        });
        event.expect("an overwrite reads nothing").wait().expect("it runs");
        let error = t.download().expect_err("not every byte of it is new");
        assert!(error.to_string().contains(name), "{error}");
    }
    rig.assert_no_validation_messages();
}

/// A barrier that is left out on the user's word is in the report as trusted.
#[test]
fn a_dropped_barrier_is_reported_as_trusted() {
    let rig = rig!();
    let mut list = Workload::default();
    let a = list.words("a", numbers(1024));
    let (t, out) = (list.poisoned("t", 1024), list.poisoned("out", 1024));
    for (stage, from, to) in [("write", a, t), ("mirror", t, out)] {
        let name = format!("museum/dropped_barrier.{stage}");
        list.submit(Submit::new(&name, Size::Groups([4, 1, 1])).read(0, from).write(1, to));
    }
    let proven = list.check_fused(&rig);
    assert_eq!(proven.barriers_kept(), 1);
    assert!(proven.report().plan.trusted.is_empty());
    let properties = FusionProperties::new().policy(Policy::Trust).no_barriers();
    let trusted = list.run_fused(&rig, &properties);
    assert_eq!(trusted.barriers_kept(), 0);
    let report = trusted.report();
    let said: Vec<_> = report.plan.trusted.iter().map(|t| (t.first, t.second, t.buffer)).collect();
    assert_eq!(said, [(0, 1, Some(trusted.buffers[1].id()))], "{:#?}", report.plan);
}
