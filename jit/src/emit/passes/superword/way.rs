//! Ways for several items: one path for all of them, and what has to hold where it is taken.

use std::rc::Rc;

use ahash::AHashSet;

use super::items::{VIRTUAL, common, numbered, word};
use crate::emit::passes::trace::parts::{Met, Part};
use crate::emit::passes::trace::stage::{Noted, Stage};
use crate::emit::passes::trace::vectors::{Touch, Vectors, Which};
use crate::emit::passes::trace::words::Polynomial;
use crate::emit::passes::trace::{self, Ids, Source, Start, Tracer, guard};
use crate::ir::entity::{Func, Global, Region, Value};
use crate::ir::{Builder, Function, Module, Node, Operation};
use crate::plan::recipe::Recipe;
use crate::schedule::Superword;

/// Most instructions that are written.
pub(super) const MOST: usize = 4096;

/// Most ways that are written.
pub(super) const MOST_WAYS: usize = 4;

/// What ways are written for.
pub(super) struct Job<'a> {
    pub(super) module: &'a mut Module,
    pub(super) recipe: &'a Recipe,
    pub(super) entry: Func,
    pub(super) source: Rc<Source>,
}

/// How a way is written.
#[derive(Clone)]
pub(super) struct How {
    pub(super) clamps: bool,
    pub(super) wide: Which,
    pub(super) part: Part,
    pub(super) stage: Stage,
}

/// A way that has been written.
pub(super) struct Way {
    /// Its function, which has no code yet.
    pub(super) main: Func,
    pub(super) how: How,
    pub(super) met: Met,
    pub(super) written: usize,
    /// What has to stand before.
    pub(super) before: Vec<Node>,
    pub(super) nodes: Vec<Node>,
    pub(super) holds: Option<Value>,
    pub(super) spared: usize,
    pub(super) met_clamps: bool,
    /// Accesses to buffers, if it is not known yet which are to vectors.
    pub(super) touches: Vec<Touch>,
    /// Variables that see buffers as vectors.
    pub(super) views: AHashSet<Global>,
    /// Ids of the items, and of the invocation.
    pub(super) ids: Vec<Value>,
    pub(super) noted: Vec<Noted>,
    pub(super) trail: Vec<(Func, Region)>,
    /// `x` and `y` of the first item.
    pub(super) first: [Value; 2],
}

impl Job<'_> {
    /// The way without clamps, if that spares more loads.
    pub(super) fn better(&mut self, how: Superword, part: &Part) -> Option<Way> {
        // Clamps are left out only where something is gained by it.
        let open = |clamps| How { clamps, wide: Which::Open, part: part.clone(), stage: Stage::Open };
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
    pub(super) fn in_vectors(&mut self, how: Superword, part: &Part) -> Option<Way> {
        let mut best: Option<(bool, Vectors)> = None;
        for clamps in [false, true] {
            let open = How { clamps, wide: Which::Open, part: part.clone(), stage: Stage::Open };
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
        let wide = Which::Traced(Rc::new(vectors));
        self.way(how, How { clamps, wide, part: part.clone(), stage: Stage::Open }, None)
    }

    /// The ways of each part of a line, if it has some, in one function; `whole` is that of the whole.
    pub(super) fn of_parts(&mut self, whole: Way, how: Superword) -> Vec<Way> {
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
    pub(super) fn way(&mut self, how: Superword, own: How, into: Option<Func>) -> Option<Way> {
        let Job { ref mut module, recipe, entry, .. } = *self;
        let ids = VIRTUAL.into_iter().filter_map(|one| Some((module.input(one)?, one))).collect();
        let main = into.unwrap_or_else(|| function(module, entry));
        let mut code = Builder::new(module, main);
        // Filling exchanges `x` and `y`.
        let is_turned = matches!(own.stage, Stage::Fill(_));
        let how = if is_turned { Superword { axis: 1 - how.axis, ..how } } else { how };
        let common = common(&mut code, recipe, how, is_turned);
        let mut items = Vec::new();
        for k in 0..how.items {
            let number = code.word(if mutant!(ItemsAreOne) { 0 } else { k });
            items.push(numbered(&mut code, recipe, how, (&common, number)));
        }
        let words = items.iter().map(|item| word(&mut code, recipe, &own.stage, item)).collect();
        let mut before = std::mem::take(&mut code.nodes);
        let start = Start {
            source: self.source.clone(),
            ids: Ids { variables: ids, base: common.base.map(|base| (base, how.items)) },
            items: how.items as usize,
            clamps: own.clamps,
            wide: own.wide.clone(),
            part: own.part.clone(),
            stage: own.stage.clone(),
            // Who comes before all parts is in range of what asks for no item.
            guards: matches!(own.part, Part::Of(_, 0)).then_some(entry),
            most: MOST,
        };
        let mut tracer = Tracer::new(code, start);
        tracer.stage_words = words;
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
        let (noted, trail) = (tracer.noted, tracer.trail);
        let first = [common.global[0], common.global[1]];
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
            noted,
            trail,
            first,
        })
    }
}

/// A function without code, in the place of this one.
pub(super) fn function(module: &mut Module, entry: Func) -> Func {
    let Function { ty, result, control, .. } = module.functions[entry];
    module.functions.push(Function::new(ty, result, control))
}

/// Whether these store anything.
pub(super) fn stores(f: &Function, nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match *node {
        Node::Inst(inst) => matches!(f.insts[inst].operation, Operation::Store { .. }),
        Node::Construct(construct) => {
            let regions = f.constructs[construct].kind.regions();
            regions.into_iter().any(|region| stores(f, &f.regions[region].nodes))
        }
    })
}
