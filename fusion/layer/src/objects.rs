//! What the handles of a device stand for.
//!
//! A handle may be used again once its object is gone, so that a new object takes the place of the one before. What a program
//! may destroy before the command buffers that were recorded with it run (layouts, modules) is kept until then.

use crate::descriptors::{Layout, Set, Template};
use crate::trace::Range;
use ash::vk;
use std::collections::HashMap;
use std::sync::Arc;

/// A buffer.
pub(crate) struct Buffer {
    pub(crate) id: u64,
    pub(crate) size: u64,
    /// Whether it is bound to one memory as a whole.
    pub(crate) is_plain: bool,
    /// Where it is, and the number of that memory.
    pub(crate) memory: Option<(u64, u64)>,
    /// Whether it can be copied from.
    pub(crate) is_readable: bool,
}

/// Memory.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) id: u64,
    /// Whether other memory may be the same bytes: it was made somewhere else.
    pub(crate) is_imported: bool,
}

/// A module.
#[derive(Default)]
pub(crate) struct Code {
    /// The hash of its bytes, where it is written down.
    pub(crate) hash: String,
    /// Its words, where something is made of them.
    pub(crate) words: Vec<u32>,
}

/// A compute pipeline.
pub(crate) struct Pipeline {
    pub(crate) id: u64,
    pub(crate) code: Option<Arc<Code>>,
    pub(crate) entry: String,
    /// Specialization constants with their bytes.
    pub(crate) spec: Vec<(u32, Vec<u8>)>,
    /// The size of sub-groups that it asks for, or 0.
    pub(crate) subgroup_size: u32,
    /// Why no other pipeline can stand for it.
    pub(crate) problem: Option<&'static str>,
}

/// The objects of a device.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) buffers: HashMap<vk::Buffer, Buffer>,
    pub(crate) memories: HashMap<vk::DeviceMemory, Memory>,
    pub(crate) modules: HashMap<vk::ShaderModule, Arc<Code>>,
    pub(crate) pipelines: HashMap<vk::Pipeline, Arc<Pipeline>>,
    pub(crate) set_layouts: HashMap<vk::DescriptorSetLayout, Arc<Layout>>,
    pub(crate) layouts: HashMap<vk::PipelineLayout, Vec<Arc<Layout>>>,
    pub(crate) sets: HashMap<vk::DescriptorSet, Set>,
    pub(crate) pools: HashMap<vk::DescriptorPool, Vec<vk::DescriptorSet>>,
    pub(crate) templates: HashMap<vk::DescriptorUpdateTemplate, Template>,
    /// Rises with every change to what a set or a buffer stands for.
    pub(crate) version: u64,
    /// Layouts of pipelines that are no more: a command buffer that was recorded with one may still be submitted.
    pub(crate) layouts_gone: u64,
    /// Numbers of the contents of command buffers, by their hash.
    pub(crate) commands: HashMap<[u8; 32], u64>,
}

impl Objects {
    /// A part of a buffer, cut where the buffer ends; nothing if it is no more.
    pub(crate) fn range(&self, buffer: vk::Buffer, offset: u64, len: u64) -> Option<Range> {
        let known = self.buffers.get(&buffer)?;
        let len = len.min(known.size.saturating_sub(offset));
        let (memory, at) = known.memory.unwrap_or_default();
        Some(Range { buffer: known.id, offset, len, memory, at: at + offset })
    }

    /// What is in sets is not known any more.
    pub(crate) fn forget_contents(&mut self) {
        self.sets.values_mut().for_each(|set| set.contents.clear());
        self.version += 1;
    }

    /// The sets of a pool are no more.
    pub(crate) fn empty(&mut self, pool: vk::DescriptorPool) {
        for set in self.pools.remove(&pool).unwrap_or_default() {
            self.sets.remove(&set);
        }
    }

    /// The layout of a set in a pipeline's layout.
    pub(crate) fn set_layout(&self, layout: vk::PipelineLayout, set: u32) -> Arc<Layout> {
        let sets = self.layouts.get(&layout);
        sets.and_then(|sets| sets.get(set as usize)).cloned().unwrap_or_default()
    }
}
