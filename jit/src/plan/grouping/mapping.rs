//! How the ids of differently shaped kernels follow from the ids of one dispatch.
//!
//! All renumbering keeps linear order: `x = lin mod Gx`, `y = (lin / Gx) mod Gy`, `z = lin / (Gx Gy)`.
//! - *identity*: every member has the shape of the dispatch, or is a line of items that ends before the dispatch does, by a guard of its own;
//! - *groups*: members share a local size and differ in group counts: work-groups are renumbered as
//!   wholes, so local ids, sub-groups and the kernels' own barriers stay what they were. *Parts* of such a group have work-groups of their own
//!   ([`Parts`]): `lin` is then counted from the first of the member's;
//! - *items*: members are item-only, so single invocations are renumbered.

use crate::Reason;
use crate::analysis::affine::{Affine, Atom, Atoms, Bounds, Ranges, split};
use crate::analysis::dependence::Shape;
use crate::analysis::evaluate::{Constant, Environment};
use crate::analysis::size::BoundSize;
use crate::plan::grouping::parts::Parts;
use crate::plan::input::ends::ends_by_itself;
use crate::plan::input::limits::Limits;
use crate::plan::input::submission::Submission;
use crate::schedule::{Domain, Schedule};

/// A mapping and the dispatch it maps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) domain: Domain,
    pub(crate) shape: Shape,
    /// The planner chose the shape (`item_coarsening`): members are lines of items, and each has a guard.
    pub(crate) free: bool,
    /// Which work-groups are whose.
    pub(crate) parts: Parts,
}

fn product(n: [u32; 3]) -> u128 {
    n.iter().map(|&n| u128::from(n)).product()
}

/// What the mapping has to know of the members of a group, kept up to date as they join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes {
    local: [u32; 3],
    groups: [u32; 3],
    /// A local size other than the first one.
    other_local: Option<[u32; 3]>,
    /// Local size of the last member.
    last_local: [u32; 3],
    same_groups: bool,
    largest: [u32; 3],
    /// Whether a member is not item-only.
    fixed: bool,
    /// Whether the range of every member is a line.
    line: bool,
    /// Fewest work-groups of a member whose items do not end by themselves.
    fewest: u32,
    /// Most invocations of a group and of a member.
    size: u32,
    items: u128,
}

impl Shapes {
    pub(crate) fn of(first: &Submission) -> Self {
        let interface = &first.kernel.interface;
        Self {
            local: interface.local_size,
            groups: first.groups,
            other_local: None,
            last_local: interface.local_size,
            same_groups: true,
            largest: first.groups,
            fixed: !interface.item_only,
            line: is_line(first),
            fewest: fewest(first),
            size: product(interface.local_size) as u32,
            items: items(first),
        }
    }

    /// The same with one more member.
    pub(crate) fn with(mut self, next: &Submission) -> Self {
        let interface = &next.kernel.interface;
        if interface.local_size != self.local {
            self.other_local.get_or_insert(interface.local_size);
        }
        self.last_local = interface.local_size;
        self.same_groups &= next.groups == self.groups;
        if product(next.groups) >= product(self.largest) {
            self.largest = next.groups;
        }
        self.fixed |= !interface.item_only;
        self.line &= is_line(next);
        self.fewest = self.fewest.min(fewest(next));
        self.size = self.size.max(product(interface.local_size) as u32);
        self.items = self.items.max(items(next));
        self
    }

    /// The simplest mapping under which all members can run in one dispatch.
    pub(crate) fn layout(&self, limits: &Limits) -> Result<Layout, Reason> {
        let local = self.local;
        let Some(other) = self.other_local else {
            let largest = self.largest;
            if (self.same_groups || self.ends()) && within(largest, limits) {
                return Ok(Layout {
                    domain: Domain::Grid,
                    shape: Shape { groups: largest, local },
                    free: false,
                    parts: Parts::default(),
                });
            }
            let groups = if within(largest, limits) { largest } else { fold(product(largest), limits)? };
            return Ok(linear_groups(groups, local, Parts::default()));
        };
        if self.fixed && !mutant!(AnyKernelIsItemOnly) {
            let want = self.last_local;
            let have = if want == local { other } else { local };
            return Err(Reason::LocalSize { earlier: 0, have, want });
        }
        let size = self.size.min(limits.max_work_group_size[0]).min(limits.max_work_group_invocations);
        let groups = fold(self.items.div_ceil(u128::from(size)), limits)?;
        let shape = Shape { groups, local: [size, 1, 1] };
        if product(shape.groups) * u128::from(size) > u128::from(u32::MAX) {
            return Err(Reason::RangeTooLarge);
        }
        Ok(Layout { domain: Domain::LinearItems, shape, free: false, parts: Parts::default() })
    }

    /// Whether members with fewer items than the largest keep out all others by themselves.
    fn ends(&self) -> bool {
        let is_line = self.line && !self.fixed && self.items <= MOST_ITEMS;
        is_line && self.fewest >= self.largest[0]
    }

    /// The mapping under which each part has work-groups of its own, of `all` work-groups; `None` if members are renumbered by items.
    pub(crate) fn apart(&self, parts: Parts, all: u32, limits: &Limits) -> Option<Layout> {
        let groups = fold(u128::from(all), limits).ok()?;
        self.other_local.is_none().then(|| linear_groups(groups, self.local, parts))
    }
}

fn linear_groups(groups: [u32; 3], local: [u32; 3], parts: Parts) -> Layout {
    Layout { domain: Domain::LinearGroups, shape: Shape { groups, local }, free: false, parts }
}

impl Layout {
    /// Work of its dispatch, one item of a work-group in each invocation.
    pub(crate) fn as_submitted(&self) -> Schedule {
        Schedule::new(self.domain, self.shape.local, self.shape.groups[1..] == [1, 1])
    }

    /// Whether `member` keeps the group ids of the dispatch.
    pub(crate) fn keeps_groups(&self, member: &Submission) -> bool {
        let is_same = self.domain == Domain::Grid || member.groups == self.shape.groups;
        self.domain != Domain::LinearItems && is_same && self.parts.is_one()
    }

    /// Number of things (groups or items) the member has of those the mapping renumbers.
    pub(crate) fn total(&self, member: &Submission) -> u128 {
        if self.domain == Domain::LinearItems { items(member) } else { product(member.groups) }
    }

    /// Whether some of the dispatch has nothing to do for `member`.
    pub(crate) fn needs_guard(&self, member: &Submission) -> bool {
        if self.free || self.domain == Domain::Grid {
            return self.free;
        }
        let all = match self.domain {
            Domain::LinearItems => product(self.shape.groups) * product(self.shape.local),
            _ => product(self.shape.groups),
        };
        self.total(member) != all && !mutant!(NoRangeGuard)
    }

    /// Counts of the member in each dimension of what is renumbered: what its numbers are divided by. A member without any
    /// work-group has no numbers, so a count of zero may be one.
    pub(crate) fn counts(&self, member: &Submission) -> [u32; 3] {
        let counts = match self.domain {
            _ if self.free => [1; 3],
            Domain::LinearItems => {
                std::array::from_fn(|d| member.groups[d] * member.kernel.interface.local_size[d])
            }
            _ => member.groups,
        };
        counts.map(|count| count.max(1))
    }

    /// The ids of a member as forms over the ids of the dispatch.
    pub(crate) fn environment<'a>(
        &self,
        atoms: &mut Atoms,
        position: usize,
        member: &'a Submission,
        sizes: &'a [BoundSize],
        constants: &'a [Option<Constant<'a>>],
    ) -> Option<Environment<'a>> {
        let Shape { groups, local } = self.shape;
        let group: [Affine; 3] = std::array::from_fn(|d| id(atoms, Atom::Group(d as u8), groups[d]));
        let inside: [Affine; 3] = std::array::from_fn(|d| id(atoms, Atom::Local(d as u8), local[d]));
        let linear = |x: &[Affine; 3], n: [u32; 3]| {
            x[0].plus(&x[1], i128::from(n[0]))?.plus(&x[2], i128::from(n[0]) * i128::from(n[1]))
        };
        let size = member.kernel.interface.local_size;
        let mut facts = Vec::new();
        let at_most = |form: &Affine, total: u128| {
            let mut fact = form.clone();
            fact.constant -= total as i128 - 1;
            fact
        };
        let (group_ids, local_ids, global_ids) = if self.domain == Domain::LinearItems {
            let item = linear(&inside, local)?.plus(&linear(&group, groups)?, product(local) as i128)?;
            if self.needs_guard(member) {
                facts.push(at_most(&item, self.total(member)));
            }
            // An item-only kernel reads nothing but its global id.
            let global = unfold(atoms, &item, self.counts(member))?;
            (Default::default(), Default::default(), global)
        } else {
            let own = if self.keeps_groups(member) {
                group
            } else {
                let mut number = linear(&group, groups)?;
                let first = i128::from(self.parts.first(position));
                if first > 0 && !mutant!(PartsAreFromZero) {
                    number.constant -= first;
                    facts.extend(Affine::default().plus(&number, -1));
                }
                if self.needs_guard(member) {
                    facts.push(at_most(&number, self.total(member)));
                }
                unfold_under(atoms, &number, self.counts(member), &facts)?
            };
            let mut global: [Affine; 3] = Default::default();
            for d in 0..3 {
                global[d] = inside[d].plus(&own[d], i128::from(size[d]))?;
            }
            (own, inside, global)
        };
        Some(Environment {
            member: position as u32,
            group: group_ids,
            local: local_ids,
            global: global_ids,
            groups: member.groups,
            local_size: size,
            push: &member.push,
            sizes,
            constants,
            facts,
        })
    }
}

/// Most items whose numbers are right in comparisons of words with a sign.
const MOST_ITEMS: u128 = 1 << 31;

/// Whether the range of an item-only submission is a line.
fn is_line(one: &Submission) -> bool {
    [one.groups, one.kernel.interface.local_size].iter().all(|n| n[1..] == [1, 1])
}

/// Fewest work-groups that there have to be for a submission to have its own items.
fn fewest(one: &Submission) -> u32 {
    if is_line(one) && ends_by_itself(one) { u32::MAX } else { one.groups[0] }
}

/// Invocations of a submission, whole groups counted.
fn items(member: &Submission) -> u128 {
    product(member.groups) * product(member.kernel.interface.local_size)
}

fn within(groups: [u32; 3], limits: &Limits) -> bool {
    (0..3).all(|d| groups[d] <= limits.max_groups[d])
}

/// The fewest groups in up to three dimensions that are at least `total`.
pub(in crate::plan) fn fold(total: u128, limits: &Limits) -> Result<[u32; 3], Reason> {
    let [x, y, z] = limits.max_groups.map(u128::from);
    if total > x * y * z || total > u128::from(u32::MAX) {
        return Err(Reason::RangeTooLarge);
    }
    let rows = total.div_ceil(x);
    if rows <= 1 {
        return Ok([total as u32, 1, 1]);
    }
    let layers = rows.div_ceil(y);
    let rows = rows.div_ceil(layers);
    let width = total.div_ceil(rows * layers);
    Ok([width as u32, rows as u32, layers as u32])
}

fn id(atoms: &mut Atoms, atom: Atom, count: u32) -> Affine {
    let id = atoms.intern(atom, i128::from(count) - 1);
    if count <= 1 { Affine::default() } else { Affine::atom(id) }
}

/// A linear number as coordinates.
pub(in crate::plan) fn unfold(atoms: &mut Atoms, number: &Affine, counts: [u32; 3]) -> Option<[Affine; 3]> {
    unfold_under(atoms, number, counts, &[])
}

/// The same of a number that is not negative where these forms are not positive.
fn unfold_under(
    atoms: &mut Atoms,
    number: &Affine,
    counts: [u32; 3],
    facts: &[Affine],
) -> Option<[Affine; 3]> {
    let mut ranges = Ranges::default();
    ranges.apply(atoms, facts);
    let bounds = Bounds { ranges: &ranges, facts };
    let mut rest = number.clone();
    let mut out: [Affine; 3] = Default::default();
    for d in 0..2 {
        let count = i128::from(counts[d]);
        // What is left of a number below the product of all counts is below the remaining ones.
        if counts[d + 1..].iter().all(|&c| c == 1) {
            out[d] = rest;
            return Some(out);
        }
        if count == 1 {
            continue;
        }
        out[d] = split(atoms, &rest, count, false, bounds)?;
        rest = split(atoms, &rest, count, true, bounds)?;
    }
    out[2] = rest;
    Some(out)
}
