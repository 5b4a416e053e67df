//! Why the analysis could not follow an access: the first value that it depends on and that is not followed, in words.
//!
//! This is for reports alone; no decision depends on it.

use rspirv::dr::Instruction;
use rspirv::spirv::Op;

use crate::analysis::access::Access;
use crate::analysis::expr::{Node, NodeId};
use crate::analysis::numbers::Numbers;
use crate::kernel::{NormalKernel, SetBinding, Specialized};
use crate::plan::input::submission::Submission;

/// Most nodes looked at: expressions share their parts, so walking them can take exponentially long, and a cause this deep explains nothing.
const MAX_NODES: usize = 512;

/// A value that the index of an access, or a condition under which it happens, depends on and that is not followed.
pub(in crate::plan) fn unfollowed(submission: &Submission, access: &Access) -> Option<String> {
    let numbers = |binding: usize| submission.args.get(binding)?.numbers.as_ref();
    within(&submission.kernel, &numbers, access)
}

/// A value that the index of an access of a kernel, or a condition under which it happens, depends on and that is not followed,
/// where nothing is known of what buffers hold.
pub fn not_followed(kernel: &Specialized, access: &Access) -> Option<String> {
    within(kernel, &|_| None, access)
}

fn within<'a>(
    kernel: &Specialized,
    numbers: &impl Fn(usize) -> Option<&'a Numbers>,
    access: &Access,
) -> Option<String> {
    let normal = kernel.normal.as_ref().ok()?;
    let indices = access.terms.iter().map(|term| term.index);
    let mut nodes: Vec<NodeId> = indices.chain(access.guards.iter().map(|guard| guard.condition)).collect();
    let mut at = 0;
    while let Some(&node) = nodes.get(at).filter(|_| at < MAX_NODES) {
        if let Some(cause) = cause((kernel, normal), numbers, node) {
            return Some(cause);
        }
        for part in normal.analysis.exprs.get(node).parts() {
            if !nodes.contains(&part) {
                nodes.push(part);
            }
        }
        at += 1;
    }
    None
}

fn cause<'a>(
    (kernel, normal): (&Specialized, &NormalKernel),
    numbers: &impl Fn(usize) -> Option<&'a Numbers>,
    node: NodeId,
) -> Option<String> {
    match normal.analysis.exprs.get(node) {
        Node::Cell { binding, offset, width, .. } => {
            let binding = usize::from(*binding);
            if numbers(binding).is_some_and(|numbers| numbers.get(*offset, *width).is_some()) {
                return None;
            }
            let at = kernel.interface.bindings.get(binding)?.at;
            Some(format!(
                "it depends on the number at byte {offset} of {at}: if nothing writes that, declare it constant"
            ))
        }
        Node::Join { .. } => {
            Some("it depends on one of several values, and which one is not known".to_owned())
        }
        Node::Opaque { id, .. } => {
            let is_it = |inst: &&Instruction| inst.result_id == Some(*id);
            let inst = normal.module.functions.iter().flat_map(|f| f.all_inst_iter()).find(is_it)?;
            Some(match inst.class.opcode {
                Op::Phi => {
                    "it depends on a value that branches or rounds of a loop change in a way that is not \
                            followed"
                        .to_owned()
                }
                Op::Load | Op::AtomicLoad => match binding_of(kernel, normal, *id) {
                    Some(at) => format!("it depends on a value read from {at}, at a place that varies"),
                    None => "it depends on a value read from shared memory".to_owned(),
                },
                op => format!("it depends on a value of Op{op:?}, which is not followed"),
            })
        }
        _ => None,
    }
}

/// The binding that an instruction loads from, if it is one.
fn binding_of(kernel: &Specialized, normal: &NormalKernel, id: u32) -> Option<SetBinding> {
    let blocks = normal.module.functions.first()?.blocks.iter().enumerate();
    let is_it = |inst: &Instruction| inst.result_id == Some(id);
    let mut places =
        blocks.filter_map(|(block, code)| Some((block, code.instructions.iter().position(is_it)?)));
    let place = places.next()?;
    let access = normal.analysis.accesses.iter().find(|access| access.at == place)?;
    Some(kernel.interface.bindings.get(access.binding)?.at)
}
