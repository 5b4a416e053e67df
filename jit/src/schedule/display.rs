//! A schedule as one line, such as `x: grid / 4 unrolled | 256 invocations, tail remainder`.
//!
//! Digits of the number of the work-group stand before the `|`, those of the local id behind it, outermost first. Dimensions whose numbers are
//! those of the dispatch, and digits with one value, are left out. Numbers of items have no `|`: they go from one work-group to the next.

use std::fmt::{self, Display, Formatter};

use super::{Axis, Domain, Level, Schedule, Tail};

impl Display for Level {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Level::Grid => f.write_str("grid"),
            Level::WorkGroup(n) => write!(f, "{n} invocations"),
            Level::Subgroup(n) => write!(f, "{n} sub-groups"),
            Level::Lane(n) => write!(f, "{n} lanes"),
            Level::Serial(n) => write!(f, "{n} serial"),
            Level::Unrolled(n) => write!(f, "{n} unrolled"),
            Level::Vector(n) => write!(f, "vec{n}"),
        }
    }
}

impl Display for Tail {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tail::Exact => "exact",
            Tail::Guarded => "guarded",
            Tail::Whole => "whole",
            Tail::Peeled => "peeled",
            Tail::Remainder(_) => "remainder",
            Tail::Masked(_) => "masked",
        })
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = |axis: Axis, dim: u8| {
            let digits = self.digits(axis, dim).filter(|level| level.extent() != Some(1));
            digits.map(|level| level.to_string()).collect::<Vec<_>>().join(" / ")
        };
        if self.domain == Domain::LinearItems {
            let grid = if self.is_line() { "grid x" } else { "grid xyz" };
            let local = text(Axis::Local, 0);
            write!(f, "items: {grid}{}{local}", if local.is_empty() { "" } else { " / " })?;
        } else {
            for dim in 0..3 {
                let (group, local) = (text(Axis::Group, dim), text(Axis::Local, dim));
                // All dimensions have the grid, and of `y` and `z` most have nothing else.
                if dim > 0 && local.is_empty() && !group.contains('/') {
                    continue;
                }
                let between = if dim > 0 { "; " } else { "" };
                let bar = if local.is_empty() { "" } else { " | " };
                write!(f, "{between}{}: {group}{bar}{local}", ["x", "y", "z"][usize::from(dim)])?;
            }
        }
        if self.domain == Domain::LinearGroups {
            f.write_str(", linear work-groups")?;
        }
        if self.staged > 0 {
            f.write_str(", columns through shared memory")?;
        }
        if self.tail != Tail::Exact {
            write!(f, ", tail {}", self.tail)?;
        }
        Ok(())
    }
}
