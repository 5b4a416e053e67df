//! What is computed before anything is asked.

use ahash::AHashSet;

use crate::ir::entity::Value;
use crate::ir::{Function, Node};

/// Moves what values are made of out of nodes; returns it.
pub(in crate::emit::passes) fn hoist(
    f: &mut Function,
    nodes: &mut Vec<Node>,
    values: impl Iterator<Item = Value>,
) -> Vec<Node> {
    let (mut needed, mut moved) = (values.collect(), Vec::new());
    move_out(f, nodes, &mut needed, &mut moved);
    moved.reverse();
    moved
}

/// Moves what is needed out of nodes, last first.
fn move_out(f: &mut Function, nodes: &mut Vec<Node>, needed: &mut AHashSet<Value>, moved: &mut Vec<Node>) {
    let mut kept = Vec::with_capacity(nodes.len());
    for node in nodes.drain(..).rev() {
        match node {
            Node::Inst(inst) => {
                let data = &f.insts[inst];
                if data.result.is_some_and(|result| needed.contains(&result)) {
                    needed.extend(data.operation.values());
                    needed.extend(data.operation.place().into_iter().flat_map(|place| &f.places[place].path));
                    moved.push(node);
                    continue;
                }
            }
            Node::Construct(construct) => {
                for region in f.constructs[construct].kind.regions().into_iter().rev() {
                    let mut inner = std::mem::take(&mut f.regions[region].nodes);
                    move_out(f, &mut inner, needed, moved);
                    f.regions[region].nodes = inner;
                }
            }
        }
        kept.push(node);
    }
    kept.reverse();
    *nodes = kept;
}
