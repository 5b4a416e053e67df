//! Selections whose sides return are made to meet.
//!
//! Where nothing comes behind a selection, the normal form of a kernel returns on its sides. What is done for one invocation after another has to
//! come out at one place, so such sides go to the end of the selection, and that returns.
//!
//! # Guarantees
//! - each invocation does what it did, in the same order

use crate::ir::entity::Region;
use crate::ir::{ConstructKind, EdgeArgs, End, Function, Node};

/// Joins the ends of selections, inner ones first.
pub(crate) fn join_ends(f: &mut Function) {
    join(f, f.body);
}

fn join(f: &mut Function, region: Region) {
    let nodes = f.regions[region].nodes.clone();
    for node in &nodes {
        if let Node::Construct(construct) = *node {
            f.constructs[construct].kind.regions().into_iter().for_each(|region| join(f, region));
        }
    }
    let Some(&Node::Construct(last)) = nodes.last() else { return };
    let is_selection = match f.constructs[last].kind {
        ConstructKind::If { control, .. } => control.is_some(),
        ConstructKind::Switch { .. } => true,
        ConstructKind::Loop { .. } => false,
    };
    let ends = matches!(f.regions[region].end, End::Return(None) | End::Unreachable);
    if !is_selection || !ends || !f.constructs[last].results.is_empty() {
        return;
    }
    let sides = f.constructs[last].kind.regions();
    let returning = sides.into_iter().filter(|&side| f.regions[side].end == End::Return(None));
    let returning: Vec<Region> = returning.collect();
    if !returning.is_empty() {
        f.regions[region].end = End::Return(None);
        for side in returning {
            f.regions[side].end = End::Exit { to: last, args: EdgeArgs::new() };
        }
    }
}
