//! Synchronization that ends fusion mode early: one test per row of that part of the conformance table, named after
//! the row.
//!
//! Results alone would not show anything here: an engine that never fuses has them, too. Each test states when
//! fusion mode ends, what the events say about it, and that a late `complete_fusion` still gives the event.

use crate::support::{self, Pair, Rig, Size, Submit};
use vkfuse::{
    Buffer, CancelCause, Event, FusionProperties, FusionWrapper, Outcome, Queue, QueueOptions, Stats,
};

/// A pair in a list that has not ended.
struct Listed {
    rig: Rig,
    fusion: FusionWrapper,
    buffers: Vec<Buffer<u32>>,
    events: Vec<Event>,
    /// Counters from before the list.
    before: Stats,
}

const IN3: usize = 2;
const TMP: usize = 3;
const OUT: usize = 4;

impl Listed {
    fn new(rig: Rig) -> Listed {
        let pair = Pair::new(512);
        let buffers = pair.workload.allocate(&rig);
        let before = rig.context.stats();
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        let events = pair.workload.submit_all(&rig, &buffers);
        assert!(fusion.is_in_fusion_mode());
        assert_eq!((rig.context.stats() - before).dispatches, 0);
        Listed { rig, fusion, buffers, events, before }
    }

    /// How many dispatches ran since the list was started.
    fn dispatches(&self) -> u64 {
        (self.rig.context.stats() - self.before).dispatches
    }

    /// Demands that the list ended by `by` and ran as two dispatches, and that completing it late gives its event.
    #[track_caller]
    fn assert_ended(&self, by: CancelCause) {
        self.assert_ended_after(by, 2);
    }

    /// As [`Listed::assert_ended`], where this many dispatches ran in all.
    #[track_caller]
    fn assert_ended_after(&self, by: CancelCause, dispatches: u64) {
        assert!(!self.fusion.is_in_fusion_mode());
        assert_eq!(self.dispatches(), dispatches);
        let outcome = Outcome::Cancelled { by };
        for event in &self.events {
            assert_eq!(event.outcome(), outcome);
        }
        let late = self.fusion.complete_fusion(&FusionProperties::default()).unwrap();
        assert_eq!(late.outcome(), outcome);
        late.wait().unwrap();
        assert!(late.is_complete());
        assert!(self.events.iter().all(Event::is_complete));
        self.rig.assert_no_validation_messages();
    }

    fn assert_out(&self, factor: usize) {
        for (i, &value) in self.buffers[OUT].download().unwrap().iter().enumerate() {
            assert_eq!(value as usize, factor * i * i, "out[{i}]");
        }
    }

    /// Demands that the list goes on and fuses.
    #[track_caller]
    fn assert_goes_on(&self) {
        assert!(self.fusion.is_in_fusion_mode());
        let complete = self.fusion.complete_fusion(&FusionProperties::default()).unwrap();
        complete.wait().unwrap();
        assert_eq!(complete.outcome(), Outcome::Fused);
        assert_eq!(self.dispatches(), 1);
        self.assert_out(20);
        self.rig.assert_no_validation_messages();
    }
}

#[test]
fn sync_event_wait() {
    for first in [0, 1] {
        let listed = Listed::new(rig!());
        listed.events[first].wait().unwrap();
        assert!(listed.events[first].is_complete());
        listed.assert_ended(CancelCause::EventWait);
        listed.assert_out(20);
    }
}

#[test]
fn sync_queue_wait() {
    let listed = Listed::new(rig!());
    listed.rig.queue.wait().unwrap();
    assert!(listed.events.iter().all(Event::is_complete));
    listed.assert_ended(CancelCause::QueueWait);
    listed.assert_out(20);
}

/// Dropping the last handle of the queue loses no work. Buffers and events outlive it.
#[test]
fn sync_queue_destruction() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let queue = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let fusion = FusionWrapper::new(&queue).unwrap();
    fusion.start_fusion().unwrap();
    let events: Vec<Event> = pair
        .workload
        .submits()
        .iter()
        .map(|submit| {
            let kernel = submit.kernel(&rig);
            queue.submit(|h| submit.record(&kernel, &buffers, h)).unwrap()
        })
        .collect();
    let before = rig.context.stats();
    drop(queue);
    drop(fusion);
    assert_eq!((rig.context.stats() - before).dispatches, 2);
    for event in &events {
        event.wait().unwrap();
        assert_eq!(event.outcome(), Outcome::Cancelled { by: CancelCause::QueueDropped });
    }
    for (i, &value) in buffers[OUT].download().unwrap().iter().enumerate() {
        assert_eq!(value as usize, 20 * i * i, "out[{i}]");
    }
    rig.assert_no_validation_messages();
}

/// Dropping the handle of a buffer observes nothing: the list keeps the memory.
#[test]
fn sync_buffer_destruction() {
    let mut listed = Listed::new(rig!());
    let out = listed.buffers[OUT].clone();
    listed.buffers.clear();
    assert!(listed.fusion.is_in_fusion_mode());
    listed.buffers = vec![out; OUT + 1];
    listed.assert_goes_on();
}

/// Reading on the host what listed kernels write ends the list; reading what they only read does not.
#[test]
fn sync_host_accessor() {
    let listed = Listed::new(rig!());
    let in3 = listed.buffers[IN3].download().unwrap();
    assert!(in3.iter().enumerate().all(|(i, &value)| value as usize == 4 * i));
    listed.assert_goes_on();

    for observed in [TMP, OUT] {
        let listed = Listed::new(rig!());
        let value = listed.buffers[observed].host_read(|data| data[100]).unwrap();
        assert_eq!(value, if observed == TMP { 500 } else { 200_000 });
        listed.assert_ended(CancelCause::HostRead);
        listed.assert_out(20);
    }

    // A host write to any listed buffer, read-only or not, must come after the listed kernels.
    let listed = Listed::new(rig!());
    listed.buffers[IN3].host_write(|data| data.fill(0)).unwrap();
    listed.assert_ended(CancelCause::HostWrite);
    listed.assert_out(20);
}

/// A host task runs after the kernels that came before it.
#[test]
fn sync_host_task() {
    let listed = Listed::new(rig!());
    let out = listed.buffers[OUT].clone();
    let task = listed
        .rig
        .queue
        .host_task([listed.buffers[OUT].read_write()], move |scope| {
            scope.write(&out, |data| data[256] = 42)?;
            Ok(())
        })
        .unwrap();
    task.wait().unwrap();
    listed.assert_ended(CancelCause::HostTask);
    for (i, &value) in listed.buffers[OUT].download().unwrap().iter().enumerate() {
        assert_eq!(value as usize, if i == 256 { 42 } else { 20 * i * i }, "out[{i}]");
    }
}

#[test]
fn sync_acc_mem_op() {
    let listed = Listed::new(rig!());
    let copied = listed.rig.context.buffer::<u32>(512).unwrap();
    listed.rig.queue.copy(&listed.buffers[TMP], &copied).unwrap();
    listed.assert_ended(CancelCause::Command);
    for (i, &value) in copied.download().unwrap().iter().enumerate() {
        assert_eq!(value as usize, 5 * i, "tmp[{i}]");
    }
    listed.assert_out(20);
}

/// A copy of what a listed kernel writes through a pointer.
#[test]
fn sync_usm_mem_op() {
    let rig = rig!();
    let n = 512_u32;
    let ints =
        |factor: u32| rig.context.buffer_from(&(0..n).map(|i| factor * i).collect::<Vec<_>>()).unwrap();
    let (x, y, tmp, out, copied) = (ints(2), ints(3), ints(0), ints(0), ints(0));
    let addresses = rig.kernel("pair/addresses");
    let add = |x: &Buffer<u32>, y: &Buffer<u32>, z: &Buffer<u32>, after: Option<&Event>| {
        let event = rig.queue.submit(|h| {
            for buffer in [x, y, z] {
                h.push(&buffer.device_address()?);
            }
            after.map(|event| h.depends_on(event));
            h.uses(x.read()).uses(y.read()).uses(z.write());
            h.push(&n).dispatch_items(&addresses, [n, 1, 1]);
            Ok(())
        });
        event.unwrap()
    };
    let before = rig.context.stats();
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let first = add(&x, &y, &tmp, None);
    let second = add(&tmp, &x, &out, Some(&first));
    rig.queue.copy(&tmp, &copied).unwrap();
    assert!(!fusion.is_in_fusion_mode());
    assert_eq!((rig.context.stats() - before).dispatches, 2);
    for event in [&first, &second] {
        assert_eq!(event.outcome(), Outcome::Cancelled { by: CancelCause::Command });
    }
    assert_eq!(copied.download().unwrap(), (0..n).map(|i| 5 * i).collect::<Vec<_>>());
    assert_eq!(out.download().unwrap(), (0..n).map(|i| 7 * i).collect::<Vec<_>>());
    fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
    rig.assert_no_validation_messages();
}

/// A kernel on another queue that needs what listed kernels write.
#[test]
fn sync_second_queue() {
    let listed = Listed::new(rig!());
    let second = listed.rig.context.queue(QueueOptions::new()).unwrap();
    let doubled = double(&listed.rig, &second, &listed.buffers[OUT]);
    listed.assert_ended_after(CancelCause::OtherQueue, 3);
    doubled.wait().unwrap();
    listed.assert_out(40);
}

/// Two queues in fusion mode whose lists need each other: the results are those of submission order.
#[test]
fn sync_two_queues_requirement() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let second = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let (first_fusion, second_fusion) =
        (FusionWrapper::new(&rig.queue).unwrap(), FusionWrapper::new(&second).unwrap());
    first_fusion.start_fusion().unwrap();
    second_fusion.start_fusion().unwrap();
    let submit = |k: usize| {
        let submit = &pair.workload.submits()[k];
        let kernel = submit.kernel(&rig);
        rig.queue.submit(|h| submit.record(&kernel, &buffers, h)).unwrap()
    };
    let before = rig.context.stats();
    let events = [submit(0), double(&rig, &second, &buffers[TMP]), submit(1)];
    // Each list was ended before another could come to need it, so there is never a circle.
    let by = CancelCause::OtherQueue;
    assert_eq!(events[0].outcome(), Outcome::Cancelled { by });
    assert_eq!(events[1].outcome(), Outcome::Cancelled { by });
    assert_eq!(events[2].outcome(), Outcome::Unfused);
    assert_eq!((rig.context.stats() - before).dispatches, 3);
    let completed = [
        first_fusion.complete_fusion(&FusionProperties::default()).unwrap(),
        second_fusion.complete_fusion(&FusionProperties::default()).unwrap(),
    ];
    assert!(!first_fusion.is_in_fusion_mode() && !second_fusion.is_in_fusion_mode());
    Event::wait_all(&events).unwrap();
    Event::wait_all(&completed).unwrap();
    assert_eq!((rig.context.stats() - before).dispatches, 3);
    for (i, &value) in buffers[OUT].download().unwrap().iter().enumerate() {
        assert_eq!(value as usize, 40 * i * i, "out[{i}]");
    }
    rig.assert_no_validation_messages();
}

/// The same with explicit dependences: depending on an event of another queue's list ends that list.
#[test]
fn sync_two_queues_event_dep() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let second = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let (first_fusion, second_fusion) =
        (FusionWrapper::new(&rig.queue).unwrap(), FusionWrapper::new(&second).unwrap());
    first_fusion.start_fusion().unwrap();
    second_fusion.start_fusion().unwrap();
    let submits = pair.workload.submits();
    let scale = doubling(512);
    let kernels = [&submits[0], &submits[1], &scale].map(|submit| submit.kernel(&rig));
    let k1 = rig.queue.submit(|h| submits[0].record(&kernels[0], &buffers, h)).unwrap();
    let k3 = second
        .submit(|h| {
            h.depends_on(&k1);
            scale.record(&kernels[2], &buffers[TMP..=TMP], h);
        })
        .unwrap();
    assert!(!first_fusion.is_in_fusion_mode());
    assert!(second_fusion.is_in_fusion_mode());
    let k2 = rig
        .queue
        .submit(|h| {
            h.depends_on(&k3);
            submits[1].record(&kernels[1], &buffers, h);
        })
        .unwrap();
    assert!(!second_fusion.is_in_fusion_mode());
    k2.wait().unwrap();
    assert!(k1.is_complete() && k3.is_complete());
    assert_eq!(k1.outcome(), Outcome::Cancelled { by: CancelCause::OtherQueue });
    assert_eq!(k3.outcome(), Outcome::Cancelled { by: CancelCause::OtherQueue });
    for (i, &value) in buffers[OUT].download().unwrap().iter().enumerate() {
        assert_eq!(value as usize, 40 * i * i, "out[{i}]");
    }
    rig.assert_no_validation_messages();
}

/// `x = x * 2` in place on the only buffer it is given.
fn doubling(n: u32) -> Submit {
    let mut alone = support::Workload::default();
    let x = alone.words("x", []);
    Submit::new("access/scale_in_place", Size::Items([n, 1, 1])).read_write(0, x).push(n).push(2)
}

fn double(rig: &Rig, queue: &Queue, buffer: &Buffer<u32>) -> Event {
    let submit = doubling(512);
    let kernel = submit.kernel(rig);
    queue.submit(|h| submit.record(&kernel, std::slice::from_ref(buffer), h)).unwrap()
}
