//! Whether square work-groups of superword code pay for staging columns of matrices in shared memory (`emit::passes::superword`).
//!
//! # Requires
//! - a group in squares of items
//!
//! # Guarantees
//! - none: this is an estimate for the plan; emission stages the loads that it finds

use smallvec::SmallVec;

use crate::analysis::access::AccessKind;
use crate::analysis::affine::Atom;
use crate::analysis::dependence::Shape;
use crate::analysis::evaluate::AccessForm;
use crate::analysis::superword;
use crate::kernel::BindingKind;
use crate::plan::grouping::group::Group;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::submission::{BufferId, Submission};
use crate::plan::output::push::PushBlock;
use crate::rewrite;
use crate::schedule::{Domain, Superword};

/// Side of the squares that members are placed on. Four of them become one work-group with staged columns.
pub(crate) const SIDE: u32 = 32;
/// Squares that become one, in each dimension.
const TIMES: u32 = 2;
/// Items of an invocation. On an H200, 11,585 x 11,585 elements take 411 us wherever the buffers lie, with eight items in work-groups of [`SIDE`] x
/// [`SIDE`] 419 to 470, and without staging 484.
const ITEMS: u32 = 4;
/// Most staged loads.
const MOST: u32 = 2;
/// What a device moves at once between memory and a cache, in bytes.
pub(crate) const SECTOR: i128 = 32;
/// Bytes of a word, and of a vector of four.
const WORD: i128 = 4;
const VECTOR: i128 = 16;

/// Superword code with staged columns, and the shape of its dispatch, if the group gains by it. `is_inside` says whether a buffer is internalized.
pub(crate) fn of(
    list: &[Submission],
    group: &Group,
    limits: &Limits,
    is_inside: impl Fn(&Submission, BufferId) -> bool,
) -> Option<(Superword, Shape)> {
    let facts = limits.shape;
    let members = &list[group.start..group.end()];
    let Shape { groups, local } = group.layout.shape;
    let is_theirs = |one: &Submission| {
        let interface = &one.kernel.interface;
        (interface.item_only || mutant!(WorkGroupsAreNobodys)) && interface.local_size == local
    };
    let is_even = groups[..2].iter().all(|count| count.is_multiple_of(TIMES));
    let is_square = group.layout.domain == Domain::Grid && local == [SIDE, SIDE, 1] && is_even;
    // Fewer work-groups leave processors idle.
    let count = groups.iter().map(|&count| u64::from(count)).product::<u64>();
    let is_filled = count >= u64::from(limits.block_coarsening.least);
    if !is_square || !is_filled || facts.superword <= 1 || !members.iter().all(is_theirs) {
        return None;
    }
    let side = SIDE * TIMES;
    let size = [side, side / ITEMS];
    let has_room = (0..2).all(|d| size[d] <= limits.max_work_group_size[d])
        && size[0] * size[1] <= limits.max_work_group_invocations;
    if !has_room {
        return None;
    }
    let mut columns: SmallVec<[(BufferId, u64, &AccessForm); 4]> = SmallVec::new();
    for (one, forms) in members.iter().zip(&group.forms) {
        let analysis = analysis_of(one).ok()?;
        for (access, form) in analysis.accesses.iter().zip(forms) {
            let arg = &one.args[access.binding];
            if form.never || is_inside(one, arg.buffer) {
                continue;
            }
            if access.kind == AccessKind::Write {
                // Stores are not staged.
                let is_row = !form.unknown && per(group, form, 0).is_some_and(|bytes| bytes.abs() <= VECTOR);
                is_row.then_some(())?;
            } else if access.kind == AccessKind::Read
                && is_column(group, form)
                && !is_written(members, arg.buffer)
                && is_always(one, (form, forms))
            {
                let is_other = |&(buffer, offset, other): &(BufferId, u64, &AccessForm)| {
                    (buffer, offset, &other.offset) != (arg.buffer, arg.offset, &form.offset)
                };
                if columns.iter().all(is_other) {
                    columns.push((arg.buffer, arg.offset, form));
                }
            }
        }
    }
    let staged = columns.len() as u32;
    let bytes = staged.saturating_mul(side * (side + 1) * WORD as u32);
    // Superword code cannot have push constants in a buffer. One more hides floats.
    let mut push = PushBlock::default();
    members.iter().for_each(|one| drop(push.add_member(one, 0)));
    let conditions = members.iter().map(conditions).sum::<Option<u32>>()?;
    let fits = staged <= MOST
        && push.size() + 4 <= limits.max_push_bytes
        && bytes.saturating_add(WORD as u32) <= limits.max_shared_bytes
        // Each of the two parts tests its own items.
        && conditions.saturating_mul(2 * ITEMS) <= facts.conditions.unwrap_or(u32::MAX);
    let shape = Shape { groups: [groups[0] / TIMES, groups[1] / TIMES, groups[2]], local: [side, side, 1] };
    let how = Superword { items: ITEMS, axis: 1, consecutive: false, vectors: false, staged };
    (staged > 0 && fits).then_some((how, shape))
}

/// Whether neighbours in `y` access consecutive words, and neighbours in `x` words of different sectors.
pub(crate) fn is_column(group: &Group, form: &AccessForm) -> bool {
    !form.unknown
        && form.size == WORD
        && per(group, form, 0).is_some_and(|bytes| bytes.abs() >= SECTOR)
        && per(group, form, 1) == Some(WORD)
}

/// Bytes from one item to the next in a dimension, if that is a constant.
fn per(group: &Group, form: &AccessForm, dim: u8) -> Option<i128> {
    let size = i128::from(group.layout.shape.local[usize::from(dim)]);
    let (mut of_local, mut of_group) = (0, 0);
    for &(id, weight) in &form.offset.terms {
        match *group.atoms.get(id) {
            Atom::Global(d) if d == dim => {
                of_local += weight;
                of_group += weight * size;
            }
            Atom::Group(d) if d == dim => of_group += weight,
            Atom::Local(d) if d == dim => of_local += weight,
            Atom::Group(_) | Atom::Local(_) | Atom::Global(_) | Atom::Round { .. } | Atom::Steps { .. } => {}
            _ => return None,
        }
    }
    // In a dimension with one work-group its number is not part of forms.
    let is_one = group.layout.shape.groups[usize::from(dim)] == 1;
    (is_one || of_group == of_local * size).then_some(of_local)
}

/// Whether a load happens whenever one of its member's stores does.
fn is_always(one: &Submission, (load, forms): (&AccessForm, &[AccessForm])) -> bool {
    let Ok(analysis) = analysis_of(one) else { return false };
    let all = analysis.accesses.iter().zip(forms);
    let mut stores = all.filter(|(access, form)| access.kind == AccessKind::Write && form.certain);
    load.certain && stores.any(|(_, store)| load.facts.iter().all(|fact| store.facts.contains(fact)))
}

/// Whether a member may write to a buffer.
fn is_written(members: &[Submission], buffer: BufferId) -> bool {
    let all = members.iter().flat_map(|one| one.args.iter().zip(&one.kernel.interface.bindings));
    all.into_iter().any(|(arg, binding)| binding.writes && arg.buffer == buffer)
}

/// The conditions on a member's path for several items, if it has one, and it makes no difference which invocation does an item.
pub(crate) fn conditions(one: &Submission) -> Option<u32> {
    let normal = one.kernel.normal.as_ref().ok()?;
    let bindings = &one.kernel.interface.bindings;
    let is_free = one.base == [0; 3]
        && rewrite::why_not_free(&one.kernel).is_none()
        && bindings.iter().all(|binding| !matches!(binding.kind, BindingKind::Other(_)));
    is_free.then(|| one.kernel.variants.path(|| superword::conditions(&normal.module))).flatten()
}
