//! Times of submissions.
//!
//! A clock is a pair of timestamps around the commands of a submission, written by two command buffers that were recorded
//! when the clock was made. What is submitted between them knows nothing of it, so a recording that is submitted again and
//! again is timed like any other. The time is read when somebody asks for it. A clock is free again once no one can ask
//! and its submission is complete.

use std::{
    collections::VecDeque,
    ptr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use ash::vk;
use parking_lot::Mutex;
use vulkano::{VulkanObject, device::Device};

use crate::vk::{
    DeviceError,
    frame::{command_pool, destroy_command_pool},
    gpu::GpuInner,
};

/// Clocks that are made at a time.
const BLOCK: u32 = 32;

/// Where the time of a submission is found.
#[derive(Debug)]
pub(crate) struct Profile {
    clocks: Arc<Clocks>,
    clock: u32,
    commands: [vk::CommandBuffer; 2],
    /// The value of the time line that the submission reaches; 0 before it is submitted.
    value: u64,
    nanos: OnceLock<u64>,
}

/// The clocks of a queue.
#[derive(Debug)]
pub(in crate::vk) struct Clocks {
    state: Mutex<State>,
    /// Nanoseconds of a tick.
    period: f64,
    mask: u64,
    /// Whether the host resets queries, which then costs the device nothing.
    host_resets: bool,
    device: Arc<Device>,
}

#[derive(Debug, Default)]
struct State {
    pool: vk::CommandPool,
    blocks: Vec<Block>,
    /// Clocks in no one's hands, with the value of the time line that their latest submission reaches.
    free: VecDeque<(u64, u32)>,
}

/// Clocks that share a query pool.
#[derive(Debug)]
struct Block {
    queries: vk::QueryPool,
    /// Of each clock, what starts and what stops it.
    commands: Vec<[vk::CommandBuffer; 2]>,
}

impl Profile {
    /// The time from the end of all earlier work to the end of the last command, once the submission is complete.
    pub(crate) fn gpu_time(&self) -> Option<Duration> {
        let nanos = match self.nanos.get() {
            Some(nanos) => *nanos,
            None => {
                let nanos = self.clocks.read(self.clock)?;
                *self.nanos.get_or_init(|| nanos)
            }
        };
        Some(Duration::from_nanos(nanos))
    }

    /// The command buffers that start and stop the clock.
    pub(in crate::vk) fn commands(&self) -> [vk::CommandBuffer; 2] {
        self.commands
    }

    /// Notes that it was submitted.
    pub(in crate::vk) fn submitted(mut self, value: u64) -> Arc<Profile> {
        self.value = value;
        Arc::new(self)
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        self.clocks.state.lock().free.push_back((self.value, self.clock));
    }
}

impl Clocks {
    pub(in crate::vk) fn new(device: &Arc<Device>, period: f64, mask: u64) -> Arc<Clocks> {
        let host_resets = device.enabled_features().host_query_reset;
        Arc::new(Clocks { state: Mutex::default(), period, mask, host_resets, device: device.clone() })
    }

    /// A clock for a submission, where the time line of the queue has come so far. Nothing on a queue without timestamps.
    pub(in crate::vk) fn take(
        self: &Arc<Self>,
        gpu: &GpuInner,
        family: u32,
        done: u64,
    ) -> Result<Option<Profile>, DeviceError> {
        if self.period <= 0.0 {
            return Ok(None);
        }
        let mut state = self.state.lock();
        if state.free.front().is_none_or(|(value, _)| *value > done) {
            self.grow(&mut state, gpu, family)?;
        }
        let Some((_, clock)) = state.free.pop_front() else { return Ok(None) };
        let Block { queries, commands } = &state.blocks[(clock / BLOCK) as usize];
        let commands = commands[(clock % BLOCK) as usize];
        if self.host_resets {
            let reset = self.device.fns().v1_2.reset_query_pool;
            // SAFETY: the feature is on; the two queries exist, and no pending submission writes them: the latest that did
            // is complete.
            unsafe { reset(self.device.handle(), *queries, 2 * (clock % BLOCK), 2) };
        }
        Ok(Some(Profile { clocks: self.clone(), clock, commands, value: 0, nanos: OnceLock::new() }))
    }

    /// Makes more clocks, to be taken first.
    fn grow(&self, state: &mut State, gpu: &GpuInner, family: u32) -> Result<(), DeviceError> {
        let (device, fns) = (self.device.handle(), &self.device.fns().v1_0);
        if state.pool == vk::CommandPool::null() {
            state.pool = command_pool(gpu, family, vk::CommandPoolCreateFlags::empty())?;
        }
        let info =
            vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2 * BLOCK);
        let mut queries = vk::QueryPool::null();
        // SAFETY: the device is alive and `info` outlives the call.
        let result = unsafe { (fns.create_query_pool)(device, &info, ptr::null(), &mut queries) };
        gpu.ok("vkCreateQueryPool", result)?;
        // Whatever fails from here on, the block is destroyed with the others.
        let first = state.blocks.len() as u32 * BLOCK;
        state.blocks.push(Block { queries, commands: Vec::new() });
        let mut commands = vec![vk::CommandBuffer::null(); 2 * BLOCK as usize];
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(state.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(2 * BLOCK);
        // SAFETY: device and pool are alive, the lock is held, and there is room for all that are asked for.
        let result = unsafe { (fns.allocate_command_buffers)(device, &info, commands.as_mut_ptr()) };
        gpu.ok("vkAllocateCommandBuffers", result)?;
        for (query, to) in (0..).zip(&commands) {
            self.record(gpu, *to, queries, query)?;
        }
        let pairs = commands.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        state.blocks[(first / BLOCK) as usize].commands = pairs.collect();
        (first..first + BLOCK).rev().for_each(|clock| state.free.push_front((0, clock)));
        Ok(())
    }

    /// Records what writes a timestamp.
    fn record(
        &self,
        gpu: &GpuInner,
        to: vk::CommandBuffer,
        queries: vk::QueryPool,
        query: u32,
    ) -> Result<(), DeviceError> {
        let fns = &self.device.fns().v1_0;
        let info = vk::CommandBufferBeginInfo::default();
        // SAFETY: the command buffer is new, and its pool's lock is held.
        let result = unsafe { (fns.begin_command_buffer)(to, &info) };
        gpu.ok("vkBeginCommandBuffer", result)?;
        if !self.host_resets && query.is_multiple_of(2) {
            // SAFETY: the command buffer is being recorded, and both queries exist.
            unsafe { (fns.cmd_reset_query_pool)(to, queries, query, 2) };
        }
        // After *all* earlier commands, those of earlier submissions included, so that the time is this one's own.
        let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
        // SAFETY: the command buffer is being recorded; the query exists and was reset; the queue has timestamps.
        unsafe { (gpu.calls.timestamp)(to, stage, queries, query) };
        // SAFETY: the command buffer is being recorded.
        let result = unsafe { (fns.end_command_buffer)(to) };
        gpu.ok("vkEndCommandBuffer", result)
    }

    /// Nanoseconds between the timestamps of a complete submission.
    fn read(&self, clock: u32) -> Option<u64> {
        let queries = self.state.lock().blocks[(clock / BLOCK) as usize].queries;
        let mut ticks = [0_u64; 2];
        // SAFETY: the pool has the two queries, and `ticks` has room for two 64-bit results.
        let result = unsafe {
            (self.device.fns().v1_0.get_query_pool_results)(
                self.device.handle(),
                queries,
                2 * (clock % BLOCK),
                2,
                size_of_val(&ticks),
                ticks.as_mut_ptr().cast(),
                size_of::<u64>() as u64,
                vk::QueryResultFlags::TYPE_64,
            )
        };
        let elapsed = ticks[1].wrapping_sub(ticks[0]) & self.mask;
        (result == vk::Result::SUCCESS).then_some((elapsed as f64 * self.period) as u64)
    }
}

impl Drop for Clocks {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        for block in &state.blocks {
            // SAFETY: clocks go with the queue and with the last profile, when nothing of the queue is pending, or the device
            // is lost, where destroying stays legal.
            unsafe {
                (self.device.fns().v1_0.destroy_query_pool)(self.device.handle(), block.queries, ptr::null());
            }
        }
        // SAFETY: the same; a null handle is allowed.
        unsafe { destroy_command_pool(&self.device, state.pool) };
    }
}
