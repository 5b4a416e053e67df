//! The seam to the JIT: every name of `vkfuse-jit` that this crate uses, in one place.

pub use vkfuse_jit::{
    AccessPair, AccessSite, NoPushBuffer, Reason, RewriteReason, UnboundedLoop,
    emit::JitError,
    kernel::{
        Binding, BindingKind, Declared, DescriptorArray, ElementType, ImageDeclaration, Interface,
        KernelError, KernelReason, MemoryScalar, Mode, Module, PushLayout, PushMember, ScalarClass,
        SetBinding, SharedConstant, SpecConstant, SpecType, SpecValue, Specialized, TextureKind,
        is_validated, validator,
    },
    plan::{
        AloneReason, BarrierReason, BarrierReport, BufferId, BufferReport, CodeChange, EpilogueReport,
        FloatMode, GroupReport, InlineReport, Internalization, Members, Note, NoteKind, Places, PlanError,
        Policy, Promote, Race, RenameReport, ReorderReport, Report, RewriteReport, SplitReport,
        TrustedReport, Way, WriteRace,
    },
};
pub(crate) use vkfuse_jit::{
    emit::is_valid as module_is_valid,
    kernel::{
        Accepted, ArtifactStore, FloatControls, FloatWidths, Kernel, Origin, Pass, artifact_is_valid,
        artifact_tools, observe_passes,
    },
    plan::{
        Arg, BlockCoarseningLimits, Bound, FuseOptions, ImageSize, Known, Limits, Numbers, Overrun, Plan,
        PushFlow, ShapeLimits, SmallScalars, Span, Step, SubgroupLimits, Submission, TexelOverrun,
        ThreadCoarseningLimits, UnrollLimits, doubts, has_work, in_words, loop_rounds, notes, overrun,
        overwrites, plan, plan_unfused, read_up_to, repeated, texel_overrun, writers_in_words, written,
    },
    validate::{StepVerdict, Verdict, validate},
};

/// Prints modules to standard error as these passes of the front end leave them. Only the first context of a process that asks
/// for passes gets them.
pub(crate) fn print_after(passes: Vec<Pass>) {
    if !passes.is_empty() {
        observe_passes(move |after| {
            if passes.contains(&after.pass) {
                eprintln!("; {} after {}\n{}\n", after.kernel, after.pass.name(), after.disassemble());
            }
        });
    }
}

/// The same list with nothing known of what its buffers hold.
pub(crate) fn without_numbers(list: &[Submission]) -> Vec<Submission> {
    let mut list = list.to_vec();
    list.iter_mut().flat_map(|one| &mut one.args).for_each(|arg| arg.numbers = None);
    list
}

/// Whether a list is one kernel, and every buffer stays inside that was to.
pub(crate) fn is_one_kernel(plan: &Plan) -> bool {
    let is_inside = |buffer: &BufferReport| buffer.got != Internalization::None;
    plan.steps.len() == 1 && plan.steps[0].is_fused() && plan.report.buffers.iter().all(is_inside)
}
