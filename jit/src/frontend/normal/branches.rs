//! Folds branches on constants, and drops unreachable code.
//!
//! # Guarantees
//! - no selection on a constant, and no loop with a single round, that is left at its end only; no code behind a construct that control never leaves
//!
//! # Leaves alone
//! - ways that are left in the middle, tests of loops that always hold

use crate::ir::entity::{Const, Construct, Region, SecondaryMap, Value};
use crate::ir::{ConstKind, ConstructKind, End, Function, Module, Node};

use super::split::index;

/// Folds branches; says whether there were any.
pub(super) fn run(module: &Module, f: &mut Function) -> bool {
    let mut folder = Folder { module, f, renames: SecondaryMap::default(), folded: false };
    let body = folder.f.body;
    folder.region(body);
    let Folder { f, renames, folded, .. } = folder;
    f.substitute(&renames);
    folded
}

struct Folder<'a> {
    module: &'a Module,
    f: &'a mut Function,
    renames: SecondaryMap<Value, Option<Value>>,
    folded: bool,
}

impl Folder<'_> {
    fn constant(&self, mut value: Value) -> Option<Const> {
        while let Some(other) = self.renames[value] {
            value = other;
        }
        self.f.as_const(value)
    }

    fn region(&mut self, region: Region) {
        let mut open = std::mem::take(&mut self.f.regions[region].nodes);
        open.reverse();
        let mut kept = Vec::with_capacity(open.len());
        while let Some(node) = open.pop() {
            let Node::Construct(construct) = node else {
                kept.push(node);
                continue;
            };
            let Some((way, args)) = self.way(construct) else {
                self.stop(construct);
                self.endless(construct);
                for inner in self.f.constructs[construct].kind.regions() {
                    self.region(inner);
                }
                kept.push(node);
                if exits(self.f, construct).is_empty() {
                    self.f.regions[region].end = End::Unreachable;
                    break;
                }
                continue;
            };
            self.folded = true;
            for (&param, arg) in self.f.regions[way].params.iter().zip(args) {
                self.renames[param] = Some(arg);
            }
            let nodes = std::mem::take(&mut self.f.regions[way].nodes);
            let end = std::mem::replace(&mut self.f.regions[way].end, End::Unreachable);
            match end {
                End::Exit { to, args } if to == construct => {
                    for (&result, arg) in self.f.constructs[construct].results.iter().zip(args) {
                        self.renames[result] = Some(arg);
                    }
                }
                end => {
                    open.clear();
                    self.f.regions[region].end = end;
                }
            }
            open.extend(nodes.into_iter().rev());
        }
        self.f.regions[region].nodes = kept;
    }

    /// The only region of a construct that is executed, and what its parameters are.
    fn way(&self, construct: Construct) -> Option<(Region, Vec<Value>)> {
        let (way, args) = match &self.f.constructs[construct].kind {
            ConstructKind::If { condition, accept, reject, .. } => {
                let is = match self.module.const_data(self.constant(*condition)?).kind {
                    ConstKind::Bool(is) => is,
                    ConstKind::Null => false,
                    _ => return None,
                };
                (if is { *accept } else { *reject }, Vec::new())
            }
            ConstructKind::Switch { selector, cases, .. } => {
                let number = self.number(*selector)?;
                let default = cases.first()?;
                let case = cases.iter().find(|case| case.numbers.contains(&number)).unwrap_or(default);
                (case.region, case.args.to_vec())
            }
            // It has a single round.
            ConstructKind::Loop { body, args, .. } if !self.continues(construct) => (*body, args.to_vec()),
            ConstructKind::Loop { .. } => return None,
        };
        let inside = self.f.regions_in(way);
        let leaves = |region: &Region| match self.f.regions[*region].end {
            End::Exit { to, .. } => to == construct && *region != way,
            // Into another case of it.
            End::Fall { to, .. } => self.f.constructs[construct].kind.regions().contains(&to),
            _ => false,
        };
        (!inside.iter().any(leaves)).then_some((way, args))
    }

    /// Whether something leads to what continues a loop.
    fn continues(&self, construct: Construct) -> bool {
        let ConstructKind::Loop { body, .. } = self.f.constructs[construct].kind else { return true };
        let inside = self.f.regions_in(body);
        inside
            .into_iter()
            .any(|region| matches!(self.f.regions[region].end, End::Continue { to, .. } if to == construct))
    }

    /// Empties what continues a loop, if nothing leads there.
    fn stop(&mut self, construct: Construct) {
        let ConstructKind::Loop { body, continuing, .. } = self.f.constructs[construct].kind else { return };
        if !self.continues(construct) {
            let args = self.f.regions[body].params.iter().copied().collect();
            self.f.regions[continuing].nodes.clear();
            self.f.regions[continuing].end = End::Repeat { args, until: None };
        }
    }

    /// Drops the test at the end of a loop, if that never holds.
    fn endless(&mut self, construct: Construct) {
        let ConstructKind::Loop { continuing, .. } = self.f.constructs[construct].kind else { return };
        let End::Repeat { until: Some(until), .. } = &self.f.regions[continuing].end else { return };
        let never = |constant: Const| match self.module.const_data(constant).kind {
            ConstKind::Bool(holds) => holds != until.is,
            ConstKind::Null => until.is,
            _ => false,
        };
        if self.constant(until.condition).is_some_and(never)
            && let End::Repeat { until, .. } = &mut self.f.regions[continuing].end
        {
            *until = None;
            self.folded = true;
        }
    }

    /// The selector of a switch, as its cases are written.
    fn number(&self, selector: Value) -> Option<u64> {
        let constant = self.constant(selector)?;
        let width = self.module.types.width(self.module.const_data(constant).ty)?;
        let number = index(self.module, constant)?;
        // Narrow numbers are extended in one way or another.
        (width == 32 || width == 64).then_some(number)
    }
}

/// The regions from which a construct is left.
pub(super) fn exits(f: &Function, construct: Construct) -> Vec<Region> {
    let kind = &f.constructs[construct].kind;
    let mut found = Vec::new();
    for region in kind.regions() {
        for inner in f.regions_in(region) {
            let leaves = match &f.regions[inner].end {
                End::Exit { to, .. } => *to == construct,
                End::Repeat { until, .. } => inner == region && until.is_some() && is_loop(kind),
                _ => false,
            };
            if leaves {
                found.push(inner);
            }
        }
    }
    found
}

fn is_loop(kind: &ConstructKind) -> bool {
    matches!(kind, ConstructKind::Loop { .. })
}
