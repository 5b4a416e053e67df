//! Columns of a matrix, staged in shared memory.
//!
//! Where neighbours in `x` load from consecutive rows at one column, each load touches a sector of memory of its own. In a square work-group the
//! loads are done with `x` and `y` of the invocations exchanged, so that neighbours load consecutive words, and the words are exchanged
//! through shared memory.
//!
//! # Guarantees
//! - the words loaded are those that the items load, each once, and only if all items of the square take the way
//! - barriers are in uniform control flow: a flag in shared memory says beforehand whether all invocations take the way
//!
//! # Refuses
//! - loads from buffers that the kernel writes, and conditional loads
//! - ways that differ between the two mappings of items to invocations

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{BuiltIn, MemorySemantics, Op, Scope, SelectionControl, StorageClass};
use smallvec::SmallVec;

use super::items::row;
use super::way::{How, Job, MOST, Way};
use crate::emit::entry;
use crate::emit::passes::trace::stage::{Noted, Stage, Staged};
use crate::ir::entity::{Global, Value};
use crate::ir::{Builder, Effect, Function, GlobalData, InstData, Module, Node, Operation, Root, TypeKind};
use crate::schedule::Superword;

/// Words of a sector of memory; accesses that are closer share sectors.
const SECTOR: u32 = 8;

/// A way in two parts: the first fills shared memory, the second loads from there.
pub(super) struct Stages {
    fill: Way,
    take: Way,
    /// The staged words.
    array: Global,
    /// Not zero if an invocation of the work-group does not take the way.
    apart: Global,
}

/// The two parts of this way, if the schedule asks for staging and the way loads columns.
pub(super) fn of(job: &mut Job<'_>, how: Superword, way: &Way) -> Option<Stages> {
    let [columns, rows, _] = job.recipe.schedule.local_size();
    let words = columns * row(rows);
    let mut places: Vec<&Noted> = Vec::new();
    let mut loads = AHashMap::new();
    for one in way.noted.iter().filter(|one| is_column(one, way.first)) {
        let known = places.iter().position(|other| other.place == one.place);
        if known.is_none() {
            if places.len() == how.staged as usize {
                continue;
            }
            places.push(one);
        }
        let at = known.unwrap_or(places.len() - 1) as u32;
        loads.insert(one.number, (at * words, known.is_none()));
    }
    if places.is_empty() {
        return None;
    }
    let count = words * places.len() as u32;
    let [array, apart] = [Some(count), None].map(|length| shared(job.module, length));
    let staged = Rc::new(Staged { array, loads });
    let [fill, take] = [Stage::Fill(staged.clone()), Stage::Take(staged)]
        .map(|stage| job.way(how, How { stage, ..way.how.clone() }, Some(way.main)));
    let (fill, take) = (fill?, take?);
    let is_same = |one: &Way| one.trail == way.trail && one.holds.is_some() == way.holds.is_some();
    let fits = is_same(&fill) && is_same(&take) && fill.written + take.written <= MOST;
    fits.then_some(Stages { fill, take, array, apart })
}

/// Whether neighbours in `y` load consecutive words, and neighbours in `x` words of different sectors.
fn is_column(load: &Noted, [x, y]: [Value; 2]) -> bool {
    let Some((words, rows)) = load.place.1.split_last() else { return false };
    let (per_x, per_y) = (words.per(x), words.per(y));
    let is_near = |factor: u32| (factor as i32).unsigned_abs() < SECTOR;
    let is_apart = match per_x.as_slice() {
        // An array of rows.
        [] => rows.iter().any(|row| !row.per(x).is_empty()),
        per_x => per_x.iter().all(|(rest, factor)| !rest.is_empty() || !is_near(*factor)),
    };
    is_apart && matches!(per_y.as_slice(), [(rest, 1)] if rest.is_empty())
}

/// A word in shared memory, or an array of this many.
fn shared(module: &mut Module, length: Option<u32>) -> Global {
    let mut ty = module.u32();
    if let Some(length) = length {
        let length = module.word(length);
        ty = module.ty(TypeKind::Array { element: ty, length });
    }
    let class = StorageClass::Workgroup;
    let pointer = module.pointer(class, ty);
    module.global(GlobalData { pointer, class, initializer: None, decorations: None })
}

impl Stages {
    /// Whether the way has conditions.
    pub(super) fn is_asked(&self) -> bool {
        self.fill.holds.is_some() || self.take.holds.is_some()
    }

    /// Writes both parts; `last` writes what runs if some item of the work-group does not take the way.
    pub(super) fn write(self, code: &mut Builder<'_>, last: &mut impl FnMut(&mut Builder<'_>)) {
        let Self { fill, take, array, apart } = self;
        code.nodes.extend(fill.before);
        code.nodes.extend(take.before);
        let holds: SmallVec<[Value; 2]> = [fill.holds, take.holds].into_iter().flatten().collect();
        let whole = holds.first().map(|&first| {
            let all = holds[1..].iter().fold(first, |all, &one| code.test(Op::LogicalAnd, all, one));
            agreed(code, all, apart)
        });
        let (early, late) = parted(code.function(), take.nodes, array);
        let both = |code: &mut Builder<'_>| {
            code.nodes.extend(fill.nodes);
            code.nodes.extend(early);
            if !mutant!(NobodyWaitsForColumns) {
                barrier(code);
            }
            code.nodes.extend(late);
        };
        let Some(whole) = whole else { return both(code) };
        let [inside, otherwise] = code.branch(whole, Some(SelectionControl::NONE));
        code.within(inside, both);
        code.within(otherwise, last);
    }
}

/// Instructions that may stand before the barrier, and the rest: the former do not depend on loads from the array, and stand before the first store and
/// the first branch. Loads from buffers are then in flight during the barrier.
fn parted(f: &Function, nodes: Vec<Node>, array: Global) -> (Vec<Node>, Vec<Node>) {
    let (mut needs, mut is_open) = (AHashSet::new(), true);
    nodes.into_iter().partition(|node| {
        let Node::Inst(inst) = *node else {
            is_open = false;
            return false;
        };
        let InstData { operation, result } = &f.insts[inst];
        let place = operation.place().map(|place| &f.places[place]);
        let is_taken = place.is_some_and(|place| place.root == Root::Global(array));
        let path = place.into_iter().flat_map(|place| place.path.iter().copied());
        let needs_one = operation.values().chain(path).any(|value| needs.contains(&value));
        is_open &= matches!(operation.effect(), Effect::None | Effect::Reads(_));
        let is_early = is_open && !is_taken && !needs_one;
        needs.extend(result.filter(|_| !is_early));
        is_early
    })
}

/// Whether a condition holds for all invocations of the work-group, as a uniform value.
fn agreed(code: &mut Builder<'_>, holds: Value, apart: Global) -> Value {
    if mutant!(OwnSquareIsWhole) {
        return holds;
    }
    let (zero, one, root) = (code.word(0), code.word(1), Root::Global(apart));
    let local = code.components(BuiltIn::LocalInvocationId);
    let number = code.math(Op::BitwiseOr, local[0], local[1]);
    let is_first = code.test(Op::IEqual, number, zero);
    let [first, _] = code.branch(is_first, Some(SelectionControl::NONE));
    code.within(first, |code| code.store(root, &[], zero));
    barrier(code);
    let [_, other] = code.branch(holds, Some(SelectionControl::NONE));
    let (scope, semantics, ty) = (Scope::Workgroup, MemorySemantics::RELAXED, code.module.u32());
    // What names them is declared here.
    for number in [scope as u32, semantics.bits()] {
        code.module.word(number);
    }
    code.within(other, |code| {
        let (place, args) = (code.place(root, &[]), SmallVec::from_slice(&[one]));
        let or = Operation::Atomic { op: Op::AtomicOr, place, scope, semantics, unequal: None, args };
        code.value(or, ty);
    });
    if !mutant!(NobodyWaitsToAgree) {
        barrier(code);
    }
    let apart = code.load(root, &[]);
    code.test(Op::IEqual, apart, zero)
}

/// A barrier of the work-group, for shared memory.
fn barrier(code: &mut Builder<'_>) {
    let semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
    entry::barrier(code, Some(Scope::Workgroup), semantics);
}
