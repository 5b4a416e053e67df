//! The rounds of a loop: its counters, and its body without the loop around it.
//!
//! # Guarantees
//! - in round `k` each value that the loop carries is `init + k * step`, in all rounds that store
//! - rounds that come to no access, since a counter was not stepped or the loop's test has failed, are those that
//!   [`Looped::must_last`] speaks of
//!
//! # Refuses
//! - loops that carry anything else, values that a loop leaves behind, exits other than the test

use rspirv::spirv::{Op, SelectionControl};

use crate::analysis::access::AccessKind;
use crate::analysis::cfg::Cfg;
use crate::analysis::expr::Passed;
use crate::analysis::unroll::Unrollable;
use crate::ir::entity::{Construct, Func, Region, SecondaryMap, Value};
use crate::ir::{
    Builder, ConstructKind, Def, EdgeArgs, Effect, End, Function, Module, Node, Operation, Tree, TypeKind,
};
use crate::kernel::NormalKernel;
use crate::rewrite::writer::Result;

/// Most rounds of a loop that are items where the kernel itself stays, and most stores that are items.
pub(crate) const MOST_ROUNDS: u32 = 64;

/// Most constructs between a counter and its step.
const MOST_CHOICES: usize = 8;

const NO_LOOP: &str = "no loop that can be unrolled";

/// The loop that stores, and how its counters go.
pub(in crate::rewrite) struct Looped {
    looped: Construct,
    parts: Parts,
    counters: Vec<Counter>,
    pub(super) count: u32,
    /// Not every invocation does all rounds: the test stays.
    is_tested: bool,
    pub(super) must_last: bool,
}

/// A value of the loop that is `init + k * step` in round `k`, or `init - k * step`.
struct Counter {
    param: Value,
    init: Value,
    step: Value,
    goes_down: bool,
}

impl Looped {
    pub(super) fn of(
        normal: &NormalKernel,
        module: &Module,
        f: &Function,
        most: &mut dyn FnMut(usize) -> Option<u32>,
        limit: u32,
    ) -> Result<Self> {
        let function = normal.module.functions.first().ok_or("no function")?;
        let cfg = Cfg::new(function);
        let writes = normal.analysis.accesses.iter().filter(|access| access.kind != AccessKind::Read);
        let outermost = |block: usize| {
            cfg.loops.iter().position(|one| one.parent.is_none() && one.blocks.contains(block))
        };
        let mut around = writes.map(|access| outermost(access.at.0));
        let index = around.next().ok_or("no store")?.ok_or("no loop around the store")?;
        if around.any(|other| other.is_some_and(|other| other != index)) {
            return Err("several loops that store");
        }
        let parts = Unrollable::with_continues(function, &cfg, index);
        let parts = parts.filter(|parts| parts.round.repeatable).ok_or(NO_LOOP)?;
        let reader = Reader::new(module, f)?;
        let header = *parts.prefix.first().ok_or("no header")?;
        let phis = function.blocks[header].instructions.iter().filter(|inst| inst.class.opcode == Op::Phi);
        let phis: Vec<u32> = phis.filter_map(|phi| phi.result_id).collect();
        if phis.len() != reader.params.len() {
            return Err(NO_LOOP);
        }
        let mut counters = Vec::new();
        let mut under: Vec<Passed> = Vec::new();
        for (number, phi) in phis.into_iter().enumerate() {
            let stepped_under = || normal.analysis.exprs.stepped_under(phi, index);
            let (counter, passed) =
                reader.counter(number, stepped_under).ok_or("a loop that carries more than counters")?;
            counters.push(counter);
            under.extend(passed);
        }
        // A round that does not step a counter leaves what lies under the same branches to no later one.
        let accesses = normal.analysis.accesses.iter();
        let mut inside = accesses.filter(|access| parts.blocks.contains(&access.at.0));
        let is_under = inside.all(|access| {
            let is = |passed: &Passed| {
                let mut guards = access.guards.iter().filter(|guard| !guard.in_past_loop);
                guards.any(|guard| Passed { block: guard.block, taken: guard.holds } == *passed)
            };
            under.iter().all(is)
        });
        if !is_under && !mutant!(SkippedRoundsAct) {
            return Err("a loop with effects in iterations that do not step a counter");
        }
        let known = reader.constant_count(&counters);
        let count = match known {
            Some(count) => count,
            None => {
                // The test is asked in rounds that the kernel does not come to.
                let accesses = &normal.analysis.accesses;
                if accesses.iter().any(|access| parts.prefix.contains(&access.at.0)) {
                    return Err("a test that is made of what the loop loads");
                }
                most(index).ok_or("a loop whose iterations are not counted")?
            }
        };
        let count = count.saturating_sub(u32::from(mutant!(RoundsAreFewer)));
        if !(2..=limit).contains(&count) {
            return Err("a loop of one iteration, or of too many");
        }
        if !f.constructs[reader.looped].results.is_empty() {
            return Err("a value that the loop leaves behind");
        }
        let is_tested = known.is_none();
        let must_last = is_tested || !under.is_empty();
        Ok(Self { looped: reader.looped, parts: reader.parts, counters, count, is_tested, must_last })
    }

    /// Has the body of the function do one round in the place of the loop.
    pub(super) fn apart(&self, module: &mut Module, func: Func, round: Value) -> Result<()> {
        let mut by = SecondaryMap::of(&module.functions[func].values);
        let mut code = Builder::new(module, func);
        for &Counter { param, init, step, goes_down } in &self.counters {
            let gone = code.math(Op::IMul, round, step);
            let op = if goes_down { Op::ISub } else { Op::IAdd };
            let ty = code.function().values[param].ty;
            by[param] = Some(code.pure(op, ty, &[init, gone], &[]));
        }
        let mut nodes = std::mem::take(&mut code.nodes);
        let f = &mut module.functions[func];
        let Parts { body, continuing, test, inside, out } = self.parts;
        let regions = f.regions_in(f.body);
        let own = Node::Construct(self.looped);
        let around = regions.into_iter().find(|&region| f.regions[region].nodes.contains(&own));
        let around = around.ok_or("a loop that is nowhere")?;
        let continues: Vec<Region> =
            f.regions_in(body).into_iter().filter(|&one| self.parts.goes_on(f, one)).collect();
        let mut prefix = std::mem::take(&mut f.regions[body].nodes);
        let at = prefix.iter().position(|node| *node == Node::Construct(test)).ok_or(NO_LOOP)?;
        let mut rest = prefix.split_off(at + 1);
        prefix.truncate(at);
        let mut end = None;
        let last = if self.parts.goes_on(f, inside) { inside } else { body };
        if continues == [last] {
            // What continues the loop is the end of its round.
            let args: Vec<Value> = f.regions[last].end.values().collect();
            for (&param, arg) in f.regions[continuing].params.iter().zip(args) {
                by[param] = Some(arg);
            }
            rest.extend(f.regions[continuing].nodes.iter().copied());
        } else {
            if !mutant!(LoopsEndKernels) {
                ends(f, self.looped, (around, continuing))?;
            }
            for region in continues {
                f.regions[region].end = End::Return(None);
            }
            end = Some(f.regions[body].end.clone());
        }
        nodes.append(&mut prefix);
        if self.is_tested {
            let leaves = End::Exit { to: test, args: EdgeArgs::new() };
            f.regions[out].end = leaves.clone();
            (f.regions[inside].nodes, f.regions[inside].end) = (rest, end.take().unwrap_or(leaves));
            if let ConstructKind::If { control, .. } = &mut f.constructs[test].kind {
                *control = Some(SelectionControl::NONE);
            }
            nodes.push(Node::Construct(test));
        } else {
            nodes.append(&mut rest);
        }
        let data = &mut f.regions[around];
        let at = data.nodes.iter().position(|node| *node == own).unwrap_or(0);
        match end {
            Some(end) => {
                data.nodes.truncate(at);
                data.nodes.append(&mut nodes);
                data.end = end;
            }
            None => drop(data.nodes.splice(at..=at, nodes)),
        }
        f.substitute(&by);
        Ok(())
    }
}

/// Demands that nothing happens from what continues a loop on until the kernel returns.
fn ends(f: &Function, looped: Construct, (around, continuing): (Region, Region)) -> Result<()> {
    let is_idle = |node: &Node| match *node {
        Node::Inst(inst) => f.insts[inst].operation.effect() == Effect::None,
        Node::Construct(_) => false,
    };
    let tree = Tree::of(f);
    let (mut region, mut from) = (around, looped);
    let mut idle = f.regions[continuing].nodes.iter().all(is_idle);
    while idle {
        let data = &f.regions[region];
        let behind = data.nodes.iter().skip_while(|node| **node != Node::Construct(from)).skip(1);
        idle = { behind }.all(is_idle);
        match (&data.end, tree.parent(region)) {
            (End::Return(_), _) if idle => return Ok(()),
            (End::Exit { to, .. }, Some((outer, own))) if *to == own => (region, from) = (outer, own),
            _ => break,
        }
    }
    Err("a loop with early exits that is followed by other work")
}

/// The parts of a loop that is left by its test alone, which stands before all other constructs.
#[derive(Clone, Copy)]
struct Parts {
    body: Region,
    continuing: Region,
    test: Construct,
    /// The sides of the test.
    inside: Region,
    out: Region,
}

impl Parts {
    fn of(f: &Function, looped: Construct) -> Result<Self> {
        let ConstructKind::Loop { body, continuing, .. } = f.constructs[looped].kind else {
            return Err(NO_LOOP);
        };
        let test = f.regions[body].nodes.iter().find_map(|node| match *node {
            Node::Construct(construct) => Some(construct),
            Node::Inst(_) => None,
        });
        let test = test.ok_or(NO_LOOP)?;
        let ConstructKind::If { accept, reject, .. } = f.constructs[test].kind else { return Err(NO_LOOP) };
        let side = |region: Region, is: &dyn Fn(&End) -> bool| {
            f.regions[region].nodes.is_empty() && is(&f.regions[region].end)
        };
        let leaves = |end: &End| matches!(end, End::Exit { to, .. } if *to == looped);
        // Where all of a round stands in what continues the loop, the test leads there.
        let stays = |end: &End| match end {
            End::Exit { to, .. } => *to == test,
            End::Continue { to, .. } => *to == looped,
            _ => false,
        };
        let sides = [(accept, reject), (reject, accept)];
        let sides = sides.into_iter().find(|&(inside, out)| side(inside, &stays) && side(out, &leaves));
        let (inside, out) = sides.ok_or(NO_LOOP)?;
        let ends = |region: &Region| match &f.regions[*region].end {
            End::Repeat { until, .. } => *region == continuing && until.is_some(),
            End::Return(_) => true,
            end => leaves(end),
        };
        let parts = Self { body, continuing, test, inside, out };
        let repeats = f.regions_in(body).into_iter().any(|region| parts.goes_on(f, region));
        match f.inside(looped).iter().filter(|region| ends(region)).count() {
            1 if repeats => Ok(parts),
            _ => Err(NO_LOOP),
        }
    }

    /// Whether the end of a region goes on with the next round.
    fn goes_on(&self, f: &Function, region: Region) -> bool {
        match f.regions[region].end {
            End::Continue { to, .. } => {
                matches!(f.constructs[to].kind, ConstructKind::Loop { body, .. } if body == self.body)
            }
            _ => false,
        }
    }
}

/// Reads what a loop carries.
struct Reader<'a> {
    module: &'a Module,
    f: &'a Function,
    looped: Construct,
    parts: Parts,
    params: &'a [Value],
    /// Whether a value is made in the loop.
    made: SecondaryMap<Value, bool>,
}

impl<'a> Reader<'a> {
    /// Of the one outermost loop that stores.
    fn new(module: &'a Module, f: &'a Function) -> Result<Self> {
        let tree = Tree::of(f);
        let is_loop = |one: Construct| matches!(f.constructs[one].kind, ConstructKind::Loop { .. });
        let mut found = None;
        for region in f.regions_in(f.body) {
            let stores = f.regions[region].nodes.iter().any(|node| match *node {
                Node::Inst(inst) => matches!(f.insts[inst].operation, Operation::Store { .. }),
                Node::Construct(_) => false,
            });
            let around = std::iter::successors(tree.parent(region), |(outer, _)| tree.parent(*outer));
            let outermost = around.map(|(_, one)| one).filter(|&one| is_loop(one)).last();
            if let Some(one) = outermost.filter(|_| stores)
                && found.replace(one).is_some_and(|other| other != one)
            {
                return Err("several loops that store");
            }
        }
        let looped = found.ok_or("no loop around the store")?;
        let parts = Parts::of(f, looped)?;
        let mut made = SecondaryMap::of(&f.values);
        for region in f.inside(looped) {
            let results = f.regions[region].nodes.iter().flat_map(|node| match *node {
                Node::Inst(inst) => f.insts[inst].result.as_slice(),
                Node::Construct(construct) => f.constructs[construct].results.as_slice(),
            });
            results.chain(&f.regions[region].params).for_each(|&value| made[value] = true);
        }
        Ok(Self { module, f, looped, parts, params: &f.regions[parts.body].params, made })
    }

    /// What a value of the loop is in the first round, and what the next round gives it.
    fn carried(&self, number: usize) -> Option<(Value, Value)> {
        let ConstructKind::Loop { args, .. } = &self.f.constructs[self.looped].kind else { return None };
        let End::Repeat { args: next, until: None } = &self.f.regions[self.parts.continuing].end else {
            return None;
        };
        let mut next = *next.get(number)?;
        // What the body makes is carried into what continues the loop.
        while matches!(self.f.values[next].def, Def::Region(own, _) if own == self.parts.continuing)
            && let [one] = self.incoming(next)[..]
        {
            next = one;
        }
        Some((*args.get(number)?, next))
    }

    /// A value that the loop carries, and the branches that a round takes if it steps that: none if all do.
    fn counter<'p>(
        &self,
        number: usize,
        stepped_under: impl Fn() -> Option<&'p [Passed]>,
    ) -> Option<(Counter, Vec<Passed>)> {
        let param = self.params[number];
        if !matches!(self.module.types.kind(self.f.values[param].ty), TypeKind::Int { width: 32, .. }) {
            return None;
        }
        let (init, next) = self.carried(number)?;
        let of = |(step, goes_down)| Counter { param, init, step, goes_down };
        if let Some(step) = self.step(next, param) {
            return Some((of(step), Vec::new()));
        }
        let under = stepped_under()?;
        let mut value = next;
        for _ in 0..MOST_CHOICES {
            value = self.incoming(value).into_iter().find(|&one| one != param)?;
            if let Some(step) = self.step(value, param) {
                return Some((of(step), under.to_vec()));
            }
        }
        None
    }

    /// The values that the ways to the end of a construct in the loop, or to what continues that, give a value.
    fn incoming(&self, value: Value) -> Vec<Value> {
        let f = self.f;
        let given = |region: Region| match (f.values[value].def, &f.regions[region].end) {
            (Def::Result(construct, number), End::Exit { to, args }) if *to == construct => {
                args.get(number as usize).copied()
            }
            (Def::Region(own, number), End::Continue { args, .. })
                if own == self.parts.continuing && self.parts.goes_on(f, region) =>
            {
                args.get(number as usize).copied()
            }
            _ => None,
        };
        f.inside(self.looped).into_iter().filter_map(given).collect()
    }

    /// By what a sum or a difference changes a counter: something that is made outside of the loop.
    fn step(&self, next: Value, counter: Value) -> Option<(Value, bool)> {
        let (op, args) = self.computed(next)?;
        let (step, goes_down) = match (op, args) {
            (Op::IAdd, &[a, b]) if a == counter => (b, false),
            (Op::IAdd, &[a, b]) if b == counter => (a, false),
            (Op::ISub, &[a, b]) if a == counter => (b, true),
            _ => return None,
        };
        (!self.made[step]).then_some((step, goes_down))
    }

    /// The operation in the loop that computes a value.
    fn computed(&self, value: Value) -> Option<(Op, &'a [Value])> {
        match (self.f.values[value].def, self.made[value]) {
            (Def::Inst(inst), true) => match &self.f.insts[inst].operation {
                Operation::Pure { op, args, .. } => Some((*op, args)),
                _ => None,
            },
            _ => None,
        }
    }

    /// How many rounds there are, if a counter goes up from a constant by a constant while below a constant.
    fn constant_count(&self, counters: &[Counter]) -> Option<u32> {
        let ConstructKind::If { condition, accept, .. } = self.f.constructs[self.parts.test].kind else {
            return None;
        };
        let (op, args) = self.computed(condition)?;
        let stays = accept == self.parts.inside;
        let &[a, b] = args else { return None };
        let is_less = match op {
            Op::ULessThan | Op::SLessThan => true,
            Op::UGreaterThanEqual | Op::SGreaterThanEqual => false,
            _ => return None,
        };
        let number = counters.iter().position(|counter| counter.param == a && !counter.goes_down)?;
        // One that some rounds do not step ends the loop in none of them.
        self.step(self.carried(number)?.1, a)?;
        let constant = |value: Value| self.f.number(self.module, value);
        let counter = &counters[number];
        let (first, step, limit) = (constant(counter.init)?, constant(counter.step)?, constant(b)?);
        // All below what may be a sign.
        let counts = step > 0 && stays == is_less && first < limit && limit < 1 << 30 && step < 1 << 30;
        counts.then(|| (limit - first).div_ceil(step))
    }
}
