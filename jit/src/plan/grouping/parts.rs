//! Parts of a group that have work-groups of their own.
//!
//! Where nothing is handed on between two parts, each may have its own work-groups: those of the second come behind those of the first.
//! A member's numbers are then those of the dispatch less the number of the first work-group of its part.

use std::fmt;

use crate::plan::input::submission::Submission;

/// Most parts.
const MOST: usize = 8;

/// The first work-groups of parts of consecutive members. By default all members are one part, which begins at work-group 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    behind: [Option<Part>; MOST - 1],
}

/// A part behind the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Its first member, by its position in the list.
    member: usize,
    /// Its first work-group.
    first: u32,
}

impl Parts {
    /// Whether all members begin at work-group 0.
    pub(crate) fn is_one(&self) -> bool {
        self.behind[0].is_none()
    }

    /// The number of the first work-group of the member at this position.
    pub(crate) fn first(&self, position: usize) -> u32 {
        let own = self.behind.iter().flatten().take_while(|part| part.member <= position).last();
        own.map_or(0, |part| part.first)
    }

    /// Parts that begin with these members of `start..`, with as many work-groups each as their largest member; and how many work-groups that makes. `None`:
    /// too many parts, or work-groups.
    pub(crate) fn of(members: &[Submission], start: usize, begins: &[usize]) -> Option<(Self, u32)> {
        let mut parts = Self::default();
        let mut all = 0u32;
        let ends = begins.iter().skip(1).copied().chain([start + members.len()]);
        for (number, (&begin, end)) in begins.iter().zip(ends).enumerate() {
            if let Some(behind) = number.checked_sub(1) {
                *parts.behind.get_mut(behind)? = Some(Part { member: begin, first: all });
            }
            let counts = members.get(begin - start..end - start)?.iter();
            let count = |one: &Submission| one.groups.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
            let most = counts.map(count).try_fold(0, |most, count| Some(most.max(count?)))?;
            all = all.checked_add(most)?;
        }
        Some((parts, all))
    }
}

impl fmt::Display for Parts {
    /// As the end of a schedule.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.behind.iter().flatten().enumerate() {
            let before = if number == 0 { "; parts from work-group" } else { "," };
            write!(f, "{before} {}", part.first)?;
        }
        Ok(())
    }
}
