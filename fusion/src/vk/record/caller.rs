//! Templates into a command buffer that the program records and submits itself.
//!
//! They are checked once for each set of buffers, and then only written down. What they refer to lives as long as what
//! recording returns.

use std::sync::Arc;

use ash::vk::{self, Handle};

use crate::vk::{
    CommandTemplate, DeviceError, Gpu,
    check::Needs,
    command_buffer::Sets,
    passed::Passed,
    record::recorder::{Ranges, record_into},
    template::{Played, Pushes, Resources},
};

/// When and how something reaches memory: pipeline stages, and the accesses that they make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// The stages.
    pub stages: vk::PipelineStageFlags2,
    /// Their accesses.
    pub accesses: vk::AccessFlags2,
}

impl Scope {
    /// What a fused list does, whatever its kernels: reads and writes of the compute stage.
    pub const LIST: Scope = Scope {
        stages: vk::PipelineStageFlags2::COMPUTE_SHADER,
        accesses: vk::AccessFlags2::from_raw(
            vk::AccessFlags2::SHADER_READ.as_raw()
                | vk::AccessFlags2::SHADER_WRITE.as_raw()
                | vk::AccessFlags2::UNIFORM_READ.as_raw(),
        ),
    };

    /// Any command, with any access.
    pub const ALL: Scope = Scope {
        stages: vk::PipelineStageFlags2::ALL_COMMANDS,
        accesses: vk::AccessFlags2::from_raw(
            vk::AccessFlags2::MEMORY_READ.as_raw() | vk::AccessFlags2::MEMORY_WRITE.as_raw(),
        ),
    };

    /// The dependency that makes what comes later come after this, and see what this wrote.
    #[must_use]
    pub fn before(self, later: Scope) -> Dependency {
        let barrier = vk::MemoryBarrier2::default()
            .src_stage_mask(self.stages)
            .src_access_mask(self.accesses)
            .dst_stage_mask(later.stages)
            .dst_access_mask(later.accesses);
        Dependency { barriers: [barrier] }
    }
}

/// A dependency between two scopes, for `vkCmdPipelineBarrier2`: one global memory barrier.
#[derive(Debug, Clone, Copy)]
pub struct Dependency {
    barriers: [vk::MemoryBarrier2<'static>; 1],
}

impl Dependency {
    /// As Vulkan takes it.
    pub fn info(&self) -> vk::DependencyInfo<'_> {
        vk::DependencyInfo::default().memory_barriers(&self.barriers)
    }
}

/// A command buffer that the program records, with the program's word that it may be recorded into.
#[derive(Debug, Clone, Copy)]
pub struct RawCommandBuffer {
    handle: vk::CommandBuffer,
    earlier: Option<Scope>,
    later: Option<Scope>,
}

impl RawCommandBuffer {
    /// Vouches for a command buffer.
    ///
    /// # Safety
    ///
    /// - The handle is null, or a command buffer of the context's device for queues that can compute; it is being recorded,
    ///   outside of a render pass, and by no one else meanwhile.
    /// - It is executed only while what [`FusedList::record`](crate::FusedList::record) returned lives, and that is let go of
    ///   only when no execution is pending any more.
    /// - Its executions and everything else that uses the list's buffers, this crate's submissions included, are ordered by
    ///   the program: the dependency [`Scope::LIST`] is for that, and what `record` returns says what of this crate's has to come
    ///   before.
    /// - Afterwards the program binds again what it uses for compute: pipeline, descriptor sets and push constants.
    #[must_use]
    pub unsafe fn recording(handle: vk::CommandBuffer) -> RawCommandBuffer {
        RawCommandBuffer { handle, earlier: None, later: None }
    }

    /// What in this command buffer, and before it on the queue, the list comes after: a barrier from there is recorded
    /// first. Without it the program records its own.
    #[must_use]
    pub fn after(mut self, earlier: Scope) -> RawCommandBuffer {
        self.earlier = Some(earlier);
        self
    }

    /// What later comes after the list: a barrier to there is recorded last. Without it the program records its own.
    #[must_use]
    pub fn before(mut self, later: Scope) -> RawCommandBuffer {
        self.later = Some(later);
        self
    }
}

/// A template on memories that were checked, to be recorded as often as wanted.
#[derive(Debug)]
pub(crate) struct CallerWork {
    template: Arc<CommandTemplate>,
    /// Push constants instead of its own.
    pushes: Option<Pushes>,
    /// What its bindings are on these.
    ranges: Ranges,
    _on: Resources,
    needs: Needs,
    gpu: Gpu,
}

/// What has to live as long as what was recorded is executed.
#[derive(Debug)]
pub(crate) struct Written {
    /// Before what it is of.
    _sets: Sets,
    _passed: Passed,
    _work: Arc<CallerWork>,
}

impl CallerWork {
    /// How many dispatches there are.
    pub(crate) fn dispatches(&self) -> usize {
        self.template.parts.len()
    }
}

impl Gpu {
    /// Checks a template on memories, which is to be recorded for the program.
    pub(crate) fn caller_work(
        &self,
        template: &Arc<CommandTemplate>,
        pushes: Option<&Pushes>,
        on: Resources,
    ) -> Result<Arc<CallerWork>, DeviceError> {
        let mut ranges = Ranges::new();
        let needs = Played { template, first: None, pushes }.check(&self.0, &on, &mut ranges)?;
        let (template, pushes) = (template.clone(), pushes.cloned());
        Ok(Arc::new(CallerWork { template, pushes, ranges, _on: on, needs, gpu: self.clone() }))
    }

    /// Records them.
    pub(crate) fn record_for_caller(
        &self,
        work: &Arc<CallerWork>,
        into: &RawCommandBuffer,
    ) -> Result<Written, DeviceError> {
        if self.is_lost() {
            return Err(DeviceError::Lost);
        }
        if into.handle.is_null() {
            return Err(DeviceError::NullHandle { what: "command buffer" });
        }
        let gpu = &*work.gpu.0;
        let mut sets = Sets::new(gpu);
        sets.prepare(gpu, work.needs)?;
        let played = Played { template: &work.template, first: None, pushes: work.pushes.as_ref() };
        let passed = work.gpu.passed_to(played)?;
        let around = [into.earlier.map(|e| e.before(Scope::LIST)), into.later.map(|l| Scope::LIST.before(l))];
        record_into(gpu, into.handle, &mut sets, (played, &work.ranges, &passed), &around)?;
        Ok(Written { _sets: sets, _passed: passed, _work: work.clone() })
    }
}
