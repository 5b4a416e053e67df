//! The dependency graph of pending work.
//!
//! Every piece of work that reached a queue (a dispatch, a copy, an upload) is a node until it is known to be complete;
//! an edge says that one has to see or spare the bytes of another. From the edges follow the only two things that order
//! work: a pipeline barrier where both run on the same queue and none lies between them yet, and a wait for a time-line
//! value where they run on different queues. Where there is no edge there is no barrier.
//!
//! Two accesses conflict when their byte ranges of the same memory overlap and at least one of them writes.
//!
//! Nothing here knows Vulkan's objects: the graph can be tested, and run under an interpreter, without a device.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use ahash::AHashMap;
use petgraph::{
    dot::{Config, Dot},
    stable_graph::{NodeIndex, StableDiGraph},
    visit::IntoEdgeReferences,
};
use smallvec::SmallVec;

use crate::vk::{Barrier, Point};

/// One byte range that a piece of work reads, writes, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touch {
    /// Which memory, by the number that aliases share.
    pub(crate) memory: u64,
    /// Which bytes of it.
    pub(crate) range: Range<u64>,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Touch {
    /// Whether the byte ranges overlap at all.
    pub(crate) fn overlaps(&self, other: &Touch) -> bool {
        self.memory == other.memory && overlap(&self.range, &other.range)
    }

    /// Whether the order of the two matters.
    pub(crate) fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes) && self.overlaps(other)
    }
}

pub(crate) type Touches = SmallVec<[Touch; 8]>;

/// Whether two half-open ranges have a byte in common.
pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// What a barrier has to name: how the work reaches memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Compute = 0,
    Transfer = 1,
}

/// What a piece of work has to wait for.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The barrier to record right before it.
    pub(crate) barrier: Option<Barrier>,
    /// Work on other queues.
    pub(crate) waits: SmallVec<[Point; 4]>,
}

#[derive(Debug)]
struct Work {
    label: Arc<str>,
    stage: Stage,
    point: Point,
    /// Place in the order of everything that was ever added.
    position: u64,
    /// It ends with a barrier of its own, so nothing on its queue needs another one.
    ordered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hazard {
    ReadAfterWrite,
    WriteAfterRead,
    WriteAfterWrite,
}

#[derive(Debug)]
struct Access {
    node: NodeIndex,
    range: Range<u64>,
    writes: bool,
}

/// One queue's line of work.
#[derive(Debug, Default, Clone)]
struct Lane {
    /// Its pending nodes, oldest first.
    order: VecDeque<NodeIndex>,
    /// `synced[from][to]`: work of stage `from` up to this position is ordered before all later work of stage `to`.
    synced: [[u64; 2]; 2],
}

/// Nodes added but not submitted yet, so that they can be taken back.
#[derive(Debug)]
pub(crate) struct Batch {
    lane: u32,
    nodes: SmallVec<[NodeIndex; 8]>,
    /// The memory they touch, each once.
    memories: SmallVec<[u64; 8]>,
    synced_before: [[u64; 2]; 2],
}

/// The graph. One per context; the caller's lock guards it.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    graph: StableDiGraph<Work, Hazard>,
    live: AHashMap<u64, Vec<Access>>,
    lanes: Vec<Lane>,
    position: u64,
}

impl Graph {
    fn lane(&mut self, lane: u32) -> &mut Lane {
        let index = lane as usize;
        if self.lanes.len() <= index {
            self.lanes.resize(index + 1, Lane::default());
        }
        &mut self.lanes[index]
    }

    /// Starts a submission to a queue.
    pub(crate) fn begin(&mut self, lane: u32) -> Batch {
        Batch {
            lane,
            nodes: SmallVec::new(),
            memories: SmallVec::new(),
            synced_before: self.lane(lane).synced,
        }
    }

    /// Adds a piece of work to a submission and says what it needs.
    ///
    /// Barriers count as recorded at once; other queues' points are the whole submission's to wait for.
    pub(crate) fn add(
        &mut self,
        batch: &mut Batch,
        label: &Arc<str>,
        stage: Stage,
        touches: &[Touch],
    ) -> Needs {
        let lane = batch.lane;
        self.position += 1;
        let position = self.position;
        let node = self.graph.add_node(Work {
            label: label.clone(),
            stage,
            point: Point { queue: lane, value: u64::MAX },
            position,
            ordered: false,
        });
        batch.nodes.push(node);

        let mut needs = Needs::default();
        let mut from = [false; 2];
        for touch in touches {
            let Some(accesses) = self.live.get(&touch.memory) else { continue };
            for access in accesses {
                if access.node == node
                    || !overlap(&access.range, &touch.range)
                    || !(touch.writes || access.writes)
                {
                    continue;
                }
                let hazard = match (access.writes, touch.writes) {
                    (true, false) => Hazard::ReadAfterWrite,
                    (false, _) => Hazard::WriteAfterRead,
                    (true, true) if touch.reads => Hazard::ReadAfterWrite,
                    (true, true) => Hazard::WriteAfterWrite,
                };
                self.graph.update_edge(access.node, node, hazard);
                let earlier = &self.graph[access.node];
                if earlier.point.queue == lane {
                    if !earlier.ordered
                        && earlier.position
                            > self.lanes[lane as usize].synced[earlier.stage as usize][stage as usize]
                    {
                        from[earlier.stage as usize] = true;
                    }
                } else if !needs.waits.contains(&earlier.point) {
                    needs.waits.push(earlier.point);
                }
            }
        }
        needs.barrier = match (from, stage) {
            ([false, false], _) => None,
            ([true, false], Stage::Compute) => Some(Barrier::ComputeToCompute),
            ([true, false], Stage::Transfer) => Some(Barrier::ComputeToTransfer),
            ([false, true], Stage::Compute) => Some(Barrier::TransferToCompute),
            ([false, true], Stage::Transfer) => Some(Barrier::TransferToTransfer),
            ([true, true], _) => Some(Barrier::Full),
        };
        if let Some(barrier) = needs.barrier {
            self.synced(lane, barrier, position - 1);
        }

        for touch in touches {
            let access = Access { node, range: touch.range.clone(), writes: touch.writes };
            self.live.entry(touch.memory).or_default().push(access);
            if !batch.memories.contains(&touch.memory) {
                batch.memories.push(touch.memory);
            }
        }
        self.lane(lane).order.push_back(node);
        needs
    }

    /// Notes that a barrier orders everything up to a position before everything after it.
    fn synced(&mut self, lane: u32, barrier: Barrier, upto: u64) {
        let synced = &mut self.lane(lane).synced;
        match barrier {
            Barrier::ComputeToCompute => synced[0][0] = upto,
            Barrier::ComputeToTransfer => synced[0][1] = upto,
            Barrier::TransferToCompute => synced[1][0] = upto,
            Barrier::TransferToTransfer => synced[1][1] = upto,
            Barrier::Full => *synced = [[upto; 2]; 2],
        }
    }

    /// Notes that a submission starts with a full barrier: everything on its queue is ordered before it.
    pub(crate) fn ordered_so_far(&mut self, batch: &Batch) {
        let upto = self.position;
        self.synced(batch.lane, Barrier::Full, upto);
    }

    /// Adds an upload, which was submitted already and orders itself against everything on its queue.
    pub(crate) fn add_ordered(&mut self, point: Point, label: &Arc<str>, touch: &Touch) {
        let mut batch = self.begin(point.queue);
        let synced = batch.synced_before;
        self.add(&mut batch, label, Stage::Transfer, std::slice::from_ref(touch));
        // What was submitted since the upload may be in the graph before it, so nothing is known about the rest.
        self.lane(point.queue).synced = synced;
        for node in &batch.nodes {
            self.graph[*node].ordered = true;
        }
        self.commit(&batch, point);
    }

    /// Gives the nodes of a submission their point.
    pub(crate) fn commit(&mut self, batch: &Batch, point: Point) {
        for node in &batch.nodes {
            if let Some(work) = self.graph.node_weight_mut(*node) {
                work.point = point;
            }
        }
        for memory in &batch.memories {
            self.prune(*memory, &batch.nodes);
        }
    }

    /// Drops the accesses that new ones make superfluous: whoever conflicts with those conflicts with the new one too,
    /// and the new one is ordered after them. Without this a buffer that is used all the time and never waited for
    /// would collect accesses without end.
    fn prune(&mut self, memory: u64, new: &[NodeIndex]) {
        let Some(accesses) = self.live.get_mut(&memory) else { return };
        let graph = &self.graph;
        let old = std::mem::take(accesses);
        for access in old {
            if new.contains(&access.node) {
                accesses.retain(|old| {
                    let covered = access.range.start <= old.range.start && old.range.end <= access.range.end;
                    // A later read stands for an earlier one only where one barrier would order both.
                    let same_line = || {
                        let (old, new) = (&graph[old.node], &graph[access.node]);
                        old.point.queue == new.point.queue && old.stage == new.stage
                    };
                    old.node == access.node || !covered || !(access.writes || (!old.writes && same_line()))
                });
            }
            accesses.push(access);
        }
    }

    /// Takes back a submission that did not happen.
    pub(crate) fn roll_back(&mut self, batch: &Batch) {
        for node in &batch.nodes {
            self.graph.remove_node(*node);
        }
        let graph = &self.graph;
        for memory in &batch.memories {
            if let Some(accesses) = self.live.get_mut(memory) {
                accesses.retain(|access| graph.contains_node(access.node));
            }
        }
        let lane = self.lane(batch.lane);
        lane.order.retain(|node| !batch.nodes.contains(node));
        lane.synced = batch.synced_before;
    }

    /// Forgets what is complete.
    pub(crate) fn retire(&mut self, mut is_done: impl FnMut(Point) -> bool) {
        let mut gone: SmallVec<[NodeIndex; 16]> = SmallVec::new();
        for lane in &mut self.lanes {
            let mut seen: Option<(Point, bool)> = None;
            while let Some(node) = lane.order.front() {
                let Some(work) = self.graph.node_weight(*node) else {
                    lane.order.pop_front();
                    continue;
                };
                let done = match seen {
                    Some((point, done)) if point == work.point => done,
                    _ => work.point.value != u64::MAX && is_done(work.point),
                };
                seen = Some((work.point, done));
                if !done {
                    break;
                }
                gone.push(*node);
                lane.order.pop_front();
            }
        }
        if gone.is_empty() {
            return;
        }
        for node in &gone {
            self.graph.remove_node(*node);
        }
        let graph = &self.graph;
        self.live.retain(|_, accesses| {
            accesses.retain(|access| graph.contains_node(access.node));
            !accesses.is_empty()
        });
    }

    /// The points of pending work that conflicts with an access from outside the graph, such as the host's.
    pub(crate) fn conflicts(&self, touch: &Touch) -> SmallVec<[Point; 4]> {
        let mut points: SmallVec<[Point; 4]> = SmallVec::new();
        for access in self.live.get(&touch.memory).into_iter().flatten() {
            if (touch.writes || access.writes) && overlap(&access.range, &touch.range) {
                let point = self.graph[access.node].point;
                match points.iter_mut().find(|p| p.queue == point.queue) {
                    Some(known) => known.value = known.value.max(point.value),
                    None => points.push(point),
                }
            }
        }
        points
    }

    /// The pending work and why it waits, in the DOT language.
    pub(crate) fn dot(&self) -> String {
        let node = |_: &_, (_, work): (NodeIndex, &Work)| {
            format!(
                "label=\"{}\\nqueue {} at {}\"",
                work.label.escape_default(),
                work.point.queue,
                work.point.value
            )
        };
        let edge = |_: &_, edge: <&StableDiGraph<Work, Hazard> as IntoEdgeReferences>::EdgeRef| {
            let word = match edge.weight() {
                Hazard::ReadAfterWrite => "read after write",
                Hazard::WriteAfterRead => "write after read",
                Hazard::WriteAfterWrite => "write after write",
            };
            format!("label=\"{word}\"")
        };
        let config = [Config::NodeNoLabel, Config::EdgeNoLabel];
        format!("{:?}", Dot::with_attr_getters(&self.graph, &config, &edge, &node))
    }
}

#[cfg(test)]
mod tests;
