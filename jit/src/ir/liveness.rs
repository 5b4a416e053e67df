//! The walk of dead code elimination: marks the constructs that decide whether something live is executed, and what they need.
//!
//! What is live by itself is for the pass to say, which implements the rest of [`Liveness`]. It repeats the walk until nothing new is marked.

use super::entity::{Construct, Inst, Region, Value};
use super::function::Function;
use super::region::{ConstructKind, End, Node};

/// What is live of a function, while it is being found.
pub(crate) trait Liveness<'f> {
    /// The function.
    fn function(&self) -> &'f Function;

    /// Whether a value is marked.
    fn has_value(&self, value: Value) -> bool;

    /// Whether a construct is marked.
    fn has_construct(&self, construct: Construct) -> bool;

    /// Marks a value, and what its address is made of.
    fn value(&mut self, value: Value);

    /// Marks a construct.
    fn mark(&mut self, construct: Construct);

    /// Marks an instruction and its operands if it is live; whether what surrounds it has to stay for it.
    fn inst(&mut self, inst: Inst) -> bool;

    /// Marks the operands of a live end that leaves the function or is unreachable; whether it is live.
    fn leave(&mut self, end: &End) -> bool;

    /// Whether a construct is live whatever is in it.
    fn is_kept(&self, construct: Construct) -> bool;

    /// Whether something in a region has to be executed. The nodes are visited from the last to the first.
    fn region(&mut self, region: Region, own: Option<Construct>) -> bool {
        let data = &self.function().regions[region];
        let mut stays = self.end(region, own);
        for node in data.nodes.iter().rev() {
            stays |= match *node {
                Node::Inst(inst) => self.inst(inst),
                Node::Construct(construct) => self.construct(construct),
            };
        }
        stays
    }

    /// Whether the end of a region decides where control goes on behind the construct that it belongs to.
    fn end(&mut self, region: Region, own: Option<Construct>) -> bool {
        let f = self.function();
        match (&f.regions[region].end, own.map(|own| &f.constructs[own])) {
            (End::Exit { to, args }, _) => {
                self.edge(args, &f.constructs[*to].results);
                Some(*to) != own && self.has_construct(*to)
            }
            (End::Continue { to, args }, _) => {
                if let ConstructKind::Loop { continuing, .. } = f.constructs[*to].kind {
                    self.edge(args, &f.regions[continuing].params);
                }
                self.has_construct(*to)
            }
            (End::Repeat { args, until }, Some(own)) => {
                if let ConstructKind::Loop { body, .. } = own.kind {
                    self.edge(args, &f.regions[body].params);
                }
                until.iter().for_each(|until| self.edge(&until.args, &own.results));
                false
            }
            (End::Fall { to, args }, _) => {
                self.edge(args, &f.regions[*to].params);
                true
            }
            (end, _) => self.leave(end),
        }
    }

    /// Marks what an edge carries to values that are marked.
    fn edge(&mut self, args: &[Value], to: &[Value]) {
        for (&arg, &to) in args.iter().zip(to) {
            if self.has_value(to) {
                self.value(arg);
            }
        }
    }

    /// Whether a construct has to be executed; marks it then, and what decides which way it goes.
    fn construct(&mut self, construct: Construct) -> bool {
        let f = self.function();
        let data = &f.constructs[construct];
        let mut stays = self.is_kept(construct) || data.results.iter().any(|&result| self.has_value(result));
        for region in data.kind.regions().into_iter().rev() {
            stays |= self.region(region, Some(construct));
        }
        if !stays {
            return false;
        }
        self.mark(construct);
        match &data.kind {
            ConstructKind::If { condition, .. } => self.value(*condition),
            ConstructKind::Switch { selector, cases, .. } => {
                self.value(*selector);
                cases.iter().for_each(|case| self.edge(&case.args, &f.regions[case.region].params));
            }
            ConstructKind::Loop { args, body, continuing, .. } => {
                self.edge(args, &f.regions[*body].params);
                if let End::Repeat { until: Some(until), .. } = &f.regions[*continuing].end {
                    self.value(until.condition);
                }
            }
        }
        true
    }
}
