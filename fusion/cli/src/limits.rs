//! A list against the limits of the device it is to run on.
//!
//! The runtime checks the same when a submission reaches it; by then the ones before it may have
//! run. A file that does not fit this device must run nothing, so the whole list is checked first.

use crate::pipeline::check::{Checked, CheckedSubmit};
use crate::pipeline::list::submissions;
use crate::pipeline::{Pipeline, Problem, Submit, bind};
use vkfuse::{DeviceInfo, DeviceLimits, SubmitError};
use vkfuse_jit::kernel::BindingKind;
use vkfuse_jit::plan::{FloatMode, Limits, has_work, plan_unfused};

/// Checks every buffer, kernel and submission of `pipeline`.
pub(crate) fn check(pipeline: &Pipeline, checked: &Checked, device: &DeviceInfo) -> Result<(), Problem> {
    let limits = &device.limits;
    for buffer in &pipeline.buffers {
        if buffer.bytes() > limits.max_memory_object {
            let message = format!(
                "{} bytes are over the {} that one buffer of {} can have",
                buffer.bytes(),
                limits.max_memory_object,
                device.name
            );
            return Err(pipeline.problem(&buffer.place, message));
        }
    }
    for kernel in &pipeline.kernels {
        if let Some((size, place)) = &kernel.subgroup_size
            && *size != device.subgroup_size
        {
            let (name, own) = (&device.name, device.subgroup_size);
            let message = format!("{name} runs kernels with sub-groups of {own}");
            return Err(pipeline.problem(place, message));
        }
    }
    for (submit, checked) in pipeline.submits.iter().zip(&checked.submits) {
        kernel(submit, checked, limits).map_err(|message| {
            pipeline.problem(&submit.kernel_place, format!("{message} ({})", device.name))
        })?;
        arguments(pipeline, submit, checked, limits)?;
    }
    groups(pipeline, checked, device)
}

/// Counts of work-groups, unless they can be folded.
fn groups(pipeline: &Pipeline, checked: &Checked, device: &DeviceInfo) -> Result<(), Problem> {
    let max_groups = device.limits.max_groups;
    let over = |submit: &CheckedSubmit| (0..3).find(|&dim| submit.groups[dim] > max_groups[dim]);
    if checked.submits.iter().all(|submit| over(submit).is_none()) {
        return Ok(());
    }
    let limits = Limits { max_groups, max_push_bytes: device.limits.max_push_bytes, ..Limits::default() };
    for (number, submission) in submissions(pipeline, &checked.submits).iter().enumerate() {
        // What has none in another dimension does not run.
        let dim = over(&checked.submits[number]).filter(|_| has_work(submission.groups));
        if let (Some(dim), Err(error)) = (dim, plan_unfused(submission, FloatMode::Strict, &limits)) {
            let (count, limit) = (submission.groups[dim], max_groups[dim]);
            let problem = SubmitError::GroupCount { dim, count, limit, why: error.reason };
            return Err(pipeline.problem(&pipeline.submits[number].place, problem.to_string()));
        }
    }
    Ok(())
}

fn kernel(submit: &Submit, checked: &CheckedSubmit, limits: &DeviceLimits) -> Result<(), String> {
    let interface = &checked.kernel.interface;
    let push = submit.push.bytes.len().min(checked.push.len());
    if push > limits.max_push_bytes as usize {
        return Err(over(&format!("{push} bytes of push constants"), limits.max_push_bytes));
    }
    if interface.workgroup_bytes > limits.max_shared_bytes {
        return Err(over(
            &format!("{} bytes of shared memory", interface.workgroup_bytes),
            limits.max_shared_bytes,
        ));
    }
    let sets = interface.bindings.iter().map(|binding| binding.at.set.saturating_add(1)).max().unwrap_or(0);
    if sets > limits.max_sets {
        return Err(over(&format!("a binding in descriptor set {}", sets - 1), limits.max_sets) + " sets");
    }
    let [x, y, z] = interface.local_size;
    let invocations = u64::from(x) * u64::from(y) * u64::from(z);
    if invocations > limits.max_work_group_invocations.into() {
        return Err(over(&format!("a work-group of {x} x {y} x {z}"), limits.max_work_group_invocations));
    }
    for (axis, (size, limit)) in interface.local_size.iter().zip(limits.max_work_group_size).enumerate() {
        if *size > limit {
            return Err(over(&format!("a work-group of {size} in dimension {axis}"), limit));
        }
    }
    Ok(())
}

fn over(what: &str, limit: u32) -> String {
    format!("{what} is over the device's limit of {limit}")
}

fn arguments(
    pipeline: &Pipeline,
    submit: &Submit,
    checked: &CheckedSubmit,
    limits: &DeviceLimits,
) -> Result<(), Problem> {
    // `bind` has listed the arguments in the order of the interface's bindings.
    for (index, binding) in checked.args.iter().zip(&checked.kernel.interface.bindings) {
        let arg = &submit.args[*index];
        let (offset, len) = bind::bytes(pipeline, arg);
        let (range, align) = match binding.kind {
            // Images have limits of their own, which making them comes up against.
            BindingKind::Other(_) => continue,
            BindingKind::UniformBuffer => (limits.max_uniform_range, limits.uniform_offset_align),
            _ => (limits.max_storage_range, limits.storage_offset_align),
        };
        let message = if len > range {
            format!("{len} bytes are over the {range} that the device can bind")
        } else if !offset.is_multiple_of(align.max(1)) {
            format!("the offset of {offset} bytes is not a multiple of {align}, as the device needs it")
        } else {
            continue;
        };
        return Err(pipeline.problem(&arg.place, message));
    }
    Ok(())
}
