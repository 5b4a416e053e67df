//! A submission as events.

use crate::chain::{self, Device, takes_contents};
use crate::contents::{self, Taken};
use crate::recording::{Part, resolved};
use crate::sink::{self, lock};
use crate::trace::{Batch, Event};
use ash::vk;
use std::sync::Arc;

/// One `VkSubmitInfo` as the program gave it.
pub(crate) struct Given {
    pub(crate) buffers: Vec<vk::CommandBuffer>,
    pub(crate) waits: usize,
    pub(crate) signals: usize,
    /// Whether command buffers can be added to it: it is neither protected nor for several devices.
    pub(crate) is_plain: bool,
}

/// Writes a submission, and makes the copies that take contents around it, if they are asked for.
pub(crate) fn submit(
    device: &Device,
    call: &str,
    queue: vk::Queue,
    given: Vec<Given>,
    fence: bool,
) -> Option<Taken> {
    let mut touched: Vec<Vec<Arc<[Part]>>> = Vec::with_capacity(given.len());
    let mut batches = Vec::with_capacity(given.len());
    let mut objects = lock(&device.objects);
    for batch in &given {
        let known = batch.buffers.iter().filter_map(|buffer| chain::command_buffer(*buffer));
        let found: Vec<(u64, Arc<[Part]>)> = known.map(|buffer| resolved(&mut objects, &buffer)).collect();
        batches.push(Batch {
            commands: found.iter().map(|(id, _)| *id).collect(),
            waits: batch.waits,
            signals: batch.signals,
        });
        touched.push(found.into_iter().map(|(_, parts)| parts).collect());
    }
    let number = sink::number();
    let (family, queue_number) = chain::queue(device, queue);
    sink::emit(&Event::Submit {
        number,
        call: call.to_owned(),
        queue: queue_number,
        thread: sink::thread(),
        batches,
        fence,
    });
    let ranges = touched.iter().map(|parts| {
        let parts = parts.iter().flat_map(|parts| parts.iter());
        contents::whole(&objects, parts)
    });
    let ranges: Vec<_> = if takes_contents() { ranges.collect() } else { Vec::new() };
    drop(objects);
    sink::flush();
    if ranges.is_empty() {
        return None;
    }
    contents::finish(device, false);
    contents::take(device, call, number, family, &given, &ranges)
}
