//! How a random program submits, and waits.

use crate::program::Program;
use ash::vk;

/// What was submitted and not waited for: the fence, and command buffers by their numbers.
pub(crate) type Pending = (vk::Fence, Vec<usize>);

impl Program<'_> {
    /// Submits some command buffers that can be submitted, and mostly waits for them.
    pub(crate) fn submit(&mut self) {
        let mut chosen: Vec<usize> = Vec::new();
        let first = self.rng.below(self.commands.len());
        for place in 0..1 + self.rng.below(4) {
            let number = (first + place) % self.commands.len();
            let is_pending = self.pending.iter().any(|(_, all)| all.contains(&number));
            let one = &self.commands[number];
            if !one.is_ready
                || (is_pending && !one.usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE))
            {
                continue;
            }
            chosen.push(number);
            if one.usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE) && self.rng.one_in(2) {
                chosen.push(number);
            }
        }
        if chosen.is_empty() {
            return;
        }
        let device = &self.world.device;
        for number in &chosen {
            let one = &mut self.commands[*number];
            one.is_ready &= !one.usage.contains(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
            if !one.usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE) {
                one.events
                    .iter()
                    .for_each(|event| unsafe { device.reset_event(*event).expect("it is reset") });
            }
        }
        let handles: Vec<vk::CommandBuffer> =
            chosen.iter().map(|number| self.commands[*number].handle).collect();
        let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None).expect("a fence") };
        let style = self.rng.below(4);
        self.timeline.1 += 1;
        let (place, value) = (self.rng.below(handles.len() + 1), [self.timeline.1]);
        let (before, behind) = handles.split_at(place);
        let queue = self.world.queue.lock().expect("the queue");
        let (semaphores, timeline) = ([self.semaphore], [self.timeline.0]);
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
        let submitted = unsafe {
            match style {
                0 => {
                    device.queue_submit(*queue, &[vk::SubmitInfo::default().command_buffers(&handles)], fence)
                }
                1 => {
                    let one =
                        vk::SubmitInfo::default().command_buffers(before).signal_semaphores(&semaphores);
                    let two = vk::SubmitInfo::default().command_buffers(behind).wait_semaphores(&semaphores);
                    device.queue_submit(*queue, &[one, two.wait_dst_stage_mask(&stages)], fence)
                }
                2 => {
                    let mut signals =
                        vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&value);
                    let mut waits = vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&value);
                    let one = vk::SubmitInfo::default().command_buffers(before).signal_semaphores(&timeline);
                    let two = vk::SubmitInfo::default().command_buffers(behind).wait_semaphores(&timeline);
                    let two = two.wait_dst_stage_mask(&stages).push_next(&mut waits);
                    device.queue_submit(*queue, &[one.push_next(&mut signals), two], fence)
                }
                _ => {
                    let info = |handle: &vk::CommandBuffer| {
                        vk::CommandBufferSubmitInfo::default().command_buffer(*handle)
                    };
                    let (before, behind): (Vec<_>, Vec<_>) =
                        (before.iter().map(info).collect(), behind.iter().map(info).collect());
                    let semaphore = [vk::SemaphoreSubmitInfo::default()
                        .semaphore(self.timeline.0)
                        .value(value[0])
                        .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)];
                    let one = vk::SubmitInfo2::default().command_buffer_infos(&before);
                    let two = vk::SubmitInfo2::default().command_buffer_infos(&behind);
                    let both = [one.signal_semaphore_infos(&semaphore), two.wait_semaphore_infos(&semaphore)];
                    device.queue_submit2(*queue, &both, fence)
                }
            }
        };
        submitted.expect("it is submitted");
        drop(queue);
        self.pending.push((fence, chosen));
        if self.pending.len() > 2 || self.rng.below(3) > 0 {
            self.wait();
            if self.rng.one_in(4) {
                self.look();
            }
        }
    }

    /// Waits for all that was submitted.
    pub(crate) fn wait(&mut self) {
        let device = &self.world.device;
        for (fence, chosen) in self.pending.drain(..) {
            unsafe {
                device.wait_for_fences(&[fence], true, u64::MAX).expect("it is done");
                device.destroy_fence(fence, None);
                for number in chosen.iter().filter(|number| self.commands[**number].sets_event) {
                    let event = self.commands[*number].events[0];
                    assert!(device.get_event_status(event).expect("a status"), "an event that was not set");
                }
            }
        }
    }
}
