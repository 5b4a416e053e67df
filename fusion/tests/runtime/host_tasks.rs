//! Host tasks that do what any thread may: they submit, read and fuse, wait, fail, and outlive their queue.

use std::{
    panic::panic_any,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use tracing::subscriber::with_default;
use vkfuse::{
    Buffer, CacheEvent, CacheOptions, CancelCause, ContextOptions, Error, FusionProperties, FusionWrapper,
    Outcome, QueueOptions,
};

use crate::{
    N, iota, multiples, poison,
    records::Records,
    scale,
    support::{Rig, own::Own},
};

/// How long something may take that would otherwise never end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on a thread of its own, and fails where it does not end. What it leaves running is left to the process.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let running = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let started = Instant::now();
    match is_done.recv_timeout(PATIENCE) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs: {:?}", started.elapsed()),
        _ => running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

struct Scene {
    rig: Rig,
    fusion: FusionWrapper,
    x: Buffer<i32>,
    w: Buffer<i32>,
    z: Buffer<i32>,
    y: Buffer<i32>,
}

impl Scene {
    fn new() -> Option<Scene> {
        let rig = Rig::open()?;
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        let (x, w, z, y) = (iota(&rig), poison(&rig), poison(&rig), poison(&rig));
        // Builds the pipeline, so that nothing here takes long.
        scale(&rig, &rig.queue, &x, 1, &w).unwrap().wait().unwrap();
        Some(Scene { rig, fusion, x, w, z, y })
    }
}

/// A task that reads what a list writes, while the list goes on with what comes after the task.
fn download_meets_list(end: impl FnOnce(&Scene) + Send + 'static) {
    in_time(move || {
        let Some(scene) = Scene::new() else { return };
        let Scene { rig, fusion, x, w, z, y } = &scene;
        let (go, gone) = mpsc::channel::<()>();
        let (seen, was_seen) = mpsc::channel();
        let theirs = z.clone();
        let task = rig.queue.host_task([w.read()], move |_| {
            gone.recv().unwrap();
            seen.send(theirs.download()?).unwrap();
            Ok(())
        });
        let task = task.unwrap();
        fusion.start_fusion().unwrap();
        scale(rig, &rig.queue, x, 2, z).unwrap();
        go.send(()).unwrap();
        let kernel = rig.kernel("pair/scale");
        let after = rig.queue.submit(|h| {
            h.depends_on(&task).arg(0, z.read()).arg(1, y.write()).push(&(N as u32)).push(&5);
            h.dispatch_items(&kernel, [N as u32, 1, 1]);
        });
        after.unwrap();
        end(&scene);
        assert_eq!(was_seen.recv().unwrap(), multiples(2));
        assert_eq!(y.download().unwrap(), multiples(10));
        assert_eq!(z.download().unwrap(), multiples(2));
        rig.assert_no_validation_messages();
    });
}

#[test]
fn a_task_may_read_what_a_list_writes_that_goes_on_after_it() {
    download_meets_list(|scene| {
        scene.fusion.complete_fusion(&FusionProperties::default()).unwrap().wait().unwrap();
    });
    download_meets_list(|scene| scene.fusion.cancel_fusion().unwrap());
    download_meets_list(|scene| scene.rig.queue.wait().unwrap());
    download_meets_list(|_| ());
}

/// The dependence alone does not end the list: what comes after the task is fused with what came before.
#[test]
fn a_list_that_comes_after_a_task_is_fused() {
    in_time(|| {
        let Some(Scene { rig, fusion, x, w, z, y }) = Scene::new() else { return };
        let task = rig.queue.host_task([w.read()], |_| {
            thread::sleep(Duration::from_millis(30));
            Ok(())
        });
        let task = task.unwrap();
        fusion.start_fusion().unwrap();
        scale(&rig, &rig.queue, &x, 2, &z).unwrap();
        let kernel = rig.kernel("pair/scale");
        let after = rig.queue.submit(|h| {
            h.depends_on(&task).arg(0, z.read()).arg(1, y.write()).push(&(N as u32)).push(&5);
            h.dispatch_items(&kernel, [N as u32, 1, 1]);
        });
        after.unwrap();
        assert!(task.is_complete());
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
        assert_eq!(y.download().unwrap(), multiples(10));
    });
}

#[test]
fn what_comes_after_a_task_that_fails_is_not_listed() {
    in_time(|| {
        let Some(Scene { rig, fusion, x, w, z, y }) = Scene::new() else { return };
        let task = rig.queue.host_task([w.read()], |_| {
            thread::sleep(Duration::from_millis(10));
            Err(Error::custom("planned"))
        });
        let task = task.unwrap();
        fusion.start_fusion().unwrap();
        scale(&rig, &rig.queue, &x, 2, &z).unwrap();
        let kernel = rig.kernel("pair/scale");
        let after = rig.queue.submit(|h| {
            h.depends_on(&task).arg(0, z.read()).arg(1, y.write()).push(&(N as u32)).push(&5);
            h.dispatch_items(&kernel, [N as u32, 1, 1]);
        });
        assert!(matches!(after, Err(Error::Earlier(_))));
        // The list is as it was.
        assert!(fusion.is_in_fusion_mode());
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        assert_eq!(event.report().unwrap().submissions, 1);
        assert_eq!(z.download().unwrap(), multiples(2));
        assert_eq!(y.download().unwrap(), [-1; N]);
    });
}

/// A task that fuses on a queue of its own, of what another list writes.
#[test]
fn a_task_may_fuse() {
    in_time(|| {
        let Some(Scene { rig, fusion, x, w, z, y }) = Scene::new() else { return };
        let own = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
        fusion.start_fusion().unwrap();
        let listed = scale(&rig, &rig.queue, &x, 2, &z).unwrap();
        let (theirs, kernel) = ((z.clone(), y.clone()), rig.kernel("pair/scale"));
        let tmp = rig.context.scratch::<i32>(N).unwrap();
        let task = rig.queue.host_task([w.read()], move |_| {
            let event = own.fuse(|queue| {
                for (from, to) in [(&theirs.0, &tmp), (&tmp, &theirs.1)] {
                    queue.submit(|h| {
                        h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&3);
                        h.dispatch_items(&kernel, [N as u32, 1, 1]);
                    })?;
                }
                Ok(())
            })?;
            event.wait()?;
            assert_eq!(event.outcome(), Outcome::Fused);
            Ok(())
        });
        task.unwrap().wait().unwrap();
        assert_eq!(listed.outcome(), Outcome::Cancelled { by: CancelCause::OtherQueue });
        assert_eq!(y.download().unwrap(), multiples(18));
        rig.assert_no_validation_messages();
    });
}

/// A wait for everything is one for the tasks of queues that are gone, and hears of their errors; once.
#[test]
fn tasks_of_dropped_queues_are_waited_for() {
    in_time(|| {
        let Some(Scene { rig, w, .. }) = Scene::new() else { return };
        let started = |result: fn() -> Result<(), Error>| {
            let (done, is_done) = mpsc::channel();
            let queue = rig.context.queue(QueueOptions::new()).unwrap();
            let task = queue.host_task([w.read_write()], move |_| {
                thread::sleep(Duration::from_millis(50));
                done.send(()).unwrap();
                result()
            });
            drop(task.unwrap());
            is_done
        };
        let is_done = started(|| Ok(()));
        rig.context.wait().unwrap();
        is_done.try_recv().expect("the task had to be over");
        let is_done = started(|| Err(Error::custom("planned")));
        assert!(matches!(rig.context.wait(), Err(Error::Earlier(_))));
        is_done.try_recv().expect("the task had to be over");
        rig.context.wait().unwrap();
        // Failed before its queue went.
        let queue = rig.context.queue(QueueOptions::new()).unwrap();
        let task = queue.host_task([w.read()], |_| panic!("planned")).unwrap();
        assert!(task.wait().is_err());
        drop((queue, task));
        assert!(rig.context.wait().is_err());
        rig.context.wait().unwrap();
    });
}

/// Waiting for itself is an error of the task, and does not take it from those who wait outside.
#[test]
fn a_task_that_waits_for_itself_is_told_so() {
    in_time(|| {
        let Some(Scene { rig, w, .. }) = Scene::new() else { return };
        let (queue, context) = (rig.queue.clone(), rig.context.clone());
        let (told, was_told) = mpsc::channel();
        let task = rig.queue.host_task([w.read()], move |_| {
            assert!(matches!(queue.wait(), Err(Error::Earlier(error)) if matches!(*error, Error::OwnTask)));
            assert!(context.wait().is_err());
            told.send(()).unwrap();
            Err(Error::custom("planned"))
        });
        drop(task.unwrap());
        was_told.recv().unwrap();
        match rig.queue.wait() {
            Err(Error::Earlier(error)) => assert_eq!(error.to_string(), "planned"),
            other => panic!("{other:?}"),
        }
        rig.queue.wait().unwrap();
    });
}

/// Who hears that a task is done may end the program: its thread has let go of the device by then.
#[test]
fn a_task_that_is_done_has_nothing_of_the_device() {
    let Some(own) = Own::open() else { return };
    let before = Arc::strong_count(&own.device);
    for round in 0..300 {
        let context = own.context();
        let queue = context.queue(QueueOptions::new()).unwrap();
        let task = queue.host_task([], |_| Ok(())).unwrap();
        if round % 2 == 0 {
            task.wait().unwrap();
        } else {
            while !task.is_complete() {
                std::hint::spin_loop();
            }
        }
        drop((task, queue, context));
        assert_eq!(Arc::strong_count(&own.device), before, "in round {round} a thread still has the device");
    }
    assert_eq!(own.close(), 0);
}

/// Of several errors the first is the result, and the others are in the log: of tasks of one queue, of two, and of one that is gone.
#[test]
fn errors_after_the_first_are_logged() {
    in_time(|| {
        let Some(rig) = Rig::open() else { return };
        let [one, two, gone] = [0; 3].map(|_| rig.context.queue(QueueOptions::new()).unwrap());
        for (queue, name) in
            [(&one, "planned a"), (&one, "planned b"), (&two, "planned c"), (&gone, "planned d")]
        {
            drop(queue.host_task([], move |_| Err(Error::custom(name))).unwrap());
        }
        drop(gone);
        let records = Records::with("something else that was waited for failed");
        let first = with_default(records.clone(), || rig.context.wait()).unwrap_err();
        let said = format!("{first:?} {:?}", records.take());
        assert!(
            ["planned a", "planned b", "planned c", "planned d"].iter().all(|name| said.contains(name)),
            "{said}"
        );
        rig.context.wait().unwrap();
    });
}

/// What a panic is thrown with is the program's, and may panic itself: the task is over all the same.
#[test]
fn a_panic_that_panics_is_an_error_of_the_task() {
    struct Payload;

    impl Drop for Payload {
        fn drop(&mut self) {
            assert!(thread::panicking(), "planned: dropped by whom the panic came to");
        }
    }

    in_time(|| {
        let Some(Scene { rig, w, .. }) = Scene::new() else { return };
        let task = rig.queue.host_task([w.write()], |_| panic_any(Payload)).unwrap();
        assert!(
            matches!(task.wait(), Err(Error::Earlier(error)) if matches!(*error, Error::TaskPanicked { .. }))
        );
        assert!(task.is_complete());
        w.download().unwrap();
        assert!(rig.context.wait().is_err());
        rig.context.wait().unwrap();
    });
}

/// What is called while a thread builds a list cannot wait for that list, and learns so; the list goes on.
#[test]
fn a_receiver_of_events_that_waits_for_its_list_is_told_so() {
    in_time(|| {
        type Deed = Box<dyn Fn() -> Result<(), Error> + Send>;
        let deed: Arc<Mutex<Option<Deed>>> = Arc::default();
        let (told, tells) = mpsc::channel();
        let taken = deed.clone();
        let events = move |_: &CacheEvent| {
            let deed = taken.lock().unwrap().take();
            if let Some(deed) = deed {
                told.send(deed()).unwrap();
            }
        };
        let options = ContextOptions::from_env().cache(CacheOptions::new().no_disk().events(events));
        let Some(rig) = Rig::with(options) else { return };
        let other = rig.context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
        for (number, factor) in (2..).take(7).enumerate() {
            rig.context.clear_memory_cache();
            let (x, t, z) = (iota(&rig), poison(&rig), poison(&rig));
            let fusion = FusionWrapper::new(&rig.queue).unwrap();
            fusion.start_fusion().unwrap();
            let listed = scale(&rig, &rig.queue, &x, factor, &t).unwrap();
            // Apart from the others: two groups, which are built at the same time.
            let kernel = rig.kernel("access/reverse");
            let reversed = rig.queue.submit(|h| {
                h.arg(0, t.read().cast::<f32>())
                    .arg(1, z.write().cast::<f32>())
                    .push(&(N as u32))
                    .dispatch_items(&kernel, [N as u32, 1, 1]);
            });
            reversed.unwrap();
            let (queue, context, of_list) = (rig.queue.clone(), rig.context.clone(), z.clone());
            let (other, again) = (other.clone(), fusion);
            let deed_of: Deed = match number {
                0 => Box::new(move || queue.wait()),
                1 => Box::new(move || context.wait()),
                2 => Box::new(move || of_list.download().map(drop)),
                3 => Box::new(move || listed.wait()),
                4 => Box::new(move || listed.wait_timeout(Duration::from_secs(60)).map(drop)),
                5 => Box::new(move || other.fill(of_list.write(), 1).map(drop)),
                _ => Box::new(move || {
                    let wrapper = FusionWrapper::new(&queue)?;
                    wrapper.start_fusion()?;
                    wrapper.detach();
                    Ok(())
                }),
            };
            *deed.lock().unwrap() = Some(deed_of);
            let done = again.complete_fusion(&FusionProperties::default()).unwrap();
            let answer = tells.recv().unwrap();
            assert!(matches!(answer, Err(Error::OwnList)), "deed {number}: {answer:?}");
            done.wait().unwrap();
            let expected: Vec<i32> = multiples(factor).into_iter().rev().collect();
            assert_eq!(z.download().unwrap(), expected);
        }
    });
}
