//! The same list under every way of ending: the same bytes in every buffer, the outcome that names what ended it, and one
//! log record that says so.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tracing::subscriber::with_default;
use vkfuse::{
    Buffer, CancelCause, Error, Event, FusionProperties, FusionWrapper, Outcome, Queue, QueueOptions,
};

use crate::{N, add, iota, poison, records::Records, scale, support::Rig};

/// `tmp = a + a; out = tmp * 3; out reversed into back; tmp = back * 5`, and buffers that endings may use.
struct List {
    a: Buffer<i32>,
    tmp: Buffer<i32>,
    out: Buffer<i32>,
    back: Buffer<i32>,
    other: Buffer<i32>,
}

impl List {
    fn new(rig: &Rig) -> List {
        List { a: iota(rig), tmp: poison(rig), out: poison(rig), back: poison(rig), other: poison(rig) }
    }

    fn submit(&self, rig: &Rig, queue: &Queue) -> Result<Vec<Event>, Error> {
        let (reverse, n) = (rig.kernel("access/reverse"), N as u32);
        Ok(vec![
            add(rig, queue, &self.a, &self.a, &self.tmp)?,
            scale(rig, queue, &self.tmp, 3, &self.out)?,
            queue.submit(|h| {
                h.arg(0, self.out.read().cast::<f32>())
                    .arg(1, self.back.write().cast::<f32>())
                    .push(&n)
                    .dispatch_items(&reverse, [n, 1, 1]);
            })?,
            scale(rig, queue, &self.back, 5, &self.tmp)?,
        ])
    }

    fn bytes(&self) -> [Vec<i32>; 4] {
        [&self.a, &self.tmp, &self.out, &self.back].map(|buffer| buffer.download().unwrap())
    }
}

/// Lists everything, ends fusion mode, and compares.
fn ends(name: &str, by: Option<CancelCause>, end: impl FnOnce(&Rig, Queue, FusionWrapper, &List, &[Event])) {
    let rig = rig!();
    let unfused = List::new(&rig);
    unfused.submit(&rig, &rig.queue).unwrap();
    let list = List::new(&rig);
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let wrapper = FusionWrapper::new(&queue).unwrap();
    let (records, before) = (Records::with("fusion list ended"), rig.context.stats());
    let events = with_default(records.clone(), || {
        wrapper.start_fusion().unwrap();
        let events = list.submit(&rig, &queue).unwrap();
        end(&rig, queue, wrapper, &list, &events);
        events
    });
    check(&rig, name, by, &events, &records, before);
    assert_eq!(list.bytes(), unfused.bytes(), "{name}");
}

fn check(
    rig: &Rig,
    name: &str,
    by: Option<CancelCause>,
    events: &[Event],
    records: &Records,
    before: vkfuse::Stats,
) {
    Event::wait_all(events).unwrap();
    let outcome = by.map_or(Outcome::Split, |by| Outcome::Cancelled { by });
    assert!(events.iter().all(|event| event.outcome() == outcome), "{name}: {}", events[0].outcome());
    let extra = u64::from(by == Some(CancelCause::OtherQueue));
    let dispatches = if by.is_none() { 2 } else { 4 + extra };
    assert_eq!((rig.context.stats() - before).dispatches, dispatches, "{name}");
    let records = records.take();
    assert_eq!(records.len(), 1, "{name}: {records:?}");
    assert!(records[0].contains(&format!("outcome={outcome} ")), "{name}: {records:?}");
    rig.assert_no_validation_messages();
}

#[test]
fn whatever_ends_a_list_gives_the_same_bytes() {
    use CancelCause::*;
    ends("completion", None, |_, _, wrapper, _, _| {
        drop(wrapper.complete_fusion(&FusionProperties::default().no_rewrites()).unwrap());
    });
    ends("cancel", Some(Explicit), |_, _, wrapper, _, _| wrapper.cancel_fusion().unwrap());
    ends("wait for the queue", Some(QueueWait), |_, queue, _, _, _| queue.wait().unwrap());
    ends("wait for the context", Some(QueueWait), |rig, _, _, _, _| rig.context.wait().unwrap());
    ends("wait for an event", Some(EventWait), |_, _, _, _, events| events[1].wait().unwrap());
    ends("wait for all events", Some(EventWait), |_, _, _, _, events| Event::wait_all(events).unwrap());
    ends("a moment's wait", Some(EventWait), |_, _, _, _, events| {
        events[0].wait_timeout(std::time::Duration::ZERO).unwrap();
    });
    ends("download", Some(HostRead), |_, _, _, list, _| drop(list.out.download().unwrap()));
    ends("a part of a download", Some(HostRead), |_, _, _, list, _| {
        drop(list.back.download_range(3..4).unwrap());
    });
    ends("host read", Some(HostRead), |_, _, _, list, _| list.tmp.host_read(|_| ()).unwrap());
    ends("stale download", Some(HostRead), |_, _, _, list, _| drop(list.tmp.download_stale().unwrap()));
    ends("host write", Some(HostWrite), |_, _, _, list, _| list.a.host_write(|_| ()).unwrap());
    ends("upload", Some(HostWrite), |_, _, _, list, _| list.a.upload_at(7, &[7]).unwrap());
    ends("copy", Some(Command), |_, queue, _, list, _| drop(queue.copy(&list.tmp, &list.other).unwrap()));
    ends("copy on another queue", Some(Command), |rig, _, _, list, _| {
        drop(rig.queue.copy(&list.a, &list.other).unwrap());
    });
    ends("fill", Some(Command), |_, queue, _, list, _| {
        drop(queue.fill(list.a.write().range(0, 1), 0_i32).unwrap());
    });
    ends("update", Some(Command), |_, queue, _, list, _| {
        drop(queue.update(list.a.write().range(8, 2), &[8, 9]).unwrap());
    });
    ends("host task", Some(HostTask), |_, queue, _, list, _| {
        let out = list.out.clone();
        let task = queue.host_task([list.out.read()], move |scope| scope.read(&out).map(drop));
        task.unwrap().wait().unwrap();
    });
    ends("another queue", Some(OtherQueue), |rig, _, _, list, _| {
        drop(scale(rig, &rig.queue, &list.tmp, 1, &list.other).unwrap());
    });
    ends("a dependence of another queue", Some(OtherQueue), |rig, _, _, list, events| {
        let (kernel, n) = (rig.kernel("pair/scale"), N as u32);
        let submitted = rig.queue.submit(|h| {
            h.depends_on(&events[0]).arg(0, list.other.read()).arg(1, list.other.write());
            h.push(&n).push(&1_i32).dispatch_items(&kernel, [n, 1, 1]);
        });
        drop(submitted.unwrap());
    });
    ends("the end of the queue", Some(QueueDropped), |_, queue, wrapper, _, _| drop((queue, wrapper)));
}

/// A scope that is left by an error or by a panic.
#[test]
fn a_scope_left_early_gives_the_same_bytes() {
    for panics in [false, true] {
        let rig = rig!();
        let (unfused, list) = (List::new(&rig), List::new(&rig));
        unfused.submit(&rig, &rig.queue).unwrap();
        let (records, before) = (Records::with("fusion list ended"), rig.context.stats());
        let mut events = Vec::new();
        let left = with_default(records.clone(), || {
            catch_unwind(AssertUnwindSafe(|| {
                rig.queue.fuse(|queue| {
                    events = list.submit(&rig, queue)?;
                    if panics { resume_unwind(Box::new("planned")) } else { Err(Error::custom("planned")) }
                })
            }))
        });
        assert_eq!(left.is_err(), panics);
        assert!(!rig.queue.is_in_fusion_mode());
        check(&rig, "a scope left early", Some(CancelCause::ScopeLeft), &events, &records, before);
        assert_eq!(list.bytes(), unfused.bytes());
    }
}
