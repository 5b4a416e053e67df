//! The list of a pipeline as the planner takes it, without a device.

use super::bind;
use super::check::CheckedSubmit;
use super::model::{Argument, Pipeline, Promotion};
use vkfuse_jit::plan::{Arg, BufferId, Promote, Submission};

/// The submissions; buffers are numbered as the file declares them. The sizes of images are not said, and none are needed.
pub(crate) fn submissions(pipeline: &Pipeline, submits: &[CheckedSubmit]) -> Vec<Submission> {
    let submits = pipeline.submits.iter().zip(submits);
    let one = |(submit, checked): (&super::Submit, &CheckedSubmit)| Submission {
        base: submit.base,
        kernel: checked.kernel.clone(),
        groups: checked.groups,
        args: checked.args.iter().map(|&index| argument(pipeline, &submit.args[index])).collect(),
        push: checked.push.clone(),
    };
    submits.map(one).collect()
}

fn argument(pipeline: &Pipeline, arg: &Argument) -> Arg {
    let (offset, len) = bind::bytes(pipeline, arg);
    let promote = match arg.promote.unwrap_or(pipeline.buffers[arg.buffer].promote) {
        Promotion::None => Promote::None,
        Promotion::Private => Promote::Private,
        Promotion::Local => Promote::Local,
        Promotion::Auto => Promote::Auto,
    };
    let buffer = BufferId(arg.buffer as u64);
    Arg { at: arg.at, buffer, offset, len, promote, numbers: None, image: None }
}
