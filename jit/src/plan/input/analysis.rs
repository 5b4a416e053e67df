//! The analysis of a kernel that may be fused, or why it may not.

use rspirv::spirv::Capability;

use crate::Reason;
use crate::analysis::KernelAnalysis;
use crate::plan::input::submission::Submission;

/// The analysis of a kernel that can be fused.
pub(crate) fn analysis_of(submission: &Submission) -> Result<&KernelAnalysis, Reason> {
    if submission.base != [0; 3] {
        return Err(Reason::BaseGroups { base: submission.base });
    }
    // Blocks in shared memory lie over each other, those of two kernels too, with nothing between them that waits.
    let interface = &submission.kernel.interface;
    let blocks = interface.capabilities.contains(&Capability::WorkgroupMemoryExplicitLayoutKHR);
    if blocks && interface.workgroup_bytes > 0 && !mutant!(SharedBlocksAreApart) {
        return Err(Reason::SharedBlocks);
    }
    // What is found out about a kernel holds for bindings on the same bytes and for bindings on others.
    if let Some((first, second)) = submission.overlap().filter(|_| !mutant!(OverlapsAreFollowed)) {
        return Err(Reason::Overlap { first, second });
    }
    let normal = submission.kernel.normal.as_ref().map_err(Clone::clone)?;
    match normal.analysis.escaped.first() {
        Some((_, instruction)) => Err(Reason::Untracked { instruction: instruction.clone() }),
        None => Ok(&normal.analysis),
    }
}
