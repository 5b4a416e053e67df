//! What a growing group takes of the limits of the device.

use crate::kernel::BindingKind;
use crate::plan::grouping::boundary;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::FloatMode;
use crate::plan::input::submission::{BufferId, Submission};
use crate::plan::output::push::{MOST_WITH_BUFFER, PushBlock};
use crate::{NoPushBuffer, Reason};

/// What a growing group takes of the device's limits.
pub(crate) struct Budget<'a> {
    members: Vec<&'a Submission>,
    buffers: Vec<(BindingKind, BufferId, u64, u64)>,
    push: PushBlock,
    shapes: Vec<([u32; 3], [u32; 3])>,
    shared: u32,
}

impl<'a> Budget<'a> {
    pub(crate) fn new(first: &'a Submission) -> Self {
        Self::of(std::slice::from_ref(first))
    }

    /// That of a group that there is.
    pub(crate) fn of(members: &'a [Submission]) -> Self {
        let mut budget = Self {
            members: Vec::new(),
            buffers: Vec::new(),
            push: PushBlock::default(),
            shapes: Vec::new(),
            shared: 0,
        };
        members.iter().for_each(|member| budget.take(member));
        budget
    }

    /// Takes one more submission that is known to fit.
    pub(crate) fn take(&mut self, submission: &'a Submission) {
        self.members.push(submission);
        for (arg, binding) in submission.args.iter().zip(&submission.kernel.interface.bindings) {
            let entry = (binding.kind, arg.buffer, arg.offset, arg.len);
            if !self.buffers.contains(&entry) {
                self.buffers.push(entry);
            }
        }
        let _ = self.push.add_member(submission, 0);
        let shape = (submission.groups, submission.kernel.interface.local_size);
        if !self.shapes.contains(&shape) {
            self.shapes.push(shape);
        }
        self.shared = self.shared.saturating_add(submission.kernel.interface.workgroup_bytes);
    }

    /// Takes one more submission, or names the limit that breaks; the group ends there.
    pub(crate) fn add(
        &mut self,
        next: &'a Submission,
        float: FloatMode,
        limits: &Limits,
    ) -> Result<(), Reason> {
        self.add_unless(next, float, limits, |_| false)
    }

    /// As [`add`](Self::add), where storage buffers that stay inside need no binding.
    pub(crate) fn add_unless(
        &mut self,
        next: &'a Submission,
        float: FloatMode,
        limits: &Limits,
        stays_inside: impl Fn(BufferId) -> bool,
    ) -> Result<(), Reason> {
        self.take(next);
        if mutant!(IgnoreLimits) {
            return Ok(());
        }
        self.bindings(limits, stays_inside)?;
        // Members of different shapes get their counts as push constants: three and a total each.
        let counts = if self.shapes.len() > 1 { self.shapes.len() as u32 * 16 } else { 0 };
        let needs_zero =
            boundary::may_need_zero(self.members.iter().copied(), float) && !self.push.has_zero();
        let zero = if needs_zero { 4 } else { 0 };
        let (needed, limit) = (self.push.size() + counts + zero, limits.max_push_bytes);
        // What does not fit goes into a uniform buffer, if one more can be bound.
        let is_bound = self.count(BindingKind::UniformBuffer, |_| false) < limits.max_uniform_buffers;
        if needed > limit && !(is_bound && self.push.fits_with_buffer(counts + zero, limit)) {
            let no_buffer = if !is_bound {
                NoPushBuffer::AllBound { limit: limits.max_uniform_buffers }
            } else if needed > MOST_WITH_BUFFER {
                NoPushBuffer::TooMany { most: MOST_WITH_BUFFER }
            } else {
                NoPushBuffer::Fixed
            };
            return Err(Reason::PushConstants { needed, limit, no_buffer });
        }
        if self.shared > limits.max_shared_bytes {
            return Err(Reason::SharedMemory { needed: self.shared, limit: limits.max_shared_bytes });
        }
        Ok(())
    }

    /// Whether the device binds all buffers but those that stay inside.
    pub(crate) fn bindings(
        &self,
        limits: &Limits,
        stays_inside: impl Fn(BufferId) -> bool,
    ) -> Result<(), Reason> {
        for &(kind, ..) in &self.buffers {
            let limit = match kind {
                BindingKind::StorageBuffer => limits.max_storage_buffers,
                BindingKind::UniformBuffer => limits.max_uniform_buffers,
                BindingKind::Other(_) => limits.max_images,
            };
            // Mostly all of them can be bound.
            let all = self.count(kind, |_| false);
            let needed = if all > limit { self.count(kind, &stays_inside) } else { all };
            if needed > limit {
                return Err(Reason::Bindings { needed, limit });
            }
        }
        Ok(())
    }

    fn count(&self, kind: BindingKind, stays_inside: impl Fn(BufferId) -> bool) -> u32 {
        let is_bound = |buffer| kind != BindingKind::StorageBuffer || !stays_inside(buffer);
        self.buffers.iter().filter(|b| b.0 == kind && is_bound(b.1)).count() as u32
    }
}
