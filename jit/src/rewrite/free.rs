//! Which kernels are free: an item of theirs may be done by any invocation.
//!
//! An item is an invocation of the kernel's own dispatch, by its number: work-group by work-group, each in linear order. What it does follows from its ids, from
//! the arguments and from memory, if nothing in the kernel ties it to other invocations or to the invocation that runs it.

use rspirv::spirv::{BuiltIn, Op};

use crate::frontend::{defs::Defs, resource};
use crate::kernel::Specialized;

/// The ids that a placed kernel has instead of the dispatch's.
pub(super) const VIRTUAL: [BuiltIn; 4] = [
    BuiltIn::GlobalInvocationId,
    BuiltIn::WorkgroupId,
    BuiltIn::LocalInvocationId,
    BuiltIn::LocalInvocationIndex,
];

/// What keeps kernels from being free.
pub(crate) const BARRIER: &str = "a barrier";
pub(crate) const SHARED_MEMORY: &str = "shared memory";
pub(crate) const SUBGROUPS: &str = "sub-group operations";
pub(crate) const ATOMICS: &str = "atomic operations";
pub(crate) const IMAGES: &str = "images";

/// A built-in that another invocation would have another value of, and what helps.
fn named(builtin: BuiltIn) -> &'static str {
    match builtin {
        BuiltIn::NumWorkgroups => {
            "the number of work-groups (`gl_NumWorkGroups`, `num_workgroups`), which may be a push constant"
        }
        _ => "built-ins other than its ids",
    }
}

/// What keeps a kernel from being free, if anything does.
pub(crate) fn why_not_free(kernel: &Specialized) -> Option<&'static str> {
    kernel.variants.tied(|| find(kernel))
}

fn find(kernel: &Specialized) -> Option<&'static str> {
    let Ok(normal) = &kernel.normal else { return Some("no normal form") };
    let interface = &kernel.interface;
    let tied = if mutant!(AnyKernelIsFree) {
        None
    } else if interface.has_barrier {
        Some(BARRIER)
    } else if interface.workgroup_bytes > 0 {
        Some(SHARED_MEMORY)
    } else if interface.has_subgroup_ops {
        Some(SUBGROUPS)
    } else if interface.has_atomics {
        Some(ATOMICS)
    } else {
        None
    };
    if tied.is_some() {
        return tied;
    }
    if interface.uses_device_addresses {
        return Some("device addresses");
    }
    if interface.has_images() {
        return Some(IMAGES);
    }
    if let Some(other) = interface.builtins.iter().find(|builtin| !VIRTUAL.contains(builtin)) {
        return Some(named(*other));
    }
    let module = &normal.module;
    let fences = |op: Op| matches!(op, Op::MemoryBarrier | Op::ControlBarrier);
    if !mutant!(AnyKernelIsFree) && module.all_inst_iter().any(|inst| fences(inst.class.opcode)) {
        return Some("a memory barrier");
    }
    // What one item leaves in them another one would find.
    let defs = Defs::new(module);
    let variables = resource::variables(module, &defs);
    variables.iter().any(|v| v.role == resource::Role::Private).then_some("private variables")
}
