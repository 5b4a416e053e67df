//! What continues a loop has to come back to it.
//!
//! # Guarantees
//! - no region inside of what continues a loop ends the invocation, or nowhere: SPIR-V demands that each way through a continue
//!   construct leads to its back edge
//!
//! # Refuses
//! - loops without an end, and ends of the invocation, in what continues a loop: a function that is called there may have them

use crate::frontend::reason::KernelReason;
use crate::ir::entity::Region;
use crate::ir::{ConstructKind, End, Function, Node};

/// Refuses loops that may not come back from what continues them.
pub(super) fn check(f: &Function) -> Result<(), KernelReason> {
    for region in f.regions_in(f.body) {
        for node in &f.regions[region].nodes {
            let Node::Construct(construct) = *node else { continue };
            let ConstructKind::Loop { continuing, .. } = f.constructs[construct].kind else { continue };
            if f.regions_in(continuing).into_iter().any(|inner| is_left(f, inner)) {
                let what = "what continues a loop may not come back to it";
                return Err(KernelReason::Optimizer(what.to_owned()));
            }
        }
    }
    Ok(())
}

/// Whether control never reaches the end of a region: it returns or terminates, or ends in a construct that control never leaves.
fn is_left(f: &Function, region: Region) -> bool {
    let data = &f.regions[region];
    match data.end {
        End::Return(_) | End::Terminate(_) => true,
        End::Unreachable => match data.nodes.last() {
            Some(Node::Construct(last)) => {
                !matches!(f.constructs[*last].kind, ConstructKind::If { control: None, .. })
            }
            _ => true,
        },
        _ => false,
    }
}
