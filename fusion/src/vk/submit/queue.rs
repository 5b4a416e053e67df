//! Submission, time line, retirement.
//!
//! Each queue has one timeline semaphore, and each submission takes its next value under the lock that also submits,
//! so values reach the driver in order. A submission's frame waits in `pending` until the time line passes its value;
//! then what it kept is let go, and the frame is used again.

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ash::vk;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use vulkano::{
    VulkanObject,
    device::{Device, Queue},
    sync::semaphore::{Semaphore, SemaphoreCreateInfo, SemaphoreType},
};

use crate::sync::spin_then_lock;
use crate::vk::{
    Caps, Command, DeviceError, Gpu, Profile, ReusableCommands,
    clock::Clocks,
    frame::Frame,
    gpu::GpuInner,
    raw::{LockedQueue, QueueLock},
    record::recorder::Ranges,
    reusable::ReusablePool,
    stats::{Recorded, Submissions},
    template::Recordable,
};

/// Idle frames kept for later.
const IDLE_FRAMES: usize = 32;

/// Idle frames from which on the least recently used one is recorded anew, if all have recordings that may be wanted again.
const RECORDED_FRAMES: usize = 16;

/// Pending submissions up to which no one looks whether they are complete: looking costs about as much as submitting.
const FEW_PENDING: u64 = 8;

/// Submissions that may be pending before [`Gpu::wait_for_room`] waits for the oldest.
const MAX_PENDING: u64 = 1024;

/// A moment in the work of one queue: reached once everything submitted up to it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Point {
    /// The queue's number in its context.
    pub(crate) queue: u32,
    /// The value of its time line. 0 was reached before anything was submitted.
    pub(crate) value: u64,
}

/// What a submission left behind.
#[derive(Debug, Clone)]
pub(crate) struct Submitted {
    pub(crate) point: Point,
    /// Present where profiling was asked for and the queue has timestamps.
    pub(crate) profile: Option<Arc<Profile>>,
}

impl Submitted {
    fn at(point: Point, clock: Option<Profile>) -> Submitted {
        Submitted { point, profile: clock.map(|clock| clock.submitted(point.value)) }
    }
}

/// One queue of a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpuQueue<'a> {
    pub(in crate::vk) gpu: &'a Gpu,
    pub(in crate::vk) index: u32,
}

/// What all handles of a queue share, in lines of memory of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(in crate::vk) struct QueueShared {
    index: u32,
    pub(in crate::vk) timeline: Arc<Semaphore>,
    /// The latest value submitted; changes under the lock.
    last: AtomicU64,
    /// Everything up to this value is complete, its frame retired.
    done: AtomicU64,
    state: Mutex<QueueState>,
    pub(in crate::vk) reusables: Arc<ReusablePool>,
    clocks: Arc<Clocks>,
    /// The lock of the Vulkan queue is inside; the user's own submissions go through it too.
    queue: Arc<Queue>,
    /// Whether no one else has a handle of that, so that the lock above is enough.
    is_sole: bool,
    /// The user's own lock, where it has one.
    lock: Option<Arc<dyn QueueLock>>,
}

#[derive(Debug, Default)]
struct QueueState {
    /// With the values that complete them, except for the latest.
    pending: VecDeque<(u64, Flight)>,
    /// The latest, as long as it is pending. A recording that is submitted several times on end is here once; and here, because nothing on the heap is
    /// in lines of memory of its own.
    latest: Option<(u64, Flight)>,
    /// With their tags, the latest used last.
    idle: Vec<(u64, Box<Frame>)>,
    counts: Submissions,
}

/// What a pending submission occupies.
#[derive(Debug)]
enum Flight {
    Frame(Box<Frame>),
    Reusable(Arc<ReusableCommands>),
}

/// What a submission is about to occupy.
enum FlightRef<'a> {
    /// Nothing: there are no commands. Says what it is instead.
    Empty(&'static str),
    Frame(Box<Frame>),
    Reusable(&'a Arc<ReusableCommands>),
}

impl FlightRef<'_> {
    fn commands(&self) -> Option<vk::CommandBuffer> {
        match self {
            FlightRef::Empty(_) => None,
            FlightRef::Frame(frame) => Some(frame.command_buffer.commands()),
            FlightRef::Reusable(reusable) => Some(reusable.commands()),
        }
    }

    /// What a test learns of it.
    #[cold]
    fn lines(&self) -> Vec<String> {
        match self {
            FlightRef::Empty(line) => vec![(*line).to_owned()],
            FlightRef::Frame(frame) => frame.command_buffer.lines.clone(),
            FlightRef::Reusable(reusable) => reusable.lines().to_vec(),
        }
    }
}

impl QueueState {
    /// Notes a submission as pending.
    #[inline]
    fn takes_off(&mut self, value: u64, flight: FlightRef<'_>) {
        let flight = match (flight, &mut self.latest) {
            (FlightRef::Reusable(reusable), Some((latest, Flight::Reusable(same))))
                if Arc::ptr_eq(reusable, same) =>
            {
                *latest = value;
                return;
            }
            (FlightRef::Empty(_), _) => return,
            (FlightRef::Reusable(reusable), _) => Flight::Reusable(reusable.clone()),
            (FlightRef::Frame(frame), _) => Flight::Frame(frame),
        };
        self.pending.extend(self.latest.replace((value, flight)));
    }

    /// The earliest pending submission, if it is complete: then it is not pending any more.
    fn lands(&mut self, reached: u64) -> Option<Flight> {
        let is_complete = |(value, _): &mut (u64, Flight)| *value <= reached;
        let earliest = match self.pending.front_mut() {
            Some(front) => is_complete(front).then(|| self.pending.pop_front()).flatten(),
            None => self.latest.take_if(is_complete),
        };
        earliest.map(|(_, flight)| flight)
    }
}

impl QueueShared {
    pub(in crate::vk) fn new(
        index: u32,
        (mut queue, lock): LockedQueue,
        caps: &Caps,
    ) -> Result<QueueShared, DeviceError> {
        let info = SemaphoreCreateInfo {
            semaphore_type: SemaphoreType::Timeline,
            initial_value: 0,
            ..SemaphoreCreateInfo::default()
        };
        let timeline = Semaphore::new(queue.device().clone(), info)
            .map_err(|e| DeviceError::call("vkCreateSemaphore", &e))?;
        let (timeline, state, reusables) =
            (Arc::new(timeline), Mutex::default(), ReusablePool::new(queue.device()));
        let clocks = Clocks::new(queue.device(), caps.timestamp_period, caps.timestamp_mask());
        let (last, done) = (AtomicU64::new(0), AtomicU64::new(0));
        // Handles come from handles, and this one is given to no one.
        let is_sole = Arc::get_mut(&mut queue).is_some();
        Ok(QueueShared { index, timeline, last, done, state, reusables, clocks, queue, is_sole, lock })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        spin_then_lock(&self.state)
    }

    pub(in crate::vk) fn family(&self) -> u32 {
        self.queue.queue_family_index()
    }

    /// The latest value submitted.
    pub(in crate::vk) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// What was submitted so far.
    pub(in crate::vk) fn counts(&self) -> Submissions {
        self.lock().counts
    }

    /// The latest value seen complete.
    pub(in crate::vk) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Looks at the time line and retires what is complete. On a lost device nothing is: its work stays pending.
    pub(in crate::vk) fn collect(&self, gpu: &GpuInner) -> Result<(), DeviceError> {
        if gpu.lost.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut reached = 0;
        let counter = gpu.device.fns().v1_2.get_semaphore_counter_value;
        // SAFETY: device and semaphore are alive, the semaphore is a timeline, `reached` outlives the call.
        let result = unsafe { counter(gpu.device.handle(), self.timeline.handle(), &mut reached) };
        gpu.ok("vkGetSemaphoreCounterValue", result)?;
        let mut retired: SmallVec<[Box<Frame>; 8]> = SmallVec::new();
        let mut reusables: SmallVec<[Arc<ReusableCommands>; 8]> = SmallVec::new();
        {
            let mut state = self.lock();
            if reached > self.last() {
                // No one else signals this semaphore; drivers answer like this when the device is gone.
                gpu.lose("vkGetSemaphoreCounterValue");
                return Ok(());
            }
            while let Some(flight) = state.lands(reached) {
                match flight {
                    Flight::Frame(frame) => retired.push(frame),
                    Flight::Reusable(reusable) => reusables.push(reusable),
                }
            }
            self.done.fetch_max(reached, Ordering::AcqRel);
        }
        // What is let go may free memory: not under the lock.
        drop(reusables);
        if retired.is_empty() {
            return Ok(());
        }
        for frame in &mut retired {
            frame.command_buffer.release();
        }
        let mut state = self.lock();
        state.idle.extend(retired.into_iter().map(|frame| (frame.tag(), frame)));
        let surplus = state.idle.len().saturating_sub(IDLE_FRAMES);
        let surplus: SmallVec<[_; 8]> = state.idle.drain(..surplus).collect();
        drop(state);
        // Destroyed here, again not under the lock.
        drop(surplus);
        Ok(())
    }

    /// An idle frame, or a new one: one that has what is wanted if there is any, by its tag.
    fn take_frame(&self, gpu: &GpuInner, tag: u64) -> Result<Box<Frame>, DeviceError> {
        let mut state = self.lock();
        let find = |tag: u64| state.idle.iter().rposition(|(its, _)| *its == tag);
        let found = find(tag).or_else(|| if tag == 0 { None } else { find(0) });
        let place = found.or_else(|| (state.idle.len() >= RECORDED_FRAMES).then_some(0));
        let idle = place.map(|place| state.idle.remove(place).1);
        // One is made without the lock.
        drop(state);
        idle.map_or_else(|| Frame::new(gpu, self.queue.queue_family_index()).map(Box::new), Ok)
    }

    /// A clock, if the queue has timestamps.
    fn clock(&self, gpu: &GpuInner) -> Result<Option<Profile>, DeviceError> {
        self.clocks.take(gpu, self.family(), self.done())
    }

    /// As [`QueueShared::send_now`], by anyone who has something else to do that takes longer than a call.
    #[inline(never)]
    fn send(
        &self,
        gpu: &GpuInner,
        flight: FlightRef<'_>,
        semaphores: (&[vk::SemaphoreSubmitInfo<'_>], &[vk::SemaphoreSubmitInfo<'static>]),
        clock: Option<[vk::CommandBuffer; 2]>,
        recorded: Recorded,
    ) -> Result<Point, DeviceError> {
        self.send_now(gpu, self.lock(), flight, semaphores, clock, recorded)
    }

    /// Submits what was recorded, after `waits`; the time line is signalled, and `others`: the one place that does.
    #[inline(always)]
    fn send_now(
        &self,
        gpu: &GpuInner,
        mut state: MutexGuard<'_, QueueState>,
        flight: FlightRef<'_>,
        (waits, others): (&[vk::SemaphoreSubmitInfo<'_>], &[vk::SemaphoreSubmitInfo<'static>]),
        clock: Option<[vk::CommandBuffer; 2]>,
        recorded: Recorded,
    ) -> Result<Point, DeviceError> {
        let info = |buffer| vk::CommandBufferSubmitInfo::default().command_buffer(buffer);
        let (alone, timed);
        let commands: &[_] = match (flight.commands(), clock) {
            (None, _) => &[],
            (Some(buffer), None) => {
                alone = [info(buffer)];
                &alone
            }
            (Some(buffer), Some([start, stop])) => {
                timed = [start, buffer, stop].map(info);
                &timed
            }
        };
        if gpu.lost.load(Ordering::Acquire) {
            return Err(DeviceError::Lost);
        }
        let value = self.last() + 1;
        let own = [semaphore_info(&self.timeline, value)];
        let all;
        let signals: &[_] = if others.is_empty() {
            &own
        } else {
            all = [&own, others].concat();
            &all
        };
        let info = [vk::SubmitInfo2::default()
            .wait_semaphore_infos(waits)
            .command_buffer_infos(commands)
            .signal_semaphore_infos(signals)];
        let submit = || {
            let _guard = (!self.is_sole).then(|| self.queue.with(|guard| guard));
            // SAFETY: the queue's lock is held, or no one else can name the queue and the lock of its state is held; command
            // buffer, semaphores and all they refer to are alive, and stay so: the flight goes to `pending`. Values waited for were
            // submitted, or are the user's affair; the value signalled is the next.
            unsafe { (gpu.calls.submit)(self.queue.handle(), 1, info.as_ptr(), vk::Fence::null()) }
        };
        let result = match &self.lock {
            None => submit(),
            Some(lock) => {
                // A lock that does not call is as a call that fails.
                let mut result = vk::Result::ERROR_UNKNOWN;
                lock.locked(&mut || result = submit());
                result
            }
        };
        let point = Point { queue: self.index, value };
        match result {
            vk::Result::SUCCESS => {
                self.last.store(value, Ordering::Release);
                if gpu.is_recording() {
                    gpu.keep_recording(point, flight.lines());
                }
                state.takes_off(value, flight);
                state.counts.submitted(recorded);
                Ok(point)
            }
            vk::Result::ERROR_DEVICE_LOST => {
                // The device may have begun it: it counts as pending, for ever.
                state.takes_off(value, flight);
                drop(state);
                Err(gpu.fail("vkQueueSubmit2", result))
            }
            other => {
                // Nothing was submitted, and the value is still free.
                drop(state);
                drop(flight);
                Err(gpu.fail("vkQueueSubmit2", other))
            }
        }
    }

    /// Ends the queue: waits for what is pending and frees it. What does not end in time is leaked with the device,
    /// because freeing it would be worse.
    pub(in crate::vk) fn close(&self, device: &Arc<Device>, patience: Duration) {
        let mut state = self.lock();
        let semaphores = [self.timeline.handle()];
        let values = [self.last()];
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: device and semaphore are alive and `info` outlives the call.
        let result = unsafe {
            (device.fns().v1_2.wait_semaphores)(
                device.handle(),
                &info,
                u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX),
            )
        };
        // A lost device has stopped, and its objects may be destroyed.
        if matches!(result, vk::Result::SUCCESS | vk::Result::ERROR_DEVICE_LOST) {
            state.pending.clear();
            state.latest = None;
        } else {
            tracing::error!(?result, "work is still running as its context goes: leaking what it uses");
            // vulkano waits for a queue in its destructor, and a semaphore must outlive its submissions.
            mem::forget(self.queue.clone());
            mem::forget(self.timeline.clone());
            mem::forget(self.clocks.clone());
            mem::forget(device.clone());
            mem::forget((mem::take(&mut state.pending), state.latest.take()));
        }
    }
}

impl Gpu {
    /// Submits what was recorded for a queue by [`GpuQueue::record_template`]. Waits for points of other queues only: what has to
    /// come after work of this queue starts with a barrier that was recorded with it.
    #[inline]
    pub(crate) fn play(
        &self,
        lane: u32,
        reusable: &Arc<ReusableCommands>,
        waits: &[Point],
        profile: bool,
    ) -> Result<Submitted, DeviceError> {
        let gpu = &*self.0;
        if self.is_lost() {
            return Err(DeviceError::Lost);
        }
        if !reusable.belongs_to(gpu.id, lane) {
            return Err(DeviceError::Foreign { what: "recording" });
        }
        let shared = &gpu.queues[lane as usize];
        self.look(lane);
        let clock = if profile { shared.clock(gpu)? } else { None };
        let (flight, what) = (FlightRef::Reusable(reusable), reusable.counts);
        let around = clock.as_ref().map(Profile::commands);
        let point = if waits.is_empty() {
            shared.send(gpu, flight, (&[], &[]), around, what)?
        } else {
            let (_, semaphores) = self.resolve(lane, waits)?;
            shared.send(gpu, flight, (&semaphores, &[]), around, what)?
        };
        Ok(Submitted::at(point, clock))
    }

    /// As [`Gpu::play`], of what waits for nothing and takes no times. Nothing where it is not as simple as that: then nothing was
    /// submitted, or the device is lost.
    #[inline]
    pub(crate) fn play_alone(&self, lane: u32, reusable: &Arc<ReusableCommands>) -> Option<Point> {
        let gpu = &*self.0;
        if !reusable.belongs_to(gpu.id, lane) {
            return None;
        }
        let shared = &gpu.queues[lane as usize];
        self.look(lane);
        let (flight, what) = (FlightRef::Reusable(reusable), reusable.counts);
        shared.send_now(gpu, shared.lock(), flight, (&[], &[]), None, what).ok()
    }

    /// Which waits become a barrier, and which semaphores the others are: the latest of each other queue.
    fn resolve(
        &self,
        lane: u32,
        waits: &[Point],
    ) -> Result<(bool, SmallVec<[vk::SemaphoreSubmitInfo<'static>; 2]>), DeviceError> {
        if waits.is_empty() {
            return Ok((false, SmallVec::new()));
        }
        let mut latest: SmallVec<[Point; 4]> = SmallVec::new();
        for point in waits.iter().filter(|point| point.value > 0) {
            self.known(*point)?;
            match latest.iter_mut().find(|other| other.queue == point.queue) {
                Some(other) => other.value = other.value.max(point.value),
                None => latest.push(*point),
            }
        }
        let own = latest.iter().any(|point| point.queue == lane);
        let semaphores = latest
            .iter()
            .filter(|point| point.queue != lane)
            .map(|p| semaphore_info(&self.0.queues[p.queue as usize].timeline, p.value))
            .collect();
        Ok((own, semaphores))
    }

    /// Looks what is complete where more than a few submissions are pending.
    #[inline]
    fn look(&self, lane: u32) {
        let Some(shared) = self.0.queues.get(lane as usize) else { return };
        if shared.last().saturating_sub(shared.done()) >= FEW_PENDING {
            // What cannot be looked at now is looked at later.
            let _ = shared.collect(&self.0);
        }
    }

    /// Where more than a thousand submissions of a queue are pending, waits for the oldest. The caller holds no lock: what they wait for may
    /// be the program's to signal, in another thread that needs one.
    #[inline]
    pub(crate) fn wait_for_room(&self, lane: u32) {
        let Some(shared) = self.0.queues.get(lane as usize) else { return };
        if shared.last().saturating_sub(shared.done()) >= MAX_PENDING {
            self.wait_for_oldest(lane);
        }
    }

    #[cold]
    fn wait_for_oldest(&self, lane: u32) {
        self.look(lane);
        let Some(shared) = self.0.queues.get(lane as usize) else { return };
        let last = shared.last();
        if last.saturating_sub(shared.done()) >= MAX_PENDING {
            let oldest = Point { queue: lane, value: last + 1 - MAX_PENDING };
            if let Err(error) = self.wait(oldest, None) {
                tracing::debug!(%error, "a submission that others were to make room for");
            }
        }
    }
}

impl GpuQueue<'_> {
    /// The point of the latest submission; value 0 before the first.
    pub(crate) fn last(&self) -> Point {
        Point { queue: self.index, value: self.shared().last() }
    }

    /// Checks, records and submits commands in one piece: either all of them are submitted, or none and an error
    /// says why. They start after `waits` are reached and see all that those wrote; a wait on this same queue costs
    /// a full barrier at the start instead of a semaphore. Commands run in order only where barriers say so, in this
    /// submission and after earlier ones of this queue.
    pub(crate) fn submit(
        &self,
        commands: &[Command],
        waits: &[Point],
        profile: bool,
    ) -> Result<Submitted, DeviceError> {
        self.hand_over(Recordable::Commands(commands), waits, profile)
    }

    pub(in crate::vk) fn hand_over(
        &self,
        what: Recordable<'_>,
        waits: &[Point],
        profile: bool,
    ) -> Result<Submitted, DeviceError> {
        let gpu = &*self.gpu.0;
        if self.gpu.is_lost() {
            return Err(DeviceError::Lost);
        }
        let mut ranges = Ranges::new();
        let needs = what.check(gpu, &mut ranges)?;
        let passed = self.gpu.passed(&what)?;
        let (entry_barrier, semaphores) = self.gpu.resolve(self.index, waits)?;
        let shared = self.shared();
        self.gpu.look(self.index);
        let clock = if profile { shared.clock(gpu)? } else { None };
        let around = needs.surroundings(entry_barrier);
        let wanted = match &what {
            Recordable::Commands(_) => None,
            Recordable::Template(played, _) => played.wanted(around, gpu.is_recording()),
        };
        let mut frame = shared.take_frame(gpu, wanted.map_or(0, |wanted| wanted.tag))?;
        let recorded = frame.take_on(gpu, (what, &ranges, passed, wanted), (needs, around))?;
        let (flight, ordered) = (FlightRef::Frame(frame), (&*semaphores, &[][..]));
        let around = clock.as_ref().map(Profile::commands);
        let point = shared.send(gpu, flight, ordered, around, recorded)?;
        Ok(Submitted::at(point, clock))
    }

    /// Submits no commands: what comes later waits for the semaphores, and the others are signalled after all that came
    /// earlier.
    pub(in crate::vk) fn send_alone(
        &self,
        waits: &[vk::SemaphoreSubmitInfo<'_>],
        signals: &[vk::SemaphoreSubmitInfo<'static>],
    ) -> Result<Submitted, DeviceError> {
        let gpu = &*self.gpu.0;
        if self.gpu.is_lost() {
            return Err(DeviceError::Lost);
        }
        let shared = self.shared();
        self.gpu.look(self.index);
        let line = if waits.is_empty() { "signal" } else { "wait" };
        let flight = FlightRef::Empty(line);
        let point = shared.send(gpu, flight, (waits, signals), None, Recorded::default())?;
        Ok(Submitted::at(point, None))
    }

    fn shared(&self) -> &QueueShared {
        &self.gpu.0.queues[self.index as usize]
    }
}

fn semaphore_info(semaphore: &Semaphore, value: u64) -> vk::SemaphoreSubmitInfo<'static> {
    vk::SemaphoreSubmitInfo::default()
        .semaphore(semaphore.handle())
        .value(value)
        .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
}
