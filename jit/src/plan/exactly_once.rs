//! Shows that the places of a partner are each item of a placed submission once, but for those that have nothing to do.
//!
//! # Requires
//! - a free submission, and where it is to be placed
//!
//! # Guarantees
//! - the second and the third side condition of theorem 4
//!
//! # Refuses
//! - numbers that wrap, more places than items, and items without a place of which it is not shown that they write nothing

use super::group::analysis_of;
use super::mapping::unfold;
use super::place::Proposal;
use super::report::Places;
use super::submission::Submission;
use super::uses::Uses;
use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom, Atoms};
use crate::analysis::evaluate::{Environment, Evaluator};
use crate::reason::RewriteReason;

/// Numbers of items are compared as signed numbers by some kernels.
const MOST_ITEMS: u128 = 1 << 31;

/// The number of items of a submission, if the places of a partner are each of them exactly once, but for some at the end
/// that have nothing to do.
///
/// The items of a kernel are its invocations `0 … N − 1`, work-group by work-group. Rows: the numbers `r w + j` with `0 ≤ r < R` and
/// `0 ≤ j < w` are `0 … R w − 1`, once each, and so are the `j` among `l + k L`. Grid: the numbers `y w + x` with `0 ≤ y < Y`
/// and `0 ≤ x < w` are `0 … Y w − 1`, once each, if the grid is at least `w` wide; those that are not below `N` are left out. Line: the numbers `x - s` with
/// `s ≤ x < X` are `0 … X − s − 1`, once each.
pub(super) fn exactly_once(
    list: &[Submission],
    uses: &Uses,
    at: usize,
    proposal: &Proposal,
) -> Result<u64, RewriteReason> {
    let one = &list[at];
    let product = |n: [u32; 3]| n.iter().map(|&n| u128::from(n)).product::<u128>();
    let size = one.kernel.interface.local_size;
    let items = product(one.groups) * product(size);
    let (places, width) = match proposal.places {
        Places::Rows { length } => (product(proposal.groups) * u128::from(length), u128::from(length)),
        Places::Grid { width } => {
            let rows = u128::from(proposal.groups[1]) * u128::from(proposal.local[1]);
            (rows * u128::from(width), u128::from(width))
        }
        Places::Line { start } => {
            let line = product(proposal.groups) * product(proposal.local);
            (line.saturating_sub(u128::from(start)), u128::from(start))
        }
    };
    let wrong = RewriteReason::Count { items: items as u64, places: places as u64 };
    let items = if mutant!(OtherDimensionsAreOne) { u128::from(one.groups[0] * size[0]) } else { items };
    let local = product(proposal.local);
    if one.base != [0; 3] || items >= MOST_ITEMS || places + width + local >= MOST_ITEMS || items == 0 {
        return Err(wrong);
    }
    if let Places::Grid { width } = proposal.places {
        let wide = u64::from(proposal.groups[0]) * u64::from(proposal.local[0]);
        if wide < u64::from(width) && !mutant!(NarrowGridsCover) {
            return Err(wrong);
        }
    }
    // A grid leaves out what there is no item for, and so does a line.
    let is_guarded = !matches!(proposal.places, Places::Rows { .. });
    if places > items && !is_guarded && !mutant!(MoreItemsThanThereAre) {
        return Err(wrong);
    }
    let idle = places >= items || is_idle(list, uses, at, places, items) || mutant!(TailsAreIdle);
    if idle { Ok(items as u64) } else { Err(wrong) }
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
            (Affine::constant((from / size) as i128), inside)
        });
    part && (whole == to
        || writes_nothing(list, uses, at, |atoms| {
            let group = number(atoms, Atom::Group(0), (to - whole) / size, whole / size);
            (group, number(atoms, Atom::Local(0), size, 0))
        }))
}

/// A number of so many, from `first` on.
fn number(atoms: &mut Atoms, atom: Atom, count: u128, first: u128) -> Affine {
    let form = Affine::atom(atoms.intern(atom, count as i128 - 1));
    Affine { constant: form.constant + first as i128, ..form }
}

/// Whether no write happens for the items whose work-groups, and places in them, have these numbers.
fn writes_nothing(
    list: &[Submission],
    uses: &Uses,
    at: usize,
    numbers: impl FnOnce(&mut Atoms) -> (Affine, Affine),
) -> bool {
    let one = &list[at];
    let Ok(analysis) = analysis_of(one) else { return false };
    let mut atoms = Atoms::default();
    let (group, inside) = numbers(&mut atoms);
    let local_size = one.kernel.interface.local_size;
    let Some(group) = unfold(&mut atoms, &group, one.groups) else { return false };
    let Some(local) = unfold(&mut atoms, &inside, local_size) else { return false };
    let mut global: [Affine; 3] = Default::default();
    for d in 0..3 {
        let Some(id) = local[d].plus(&group[d], i128::from(local_size[d])) else { return false };
        global[d] = id;
    }
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
