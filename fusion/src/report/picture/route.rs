//! How an edge goes from one node to another around the nodes between them.
//!
//! # Requires
//!
//! Edges go down.
//!
//! # Guarantees
//!
//! The points of a route go down as well. The curve through them meets no obstacle if a way around is found within
//! [`TURNS`] turns; it always ends.

/// From an edge to an obstacle beside it.
const BESIDE: f64 = 9.0;
/// From an edge to an obstacle above or below it.
const OVER: f64 = 4.0;
const TURNS: usize = 24;

type Point = (f64, f64);

/// What edges go around.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Rect {
    pub(super) fn new((left, top): Point, (width, height): (f64, f64)) -> Rect {
        Rect { left, top, right: left + width, bottom: top + height }
    }

    fn holds(&self, (x, y): Point) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }
}

/// The points of an edge after `from`, up to and including `to`. The curve between two of them leaves and arrives vertically.
pub(super) fn route(from: Point, to: Point, obstacles: &[Rect]) -> Vec<Point> {
    let mut points = vec![from, to];
    // A node that the edge begins or ends at lies beside it and not between.
    let between: Vec<Rect> =
        obstacles.iter().copied().filter(|one| one.top > from.1 && one.bottom < to.1).collect();
    for _ in 0..TURNS {
        let hit = points.windows(2).enumerate().find_map(|(at, pair)| Some((at, met(pair, &between)?)));
        let Some((at, obstacle)) = hit else { break };
        let (start, end) = (points[at], points[at + 1]);
        let (top, bottom) = ((obstacle.top - OVER).max(start.1), (obstacle.bottom + OVER).min(end.1));
        let middle = (start.0 + end.0) / 2.0;
        let sides =
            [side(&obstacle, &between, (top, bottom), -1.0), side(&obstacle, &between, (top, bottom), 1.0)];
        let x = if (sides[0] - middle).abs() < (sides[1] - middle).abs() { sides[0] } else { sides[1] };
        points.splice(at + 1..at + 1, [(x, top), (x, bottom)]);
    }
    points.split_off(1)
}

/// The first obstacle on the curve between two points.
fn met(pair: &[Point], obstacles: &[Rect]) -> Option<Rect> {
    const STEPS: usize = 24;
    let &[(x1, y1), (x2, y2)] = pair else { return None };
    (1..STEPS).find_map(|step| {
        let t = step as f64 / STEPS as f64;
        // A cubic whose inner points are at half of the height.
        let across = t * t * (3.0 - 2.0 * t);
        let down = 1.5 * t * (1.0 - t) + t * t * t;
        let at = (x1 + (x2 - x1) * across, y1 + (y2 - y1) * down);
        obstacles.iter().find(|one| one.holds(at)).copied()
    })
}

/// Where there is space to the left (-1) or right (1) of an obstacle, over a height.
fn side(obstacle: &Rect, obstacles: &[Rect], (top, bottom): (f64, f64), direction: f64) -> f64 {
    let beside = |one: &Rect| if direction < 0.0 { one.left - BESIDE } else { one.right + BESIDE };
    let mut x = beside(obstacle);
    for _ in obstacles {
        let meets = |one: &&Rect| one.top < bottom && one.bottom > top && one.left < x && x < one.right;
        let Some(other) = obstacles.iter().find(meets) else { break };
        x = beside(other);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_clear(from: Point, points: &[Point], obstacles: &[Rect]) -> bool {
        let all: Vec<Point> = std::iter::once(from).chain(points.iter().copied()).collect();
        all.windows(2).all(|pair| pair[0].1 <= pair[1].1 && met(pair, obstacles).is_none())
    }

    #[test]
    fn an_edge_with_nothing_between_is_one_curve() {
        assert_eq!(route((0.0, 0.0), (50.0, 90.0), &[]), [(50.0, 90.0)]);
        // What it starts and ends at is not between.
        let ends = [Rect::new((-20.0, -20.0), (40.0, 20.0)), Rect::new((30.0, 90.0), (40.0, 20.0))];
        assert_eq!(route((0.0, 0.0), (50.0, 90.0), &ends), [(50.0, 90.0)]);
    }

    #[test]
    fn an_edge_goes_around_what_is_between() {
        let one = Rect::new((-50.0, 40.0), (110.0, 30.0));
        // The left side is nearer.
        let around = route((0.0, 0.0), (0.0, 120.0), &[one]);
        assert_eq!(around, [(-59.0, 36.0), (-59.0, 74.0), (0.0, 120.0)]);
        assert!(is_clear((0.0, 0.0), &around, &[one]));
        // There is no space between the two.
        let two = [one, Rect::new((-90.0, 40.0), (38.0, 30.0))];
        let around = route((0.0, 0.0), (0.0, 120.0), &two);
        assert_eq!(around[0].0, 69.0);
        assert!(is_clear((0.0, 0.0), &around, &two));
        // Three below each other.
        let three = [0.0, 60.0, 120.0].map(|y| Rect::new((-50.0, 40.0 + y), (110.0, 30.0)));
        let around = route((0.0, 0.0), (0.0, 240.0), &three);
        assert!(is_clear((0.0, 0.0), &around, &three), "{around:?}");
    }
}
