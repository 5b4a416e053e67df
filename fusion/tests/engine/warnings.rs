//! Warnings about lists: notes, once; what ended one early; what failed and is not in it.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use tracing::{
    Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::with_default,
};
use vkfuse::{Buffer, CancelCause, Error, Event, Kernel, Outcome};

use crate::notes::kernel;
use crate::support::Rig;

const N: u32 = 256;

/// Keeps the messages of warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("vkfuse")
            && metadata.target() != "vkfuse::validation"
            && *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn buffers(rig: &Rig) -> [Buffer<u32>; 3] {
    let words: Vec<u32> = (0..N).collect();
    ["x", "y", "z"].map(|name| rig.context.buffer_from(&words).unwrap().named(name))
}

fn submit(queue: &vkfuse::Queue, kernel: &Kernel, [x, z]: [&Buffer<u32>; 2], n: u32) -> Result<Event, Error> {
    queue.submit(|h| {
        h.arg(0, x.read()).arg(1, z.read_write()).push(&n).dispatch_items(kernel, [N, 1, 1]);
    })
}

#[test]
fn notes_on_a_list_are_said_once() {
    let rig = rig!();
    let [x, y, z] = buffers(&rig);
    let more = kernel(&rig, "z[i] = x[i] + 1u;");
    let warnings = Warnings::default();
    let run = |n: u32| {
        let fused = rig.queue.fuse(|q| {
            submit(q, &more, [&x, &y], n)?;
            submit(q, &more, [&y, &z], n)?;
            Ok(())
        });
        fused.unwrap().wait().unwrap();
    };
    with_default(warnings.clone(), || run(64));
    let said = warnings.take();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("submission 0 `kernel` has 4 work-groups in x"), "{said:?}");
    // Planned again, kept, launched; with other push constants.
    with_default(warnings.clone(), || [64, 64, 64, 256, 64, 128].into_iter().for_each(run));
    assert_eq!(warnings.take(), Vec::<String>::new());
    rig.assert_no_validation_messages();
}

#[test]
fn notes_on_a_submission_by_itself_are_said_once() {
    let rig = rig!();
    let [x, y, _] = buffers(&rig);
    let sum = kernel(&rig, "z[0] += x[i];");
    let warnings = Warnings::default();
    with_default(warnings.clone(), || {
        for _ in 0..4 {
            submit(&rig.queue, &sum, [&x, &y], N).unwrap().wait().unwrap();
        }
    });
    let said = "all invocations of a submission of `kernel` read and write element 0 of buffer `y` without an atomic operation: what some write is lost";
    assert_eq!(warnings.take(), [said]);
}

#[test]
fn what_cancels_a_list_is_said_with_its_place() {
    let rig = rig!();
    let [x, y, z] = buffers(&rig);
    let more = kernel(&rig, "z[i] = x[i] + 1u;");
    let warnings = Warnings::default();
    let run = |observe: &dyn Fn(&Event)| {
        let mut first = None;
        with_default(warnings.clone(), || {
            let fused = rig.queue.fuse(|q| {
                let event = submit(q, &more, [&x, &y], N)?;
                submit(q, &more, [&y, &z], N)?;
                observe(&event);
                first = Some(event);
                Ok(())
            });
            fused.unwrap().wait().unwrap();
        });
        let first = first.unwrap();
        assert!(matches!(first.outcome(), Outcome::Cancelled { .. }));
        (first, warnings.take())
    };
    let (event, said) = run(&|_| drop(y.download().unwrap()));
    assert_eq!(event.outcome(), Outcome::Cancelled { by: CancelCause::HostRead });
    let why = "a host read of buffer `y`, which submission 0 `kernel` writes, came behind submission 1 `kernel` and before the list was complete, which ran unfused: move it behind the list, or call `complete_fusion` before it";
    assert_eq!(said, [format!("fusion list ended: {why}")]);
    assert!(event.report().unwrap().to_string().contains(why));
    // The same once more is no news.
    assert_eq!(run(&|_| drop(y.download().unwrap())).1, Vec::<String>::new());
    let (_, said) = run(&|event| event.wait().unwrap());
    let why = "a wait for an event came behind submission 1 `kernel` and before the list was complete, which ran unfused: wait behind the list, for the event that `fuse` or `complete_fusion` returns";
    assert_eq!(said, [format!("fusion list ended: {why}")]);
}

#[test]
fn a_submission_that_failed_is_said_not_to_be_in_the_list() {
    let rig = rig!();
    let [x, y, z] = buffers(&rig);
    let more = kernel(&rig, "z[i] = x[i] + 1u;");
    let warnings = Warnings::default();
    let run = |fails: usize| {
        let fused = rig.queue.fuse(|q| {
            submit(q, &more, [&x, &y], N)?;
            for _ in 0..fails {
                let _ = q.submit(|h| {
                    h.arg(0, y.read()).push(&N).dispatch_items(&more, [N, 1, 1]);
                });
            }
            submit(q, &more, [&y, &z], N)?;
            Ok(())
        });
        let event = fused.unwrap();
        event.wait().unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
        event.report().unwrap().to_string()
    };
    // Kept and launched, too, and with nothing left of it afterwards.
    for _ in 0..4 {
        assert!(!run(0).contains("failed"));
        let text = with_default(warnings.clone(), || run(1));
        let said = warnings.take();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("1 submission failed and is not in the list: kernel "), "{said:?}");
        assert!(text.contains(&said[0]), "{text}");
    }
    assert!(run(2).contains("2 submissions failed and are not in the list; the first: kernel "));
    assert_eq!(z.download().unwrap(), (2..N + 2).collect::<Vec<_>>());
}

#[test]
fn an_error_of_a_host_task_that_no_one_reads_is_said() {
    let rig = rig!();
    let warnings = Warnings::default();
    let [x, ..] = buffers(&rig);
    let task = |rig: &Rig, x: &Buffer<u32>| {
        rig.queue.host_task([x.read()], |_| Err(Error::custom("no such row"))).unwrap()
    };
    with_default(warnings.clone(), || {
        assert!(task(&rig, &x).wait().is_err());
        rig.queue.wait().unwrap_err();
        assert_eq!(warnings.take(), Vec::<String>::new());
        let event = task(&rig, &x);
        while !event.is_complete() {
            std::thread::yield_now();
        }
        // Its thread lets go of it.
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop((event, x, rig));
    });
    let said = "a host task failed, and nothing waited for its event or its queue: no such row";
    assert_eq!(warnings.take(), [said]);
}
