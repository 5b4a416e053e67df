//! Failures in the middle of a list: whatever would have run outside fusion mode runs, no one waits for ever, and an
//! error is that of the work it concerns.

use std::{
    cell::RefCell,
    process,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use ash::vk;
use vkfuse::{
    Buffer, BufferError, CacheOptions, Context, Error, Event, FusionProperties, FusionWrapper, Kernel,
    Outcome, Queue, QueueOptions, SubmitError,
};

use super::{context, context_with, mock, mock::running, pick, support};

const N: usize = 300;

/// Ends the process if it is not dropped in time: a hang could not be distinguished from a slow test otherwise.
struct InTime(Option<mpsc::Sender<()>>);

impl InTime {
    fn start(what: &'static str) -> InTime {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            if is_done.recv_timeout(Duration::from_secs(300)) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("HANG: {what}, after {:?} failed", running::failed());
                process::abort();
            }
        });
        InTime(Some(done))
    }
}

impl Drop for InTime {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// What is submitted: the kernel, where it reads and where it writes, by number.
#[derive(Clone, Copy)]
enum Step {
    /// `to = from * factor`
    Scale(usize, usize, i32),
    /// `to[n - 1 - i] = from[i]`, which does not fuse with what writes `from`.
    Reverse(usize, usize),
}

/// Six kernels: three that fuse, a split, two independent of them.
const LIST: [Step; 6] = [
    Step::Scale(0, 1, 2),
    Step::Scale(1, 2, 3),
    Step::Reverse(2, 3),
    Step::Scale(0, 4, 5),
    Step::Scale(4, 5, 7),
    Step::Scale(3, 6, 11),
];

/// Buffers of the list: the first has data, some get memory only when the list ends.
struct Scene {
    context: Context,
    queues: [Queue; 2],
    kernels: [Kernel; 2],
    buffers: Vec<Buffer<i32>>,
    /// What they hold.
    bytes: RefCell<Vec<Bytes>>,
}

impl Scene {
    fn new(context: &Context) -> Result<Scene, Error> {
        let queue = || context.queue(QueueOptions::new().enable_fusion(true));
        let kernel = |name| context.load_spirv(support::shader(name));
        let mut scene = Scene {
            context: context.clone(),
            queues: [queue()?, queue()?],
            kernels: [kernel("pair/scale")?, kernel("access/reverse")?],
            buffers: Vec::new(),
            bytes: RefCell::default(),
        };
        scene.renew()?;
        Ok(scene)
    }

    /// Other buffers. The first is there at once, the others need memory when a list ends.
    fn renew(&mut self) -> Result<(), Error> {
        let data: Vec<i32> = (0..N as i32).collect();
        self.buffers = vec![self.context.buffer_from(&data)?];
        self.bytes = RefCell::new(vec![Some(vec![0; N]); 9]);
        self.bytes.borrow_mut()[0] = Some(data);
        for number in 1..9 {
            let scratch = self.context.scratch(N)?;
            // Some are kept inside; the others are results.
            self.buffers.push(if matches!(number, 1 | 4) { scratch } else { scratch.no_promotion() });
        }
        Ok(())
    }

    fn submit(&self, queue: usize, step: Step) -> Result<Event, Error> {
        let n = N as u32;
        self.queues[queue].submit(|h| match step {
            Step::Scale(from, to, factor) => {
                h.arg(0, self.buffers[from].read()).arg(1, self.buffers[to].write()).push(&n).push(&factor);
                h.dispatch_items(&self.kernels[0], [n, 1, 1]);
            }
            Step::Reverse(from, to) => {
                h.arg(0, self.buffers[from].read().cast::<u8>());
                h.arg(1, self.buffers[to].write().cast::<u8>()).push(&n);
                h.dispatch_items(&self.kernels[1], [n, 1, 1]);
            }
        })
    }
}

/// How the list ends, and what the second queue does meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Cancel,
    /// A submission to the second queue that reads what the list writes.
    OtherQueue,
    /// A read by the host.
    Download,
}

/// A submission, and what became of it.
struct Made {
    step: Step,
    /// The error of the call itself is that nothing was submitted.
    event: Result<Event, Error>,
}

/// Everything submitted, while calls may fail.
fn run(scene: &Scene, end: End) -> Vec<Made> {
    let mut made = Vec::new();
    let fusion = FusionWrapper::new(&scene.queues[0]).expect("a queue that can fuse");
    fusion.start_fusion().expect("fusion mode");
    for step in LIST {
        made.push(Made { step, event: scene.submit(0, step) });
    }
    // Innocent: it has nothing to do with the list.
    let step = Step::Scale(0, 7, 13);
    made.push(Made { step, event: scene.submit(1, step) });
    match end {
        End::Complete => drop(fusion.complete_fusion(&FusionProperties::default())),
        End::Cancel => drop(fusion.cancel_fusion()),
        End::OtherQueue => {
            let step = Step::Scale(6, 8, 17);
            made.push(Made { step, event: scene.submit(1, step) });
        }
        End::Download => drop(scene.buffers[5].download()),
    }
    made
}

fn is_unreadable(error: &Error) -> bool {
    match error {
        Error::Buffer { problem: BufferError::Unreadable(_), .. }
        | Error::Submit { problem: SubmitError::Unreadable { .. }, .. } => true,
        Error::Earlier(error) => is_unreadable(error),
        _ => false,
    }
}

/// What the bytes are now: nothing where the work that writes them failed.
type Bytes = Option<Vec<i32>>;

/// Compares, after nothing fails any more. Gives the submissions that failed for a reason of their own.
fn check(scene: &Scene, end: End, made: &[Made], what: &str) -> Vec<usize> {
    let mut bytes = scene.bytes.borrow_mut();
    let mut failed = Vec::new();
    for (number, made) in made.iter().enumerate() {
        let (from, to) = match made.step {
            Step::Scale(from, to, _) | Step::Reverse(from, to) => (from, to),
        };
        let computed = bytes[from].as_ref().map(|from| match made.step {
            Step::Scale(_, _, factor) => from.iter().map(|value| value * factor).collect::<Vec<_>>(),
            Step::Reverse(..) => from.iter().rev().copied().collect(),
        });
        let result = match &made.event {
            // Nothing was submitted, and nothing is written.
            Err(error) => {
                if !is_unreadable(error) || computed.is_some() {
                    failed.push(number);
                }
                continue;
            }
            Ok(event) => event.wait(),
        };
        match (result, computed) {
            (Ok(()), Some(data)) => bytes[to] = Some(data),
            (Ok(()), None) => panic!("{what}: submission {number} ran on what was never written"),
            (Err(error), None) => {
                assert!(is_unreadable(&error), "{what}: submission {number}: {error:?}");
                bytes[to] = None;
            }
            (Err(_), Some(_)) => {
                failed.push(number);
                bytes[to] = None;
            }
        }
    }
    for (number, (buffer, wanted)) in scene.buffers.iter().zip(&*bytes).enumerate() {
        let is_inside = matches!(number, 1 | 4) && end == End::Complete;
        match (buffer.download(), wanted) {
            (Ok(got), Some(wanted)) => assert!(got == *wanted, "{what}: buffer {number} is wrong"),
            (Err(error), None) => assert!(is_unreadable(&error), "{what}: buffer {number}: {error}"),
            (Err(error), Some(_)) if is_inside => assert!(is_unreadable(&error), "{what}: {error}"),
            (got, wanted) => panic!(
                "{what}: buffer {number} is {:?} and should be {:?}",
                got.map(|got| got[1]),
                wanted.as_ref().map(|wanted| wanted[1])
            ),
        }
    }
    scene.context.wait().expect("nothing fails any more");
    failed
}

const ENDS: [End; 4] = [End::Complete, End::Cancel, End::OtherQueue, End::Download];

/// One call fails, or several in a row: each in turn.
fn every_call(hardware: u32, fresh: bool, counts: &[u64], stride: usize) -> (usize, usize) {
    let Some(context) = context_with(hardware, CacheOptions::new().no_disk()) else { return (0, 0) };
    let mut scene = Scene::new(&context).unwrap();
    let (mut runs, mut left) = (0, 0);
    for end in ENDS {
        // Several times, so that what is known is run again as it was recorded.
        for _ in 0..3 {
            check(&scene, end, &run(&scene, end), "nothing fails");
        }
        for result in [vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_OUT_OF_HOST_MEMORY] {
            for &count in counts {
                for from in (1..).step_by(stride) {
                    if fresh {
                        scene.renew().unwrap();
                    }
                    running::fail(from, count, result);
                    let made = run(&scene, end);
                    let which = running::failed();
                    running::fail(0, 0, vk::Result::SUCCESS);
                    let what = format!("{end:?}, fresh {fresh}, {which:?} at {from}, {result:?}");
                    let failed = check(&scene, end, &made, &what);
                    if count == 1 {
                        // A list is tried again, so only a call that submits by itself may fail.
                        let listed = failed.iter().filter(|number| **number < LIST.len()).count();
                        assert_eq!(listed, 0, "{what}: {failed:?}");
                        assert!(failed.len() <= 1, "{what}: {failed:?}");
                    }
                    (runs, left) = (runs + 1, left + usize::from(!failed.is_empty()));
                    if which.is_empty() {
                        break;
                    }
                }
            }
        }
    }
    (runs, left)
}

#[test]
fn every_call_may_fail_once_while_a_list_ends() {
    let _alone = mock::alone();
    let _in_time = InTime::start("every call in turn");
    let started = Instant::now();
    for (hardware, fresh) in [(1, true), (1, false), (2, true)] {
        let (runs, left) = every_call(hardware, fresh, &[1], 1);
        let took = started.elapsed();
        println!("{hardware} queues, fresh {fresh}: {runs} runs, {left} with an error left, {took:.1?}");
    }
}

#[test]
fn several_calls_may_fail_while_a_list_ends() {
    let _alone = mock::alone();
    let _in_time = InTime::start("several calls in turn");
    let counts: &[u64] = pick(&[2, 9], &[2, 3, 5, 9, 30, 1000]);
    for fresh in [true, false] {
        let (runs, left) = every_call(1, fresh, counts, pick(3, 1));
        assert!(runs == 0 || left > 0, "nothing that fails again and again is left");
        println!("fresh {fresh}: {runs} runs, {left} with an error left");
    }
}

/// With nothing built yet: the calls that make pipelines come between.
#[test]
fn every_call_may_fail_while_code_is_built() {
    let _alone = mock::alone();
    let _in_time = InTime::start("building");
    let mut runs = 0;
    for from in (1..).step_by(pick(9, 1)) {
        let Some(context) = context(CacheOptions::new().no_disk()) else { return };
        let scene = Scene::new(&context).unwrap();
        running::fail(from, 1, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        let made = run(&scene, End::Complete);
        let which = running::failed();
        running::fail(0, 0, vk::Result::SUCCESS);
        check(&scene, End::Complete, &made, &format!("{which:?} at {from}"));
        runs += 1;
        if which.is_empty() {
            break;
        }
    }
    println!("{runs} runs");
}

/// The device goes at any call: everybody hears of it, no one waits for ever, and nothing old is taken for a result.
#[test]
fn a_device_may_be_lost_at_every_call() {
    let _alone = mock::alone();
    let _in_time = InTime::start("a lost device");
    let mut runs = 0;
    for from in (1..).step_by(pick(7, 1)) {
        let Some(context) = context(CacheOptions::new().no_disk()) else { return };
        let scene = Scene::new(&context).unwrap();
        running::fail(from, u64::MAX, vk::Result::ERROR_DEVICE_LOST);
        let end = ENDS[runs % ENDS.len()];
        let made = run(&scene, end);
        if running::failed().is_empty() {
            break;
        }
        for made in made {
            let result = made.event.and_then(|event| event.wait());
            assert!(result.is_ok() || result.as_ref().is_err_and(known), "{result:?}");
        }
        assert!(scene.buffers[6].download().is_err());
        // What was complete before is complete.
        let _ = scene.context.wait();
        running::fail(0, 0, vk::Result::SUCCESS);
        runs += 1;
    }
    println!("{runs} devices lost");
}

/// Of a lost device, or of what was never written for it.
fn known(error: &Error) -> bool {
    error.is_device_lost() || is_unreadable(error)
}

/// One buffer of a list cannot be had. Everything else of the list runs, the error is that of the submission that needs the
/// buffer and of what reads it, and the submission to another queue that ends the list is made.
#[test]
fn an_allocation_that_fails_concerns_what_needs_it() {
    let _alone = mock::alone();
    let _in_time = InTime::start("one buffer");
    let Some(context) = context(CacheOptions::new().no_disk()) else { return };
    for (number, end) in ENDS.into_iter().enumerate() {
        // A size of its own each time, which the driver is asked for as it is: a buffer that went is used again.
        let large = (4 + number) * 1024;
        let mut scene = Scene::new(&context).unwrap();
        scene.buffers[2] = context.scratch(large).unwrap().no_promotion();
        running::no_buffer_of(4 * large as u64);
        let fusion = FusionWrapper::new(&scene.queues[0]).unwrap();
        fusion.start_fusion().unwrap();
        let events: Vec<Event> = LIST.iter().map(|step| scene.submit(0, *step).unwrap()).collect();
        let ended = match end {
            End::Complete => fusion.complete_fusion(&FusionProperties::default()).map(drop),
            End::Cancel => fusion.cancel_fusion(),
            End::OtherQueue => {
                // It reads what the list writes and can write.
                scene.submit(1, Step::Scale(5, 8, 17)).expect("it is innocent").wait().unwrap();
                let wanted: Vec<i32> = (0..N as i32).map(|i| i * 35 * 17).collect();
                assert_eq!(scene.buffers[8].download().unwrap(), wanted);
                Ok(())
            }
            End::Download => scene.buffers[5].download().map(drop),
        };
        assert_eq!(ended.is_err(), matches!(end, End::Complete | End::Cancel), "{end:?}: {ended:?}");
        // 1 needs it, 2 reads it, 5 reads what 2 writes.
        for (number, event) in events.iter().enumerate() {
            let result = event.wait();
            match number {
                1 => {
                    assert!(matches!(result, Err(Error::Earlier(_))) && !is_unreadable(&result.unwrap_err()))
                }
                2 | 5 => assert!(is_unreadable(&result.unwrap_err()), "{number}"),
                _ => result.unwrap_or_else(|error| panic!("{end:?}, {number}: {error:?}")),
            }
            let fails = matches!(number, 1 | 2 | 5);
            assert_eq!(event.outcome() == Outcome::Failed, fails, "{number}: {}", event.outcome());
            assert!(event.is_complete());
        }
        assert_eq!(scene.buffers[5].download().unwrap(), (0..N as i32).map(|i| i * 35).collect::<Vec<_>>());
        assert_eq!(scene.buffers[1].download().unwrap(), (0..N as i32).map(|i| i * 2).collect::<Vec<_>>());
        for number in [2, 3, 6] {
            running::no_buffer_of(0);
            assert!(is_unreadable(&scene.buffers[number].download().unwrap_err()), "{end:?}, {number}");
        }
        // The list has ended, and everything goes on.
        assert!(!fusion.is_in_fusion_mode());
        scene.submit(0, LIST[3]).unwrap().wait().unwrap();
    }
}

/// What was asked to come after a submission that failed fails too, in the same list and outside.
#[test]
fn what_comes_after_a_failure_fails() {
    let _alone = mock::alone();
    let _in_time = InTime::start("after a failure");
    let Some(context) = context(CacheOptions::new().no_disk()) else { return };
    const LARGE: usize = 4 * 1024;
    let mut scene = Scene::new(&context).unwrap();
    scene.buffers[2] = context.scratch(LARGE).unwrap().no_promotion();
    running::no_buffer_of(4 * LARGE as u64);
    let after = |queue: usize, event: &Event, to: usize| {
        scene.queues[queue].submit(|h| {
            h.depends_on(event).arg(0, scene.buffers[0].read()).arg(1, scene.buffers[to].write());
            h.push(&(N as u32)).push(&2).dispatch_items(&scene.kernels[0], [N as u32, 1, 1]);
        })
    };
    let fusion = FusionWrapper::new(&scene.queues[0]).unwrap();
    fusion.start_fusion().unwrap();
    let good = scene.submit(0, Step::Scale(0, 1, 2)).unwrap();
    let bad = scene.submit(0, Step::Scale(0, 2, 3)).unwrap();
    let after_bad = after(0, &bad, 3).unwrap();
    let after_good = after(0, &good, 5).unwrap();
    assert!(fusion.cancel_fusion().is_err());
    assert!(good.wait().is_ok() && after_good.wait().is_ok());
    assert!(bad.wait().is_err() && after_bad.wait().is_err());
    assert!(matches!(after(1, &bad, 6), Err(Error::Earlier(_))));
    after(1, &good, 6).unwrap().wait().unwrap();
    let both = [good, bad];
    assert!(Event::wait_all(&both).is_err());
}
