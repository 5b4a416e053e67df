//! Shows that the places of a partner do each item of a placed submission exactly once, except for items that have nothing to do.
//!
//! # Requires
//! - a free submission, and where it is to be placed
//!
//! # Guarantees
//! - the second and the third side condition of theorem 4
//!
//! # Refuses
//! - numbers that wrap, more places than items, and items without a place that may write

use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom, Atoms, Bounds, Ranges, split};
use crate::analysis::evaluate::{Environment, Evaluator};
use crate::plan::grouping::mapping::unfold;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::plan::output::report::Places;
use crate::plan::rewrites::proposal::Proposal;
use crate::reason::RewriteReason;

/// Numbers of items are compared as signed numbers by some kernels.
const MOST_ITEMS: u128 = 1 << 31;

const BASE: &str = "its work-group ids do not start at 0";
const TOO_MANY: &str = "its invocations cannot be numbered in 31 bits";

/// The number of items of a submission, if the places of a partner do each of them exactly once, except for some at the end
/// that have nothing to do.
///
/// The items of a kernel are its invocations `0 … N − 1`, work-group by work-group. Rows: the numbers `r w + j` with `0 ≤ r < R` and
/// `0 ≤ j < w` are `0 … R w − 1`, once each, and so are the `j` among `l + k L`. Grid: the numbers `y w + x` with `0 ≤ y < Y`
/// and `0 ≤ x < w` are `0 … Y w − 1`, once each, if the grid is at least `w` wide; those that are not below `N` are left out. Line: the numbers `x - s` with
/// `s ≤ x < X` are `0 … X − s − 1`, once each.
pub(in crate::plan) fn exactly_once(
    list: &[Submission],
    uses: &Uses,
    at: usize,
    proposal: &Proposal,
) -> Result<u64, RewriteReason> {
    let one = &list[at];
    let product = |n: [u32; 3]| n.iter().map(|&n| u128::from(n)).product::<u128>();
    let size = one.kernel.interface.local_size;
    let items = product(one.groups) * product(size);
    if let Places::Blocks { length, counts } = proposal.places {
        let places = product(proposal.groups) * u128::from(length);
        return by_global_ids(list, uses, (at, proposal.partner), (places, counts));
    }
    let (places, width) = match proposal.places {
        Places::Rows { length } | Places::Blocks { length, .. } => {
            (product(proposal.groups) * u128::from(length), u128::from(length))
        }
        Places::Grid { width } => {
            let rows = u128::from(proposal.groups[1]) * u128::from(proposal.local[1]);
            (rows * u128::from(width), u128::from(width))
        }
        Places::Line { start } => {
            let line = product(proposal.groups) * product(proposal.local);
            (line.saturating_sub(u128::from(start)), u128::from(start))
        }
        // Its items stay where they are.
        Places::Padded { .. } => (items, 0),
    };
    let wrong = |what: &str| RewriteReason::Places {
        submission: at,
        partner: proposal.partner,
        what: what.to_owned(),
    };
    let count = |items: u128| RewriteReason::Count {
        submission: at,
        partner: proposal.partner,
        items: items as u64,
        places: places as u64,
    };
    let items = if mutant!(OtherDimensionsAreOne) { u128::from(one.groups[0] * size[0]) } else { items };
    let local = product(proposal.local);
    if one.base != [0; 3] {
        return Err(wrong(BASE));
    }
    if items >= MOST_ITEMS || places + width + local >= MOST_ITEMS {
        return Err(wrong(TOO_MANY));
    }
    if items == 0 {
        return Err(wrong("it has no invocations"));
    }
    if let Places::Grid { width } = proposal.places {
        let wide = u64::from(proposal.groups[0]) * u64::from(proposal.local[0]);
        if wide < u64::from(width) && !mutant!(NarrowGridsCover) {
            return Err(wrong(&format!("it goes by rows of {width}, and the grid there is {wide} wide")));
        }
    }
    // A grid leaves out what there is no item for, and so does a line.
    let is_guarded = !matches!(proposal.places, Places::Rows { .. });
    if places > items && !is_guarded && !mutant!(MoreItemsThanThereAre) {
        return Err(count(items));
    }
    let idle = places >= items || is_idle(list, uses, at, places, items) || mutant!(TailsAreIdle);
    if idle { Ok(items as u64) } else { Err(count(items)) }
}

/// As [`exactly_once`], for items numbered by their global ids: `x + a (y + b z)` with `x < a` and `y < b`, and no limit on the last
/// dimension that has several values, so that numbers are unique. Items with a greater `x` or `y` have no number, and items behind the
/// last `z` that writes need no place: neither writes anything.
fn by_global_ids(
    list: &[Submission],
    uses: &Uses,
    (at, partner): (usize, usize),
    (places, counts): (u128, [u32; 3]),
) -> Result<u64, RewriteReason> {
    let one = &list[at];
    let size = one.kernel.interface.local_size;
    let ids: [u128; 3] = std::array::from_fn(|d| u128::from(one.groups[d]) * u128::from(size[d]));
    let counts = counts.map(u128::from);
    let last = (0..3).rev().find(|&d| counts[d] > 1);
    // All items with a number.
    let before = last.map_or(1, |last| counts[..last].iter().product::<u128>());
    let items = last.map_or(1, |last| before * ids[last]);
    let wrong = |what: &str| RewriteReason::Places { submission: at, partner, what: what.to_owned() };
    let in_range = (0..3).all(|d| (1..=ids[d]).contains(&counts[d]));
    if one.base != [0; 3] {
        return Err(wrong(BASE));
    }
    if !in_range {
        return Err(wrong("its elements have indices that none of its invocations has"));
    }
    if ids.iter().product::<u128>() >= MOST_ITEMS {
        return Err(wrong(TOO_MANY));
    }
    if counts.iter().product::<u128>() > places || places > items {
        let (items, places) = (items as u64, places as u64);
        return Err(RewriteReason::Count { submission: at, partner, items, places });
    }
    let idle = || (0..3).all(|d| counts[d] == ids[d] || none_from(list, uses, at, d, counts[d]));
    let is_idle = idle() || mutant!(OtherIdsAreIdle);
    if is_idle {
        Ok(items as u64)
    } else {
        Err(wrong("those of its invocations that have no position may write"))
    }
}

/// Whether items with this global id or a greater one in a dimension write nothing.
fn none_from(list: &[Submission], uses: &Uses, at: usize, dim: usize, from: u128) -> bool {
    let one = &list[at];
    writes_nothing(list, uses, at, |atoms| {
        let mut ids = Ids::default();
        for d in 0..3 {
            let (groups, size) = (u128::from(one.groups[d]), u128::from(one.kernel.interface.local_size[d]));
            if d == dim {
                let (ranges, size) = (Ranges::default(), size as i128);
                let bounds = Bounds { ranges: &ranges, facts: &[] };
                ids.global[d] = number(atoms, Atom::Global(d as u8), groups * size as u128 - from, from);
                ids.group[d] = split(atoms, &ids.global[d], size, true, bounds)?;
                ids.local[d] = split(atoms, &ids.global[d], size, false, bounds)?;
            } else {
                ids.group[d] = number(atoms, Atom::Group(d as u8), groups, 0);
                ids.local[d] = number(atoms, Atom::Local(d as u8), size, 0);
                ids.global[d] = ids.local[d].plus(&ids.group[d], size as i128)?;
            }
        }
        Some(ids)
    })
}

/// Whether items `from … to − 1` of a submission write nothing: each of their writes is behind a guard that turns all of them
/// away.
fn is_idle(list: &[Submission], uses: &Uses, at: usize, from: u128, to: u128) -> bool {
    let size = list[at].kernel.interface.local_size.iter().map(|&n| u128::from(n.max(1))).product::<u128>();
    let whole = from.next_multiple_of(size).min(to);
    // The rest of a work-group, and whole ones.
    let part = from == whole
        || writes_nothing(list, uses, at, |atoms| {
            let inside = number(atoms, Atom::Global(0), whole - from, from % size);
            Ids::unfold(atoms, &list[at], &Affine::constant((from / size) as i128), &inside)
        });
    part && (whole == to
        || writes_nothing(list, uses, at, |atoms| {
            let group = number(atoms, Atom::Group(0), (to - whole) / size, whole / size);
            let inside = number(atoms, Atom::Local(0), size, 0);
            Ids::unfold(atoms, &list[at], &group, &inside)
        }))
}

/// An unknown number from `first` to `first + count - 1`, as an affine form.
fn number(atoms: &mut Atoms, atom: Atom, count: u128, first: u128) -> Affine {
    let form = Affine::atom(atoms.intern(atom, count as i128 - 1));
    Affine { constant: form.constant + first as i128, ..form }
}

/// The ids of items.
#[derive(Default)]
struct Ids {
    group: [Affine; 3],
    local: [Affine; 3],
    global: [Affine; 3],
}

impl Ids {
    /// Of items whose work-groups, and places in them, have these numbers.
    fn unfold(atoms: &mut Atoms, one: &Submission, group: &Affine, inside: &Affine) -> Option<Self> {
        let local_size = one.kernel.interface.local_size;
        let group = unfold(atoms, group, one.groups)?;
        let local = unfold(atoms, inside, local_size)?;
        let mut global: [Affine; 3] = Default::default();
        for d in 0..3 {
            global[d] = local[d].plus(&group[d], i128::from(local_size[d]))?;
        }
        Some(Self { group, local, global })
    }
}

/// Whether no write happens for the items with these ids.
fn writes_nothing(
    list: &[Submission],
    uses: &Uses,
    at: usize,
    ids: impl FnOnce(&mut Atoms) -> Option<Ids>,
) -> bool {
    let one = &list[at];
    let Ok(analysis) = analysis_of(one) else { return false };
    let mut atoms = Atoms::default();
    let Some(Ids { group, local, global }) = ids(&mut atoms) else { return false };
    let local_size = one.kernel.interface.local_size;
    let sizes = one.sizes();
    let constants = uses.constants(one);
    let env = Environment {
        member: at as u32,
        group,
        local,
        global,
        groups: one.groups,
        local_size,
        push: &one.push,
        sizes: &sizes,
        constants: &constants,
        facts: Vec::new(),
    };
    let mut evaluator = Evaluator::new(&atoms, analysis, &env);
    analysis
        .accesses
        .iter()
        .filter(|access| access.kind != AccessKind::Read)
        .all(|access| evaluator.access(&mut atoms, access, one.args[access.binding].offset).never)
}
