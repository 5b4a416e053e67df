//! The constructs around a place on a way through a function.

use super::entity::{Construct, Region};
use super::function::Function;
use super::region::{End, Position};

/// The constructs that a way is in, and whether nothing is done behind them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around(Vec<(Construct, bool)>);

impl Around {
    /// Goes into a construct, which stands there.
    pub(crate) fn enter(&mut self, f: &Function, construct: Construct, (region, number): Position) {
        let data = &f.regions[region];
        let is_last = number + 1 == data.nodes.len() && self.ends(&data.end);
        self.0.push((construct, is_last));
    }

    /// Goes out of a construct.
    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }

    fn ends(&self, end: &End) -> bool {
        match end {
            End::Return(_) => true,
            End::Exit { to, .. } => self.0.iter().any(|&(construct, is_last)| construct == *to && is_last),
            _ => false,
        }
    }

    /// Whether nothing is done from a region to the end of the function.
    pub(crate) fn ends_at_once(&self, f: &Function, region: Region) -> bool {
        let data = &f.regions[region];
        data.nodes.is_empty() && self.ends(&data.end)
    }
}
