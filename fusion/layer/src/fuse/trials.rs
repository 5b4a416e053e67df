//! Whether a command buffer of the layer's is faster than the program's: both are timed by turns, and the slower one is not submitted
//! again.
//!
//! Timestamps stand around the command buffer in its batch. The processor's time for following its commands, finding buffers and writing
//! commands again counts as time of the layer's. Nothing waits: times are read with later submissions.

use super::report;
use crate::chain::Device;
use crate::sink::lock;
use ash::vk;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Turns of each that are timed.
const TURNS: usize = 6;
/// The share of the program's time that the layer's command buffer has to save to be submitted: less than this may be chance.
const GAIN: f64 = 0.05;
/// How often the processor's time for the layer counts: during trials its caches are warmer than later.
const COLD: f64 = 2.0;
/// Command buffers whose times are kept.
const MOST: usize = 1024;
/// Pairs of timestamps at a time.
const TIMERS: usize = 64;

/// Which of two command buffers is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Program,
    Layer,
}

/// What was measured of command buffers with the same lists.
#[derive(Default)]
pub(super) struct Trial {
    /// Nanoseconds, of the program's and of the layer's.
    times: [Vec<f64>; 2],
    /// Those of them that are the device's.
    on_device: [Vec<f64>; 2],
    /// Turns that began.
    begun: [usize; 2],
    decided: Option<Side>,
    /// Nanoseconds that the layer's command buffer saves.
    saved: f64,
}

impl Trial {
    /// Which side is submitted now, and whether it is timed.
    pub(super) fn turn(&mut self) -> (Side, bool) {
        if let Some(side) = self.decided {
            return (side, false);
        }
        // Times that never come, as of a device that is lost, are not waited for.
        if self.begun[1] > 4 * TURNS {
            return (Side::Program, false);
        }
        let side = if self.begun[1] <= self.begun[0] { Side::Layer } else { Side::Program };
        self.begun[side as usize] += 1;
        (side, true)
    }

    /// Whether the program's command buffer is submitted from now on.
    pub(super) fn is_lost(&self) -> bool {
        self.decided == Some(Side::Program)
    }

    /// What the layer's command buffer saves, all that the layer does for it taken away.
    pub(super) fn saves(&self) -> Duration {
        Duration::from_nanos(self.saved.max(0.0) as u64)
    }

    /// Adds what a side took on the device, and what the processor did for it. If that decides it, returns what the device takes for each side.
    fn add(&mut self, side: Side, on_device: f64, more: f64) -> Option<[f64; 2]> {
        let was_open = self.decided.is_none();
        self.on_device[side as usize].push(on_device);
        self.times[side as usize].push(on_device + more);
        if self.times.iter().all(|times| times.len() >= TURNS) {
            // The first of each warms up.
            let [program, layer] = self.times.each_ref().map(|times| median(&times[1..]));
            self.saved = program - layer;
            self.decided = Some(if self.saved > GAIN * program { Side::Layer } else { Side::Program });
        }
        (was_open && self.decided.is_some())
            .then(|| self.on_device.each_ref().map(|times| median(&times[1..])))
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// Two command buffers that write timestamps.
pub(super) struct Timer {
    family: u32,
    pool: vk::CommandPool,
    queries: vk::QueryPool,
    around: [vk::CommandBuffer; 2],
    /// What was read of it: it is there until the queries are reset.
    last: [u64; 2],
}

struct Pending {
    timer: Timer,
    trial: Arc<Mutex<Trial>>,
    side: Side,
    more: Duration,
}

/// All that is measured on a device.
#[derive(Default)]
pub(crate) struct Trials {
    known: Mutex<HashMap<Vec<u8>, Arc<Mutex<Trial>>>>,
    /// Those of them that are not decided.
    open: AtomicUsize,
    idle: Mutex<Vec<Timer>>,
    pending: Mutex<Vec<Pending>>,
}

impl Trials {
    /// The trial of command buffers with these lists.
    pub(super) fn of(&self, key: &[u8]) -> Option<Arc<Mutex<Trial>>> {
        let mut known = lock(&self.known);
        if let Some(trial) = known.get(key) {
            return Some(trial.clone());
        }
        if known.len() >= MOST {
            return None;
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(known.entry(key.to_vec()).or_default().clone())
    }

    /// Whether there are trials without a decision.
    pub(super) fn are_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// What stands around a command buffer of a side in its batch, so that it is timed: the layer's took so much of the processor's
    /// time.
    pub(super) fn around(
        &self,
        device: &Device,
        trial: &Arc<Mutex<Trial>>,
        (side, more): (Side, Duration),
        (family, period): (u32, f32),
    ) -> Option<[vk::CommandBuffer; 2]> {
        self.read(device, period);
        let timer = self.timer(device, family, period)?;
        let around = timer.around;
        lock(&self.pending).push(Pending { timer, trial: trial.clone(), side, more });
        Some(around)
    }

    /// Takes the times that are there.
    fn read(&self, device: &Device, period: f32) {
        let mut pending = lock(&self.pending);
        let mut place = 0;
        while let Some(one) = pending.get(place) {
            let mut times = [0u64; 2];
            let flags = vk::QueryResultFlags::TYPE_64;
            // SAFETY: the queries are reset and written by the command buffer in front.
            let read = unsafe { device.own.get_query_pool_results(one.timer.queries, 0, &mut times, flags) };
            if read.is_err() || times == one.timer.last {
                place += 1;
                continue;
            }
            let Pending { mut timer, trial, side, more } = pending.swap_remove(place);
            timer.last = times;
            let ticks = times[1].saturating_sub(times[0]) as f64;
            let decided = lock(&trial).add(side, ticks * f64::from(period), COLD * more.as_nanos() as f64);
            if let Some([program, layer]) = decided {
                self.open.fetch_sub(1, Ordering::Relaxed);
                report::timed(program, layer);
            }
            lock(&self.idle).push(timer);
        }
    }

    fn timer(&self, device: &Device, family: u32, period: f32) -> Option<Timer> {
        let mut idle = lock(&self.idle);
        if let Some(place) = idle.iter().position(|timer| timer.family == family) {
            return Some(idle.swap_remove(place));
        }
        if idle.len() + lock(&self.pending).len() >= TIMERS || period == 0.0 {
            return None;
        }
        drop(idle);
        // SAFETY: the device is alive, and what is made is this timer's alone.
        unsafe { Timer::new(device, family) }
    }

    /// Nothing of the device is in use any more.
    pub(super) fn end(&self, device: &Device) {
        let pending = std::mem::take(&mut *lock(&self.pending)).into_iter().map(|one| one.timer);
        for timer in pending.chain(std::mem::take(&mut *lock(&self.idle))) {
            // SAFETY: no command buffer of the device is pending.
            unsafe { timer.destroy(device) };
        }
        lock(&self.known).clear();
    }
}

impl Timer {
    /// # Safety
    /// The device is alive.
    #[allow(unsafe_op_in_unsafe_fn)]
    unsafe fn new(device: &Device, family: u32) -> Option<Timer> {
        let own = &device.own;
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        let pool = own.create_command_pool(&info, None).ok()?;
        let mut timer =
            Timer { family, pool, queries: vk::QueryPool::null(), around: Default::default(), last: [0; 2] };
        if timer.fill(device).is_none() {
            timer.destroy(device);
            return None;
        }
        Some(timer)
    }

    #[allow(unsafe_op_in_unsafe_fn)]
    unsafe fn fill(&mut self, device: &Device) -> Option<()> {
        let own = &device.own;
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
        self.queries = own.create_query_pool(&info, None).ok()?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(2);
        let made = own.allocate_command_buffers(&info).ok()?;
        self.around = [*made.first()?, *made.get(1)?];
        for (number, buffer) in (0..).zip(self.around) {
            device.adopt(buffer)?;
            // Times are there a little before what wrote them counts as done.
            let usage = vk::CommandBufferUsageFlags::SIMULTANEOUS_USE;
            own.begin_command_buffer(buffer, &vk::CommandBufferBeginInfo::default().flags(usage)).ok()?;
            if number == 0 {
                own.cmd_reset_query_pool(buffer, self.queries, 0, 2);
            }
            own.cmd_write_timestamp(buffer, vk::PipelineStageFlags::BOTTOM_OF_PIPE, self.queries, number);
            own.end_command_buffer(buffer).ok()?;
        }
        Some(())
    }

    #[allow(unsafe_op_in_unsafe_fn)]
    unsafe fn destroy(&self, device: &Device) {
        device.own.destroy_command_pool(self.pool, None);
        device.own.destroy_query_pool(self.queries, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(program: f64, layer: f64) -> (Option<Side>, [usize; 2]) {
        let mut trial = Trial::default();
        for _ in 0..2 * TURNS {
            let (side, is_timed) = trial.turn();
            assert!(is_timed);
            // The first turn of each is slow.
            let first = if trial.times[side as usize].is_empty() { 1000.0 } else { 0.0 };
            let _ = trial.add(side, first + if side == Side::Layer { layer } else { program }, 0.0);
        }
        (trial.decided, trial.begun)
    }

    #[test]
    fn the_faster_side_stays() {
        assert_eq!(decided(10.0, 9.0), (Some(Side::Layer), [TURNS; 2]));
        assert_eq!(decided(10.0, 10.1), (Some(Side::Program), [TURNS; 2]));
        assert_eq!(decided(10.0, 9.6).0, Some(Side::Program), "as good as chance");
    }

    #[test]
    fn what_the_device_took_is_without_the_processors_time() {
        let mut trial = Trial::default();
        let mut turn = || {
            let (side, _) = trial.turn();
            let [on_device, more] = if side == Side::Layer { [8.0, 5.0] } else { [10.0, 0.0] };
            trial.add(side, on_device, more)
        };
        let decided: Vec<_> = (0..2 * TURNS).filter_map(|_| turn()).collect();
        assert_eq!(decided, [[10.0, 8.0]]);
        assert!(trial.is_lost(), "with the processor's time the layer's is slower");
    }

    #[test]
    fn times_that_never_come_end_it() {
        let mut trial = Trial::default();
        let sides: Vec<Side> = (0..100).map(|_| trial.turn().0).collect();
        assert_eq!(sides[..4], [Side::Layer, Side::Program, Side::Layer, Side::Program]);
        assert_eq!(trial.turn(), (Side::Program, false));
    }
}
