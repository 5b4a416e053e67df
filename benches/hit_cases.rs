//! The cases of the hit path: the chain of four kernels on a thousand elements.

use vkfuse::{Context, Event, Queue, QueueOptions};

use crate::workloads::Chain;

/// Elements: a few work-groups.
const ELEMENTS: usize = 1 << 10;

/// Sets of buffers to go round: more than any cache of exact lists keeps.
const SETS: usize = 400;

/// Every case.
pub(crate) const NAMES: [&str; 3] = ["same_buffers", "other_buffers", "unfused"];

/// A case, warmed up: each call is one run, whose last event it returns.
///
/// - `same_buffers`: `start_fusion`, four submissions, `complete_fusion`, again and again;
/// - `other_buffers`: the same, each time on buffers that it did not see for long;
/// - `unfused`: the four submissions by themselves.
pub(crate) fn case(context: &Context, name: &str) -> Box<dyn FnMut() -> Event> {
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
    let chain = |queue: &Queue| Chain::new(context, queue, ELEMENTS, true);
    let mut run: Box<dyn FnMut() -> Event> = match name {
        "same_buffers" => {
            let chain = chain(&queue);
            Box::new(move || chain.submit_fused())
        }
        "other_buffers" => {
            let chains: Vec<Chain> = (0..SETS).map(|_| chain(&queue)).collect();
            let mut at = 0;
            Box::new(move || {
                at = (at + 1) % SETS;
                chains[at].submit_fused()
            })
        }
        "unfused" => {
            let chain = chain(&queue);
            Box::new(move || chain.submit().pop().expect("four events"))
        }
        _ => panic!("there is no case {name}; there are {NAMES:?}"),
    };
    for _ in 0..2 * SETS {
        run().wait().expect("a run");
    }
    run
}
