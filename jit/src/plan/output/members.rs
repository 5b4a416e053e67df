//! Which submissions one dispatch does.

use std::fmt;
use std::ops::{Deref, Range};

use smallvec::SmallVec;

/// Positions of submissions in a list, in the order in which one dispatch does them.
///
/// They are consecutive unless the list is run in another order than its own: then the report's
/// [`reordered`](crate::plan::Report::reordered) says in which.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Members(SmallVec<[usize; 4]>);

impl Members {
    /// What these submissions have in a list of something for each submission.
    ///
    /// # Panics
    /// If the list is shorter than the one that the positions are of.
    pub fn of<'a, T>(&'a self, list: &'a [T]) -> impl Iterator<Item = &'a T> + Clone {
        self.iter().map(|&at| &list[at])
    }

    /// Where they are if they are in order and next to each other.
    pub fn as_range(&self) -> Option<Range<usize>> {
        let start = *self.first()?;
        let is_run = self.iter().enumerate().all(|(number, &at)| at == start + number);
        is_run.then(|| start..start + self.len())
    }

    /// The same members, numbered as in another list: submission `n` is at `positions[n]` there.
    pub(crate) fn renumbered(&self, positions: &[usize]) -> Self {
        Self(self.iter().map(|&at| positions[at]).collect())
    }
}

impl Deref for Members {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl From<Range<usize>> for Members {
    fn from(range: Range<usize>) -> Self {
        Self(range.collect())
    }
}

impl PartialEq<Range<usize>> for Members {
    fn eq(&self, other: &Range<usize>) -> bool {
        self.iter().copied().eq(other.clone())
    }
}

impl<'a> IntoIterator for &'a Members {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A range if it is one, else a list of positions.
impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_range() {
            Some(range) => write!(f, "{range:?}"),
            None => f.debug_list().entries(self.iter()).finish(),
        }
    }
}

/// `0 to 2`, `4`, or `0, 2, 3`.
impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_range(), &**self) {
            (_, [one]) => write!(f, "{one}"),
            (Some(range), _) => write!(f, "{} to {}", range.start, range.end - 1),
            (None, all) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                f.write_str(&all.join(", "))
            }
        }
    }
}
