//! Buffers that are reached by their address: they stay in memory.
//!
//! What a kernel does with an address is not followed. A buffer whose address someone was given can be read by any kernel
//! that follows addresses, so nothing of it may stay inside a fused kernel. Under [`Policy::Trust`] that is believed not to
//! happen, and listed, except where the list itself says that it does.

use std::mem;

use crate::{
    jit::{BufferReport, Internalization, Policy, Promote, Reason, Submission, TrustedReport},
    runtime::schedule::List,
    submission::{buffer::BufferInner, entry::Entry},
};

impl List {
    /// The submissions for the planner, a report on every buffer that is kept in memory although it asked for
    /// something else, and what is believed of those that are not.
    pub(crate) fn submissions(
        &self,
        policy: Policy,
    ) -> (Vec<Submission>, Vec<BufferReport>, Vec<TrustedReport>) {
        let mut reports: Vec<BufferReport> = Vec::new();
        let mut believed: Vec<TrustedReport> = Vec::new();
        let submission = |(position, entry): (usize, &Entry)| {
            let mut submission = entry.submission.clone();
            for (arg, buffer) in submission.args.iter_mut().zip(&entry.buffers) {
                if arg.promote == Promote::None {
                    continue;
                }
                if self.is_addressed(buffer, policy) {
                    let (buffer, asked) = (arg.buffer, mem::take(&mut arg.promote));
                    let (got, reason) = (Internalization::None, Some(Reason::Addressed));
                    if !reports.iter().any(|report| report.buffer == buffer) {
                        reports.push(BufferReport { buffer, asked, got, reason, not_local: None });
                    }
                } else if buffer.is_addressed() {
                    let (buffer, first, second) = (Some(arg.buffer), position, position);
                    match believed.iter_mut().find(|one| one.buffer == buffer) {
                        Some(known) => known.second = position,
                        None => {
                            believed.push(TrustedReport { first, second, buffer, reason: Reason::Addressed });
                        }
                    }
                }
            }
            submission
        };
        (self.entries.iter().enumerate().map(submission).collect(), reports, believed)
    }

    fn is_addressed(&self, buffer: &BufferInner, policy: Policy) -> bool {
        let mut entries = self.entries.iter();
        buffer.is_addressed() && (policy == Policy::Prove || entries.clone().any(Entry::apart))
            || entries.any(|entry| entry.reaches().any(|(touch, _)| touch.memory == buffer.shared.id))
    }
}
