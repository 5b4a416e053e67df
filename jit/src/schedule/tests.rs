//! Text, bytes, views and clauses of schedules.

use super::legal::{Demands, Illegal};
use super::{
    Axis, BlockCoarsening, Domain, ItemCoarsening, Level, Packing, Schedule, Split, Superword, Tail,
};

fn line(size: u32) -> Schedule {
    Schedule::new(Domain::Grid, [size, 1, 1], true)
}

fn items(size: u32) -> Schedule {
    Schedule::new(Domain::LinearItems, [size, 1, 1], true)
}

const STRIDED: ItemCoarsening =
    ItemCoarsening { items: 4, rounds: 1, consecutive: false, tail: Tail::Guarded };
const VECTORS: ItemCoarsening = ItemCoarsening { consecutive: true, ..STRIDED };
const WHOLE: ItemCoarsening = ItemCoarsening { tail: Tail::Whole, ..VECTORS };
const PEELED: ItemCoarsening = ItemCoarsening { rounds: 3, tail: Tail::Peeled, ..VECTORS };
const ROWS: Superword = Superword { items: 4, axis: 1, consecutive: true, vectors: false, staged: 0 };
const APART: Superword = Superword { items: 2, axis: 0, consecutive: false, ..ROWS };
const STAGED: Superword = Superword { items: 4, axis: 1, consecutive: false, vectors: false, staged: 2 };
const BESIDE: Superword = Superword { vectors: true, ..ROWS };

fn blocks(axis: u8, total: Option<u16>) -> BlockCoarsening {
    BlockCoarsening { groups: 8, axis, total }
}

fn packing(total: Option<u16>) -> Packing {
    Packing { groups: 4, total }
}

/// One of each that the planner makes, with its text.
fn all() -> Vec<(Schedule, &'static str)> {
    let grid = Schedule::new(Domain::Grid, [16, 16, 1], false);
    vec![
        (line(256), "x: grid | 256 invocations"),
        (line(1), "x: grid"),
        (grid.clone(), "x: grid | 16 invocations; y: grid | 16 invocations"),
        (line(64).by_subgroups(32), "x: grid | 2 sub-groups / 32 lanes"),
        (
            Schedule::new(Domain::LinearGroups, [64, 1, 1], true),
            "x: grid | 64 invocations, linear work-groups",
        ),
        (
            Schedule::new(Domain::LinearGroups, [64, 1, 1], false),
            "x: grid | 64 invocations, linear work-groups",
        ),
        (items(512), "items: grid x / 512 invocations"),
        (
            Schedule::new(Domain::LinearItems, [512, 1, 1], false).coarsen_items(STRIDED),
            "items: grid xyz / 4 unrolled / 512 invocations, tail guarded",
        ),
        (items(256).coarsen_items(STRIDED), "items: grid x / 4 unrolled / 256 invocations, tail guarded"),
        (items(256).coarsen_items(VECTORS), "items: grid x / 256 invocations / vec4, tail guarded"),
        (items(256).coarsen_items(WHOLE), "items: grid x / 256 invocations / vec4, tail whole"),
        (items(256).coarsen_items(PEELED), "items: grid x / 256 invocations / 3 serial / vec4, tail peeled"),
        (line(256).coarsen_blocks(blocks(0, None)), "x: grid / 8 unrolled | 256 invocations"),
        (
            line(256).coarsen_blocks(blocks(1, Some(5))),
            "x: grid | 256 invocations; y: grid / 8 unrolled, tail remainder",
        ),
        (line(256).coarsen_threads(64), "x: grid | 4 unrolled / 64 invocations"),
        (line(256).coarsen_threads(32).in_subgroup(32), "x: grid | 8 unrolled / 32 lanes"),
        (
            line(256).coarsen_threads(32).in_subgroup(32).pack(packing(None)),
            "x: grid / 4 sub-groups | 8 unrolled / 32 lanes",
        ),
        (
            line(256).coarsen_threads(32).in_subgroup(32).pack(packing(Some(3))),
            "x: grid / 4 sub-groups | 8 unrolled / 32 lanes, tail masked",
        ),
        (
            line(256).coarsen_threads(32).in_subgroup(32).coarsen_blocks(blocks(0, None)),
            "x: grid / 8 unrolled | 8 unrolled / 32 lanes",
        ),
        (
            line(256)
                .coarsen_threads(32)
                .in_subgroup(32)
                .coarsen_blocks(blocks(0, None))
                .pack(packing(Some(3))),
            "x: grid / 4 sub-groups / 8 unrolled | 8 unrolled / 32 lanes, tail masked",
        ),
        (
            line(256).coarsen_threads(16).in_subgroup(32).share_lanes(2).pack(packing(Some(3))),
            "x: grid / 4 sub-groups / 2 lanes | 16 unrolled / 16 lanes, tail masked",
        ),
        (
            line(256)
                .coarsen_threads(8)
                .in_subgroup(32)
                .share_lanes(4)
                .coarsen_blocks(blocks(0, None))
                .pack(packing(None)),
            "x: grid / 4 sub-groups / 4 lanes / 8 unrolled | 32 unrolled / 8 lanes",
        ),
        (line(256).superwords(APART), "x: grid | 2 unrolled / 128 invocations, tail guarded"),
        (
            grid.clone().superwords(ROWS),
            "x: grid | 16 invocations; y: grid | 4 invocations / 4 unrolled, tail guarded",
        ),
        (
            grid.clone().superwords(STAGED),
            "x: grid | 16 invocations; y: grid | 4 unrolled / 4 invocations, columns through shared memory, tail guarded",
        ),
        (grid.superwords(BESIDE), "x: grid | 4 invocations / vec4; y: grid | 16 invocations, tail guarded"),
    ]
}

#[test]
fn text() {
    for (schedule, text) in all() {
        assert_eq!(schedule.to_string(), text);
    }
}

#[test]
fn what_the_planner_makes_is_legal() {
    for (schedule, text) in all() {
        assert_eq!(schedule.legal(Demands::default()), Ok(()), "{text}");
    }
}

/// Reads what `encode` wrote.
fn decode(bytes: &[u8]) -> Schedule {
    let mut words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("a word")));
    let mut word = || words.next().expect("a word more");
    let domain = [Domain::Grid, Domain::LinearGroups, Domain::LinearItems][word() as usize];
    let local = [word(), word(), word()];
    let splits = (0..word()).map(|_| {
        let (dim, axis) = (word() as u8, [Axis::Group, Axis::Local][word() as usize]);
        let level = match (word(), word()) {
            (0, 0) => Level::Grid,
            (1, n) => Level::WorkGroup(n),
            (2, n) => Level::Subgroup(n),
            (3, n) => Level::Lane(n),
            (4, n) => Level::Serial(n),
            (5, n) => Level::Unrolled(n),
            (6, n) => Level::Vector(n),
            other => panic!("{other:?}"),
        };
        Split { dim, axis, level }
    });
    let splits = splits.collect();
    let tail = match (word(), word() as u16) {
        (0, 0) => Tail::Exact,
        (1, 0) => Tail::Guarded,
        (2, 0) => Tail::Whole,
        (3, 0) => Tail::Peeled,
        (4, slot) => Tail::Remainder(slot),
        (5, slot) => Tail::Masked(slot),
        other => panic!("{other:?}"),
    };
    let full_subgroups = Some(word()).filter(|&size| size > 0);
    let staged = word();
    assert_eq!(words.next(), None);
    Schedule { domain, local, splits, tail, full_subgroups, staged }
}

#[test]
fn bytes_say_all() {
    for (schedule, text) in all() {
        let mut bytes = Vec::new();
        schedule.encode(&mut bytes);
        assert_eq!(decode(&bytes), schedule, "{text}");
    }
}

/// A work-group and a local id; of items by number, their number alone.
type Work = ([u32; 3], [u32; 3]);

/// What each place of each invocation of a dispatch does, in dispatches of `groups` work-groups of the domain.
fn done(schedule: &Schedule, groups: [u32; 3]) -> Vec<Work> {
    let (counts, size) = (schedule.dispatch(groups), schedule.work_group());
    let unfold = |number: u32, n: [u32; 3]| [number % n[0], number / n[0] % n[1], number / n[0] / n[1]];
    let of_invocation = |split: &&Split| split.level.is_of_invocation() || is_copied_group(split);
    let places: Vec<Split> = schedule.splits.iter().filter(of_invocation).copied().collect();
    let several = places.iter().filter_map(|split| split.level.extent()).product::<u32>();
    let mut all = Vec::new();
    for group in 0..counts.iter().product() {
        for index in 0..size.iter().product() {
            for place in 0..several {
                let (group, local, mut rest) = (unfold(group, counts), unfold(index, size), place);
                let lanes = schedule.full_subgroups.unwrap_or(1);
                let mut work = ([0; 3], [0; 3]);
                for split in &schedule.splits {
                    let dim = usize::from(split.dim);
                    let digit = match split.level {
                        Level::Grid => group[dim],
                        Level::WorkGroup(_) => local[dim],
                        Level::Subgroup(_) => index / lanes,
                        // Work-groups of a sub-group are its upper lanes.
                        Level::Lane(_) if split.axis == Axis::Group => {
                            index % lanes / (lanes / schedule.groups_in_lanes())
                        }
                        Level::Lane(n) => index % lanes % n,
                        Level::Serial(n) | Level::Unrolled(n) | Level::Vector(n) => {
                            let digit = rest % n;
                            rest /= n;
                            digit
                        }
                    };
                    let number = if split.axis == Axis::Group { &mut work.0[dim] } else { &mut work.1[dim] };
                    *number = *number * split.level.extent().unwrap_or(1) + digit;
                }
                all.push(work);
            }
        }
    }
    all
}

fn is_copied_group(split: &Split) -> bool {
    split.axis == Axis::Group && matches!(split.level, Level::Unrolled(_))
}

/// Whether each item below `end` is done once, by what tails of items by number say.
fn does_items(schedule: &Schedule, groups: [u32; 3], end: u32) -> bool {
    let counts = schedule.dispatch(groups);
    let linear = |group: [u32; 3]| (group[2] * counts[1] + group[1]) * counts[0] + group[0];
    let items = done(schedule, groups).into_iter();
    let items = items.map(|(group, local)| linear(group) * schedule.local[0] + local[0]);
    let mut items: Vec<u32> = match schedule.tail {
        Tail::Peeled => {
            let whole = end / 4 * 4;
            let invocations = counts.iter().product::<u32>() * schedule.work_group()[0];
            items.filter(|item| *item < whole).chain((0..invocations.min(3)).map(|one| whole + one)).collect()
        }
        _ => items.collect(),
    };
    items.retain(|item| *item < end);
    items.sort_unstable();
    items == (0..end).collect::<Vec<_>>()
}

/// Every sequence of up to three transformations that is legal does each work-item once.
#[test]
fn legal_schedules_are_bijections() {
    let domains = [Domain::Grid, Domain::LinearGroups, Domain::LinearItems];
    let sizes = [[1, 1, 1], [8, 1, 1], [4, 8, 1], [6, 4, 2]];
    let bases = domains.iter().flat_map(|&domain| {
        let sizes = sizes.iter().filter(move |size| domain != Domain::LinearItems || size[1] == 1);
        sizes.flat_map(move |&size| [true, false].map(|line| Schedule::new(domain, size, line)))
    });
    let lanes = [2, 4].map(|left| line(8).coarsen_threads(left).in_subgroup(left));
    let shared = [2, 4].map(|left| line(8).coarsen_threads(left).in_subgroup(2 * left).share_lanes(2));
    let bases = bases.chain(lanes).chain(shared);
    let two = |tail| ItemCoarsening { items: 2, tail, ..STRIDED };
    let ways: Vec<Box<dyn Fn(Schedule) -> Schedule>> = vec![
        Box::new(move |one| one.coarsen_items(two(Tail::Guarded))),
        Box::new(move |one| one.coarsen_items(two(Tail::Exact))),
        Box::new(|one| one.coarsen_items(VECTORS)),
        Box::new(|one| one.coarsen_items(WHOLE)),
        Box::new(|one| one.coarsen_items(PEELED)),
        Box::new(|one| one.coarsen_blocks(BlockCoarsening { groups: 2, axis: 0, total: None })),
        Box::new(|one| one.coarsen_blocks(BlockCoarsening { groups: 3, axis: 1, total: Some(0) })),
        Box::new(|one| one.coarsen_threads(2)),
        Box::new(|one| one.coarsen_threads(4)),
        Box::new(|one| one.in_subgroup(2)),
        Box::new(|one| one.in_subgroup(4)),
        Box::new(|one| one.by_subgroups(2)),
        Box::new(|one| one.share_lanes(2)),
        Box::new(|one| one.pack(Packing { groups: 2, total: None })),
        Box::new(|one| one.pack(Packing { groups: 2, total: Some(0) })),
        Box::new(|one| one.superwords(APART)),
        Box::new(|one| one.superwords(ROWS)),
        Box::new(|one| one.superwords(BESIDE)),
    ];
    let mut schedules: Vec<Schedule> = bases.collect();
    let mut last = schedules.clone();
    for _ in 0..3 {
        let next: ahash::AHashSet<Schedule> =
            last.iter().flat_map(|one| ways.iter().map(|way| way(one.clone()))).collect();
        last = next.into_iter().collect();
        schedules.append(&mut last.clone());
    }
    let legal = schedules.iter().filter(|one| one.legal(Demands::default()).is_ok());
    let mut seen = ahash::AHashSet::new();
    for schedule in legal.filter(|one| seen.insert((*one).clone())) {
        let has_end = matches!(schedule.tail, Tail::Remainder(_) | Tail::Masked(_));
        // Sub-groups do nothing or all of their work-groups.
        let unrolled = schedule.packing().and(schedule.block_coarsening()).map_or(1, |how| how.groups);
        let side_by_side = unrolled * schedule.groups_in_lanes();
        for most in [[4, 6, 1], [2, 3, 2], [5, 4, 1]] {
            let groups = if schedule.is_line() { [most[0], 1, 1] } else { most };
            let counts = schedule.dispatch(groups);
            let digits = [0, 1, 2].map(|dim: u8| {
                schedule.product(|split| split.axis == Axis::Group && split.dim == dim)
                    * counts[usize::from(dim)]
            });
            if schedule.domain == Domain::LinearItems {
                let all = groups.iter().product::<u32>() * schedule.local[0];
                for end in [all, all / 4 * 4, all - all.min(3), all / 2 + 1] {
                    if schedule.tail != Tail::Whole || end.is_multiple_of(schedule.items_per_invocation()) {
                        assert!(does_items(schedule, groups, end), "{schedule}: {end} items");
                    }
                }
                continue;
            }
            // Without a tail, the planner passes numbers of work-groups that are multiples.
            if digits != groups && !has_end || !groups[0].is_multiple_of(side_by_side) {
                continue;
            }
            let mut works = done(schedule, groups);
            works.retain(|(group, _)| (0..3).all(|d| group[d] < groups[d]));
            works.sort_unstable();
            let unfold = |n: [u32; 3]| {
                (0..n[0]).flat_map(move |x| (0..n[1]).flat_map(move |y| (0..n[2]).map(move |z| [x, y, z])))
            };
            let wanted = unfold(groups).flat_map(|group| unfold(schedule.local).map(move |one| (group, one)));
            assert_eq!(works, wanted.collect::<Vec<_>>(), "{schedule}");
        }
    }
    assert!(seen.len() > 50, "{}", seen.len());
}

#[test]
fn passes_read_what_was_asked_for() {
    for how in [STRIDED, VECTORS, WHOLE, PEELED] {
        let schedule = items(64).coarsen_items(how);
        assert_eq!(schedule.item_coarsening(), Some(how));
        assert_eq!((schedule.work_group(), schedule.local_size()), ([64, 1, 1], [64, 1, 1]));
        assert_eq!(schedule.items_per_invocation(), how.items * how.rounds);
        assert_eq!((schedule.thread_coarsening(), schedule.superword()), (None, None));
    }
    for how in [ROWS, APART, BESIDE, STAGED] {
        let schedule = Schedule::new(Domain::Grid, [8, if how == APART { 1 } else { 8 }, 1], false);
        let schedule = schedule.superwords(how);
        assert_eq!(schedule.superword(), Some(how));
        assert_eq!((schedule.item_coarsening(), schedule.thread_coarsening()), (None, None));
        assert_eq!(schedule.items_per_invocation(), how.items);
    }
    // Of a column as high as there are items, and of a line as long, one invocation is left.
    for how in [Superword { items: 2, ..ROWS }, APART] {
        let local = if how.axis == 1 { [4, 2, 1] } else { [2, 1, 1] };
        assert_eq!(Schedule::new(Domain::Grid, local, false).superwords(how).superword(), Some(how));
    }
    let schedule = line(128).coarsen_blocks(blocks(2, Some(7)));
    assert_eq!(schedule.block_coarsening(), Some(blocks(2, Some(7))));
    assert_eq!((schedule.dispatch([9, 9, 9]), schedule.groups_per_work_group()), ([9, 9, 2], 8));
    let schedule = line(128).coarsen_threads(32).in_subgroup(32).pack(packing(Some(1)));
    assert_eq!((schedule.packing(), schedule.thread_coarsening()), (Some(packing(Some(1))), Some(4)));
    assert_eq!((schedule.work_group(), schedule.local_size()), ([128, 1, 1], [128, 1, 1]));
    assert_eq!((schedule.dispatch([9, 2, 1]), schedule.groups_per_work_group()), ([3, 2, 1], 4));
    assert_eq!(schedule.full_subgroups(), Some(32));
    let schedule = schedule.coarsen_blocks(blocks(0, None));
    assert_eq!(
        (schedule.packing(), schedule.block_coarsening()),
        (Some(packing(Some(1))), Some(blocks(0, None)))
    );
    assert_eq!((schedule.dispatch([64, 2, 1]), schedule.groups_per_work_group()), ([2, 2, 1], 32));
    assert!(items(1).is_line() && !line(1).is_line());
}

#[test]
fn each_clause_can_fail() {
    let demands = Demands::default();
    let square = Schedule::new(Domain::Grid, [8, 8, 1], false);
    let shared = |groups, left| {
        line(256).coarsen_threads(left).in_subgroup(32).share_lanes(groups).pack(packing(None))
    };
    let refused = [
        (items(64).coarsen_blocks(blocks(0, None)), Illegal::GroupsOfItems),
        (items(64).pack(packing(None)), Illegal::GroupsOfItems),
        (line(64).coarsen_blocks(blocks(0, None)).coarsen_blocks(blocks(1, None)), Illegal::GroupsTwice),
        (line(64).in_subgroup(32).pack(packing(None)).coarsen_blocks(blocks(1, None)), Illegal::GroupsTwice),
        (line(64).coarsen_blocks(blocks(0, None)).coarsen_blocks(blocks(0, None)), Illegal::GroupsTwice),
        (line(100).coarsen_threads(3), Illegal::Size { dim: 0, made: 99, size: 100 }),
        (
            square.clone().superwords(Superword { items: 3, ..ROWS }),
            Illegal::Size { dim: 1, made: 6, size: 8 },
        ),
        (square.clone().coarsen_threads(2), Illegal::NoLine),
        (square.clone().in_subgroup(8), Illegal::NoLineOfLanes),
        (items(64).in_subgroup(32), Illegal::NoLineOfLanes),
        (line(32).in_subgroup(32), Illegal::LanesOfAll),
        (line(64).superwords(APART).in_subgroup(32), Illegal::LanesOfAll),
        (line(256).coarsen_threads(32).pack(packing(None)), Illegal::NoSubgroup),
        (line(32).pack(packing(None)), Illegal::NoSubgroup),
        (line(256).coarsen_threads(128).in_subgroup(32), Illegal::Lanes { lanes: 128, size: 32 }),
        (line(256).coarsen_threads(16).in_subgroup(32), Illegal::Lanes { lanes: 16, size: 32 }),
        (line(256).coarsen_threads(16).in_subgroup(32).share_lanes(2), Illegal::GroupsInLanes(2)),
        (line(256).coarsen_threads(16).share_lanes(2), Illegal::GroupsInLanes(2)),
        (shared(2, 8), Illegal::Lanes { lanes: 16, size: 32 }),
        (shared(3, 16), Illegal::GroupsInLanes(3)),
        (shared(2, 16).coarsen_blocks(blocks(1, None)), Illegal::GroupsTwice),
        (shared(2, 16).coarsen_blocks(blocks(0, Some(1))), Illegal::CopiesOfCopies),
        (items(64).coarsen_items(ItemCoarsening { tail: Tail::Peeled, ..VECTORS }), Illegal::Loop),
        (items(64).coarsen_items(ItemCoarsening { tail: Tail::Guarded, ..PEELED }), Illegal::Loop),
        (items(2).coarsen_items(PEELED), Illegal::TooFewToPeel { invocations: 2, items: 3 }),
        (line(64).coarsen_threads(2).coarsen_blocks(blocks(0, None)), Illegal::CopiesOfCopies),
        (
            line(64).coarsen_threads(32).in_subgroup(32).coarsen_blocks(blocks(0, Some(1))),
            Illegal::CopiesOfCopies,
        ),
        (line(64).superwords(APART).coarsen_blocks(blocks(0, None)), Illegal::CopiesOfCopies),
        (line(64).coarsen_items(WHOLE), Illegal::TailOfItems),
        (items(64).coarsen_threads(2), Illegal::NoTest),
        (items(64).coarsen_items(ItemCoarsening { tail: Tail::Exact, ..VECTORS }), Illegal::NoTest),
        (items(64).coarsen_items(ItemCoarsening { items: 8, ..VECTORS }), Illegal::Vector(8)),
        (Schedule::new(Domain::Grid, [8, 6, 1], false).superwords(BESIDE), Illegal::Rows(6)),
        (Schedule::new(Domain::Grid, [16, 8, 1], false).superwords(STAGED), Illegal::NoSquare),
        (square.clone().superwords(Superword { staged: 1, ..ROWS }), Illegal::NoSquare),
        (square.clone().superwords(Superword { staged: 1, ..BESIDE }), Illegal::NoSquare),
        (line(64).superwords(Superword { staged: 1, ..APART }), Illegal::NoSquare),
    ];
    for (schedule, why) in refused {
        assert_eq!(schedule.legal(demands), Err(why), "{schedule}");
    }
    let barriers = Demands { barriers: true, ..demands };
    assert_eq!(items(64).coarsen_items(STRIDED).legal(barriers), Err(Illegal::Barriers));
    assert_eq!(square.clone().superwords(ROWS).legal(barriers), Err(Illegal::Barriers));
    for waits in [line(256).coarsen_threads(32), line(256).coarsen_blocks(blocks(0, None)), items(64)] {
        assert_eq!(waits.legal(barriers), Ok(()));
    }
    let subgroups = Demands { subgroups: true, ..demands };
    for other in [line(64).in_subgroup(32), line(64).coarsen_threads(2), line(64).superwords(APART)] {
        assert_eq!(other.legal(subgroups), Err(Illegal::KnownSubgroups));
    }
    assert_eq!(line(64).coarsen_blocks(blocks(0, None)).legal(subgroups), Ok(()));
    let wide = demands.with_vectors([&[][..], &[false, true]]);
    for apart in [items(64), items(64).coarsen_items(STRIDED), line(64), square.clone().superwords(BESIDE)] {
        assert_eq!(apart.legal(wide), Err(Illegal::ApartInVector), "{apart}");
    }
    assert_eq!(items(64).coarsen_items(VECTORS).legal(wide), Ok(()));
    let padded = Demands { lanes: Some(32), ..subgroups };
    assert_eq!(line(64).by_subgroups(32).legal(padded), Ok(()));
    for other in [line(64), line(64).by_subgroups(16), items(64)] {
        assert_eq!(other.legal(padded), Err(Illegal::NotNumbered { size: 32 }));
    }
    for other in [
        line(64).by_subgroups(32).coarsen_blocks(blocks(0, None)),
        line(64).by_subgroups(32).pack(packing(None)),
    ] {
        assert_eq!(other.legal(demands), Err(Illegal::OthersBesideSubgroups));
    }
    assert_eq!(square.clone().by_subgroups(8).legal(demands), Err(Illegal::NoLineOfLanes));
    assert_eq!(line(60).by_subgroups(32).legal(demands), Err(Illegal::Size { dim: 0, made: 32, size: 60 }));
    let buffer = Demands { push_buffer: true, ..demands };
    assert_eq!(square.superwords(ROWS).legal(buffer), Err(Illegal::SuperwordWithBuffer));
    assert_eq!(items(64).coarsen_items(VECTORS).legal(buffer), Ok(()));
}

/// Each schedule costs less than those behind it.
#[test]
fn each_term_can_decide() {
    let in_order = |demands: Demands, schedules: &[(Schedule, usize)]| {
        for pair in schedules.windows(2) {
            let [first, second] = [0, 1].map(|n| pair[n].0.cost(demands, pair[n].1));
            assert!(first < second, "{} {first:?}, {} {second:?}", pair[0].0, pair[1].0);
        }
    };
    let square = Schedule::new(Domain::Grid, [8, 8, 1], false);
    let without = [
        (items(64).coarsen_items(PEELED), 2),
        (items(64).coarsen_items(VECTORS), 2),
        (items(64).coarsen_items(STRIDED), 3),
        (items(64), 3),
        (square.clone().superwords(ROWS), 0),
        (square, 0),
    ];
    in_order(Demands::default(), &without);
    let threads = line(256).coarsen_threads(32);
    let lanes = threads.clone().in_subgroup(32);
    let several = lanes.clone().coarsen_blocks(blocks(0, None));
    let halves = line(256).coarsen_threads(16).in_subgroup(32).share_lanes(2);
    let with = [
        halves.clone().coarsen_blocks(blocks(0, None)).pack(packing(None)),
        several.clone().pack(packing(None)),
        halves.pack(packing(None)),
        several,
        lanes.clone().pack(packing(None)),
        lanes,
        threads,
        line(256).coarsen_blocks(blocks(0, None)),
        line(256),
    ];
    in_order(Demands { barriers: true, ..Demands::default() }, &with.map(|schedule| (schedule, 0)));
}
