//! The pending work and why it waits, as a picture: the one place where the edges are made.

use petgraph::{
    dot::{Config, Dot},
    graph::DiGraph,
};

use super::{Dependencies, WorkId, is_done};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hazard {
    ReadAfterWrite,
    WriteAfterRead,
    WriteAfterWrite,
}

impl Hazard {
    fn in_words(self) -> &'static str {
        match self {
            Hazard::ReadAfterWrite => "read after write",
            Hazard::WriteAfterRead => "write after read",
            Hazard::WriteAfterWrite => "write after write",
        }
    }
}

impl Dependencies {
    /// The pending work and why it waits, in the DOT language.
    pub(crate) fn dot(&self) -> String {
        let mut graph: DiGraph<String, Hazard> = DiGraph::new();
        let mut nodes = Vec::new();
        for (id, work) in self.works.iter().filter(|(_, work)| !is_done(&self.lanes, work.point)) {
            let (label, point) = (work.label.escape_default(), work.point);
            nodes.push((id, graph.add_node(format!("{label}\\nqueue {} at {}", point.queue, point.value))));
        }
        let node = |id: WorkId| nodes.iter().find(|(known, _)| *known == id).map(|(_, node)| *node);
        let mut live: Vec<_> = self.live.iter().collect();
        live.sort_unstable_by_key(|(memory, _)| memory.planned());
        for (_, accesses) in live {
            for (at, b) in accesses.iter().enumerate() {
                for a in &accesses[..at] {
                    let (a, b) = if self.works.get(a.work).position < self.works.get(b.work).position {
                        (a, b)
                    } else {
                        (b, a)
                    };
                    if a.work == b.work || !(a.writes || b.writes) || !a.span.overlaps(b.span) {
                        continue;
                    }
                    let hazard = match (a.writes, b.writes) {
                        (true, false) => Hazard::ReadAfterWrite,
                        (false, _) => Hazard::WriteAfterRead,
                        (true, true) if b.reads => Hazard::ReadAfterWrite,
                        (true, true) => Hazard::WriteAfterWrite,
                    };
                    if let (Some(a), Some(b)) = (node(a.work), node(b.work)) {
                        graph.update_edge(a, b, hazard);
                    }
                }
            }
        }
        let config = [Config::NodeNoLabel, Config::EdgeNoLabel];
        let edge = |_: &_, edge: petgraph::graph::EdgeReference<'_, Hazard>| {
            format!("label=\"{}\"", edge.weight().in_words())
        };
        let node = |_: &_, (_, label): (_, &String)| format!("label=\"{label}\"");
        format!("{:?}", Dot::with_attr_getters(&graph, &config, &edge, &node))
    }
}
