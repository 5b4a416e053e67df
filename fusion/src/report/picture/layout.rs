//! Where the nodes of a stage go: layered, by `rust-sugiyama`.

use std::panic::catch_unwind;

use rust_sugiyama::{configure::Config, from_vertices_and_edges};

/// Space between nodes.
const GAP: f64 = 26.0;

/// Centres of nodes, in a box from (0, 0).
pub(super) struct Layout {
    pub(super) centres: Vec<(f64, f64)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Lays out nodes of these sizes. Parts that are not connected are side by side, and beneath each other where they would be wider
/// than `width` together.
pub(super) fn layout(sizes: &[(f64, f64)], edges: &[(usize, usize)], width: f64) -> Layout {
    let parts = catch_unwind(|| layered(sizes, edges)).ok().filter(|parts| is_whole(parts, sizes.len()));
    // A picture that is not beautiful is better than none.
    let parts =
        parts.unwrap_or_else(|| sizes.iter().enumerate().map(|(node, _)| vec![(node, (0.0, 0.0))]).collect());
    let mut all = Layout { centres: vec![(0.0, 0.0); sizes.len()], width: 0.0, height: 0.0 };
    let (mut x, mut y, mut line) = (0.0_f64, 0.0_f64, 0.0_f64);
    for part in parts {
        let edge = |pick: fn(f64, f64) -> f64, start: f64, side: f64, axis: fn((f64, f64)) -> f64| {
            part.iter()
                .fold(start, |so_far, (node, at)| pick(so_far, axis(*at) + side * axis(sizes[*node]) / 2.0))
        };
        let across: fn((f64, f64)) -> f64 = |pair| pair.0;
        let down: fn((f64, f64)) -> f64 = |pair| pair.1;
        let (left, right) = (edge(f64::min, f64::MAX, -1.0, across), edge(f64::max, f64::MIN, 1.0, across));
        let (top, bottom) = (edge(f64::min, f64::MAX, -1.0, down), edge(f64::max, f64::MIN, 1.0, down));
        if x > 0.0 && x + right - left > width {
            (x, y, line) = (0.0, y + line + GAP, 0.0);
        }
        for (node, (at_x, at_y)) in &part {
            all.centres[*node] = (x + at_x - left, y + at_y - top);
        }
        (all.width, all.height) = (all.width.max(x + right - left), all.height.max(y + bottom - top));
        (x, line) = (x + right - left + GAP, line.max(bottom - top));
    }
    all
}

type Part = Vec<(usize, (f64, f64))>;

fn layered(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Vec<Part> {
    let vertices: Vec<(u32, (f64, f64))> = (0..).zip(sizes.iter().copied()).collect();
    let edges: Vec<(u32, u32)> = edges.iter().map(|(from, to)| (*from as u32, *to as u32)).collect();
    let config = Config { vertex_spacing: GAP, ..Config::default() };
    let mut parts: Vec<Part> =
        from_vertices_and_edges(&vertices, &edges, &config).into_iter().map(|(part, _, _)| part).collect();
    // The library goes through hash maps.
    parts.iter_mut().for_each(|part| part.sort_by_key(|(node, _)| *node));
    parts.sort_by_key(|part| part.first().map(|(node, _)| *node));
    parts
}

/// Whether every node is somewhere.
fn is_whole(parts: &[Part], nodes: usize) -> bool {
    let mut seen: Vec<usize> = parts.iter().flatten().map(|(node, _)| *node).collect();
    seen.sort_unstable();
    let finite = parts.iter().flatten().all(|(_, (x, y))| x.is_finite() && y.is_finite());
    finite && seen.iter().copied().eq(0..nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No two nodes of random graphs overlap, and the same graph always looks the same.
    #[test]
    fn nodes_are_apart_and_stay_where_they_are() {
        let mut state = 7_u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..60 {
            let nodes = 1 + below(24);
            let sizes: Vec<(f64, f64)> =
                (0..nodes).map(|_| (40.0 + below(160) as f64, 26.0 + below(40) as f64)).collect();
            let edges: Vec<(usize, usize)> = (0..below(30))
                .map(|_| (below(nodes), below(nodes)))
                .filter(|(a, b)| a != b)
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            let one = layout(&sizes, &edges, 600.0);
            for a in 0..nodes {
                for b in 0..a {
                    let (p, q) = (one.centres[a], one.centres[b]);
                    let apart = (p.0 - q.0).abs() + 0.01 >= (sizes[a].0 + sizes[b].0) / 2.0
                        || (p.1 - q.1).abs() + 0.01 >= (sizes[a].1 + sizes[b].1) / 2.0;
                    assert!(apart, "{a} and {b} of {sizes:?} with {edges:?}");
                }
            }
            assert_eq!(one.centres, layout(&sizes, &edges, 600.0).centres);
        }
    }
}
