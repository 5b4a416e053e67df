//! Several items of a work-group in one invocation, so that what neighbours have in common is loaded once.
//!
//! A stencil loads each element as often as it has neighbours. Where one invocation does `n` items that lie below each other, it loads the rows that they
//! have in common once. The way that items in the middle of a range take through the fused kernel is written for all of them ([`trace`](super::trace)); whether
//! they take it is asked first, and where they do not, they are done one after another by the kernel as it is. Of a line whose parts different members do, each
//! part has a way of its own ([`trace::parts`](super::trace::parts)).
//!
//! # Requires
//! - functions without parameters of members that are free: no barrier, nothing that is shared, and nothing handed from one item to another
//!
//! # Guarantees
//! - each item of the work-group is done once, with its ids
//! - its instructions are the kernel's, in their order, on the same values; what is loaded once is what nothing writes
//!
//! Kernels that have no such way are left as they are: then the work-group has an invocation for each item.

use std::rc::Rc;
use std::sync::Arc;

use ahash::AHashSet;
use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl};
use smallvec::SmallVec;

use super::trace::parts::{Met, Part};
use super::trace::vectors::{Touch, Vectors, Which};
use super::trace::words::Polynomial;
use super::trace::{self, Ids, Source, Start, Tracer, guard};
use super::{bindings, built_ins};
use crate::emit::JitError;
use crate::ir::entity::{Func, Global, Value};
use crate::ir::{Builder, End, Function, Module, Node, Operation};
use crate::kernel::Specialized;
use crate::plan::recipe::Recipe;
use crate::schedule::Superword;

/// Most instructions that are written.
const MOST: usize = 4096;

/// Most ways that are written.
const MOST_WAYS: usize = 4;

/// The ids that the items have instead of the invocation's.
const VIRTUAL: [BuiltIn; 3] =
    [BuiltIn::GlobalInvocationId, BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex];

/// Makes an entry point whose invocations do several items each, where the kernel allows it.
pub(in crate::emit) fn run(
    module: &mut Module,
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
) -> Result<(), JitError> {
    let entry = module.entry_points.first().map(|entry| entry.function);
    let (Some(how), Some(entry)) = (recipe.schedule.superword(), entry) else { return Ok(()) };
    let source = Rc::new(Source::of(module, recipe, kernels));
    let mut job = Job { module, recipe, entry, source };
    let beside = how.in_vectors();
    let chosen = beside.and_then(|beside| Some((job.in_vectors(beside, &Part::Whole)?, beside)));
    let Some((way, how)) = chosen.or_else(|| Some((job.better(how, &Part::Whole)?, how))) else {
        return Ok(());
    };
    let ways = job.of_parts(way, how);
    let main = ways[0].main;
    let views = ways.iter().flat_map(|way| way.views.iter().copied()).collect();
    finish(module, recipe, how, entry, ways);
    bindings::decorate(module, recipe, kernels, (main, &views));
    let mut size = recipe.schedule.local_size();
    size[usize::from(how.axis)] /= how.items;
    module.set_local_size(size);
    Ok(())
}

/// What ways are written for.
struct Job<'a> {
    module: &'a mut Module,
    recipe: &'a Recipe,
    entry: Func,
    source: Rc<Source>,
}

/// How a way is written.
#[derive(Clone)]
struct How {
    clamps: bool,
    wide: Which,
    part: Part,
}

/// A way that has been written.
struct Way {
    /// Its function, which has no code yet.
    main: Func,
    how: How,
    met: Met,
    written: usize,
    /// What has to stand before.
    before: Vec<Node>,
    nodes: Vec<Node>,
    holds: Option<Value>,
    spared: usize,
    met_clamps: bool,
    /// Accesses to buffers, if it is not known yet which are to vectors.
    touches: Vec<Touch>,
    /// Variables that see buffers as vectors.
    views: AHashSet<Global>,
    /// Ids of the items, and of the invocation.
    ids: Vec<Value>,
}

impl Job<'_> {
    /// The way without clamps, if that spares more loads.
    fn better(&mut self, how: Superword, part: &Part) -> Option<Way> {
        // Clamps are left out only where something is gained by it.
        let open = |clamps| How { clamps, wide: Which::Open, part: part.clone() };
        let plain = self.way(how, open(false), None);
        let unclamped = match &plain {
            Some(way) if !way.met_clamps => None,
            _ => self.way(how, open(true), None),
        };
        match (plain, unclamped) {
            (Some(plain), Some(other)) => Some(if other.spared > plain.spared { other } else { plain }),
            (plain, other) => plain.or(other),
        }
    }

    /// The way with vectors that has the fewest accesses to memory, if all that is stored can be vectors.
    fn in_vectors(&mut self, how: Superword, part: &Part) -> Option<Way> {
        let mut best: Option<(bool, Vectors)> = None;
        for clamps in [false, true] {
            let open = How { clamps, wide: Which::Open, part: part.clone() };
            let Some(way) = self.way(how, open, None) else { continue };
            let found = Vectors::of(&way.touches, &way.ids);
            if let Some(found) =
                found.filter(|one| best.as_ref().is_none_or(|(_, best)| one.left < best.left))
            {
                best = Some((clamps, found));
            }
            if !way.met_clamps {
                break;
            }
        }
        let (clamps, vectors) = best?;
        self.way(how, How { clamps, wide: Which::Traced(Rc::new(vectors)), part: part.clone() }, None)
    }

    /// The ways of each part of a line, if it has some, in one function; `whole` is that of the whole.
    fn of_parts(&mut self, whole: Way, how: Superword) -> Vec<Way> {
        let begins = whole.met.begins();
        if begins.is_empty() || how.axis != 0 {
            return vec![whole];
        }
        let (mut ways, mut unused) = match whole.met.is_apart() {
            true => (Vec::new(), Some(whole)),
            false => (vec![whole], None),
        };
        for number in 0..=begins.len() {
            let part = Part::Of(begins.clone(), number);
            let in_vectors = how.vectors.then(|| self.in_vectors(how, &part)).flatten();
            let Some(way) = in_vectors.or_else(|| self.better(how, &part)) else { continue };
            // A way on which nothing is done, or that of the whole once more.
            let is_idle = !stores(&self.module.functions[way.main], &way.nodes);
            let written: usize = ways.iter().map(|way| way.written).sum();
            if is_idle || way.met.left_out == 0 && unused.is_none() || written + way.written > MOST {
                continue;
            }
            let main = ways.first().map(|first| first.main);
            ways.extend(match main {
                Some(_) => self.way(how, way.how, main),
                None => Some(way),
            });
            if ways.len() == MOST_WAYS {
                break;
            }
        }
        if ways.is_empty() {
            ways.extend(unused.take());
        }
        ways
    }

    /// Writes a way, in this function or in a new one.
    fn way(&mut self, how: Superword, own: How, into: Option<Func>) -> Option<Way> {
        let Job { ref mut module, recipe, entry, .. } = *self;
        let ids = VIRTUAL.into_iter().filter_map(|one| Some((module.input(one)?, one))).collect();
        let Function { ty, result, control, .. } = module.functions[entry];
        let main = into.unwrap_or_else(|| module.functions.push(Function::new(ty, result, control)));
        let mut code = Builder::new(module, main);
        let common = common(&mut code, recipe, how);
        let mut items = Vec::new();
        for k in 0..how.items {
            let number = code.word(if mutant!(ItemsAreOne) { 0 } else { k });
            items.push(numbered(&mut code, recipe, how, (&common, number)));
        }
        let mut before = std::mem::take(&mut code.nodes);
        let start = Start {
            source: self.source.clone(),
            ids: Ids { variables: ids, base: common.base.map(|base| (base, how.items)) },
            items: how.items as usize,
            clamps: own.clamps,
            wide: own.wide.clone(),
            part: own.part.clone(),
            // Who comes before all parts is in range of what asks for no item.
            guards: matches!(own.part, Part::Of(_, 0)).then_some(entry),
            most: MOST,
        };
        let mut tracer = Tracer::new(code, start);
        for builtin in VIRTUAL {
            let values = items.iter().map(|item| item.of(builtin)).collect();
            tracer.set_ids(builtin, values);
        }
        let axis = usize::from(how.axis);
        for item in &items {
            [item.global, item.local]
                .as_flattened()
                .iter()
                .chain([&item.index])
                .for_each(|&id| tracer.note_id(id, None));
        }
        // An id as a polynomial: a multiple of the invocation's id, or the first item's id, plus the item's own distance.
        let (from, times, distance) = match common.base {
            Some(base) => (base, how.items, 1),
            None => (common.global[axis], 1, recipe.schedule.local_size()[axis] / how.items),
        };
        tracer.note_id(from, None);
        // Their numbers are below 2^31 (`plan::dispatch::superword`).
        tracer.note_range(from, (0, (1 << 31) / times));
        for (k, item) in (0..).zip(&items) {
            let words = Polynomial::word(from).times(&Polynomial::constant(times));
            let words = words.and_then(|words| words.plus(1, &Polynomial::constant(k * distance)));
            tracer.note_id(item.global[axis], words);
        }
        tracer.call(entry, &[]).ok()?;
        let conditions = std::mem::take(&mut tracer.conditions);
        let mut nodes = std::mem::take(&mut tracer.code.nodes);
        before.extend(trace::hoist(tracer.code.function(), &mut nodes, conditions.words()));
        tracer.code.nodes = before;
        let holds = (!conditions.is_empty()).then(|| guard::write(&conditions, &mut tracer));
        let Tracer { code: Builder { nodes: before, .. }, spared, met_clamps, touches, views, .. } = tracer;
        let (met, written) = (tracer.parts, tracer.written);
        let of_items = items.iter().flat_map(|item| [item.global, item.local].concat());
        let ids = of_items.chain([from]).collect();
        Some(Way {
            main,
            how: own,
            met,
            written,
            before,
            nodes,
            holds,
            spared,
            met_clamps,
            touches,
            views,
            ids,
        })
    }
}

/// Whether these store anything.
fn stores(f: &Function, nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match *node {
        Node::Inst(inst) => matches!(f.insts[inst].operation, Operation::Store { .. }),
        Node::Construct(construct) => {
            let regions = f.constructs[construct].kind.regions();
            regions.into_iter().any(|region| stores(f, &f.regions[region].nodes))
        }
    })
}

/// The ids of one item, each component by itself.
#[derive(Clone, Copy)]
struct Item {
    global: [Value; 3],
    local: [Value; 3],
    index: Value,
}

impl Item {
    fn of(&self, builtin: BuiltIn) -> [Value; 3] {
        match builtin {
            BuiltIn::GlobalInvocationId => self.global,
            BuiltIn::LocalInvocationId => self.local,
            _ => [self.index; 3],
        }
    }
}

/// What all items of an invocation have in common.
struct Common {
    /// The invocation's number in the dimension in which its items follow each other, where they are next to each other.
    base: Option<Value>,
    /// Ids of the first item.
    global: [Value; 3],
    local: [Value; 3],
}

/// The ids of the first item, and what those of the others are made of.
fn common(code: &mut Builder<'_>, recipe: &Recipe, how: Superword) -> Common {
    let axis = usize::from(how.axis);
    let mut local = code.components(BuiltIn::LocalInvocationId);
    let group = code.components(BuiltIn::WorkgroupId);
    let several = code.word(how.items);
    let mut base = None;
    let global = std::array::from_fn(|d| {
        let is_several = d == axis && how.consecutive;
        let size = recipe.schedule.local_size()[d] / if is_several { how.items } else { 1 };
        let number = code.linear(group[d], size, local[d]);
        if !is_several {
            return number;
        }
        base = Some(number);
        code.math(Op::IMul, number, several)
    });
    if how.consecutive {
        local[axis] = code.math(Op::IMul, local[axis], several);
    }
    Common { base, global, local }
}

/// The ids of the item with this number.
fn numbered(
    code: &mut Builder<'_>,
    recipe: &Recipe,
    how: Superword,
    (common, number): (&Common, Value),
) -> Item {
    let (axis, size) = (usize::from(how.axis), recipe.schedule.local_size());
    let &Common { mut global, mut local, .. } = common;
    let distance = if how.consecutive {
        number
    } else {
        let distance = code.word(size[axis] / how.items);
        code.math(Op::IMul, number, distance)
    };
    for id in [&mut global[axis], &mut local[axis]] {
        *id = code.math(Op::IAdd, *id, distance);
    }
    let row = code.linear(local[2], size[1], local[1]);
    Item { global, local, index: code.linear(row, size[0], local[0]) }
}

/// Writes the entry point around ways: the first one that items take, or the kernel as it is.
fn finish(module: &mut Module, recipe: &Recipe, how: Superword, entry: Func, ways: Vec<Way>) {
    let main = ways[0].main;
    let is_asked = ways.iter().all(|way| way.holds.is_some());
    let variables = if is_asked { built_ins::redirect(module, &VIRTUAL) } else { Vec::new() };
    module.defined.push(main);
    module.entry_points.iter_mut().for_each(|one| one.function = main);
    module.modes.iter_mut().for_each(|mode| mode.function = main);
    if !is_asked {
        // Nothing calls the members.
        module.defined = vec![main];
    }
    let mut code = Builder::new(module, main);
    let mut last = |code: &mut Builder<'_>| one_by_one(code, recipe, how, (entry, &variables));
    one_of(&mut code, ways.into_iter(), &mut last);
    let f = code.function();
    f.regions[f.body].end = End::Return(None);
    code.begin();
}

/// Writes the first of these ways that is taken, or what comes last.
fn one_of(
    code: &mut Builder<'_>,
    mut ways: std::vec::IntoIter<Way>,
    last: &mut impl FnMut(&mut Builder<'_>),
) {
    let Some(way) = ways.next() else { return last(code) };
    code.nodes.extend(way.before);
    let Some(holds) = way.holds else { return code.nodes.extend(way.nodes) };
    let [inside, otherwise] = code.branch(holds, Some(SelectionControl::NONE));
    code.function().regions[inside].nodes = way.nodes;
    let before = std::mem::take(&mut code.nodes);
    one_of(code, ways, last);
    let nodes = std::mem::replace(&mut code.nodes, before);
    code.function().regions[otherwise].nodes = nodes;
}

/// A loop over the items: the kernel as it is does one in each iteration, with its ids in variables.
fn one_by_one(
    code: &mut Builder<'_>,
    recipe: &Recipe,
    how: Superword,
    (entry, variables): (Func, &[(BuiltIn, Global)]),
) {
    let common = common(code, recipe, how);
    let (zero, items, void) = (code.word(0), code.word(how.items), code.function().result);
    let repeat = code.begin_loop(zero, items, LoopControl::DONT_UNROLL);
    let item = numbered(code, recipe, how, (&common, repeat.count));
    for &(builtin, variable) in variables {
        built_ins::set(code, builtin, variable, &item.of(builtin));
    }
    code.value(Operation::Call { function: entry, args: SmallVec::new() }, void);
    code.end_loop(repeat);
}
