//! Two lists whose submissions are put into one by turns, apart or with a buffer in common: each keeps its own order.

use super::case::{Case, Family, Legality};
use super::pool::Kind;
use super::random::Random;
use vkfuse_jit::plan::BufferId;

/// One list behind the other, on buffers of its own.
pub(super) fn after(first: Case, second: Case) -> Case {
    let own = first.buffers.len() as u64;
    let Case { mut submissions, mut kernels, mut buffers, .. } = first;
    buffers.extend(second.buffers);
    kernels.extend(second.kernels);
    submissions.extend(second.submissions.into_iter().map(|mut submission| {
        submission.args.iter_mut().for_each(|arg| arg.buffer = BufferId(own + arg.buffer.0));
        submission
    }));
    let (family, legality) = (Family::Turns, Legality::Unlabelled);
    Case { family, legality, violation: "", submissions, kernels, buffers }
}

/// One list of two.
pub(super) fn turns(random: &mut Random, first: Case, second: Case) -> Case {
    let own = first.buffers.len();
    let mut place: Vec<usize> = (own..own + second.buffers.len()).collect();
    if random.one_in(2) {
        // One buffer of the second list is one of the first, which no index comes from.
        let is_plain = |case: &Case, buffer: usize| !indices(case, buffer);
        let pairs: Vec<(usize, usize)> = (0..own)
            .flat_map(|a| (0..second.buffers.len()).map(move |b| (a, b)))
            .filter(|&(a, b)| first.buffers[a].len() >= second.buffers[b].len())
            .filter(|&(a, b)| is_plain(&first, a) && is_plain(&second, b))
            .collect();
        if !pairs.is_empty() {
            let &(a, b) = random.pick(&pairs);
            place[b] = a;
        }
    }
    let promote = |case: &Case, buffer: usize| {
        let mut args = case.submissions.iter().flat_map(|s| &s.args);
        args.find(|arg| arg.buffer.0 == buffer as u64).map(|arg| arg.promote)
    };
    let wishes: Vec<_> = (0..own).map(|buffer| promote(&first, buffer)).collect();
    // Whether unlabelled kernels race with themselves is unknown.
    let is_known = [&first, &second].into_iter().all(|case| case.legality != Legality::Unlabelled);
    let broken = [&first, &second].into_iter().find(|case| case.legality == Legality::Illegal);
    let (legality, violation) = match broken.filter(|_| is_known) {
        Some(case) => (Legality::Illegal, case.violation),
        None => (Legality::Unlabelled, ""),
    };
    let mut buffers = first.buffers;
    buffers.extend(second.buffers);
    let mut ones = first.submissions.into_iter().zip(first.kernels).peekable();
    let mut others = second.submissions.into_iter().zip(second.kernels).peekable();
    let (mut submissions, mut kernels) = (Vec::new(), Vec::new());
    while ones.peek().is_some() || others.peek().is_some() {
        let is_first = others.peek().is_none() || ones.peek().is_some() && random.one_in(2);
        let next = match is_first {
            true => ones.next(),
            false => others.next().map(|(mut submission, kernel)| {
                for arg in &mut submission.args {
                    let buffer = place[arg.buffer.0 as usize];
                    arg.buffer = BufferId(buffer as u64);
                    arg.promote = wishes.get(buffer).copied().flatten().unwrap_or(arg.promote);
                }
                (submission, kernel)
            }),
        };
        let (submission, kernel) = next.expect("one of them has more");
        submissions.push(submission);
        kernels.push(kernel);
    }
    Case { family: Family::Turns, legality, violation, submissions, kernels, buffers }
}

/// Whether indices may come from a buffer.
fn indices(case: &Case, buffer: usize) -> bool {
    case.submissions.iter().zip(&case.kernels).any(|(submission, kernel)| {
        submission.args.iter().any(|arg| {
            arg.buffer.0 == buffer as u64
                && match &kernel.kind {
                    Kind::Soup { .. } => true,
                    Kind::Known { uses, .. } => {
                        let at = (arg.at.set, arg.at.binding);
                        uses.iter().any(|used| (used.set, used.binding) == at && used.table)
                    }
                }
        })
    })
}
