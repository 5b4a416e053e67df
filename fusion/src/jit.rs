//! The seam to the JIT: every name of `vkfuse-jit` that this crate uses, in one place.

pub use vkfuse_jit::{
    Reason,
    emit::JitError,
    kernel::{
        Binding, BindingKind, Interface, KernelError, KernelReason, Module, PushLayout, PushMember,
        ScalarClass, SpecConstant, SpecType, SpecValue, Specialized,
    },
    plan::{
        BarrierReason, BarrierReport, BufferId, BufferReport, FloatMode, GroupReport, Internalization,
        PlanError, Policy, Promote, Report, ShapeFacts, SplitReport, TrustedReport,
    },
};
pub(crate) use vkfuse_jit::{
    kernel::{FORM_TOOLS, FloatControls, FloatWidths, FormStore, Kernel, Origin},
    plan::{
        Arg, Bound, FuseOptions, Limits, Plan, SmallScalars, Step, Submission, overwrites, plan, plan_unfused,
    },
    validate::{StepVerdict, Verdict, validate},
};
