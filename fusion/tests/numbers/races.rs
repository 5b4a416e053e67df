//! Two writes at once to disjoint words of one buffer: both are known afterwards, or neither.

use std::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
    time::Duration,
};

use vkfuse::{Buffer, Event, FusionProperties, FusionWrapper};

use super::support::Rig;

const ITEMS: u32 = 64;
const LEN: usize = 256;
const ROUNDS: u32 = 1000;
/// Where a second kernel finds words of the small buffer that no list reads.
const APART: usize = 64;

/// `tmp[i] = x[i]`, then `y[i] = tmp[offset + i]`: the offset is the first word of a small buffer.
struct Shifted {
    rig: Rig,
    straight: Buffer<u32>,
    numbers: Buffer<u32>,
    x: Buffer<u32>,
    tmp: Buffer<u32>,
    y: Buffer<u32>,
}

impl Shifted {
    fn new(rig: Rig) -> Shifted {
        let x: Vec<u32> = (0..LEN as u32).map(|i| 7 * i + 1).collect();
        let buffer = |data: &[u32]| rig.context.buffer_from(data).unwrap();
        let (straight, numbers) =
            (buffer(&[0, 1, 1, 0, 0]), buffer(&[&[0, 1, 1, 0, 0][..], &[0; 123]].concat()));
        let (x, tmp, y) = (buffer(&x), buffer(&[0; LEN]).promote_auto(), buffer(&[0; LEN]));
        Shifted { straight, numbers, x, tmp, y, rig }
    }

    fn submit(&self, numbers: &Buffer<u32>, from: &Buffer<u32>, to: &Buffer<u32>) {
        let gather = self.rig.kernel("numbers/gather");
        let submitted = self.rig.queue.submit(|h| {
            h.arg(0, numbers.read()).arg(1, from.read()).arg(2, to.write());
            h.push(&[ITEMS, 0]).dispatch_items(&gather, [ITEMS, 1, 1]);
        });
        submitted.unwrap();
    }

    fn run(&self) -> Event {
        let fusion = FusionWrapper::new(&self.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        self.submit(&self.straight, &self.x, &self.tmp);
        self.submit(&self.numbers, &self.tmp, &self.y);
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        event
    }

    /// Runs the list, whose offset is 0 or 1, and compares with what is right. Says whether it was one dispatch.
    fn check(&self, offset: u32, round: u32) -> bool {
        // What no kernel of the list writes, and the one with offset 1 reads last.
        self.tmp.upload(&[round; LEN]).unwrap();
        let event = self.run();
        let right: Vec<u32> =
            (0..ITEMS).map(|i| i + offset).map(|k| if k < ITEMS { 7 * k + 1 } else { round }).collect();
        assert_eq!(
            self.y.download_range(0..ITEMS as usize).unwrap(),
            right,
            "round {round}, offset {offset}"
        );
        event.report().unwrap().dispatches == 1
    }
}

/// Lets threads that wait for a count go on to their end where a check fails.
struct Release<'a>(&'a AtomicU32);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.store(u32::MAX, SeqCst);
    }
}

#[test]
fn uploads_by_two_threads() {
    let list = Shifted::new(rig!());
    // How many uploads are done, of two in each round: what starts the next round, and the check.
    let (done, checked) = (AtomicU32::new(0), AtomicU32::new(0));
    let mut fused = 0;
    let until = |count: &AtomicU32, least: u32| {
        while count.load(SeqCst) < least {
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        for word in [0, 7] {
            let (list, done, checked) = (&list, &done, &checked);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    until(checked, round);
                    list.numbers.upload_at(word, &[round % 2]).unwrap();
                    done.fetch_add(1, SeqCst);
                }
            });
        }
        let _release = Release(&checked);
        for round in 0..ROUNDS {
            until(&done, 2 * round + 2);
            fused += u32::from(list.check(round % 2, round));
            checked.store(round + 1, SeqCst);
        }
    });
    assert!(fused > ROUNDS / 4, "{fused} of {ROUNDS} lists were planned with the numbers");
    list.rig.assert_no_validation_messages();
}

/// One upload waits for kernels that read its words, and another one of other words is done meanwhile.
#[test]
fn an_upload_beside_one_that_waits_for_the_device() {
    let list = Shifted::new(rig!());
    let gather = list.rig.kernel("numbers/gather");
    for round in 0..20 {
        for _ in 0..100 {
            let submitted = list.rig.queue.submit(|h| {
                let words = list.numbers.read().range(APART, 64);
                h.arg(0, list.straight.read()).arg(1, words).arg(2, list.tmp.write());
                h.push(&[ITEMS, 0]).dispatch_items(&gather, [ITEMS, 1, 1]);
            });
            submitted.unwrap();
        }
        thread::scope(|scope| {
            scope.spawn(|| list.numbers.upload_at(APART, &[round]).unwrap());
            thread::sleep(Duration::from_millis(1));
            list.numbers.upload_at(0, &[round % 2]).unwrap();
        });
        list.check(round % 2, round);
    }
    list.rig.assert_no_validation_messages();
}

#[test]
fn host_tasks_of_one_thread() {
    let list = Shifted::new(rig!());
    let mut fused = 0;
    for round in 0..ROUNDS {
        let offset = round % 2;
        for word in [7, 0] {
            let numbers = list.numbers.clone();
            let task = list.rig.queue.host_task([list.numbers.write().range(word, 1)], move |scope| {
                scope.write_range(&numbers, word..word + 1, |words| words[0] = offset)
            });
            task.unwrap();
        }
        list.rig.context.wait().unwrap();
        fused += u32::from(list.check(offset, round));
    }
    assert!(fused > ROUNDS / 4, "{fused} of {ROUNDS} lists were planned with the numbers");
    list.rig.assert_no_validation_messages();
}
