//! What small buffers hold, as far as the host knows it: what it wrote, until a piece of work may have written it.
//!
//! Planning takes such bytes for numbers. All work that writes is put in force here, whoever submits it, so what is
//! known of a memory ends where an access that may write it is: nobody else has to think of it.

use std::sync::{Arc, Weak};

use crate::submission::{
    graph::{Graph, Touch},
    identity::{SharedMemory, Span},
};

/// A range of a memory, and its bytes.
#[derive(Debug)]
pub(super) struct Known {
    start: u64,
    bytes: Box<[u8]>,
    /// Gone when nothing uses the memory any more.
    memory: Weak<SharedMemory>,
}

impl Known {
    fn span(&self) -> Span {
        Span::of_len(self.start, self.bytes.len() as u64)
    }
}

/// How many memories are known before those that are gone are dropped.
const SWEEP_AT: usize = 256;

impl Graph {
    /// Notes what the host has written, or read, now: all bytes of a range, after all work that conflicts with that.
    pub(crate) fn know(&mut self, memory: &Arc<SharedMemory>, start: u64, bytes: &[u8]) {
        if self.known.len() >= self.forget_at.max(SWEEP_AT) {
            self.known.retain(|_, known| known.memory.strong_count() > 0);
            self.forget_at = 2 * self.known.len();
        }
        // What is repeated without a look at what it writes may write this.
        self.disturb(memory.id);
        let known = Known { start, bytes: bytes.into(), memory: Arc::downgrade(memory) };
        self.known.insert(memory.id, known);
    }

    /// Notes that bytes may have been written by something else.
    pub(crate) fn forget(&mut self, touch: &Touch) {
        let is_written = |known: &Known| known.span().overlaps(touch.span);
        if touch.writes && self.known.get(&touch.memory).is_some_and(is_written) {
            self.known.remove(&touch.memory);
        }
    }

    /// What a memory holds from a byte on, as far as it is known.
    pub(crate) fn holds(&self, memory: &SharedMemory, start: u64) -> Option<&[u8]> {
        let known = self.known.get(&memory.id)?;
        known.bytes.get(usize::try_from(start.checked_sub(known.start)?).ok()?..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{submission::graph::Stage, vk::Point};

    fn write(graph: &mut Graph, memory: &SharedMemory, span: Span, writes: bool) {
        let touch = Touch { memory: memory.id, span, reads: !writes, writes };
        let mut batch = graph.begin(0);
        graph.add(&mut batch, &Arc::from("test"), Stage::Compute, &[touch]);
        graph.commit(&batch, Point { queue: 0, value: 1 });
    }

    #[test]
    fn a_write_of_some_of_it_ends_what_is_known() {
        let mut graph = Graph::default();
        let memory = SharedMemory::new();
        graph.know(&memory, 4, &[1, 2, 3, 4]);
        assert_eq!(graph.holds(&memory, 6), Some(&[3, 4][..]));
        assert_eq!((graph.holds(&memory, 3), graph.holds(&memory, 9)), (None, None));
        write(&mut graph, &memory, Span::new(0, 64), false);
        write(&mut graph, &memory, Span::new(8, 64), true);
        assert_eq!(graph.holds(&memory, 4), Some(&[1, 2, 3, 4][..]));
        write(&mut graph, &memory, Span::new(7, 8), true);
        assert_eq!(graph.holds(&memory, 4), None);
    }

    #[test]
    fn memories_that_are_gone_are_dropped() {
        let mut graph = Graph::default();
        for _ in 0..4 * SWEEP_AT {
            graph.know(&SharedMemory::new(), 0, &[0; 16]);
        }
        assert!(graph.known.len() <= SWEEP_AT);
    }
}
