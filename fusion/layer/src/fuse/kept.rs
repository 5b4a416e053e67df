//! Command buffers of the layer's that are not in use: empty ones, and those for which the program may record the same again.
//!
//! Most programs record each command buffer for one submission, and the same commands for many of them. What stood for one stands for the
//! next with the same calls, as long as no object that they name has become another one: sets, buffers and pipelines have one version, layouts
//! that are gone are counted, and calls that name anything else are never the same.

use super::device::Fuser;
use super::trials::Trial;
use crate::chain::Device;
use crate::objects::Objects;
use crate::recording::{Op, Recording};
use crate::sink::lock;
use ash::vk;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use vkfuse::Recorded;

/// The usage flags of the program's command buffer that the layer's has as well.
pub(super) const USAGE: vk::CommandBufferUsageFlags = vk::CommandBufferUsageFlags::SIMULTANEOUS_USE;
/// Most command buffers that are kept.
const MOST: usize = 16;

/// A command buffer that stands for one of the program's.
pub(crate) struct Stand {
    pub(super) family: u32,
    pub(super) pool: vk::CommandPool,
    pub(super) buffer: vk::CommandBuffer,
    /// `Objects::version` when it was written, and `Objects::layouts_gone`.
    pub(super) version: u64,
    pub(super) layouts_gone: u64,
    pub(super) usage: vk::CommandBufferUsageFlags,
    /// What it stands for, once that is recorded no more.
    pub(super) of: Vec<Op>,
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) trial: Option<Arc<Mutex<Trial>>>,
    pub(super) _recorded: Vec<Recorded>,
}

/// Those that may stand for something again, the latest at the end.
#[derive(Default)]
pub(crate) struct Kept(Mutex<VecDeque<Stand>>);

impl Kept {
    /// One that stands for what was recorded.
    pub(super) fn take(
        &self,
        recording: &Recording,
        family: Option<u32>,
        objects: &Objects,
    ) -> Option<Stand> {
        let mut kept = lock(&self.0);
        let fits = |one: &Stand| {
            (one.version, one.layouts_gone) == (objects.version, objects.layouts_gone)
                && Some(one.family) == family
                && one.usage == recording.usage & USAGE
                && one.of.len() == recording.ops.len()
                && one.of.iter().zip(&recording.ops).all(|(a, b)| a.is_like(b))
        };
        let place = kept.iter().rposition(fits)?;
        let stand = kept.remove(place)?;
        drop(kept);
        Some(Stand { of: Vec::new(), ..stand })
    }

    /// Keeps one, and returns the oldest if there are too many.
    fn add(&self, stand: Stand) -> Option<Stand> {
        let mut kept = lock(&self.0);
        kept.push_back(stand);
        if kept.len() > MOST { kept.pop_front() } else { None }
    }

    /// All of them, which stand for nothing any more.
    pub(super) fn all(&self) -> Vec<Stand> {
        let all = std::mem::take(&mut *lock(&self.0));
        all.into_iter().map(|stand| Stand { of: Vec::new(), ..stand }).collect()
    }
}

/// An empty command buffer.
pub(super) fn idle(
    device: &Device,
    fuser: &Fuser,
    family: u32,
) -> Result<(vk::CommandPool, vk::CommandBuffer), String> {
    let mut idle = lock(&fuser.idle);
    if let Some(place) = idle.iter().position(|(of, ..)| *of == family) {
        let (_, pool, buffer) = idle.swap_remove(place);
        return Ok((pool, buffer));
    }
    drop(idle);
    let own = &device.own;
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
    // SAFETY: the device is alive; only the thread that has taken the pool uses it.
    unsafe {
        let pool = own.create_command_pool(&info, None).map_err(|error| error.to_string())?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let made = own.allocate_command_buffers(&info).ok().and_then(|made| made.first().copied());
        match made.filter(|buffer| device.adopt(*buffer).is_some()) {
            Some(buffer) => Ok((pool, buffer)),
            None => {
                own.destroy_command_pool(pool, None);
                Err("no command buffer".to_owned())
            }
        }
    }
}

/// The program records anew what a command buffer stood for, or frees it.
pub(crate) fn stood_for(stand: &mut Stand, ops: Vec<Op>) {
    stand.of = ops;
}

/// Takes command buffers back that are not in use any more.
pub(crate) fn give_back(device: &Device, stands: Vec<Stand>) {
    let Ok(fuser) = &device.fuser else { return };
    for stand in stands {
        let is_kept = !stand.of.is_empty();
        let Some(stand) = (if is_kept { fuser.kept.add(stand) } else { Some(stand) }) else { continue };
        // SAFETY: the command buffer is not pending (the caller's promise), and its pool is its own.
        let reset = unsafe { device.own.reset_command_pool(stand.pool, vk::CommandPoolResetFlags::empty()) };
        match reset {
            Ok(()) => lock(&fuser.idle).push((stand.family, stand.pool, stand.buffer)),
            // SAFETY: the same.
            Err(_) => unsafe { device.own.destroy_command_pool(stand.pool, None) },
        }
    }
}
