//! Which values a program is seen not to need after a section.
//!
//! A piece of memory is a temporary of a section if nothing reads a byte of it before the section writes it, each value written
//! is read there, and afterwards the whole piece is written again, or gone, before anything reads it. What the program mapped is
//! none, for the host may read it; and one that nothing touches again is none either, for the capture may have ended early.
//! Reads and writes are those of bindings: a kernel that may write a range counts as one that writes all of it.

use super::lists::{Access, Step};
use super::memory::{Span, without};
use super::program::{Moment, Program};

/// Whether a piece of memory is a temporary of the section, whose steps with those of all others are given: none for what cannot
/// be in a list, which may read anything.
pub(super) fn is_temporary(
    program: &Program,
    steps: &[Option<Vec<Step>>],
    section: usize,
    piece: Span,
) -> bool {
    if program.mapped.contains(&piece.memory) || program.sections[section].is_open() {
        return false;
    }
    steps[section].as_ref().is_some_and(|steps| is_local(steps, piece))
        && is_dead_after(program, steps, section, piece)
}

fn accesses(step: &Step, piece: Span) -> impl Iterator<Item = &Access> {
    step.accesses.iter().filter(move |access| access.span.overlaps(piece))
}

/// Whether each value in the piece begins and ends among these steps.
fn is_local(steps: &[Step], piece: Span) -> bool {
    let (mut unwritten, mut unread) = (vec![piece], Vec::new());
    for step in steps {
        for access in accesses(step, piece).filter(|access| access.reads) {
            if unwritten.iter().any(|span| span.overlaps(access.span)) {
                return false;
            }
            unread = without(&unread, access.span);
        }
        for access in accesses(step, piece).filter(|access| access.writes) {
            unwritten = without(&unwritten, access.span);
            unread = without(&unread, access.span);
            unread.push(access.span);
        }
    }
    unwritten.is_empty() && unread.is_empty()
}

/// Whether all of the piece is written or gone before anything reads it, after the section.
fn is_dead_after(program: &Program, steps: &[Option<Vec<Step>>], section: usize, piece: Span) -> bool {
    let is_own = |moment: &&Moment| matches!(moment, Moment::Section(other) if *other == section);
    let later = program.moments.iter().skip_while(|moment| !is_own(moment)).skip(1);
    let mut left = vec![piece];
    for moment in later {
        match moment {
            Moment::Gone { memory, start, end } => {
                left = without(&left, Span { memory: *memory, start: *start, end: *end });
            }
            Moment::Section(other) => {
                let Some(steps) = &steps[*other] else { return false };
                for step in steps {
                    let reads = step.accesses.iter().filter(|access| access.reads);
                    if { reads }.any(|access| left.iter().any(|span| span.overlaps(access.span))) {
                        return false;
                    }
                    for access in step.accesses.iter().filter(|access| access.writes) {
                        left = without(&left, access.span);
                    }
                }
                if program.sections[*other].is_open() && !left.is_empty() {
                    return false;
                }
            }
        }
        if left.is_empty() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::lists::Action;

    fn step(accesses: &[(u64, u64, bool, bool)]) -> Step {
        let access = |&(start, end, reads, writes): &(u64, u64, bool, bool)| Access {
            span: Span { memory: 1, start, end },
            reads,
            writes,
            slot: None,
            is_uniform: false,
        };
        Step { action: Action::Copy, accesses: accesses.iter().map(access).collect() }
    }

    #[test]
    fn a_value_is_local_if_it_is_written_read_and_not_there_before() {
        let piece = Span { memory: 1, start: 0, end: 8 };
        let (write, read) = (step(&[(0, 8, false, true)]), step(&[(0, 8, true, false)]));
        let half = step(&[(0, 4, true, false)]);
        let both = step(&[(0, 8, true, true)]);
        assert!(is_local(&[step(&[(0, 8, false, true)]), step(&[(0, 8, true, false)])], piece));
        assert!(!is_local(&[read, write], piece));
        assert!(!is_local(&[step(&[(0, 8, false, true)]), half], piece));
        assert!(!is_local(&[step(&[(0, 8, false, true)]), both], piece));
    }
}
