//! Loops whose iterations are written one after the other, all of them or several at once.
//!
//! The linker names the iteration of each such loop by a variable that nothing stores to: its first load stands at the beginning of the loop's body, and what
//! is kept element by element is found by it. Here it becomes a number.
//!
//! # Requires
//! - loops that `analysis::unroll` describes, and the number of iterations that every invocation does of them; at most one more where
//!   all are unrolled, and then nothing but values before the test
//!
//! # Guarantees
//! - no branch of these iterations depends on the test any more; all else happens as often and in the same order
//! - behind the loop, its results are those of the last time that the test was passed
//! - nothing names an iteration by a variable

use ahash::AHashMap;
use rspirv::spirv::{LoopControl, Op, SelectionControl};
use smallvec::SmallVec;

use super::region_copy::RegionCopy;
use crate::emit::JitError;
use crate::emit::link::ROUND;
use crate::ir::entity::{Construct, Func, Global, Region, SecondaryMap, Value};
use crate::ir::{
    Builder, ConstructData, ConstructKind, EdgeArgs, End, Function, Module, Named, Node, Operation, Position,
    Root,
};
use crate::plan::recipe::{Recipe, Unroll};

fn error(detail: &str) -> JitError {
    JitError::new("unroll", detail)
}

/// Unrolls the loops of the members.
pub(in crate::emit) fn run(module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
    let mut rounds: AHashMap<usize, Global> = AHashMap::new();
    for (named, name) in &module.names {
        if let (Named::Global(global), Some(number)) = (named, name.strip_prefix(ROUND)) {
            rounds.extend(number.parse().ok().map(|number: usize| (number, *global)));
        }
    }
    for (number, &how) in recipe.members.iter().flat_map(|member| &member.unroll).enumerate() {
        let &round = rounds.get(&number).ok_or_else(|| error("a loop that the linker did not name"))?;
        for func in module.defined.clone() {
            while let Some(at) = find(&module.functions[func], round) {
                unroll(module, (func, round), at, how)?;
            }
        }
    }
    module.names.retain(|_, name| !name.starts_with(ROUND));
    module.remove_globals(|global| rounds.values().any(|&round| round == global));
    Ok(())
}

/// Whether a node loads the number of an iteration.
fn is_round(f: &Function, node: Node, round: Global) -> bool {
    let Node::Inst(inst) = node else { return false };
    match f.insts[inst].operation {
        Operation::Load { place, .. } => f.places[place].root == Root::Global(round),
        _ => false,
    }
}

/// Where a loop stands that names its iteration.
fn find(f: &Function, round: Global) -> Option<(Position, Construct)> {
    f.regions_in(f.body).into_iter().find_map(|region| {
        f.regions[region].nodes.iter().enumerate().find_map(|(number, node)| match *node {
            Node::Construct(construct) => match f.constructs[construct].kind {
                ConstructKind::Loop { body, .. } => {
                    let names = f.regions[body].nodes.iter().any(|&node| is_round(f, node, round));
                    names.then_some(((region, number), construct))
                }
                _ => None,
            },
            Node::Inst(_) => None,
        })
    })
}

/// Values, and what they become.
type Renames = Vec<(Value, Value)>;

/// The parts of a loop.
struct Parts {
    /// Values of the body before the first iteration, and what they are in it.
    args: EdgeArgs,
    params: Vec<Value>,
    /// What stands before the test.
    prefix: Vec<Node>,
    /// What is tested, and what it is where the loop goes on.
    condition: Value,
    goes_on: bool,
    /// Results of the loop where it ends.
    leaves: EdgeArgs,
    /// What an iteration does: nodes, and what becomes of values behind them.
    rest: Vec<(Vec<Node>, Renames)>,
    /// Values of the body in the next iteration.
    next: EdgeArgs,
}

impl Parts {
    fn of(f: &Function, construct: Construct) -> Option<Self> {
        let ConstructKind::Loop { args, body, continuing, .. } = &f.constructs[construct].kind else {
            return None;
        };
        let (body, last) = (&f.regions[*body], &f.regions[*continuing]);
        let at = body.nodes.iter().position(|node| matches!(node, Node::Construct(_)))?;
        let Node::Construct(test) = body.nodes[at] else { return None };
        let ConstructKind::If { condition, accept, reject, .. } = f.constructs[test].kind else {
            return None;
        };
        let leaves = |side: Region| match &f.regions[side] {
            data if !data.nodes.is_empty() => None,
            data => match &data.end {
                End::Exit { to, args } if *to == construct => Some(args.clone()),
                _ => None,
            },
        };
        let (goes_on, leaves, stays) = match (leaves(accept), leaves(reject)) {
            (None, Some(leaves)) => (true, leaves, accept),
            (Some(leaves), None) => (false, leaves, reject),
            _ => return None,
        };
        let carried = |args: &EdgeArgs, to: &[Value]| to.iter().copied().zip(args.iter().copied()).collect();
        let continues = |end: &End| match end {
            End::Continue { to, args } if *to == construct => Some(carried(args, &last.params)),
            _ => None,
        };
        let side = &f.regions[stays];
        let mut rest = Vec::new();
        match &side.end {
            End::Exit { to, args } if *to == test => {
                rest.push((side.nodes.clone(), carried(args, &f.constructs[test].results)));
                rest.push((body.nodes[at + 1..].to_vec(), continues(&body.end)?));
            }
            end => rest.push((side.nodes.clone(), continues(end)?)),
        }
        let End::Repeat { args: next, until: None } = &last.end else { return None };
        rest.push((last.nodes.clone(), Vec::new()));
        Some(Self {
            args: args.clone(),
            params: body.params.clone(),
            prefix: body.nodes[..at].to_vec(),
            condition,
            goes_on,
            leaves,
            rest,
            next: next.clone(),
        })
    }
}

/// Unrolls a loop.
fn unroll(
    module: &mut Module,
    (func, round): (Func, Global),
    ((region, at), construct): (Position, Construct),
    how: Unroll,
) -> Result<(), JitError> {
    let parts = Parts::of(&module.functions[func], construct);
    let parts = parts.ok_or_else(|| error("a loop that cannot be unrolled"))?;
    let mut unrolling = Unrolling { copy: RegionCopy::new(Builder::new(module, func)), parts, round };
    let nodes = match how {
        Unroll::Whole { sure, most, .. } => unrolling.whole(construct, sure, most),
        Unroll::Part { first, times, at_once, .. } => unrolling.part(construct, first, (times, at_once)),
    };
    module.functions[func].regions[region].nodes.splice(at..=at, nodes);
    Ok(())
}

/// A loop that is being unrolled.
struct Unrolling<'m> {
    copy: RegionCopy<'m>,
    parts: Parts,
    round: Global,
}

impl Unrolling<'_> {
    /// Begins another copy, of iteration `number`, and writes what stands before the test.
    fn begin(&mut self, number: u32, carried: &[Value]) {
        self.copy.begin();
        for (&param, &value) in self.parts.params.iter().zip(carried) {
            self.copy.set(param, value);
        }
        let f = self.copy.code.f();
        let rounds: Vec<Value> = { self.parts.prefix.iter() }
            .filter(|&&node| is_round(f, node, self.round))
            .filter_map(|node| match node {
                Node::Inst(inst) => f.insts[*inst].result,
                Node::Construct(_) => None,
            })
            .collect();
        let number = self.copy.code.word(number);
        rounds.into_iter().for_each(|value| self.copy.set(value, number));
        self.copy.nodes(&self.parts.prefix);
    }

    /// Writes what an iteration does behind the test; returns what is carried to the next.
    fn rest(&mut self) -> Vec<Value> {
        for (nodes, behind) in &self.parts.rest {
            self.copy.nodes(nodes);
            let values: Vec<Value> = behind.iter().map(|&(_, value)| self.copy.value(value)).collect();
            behind.iter().zip(values).for_each(|(&(to, _), value)| self.copy.set(to, value));
        }
        self.parts.next.iter().map(|&value| self.copy.value(value)).collect()
    }

    /// All iterations, and the test once more, which puts other values in the place of the loop's results.
    fn whole(&mut self, construct: Construct, sure: u32, most: u32) -> Vec<Node> {
        let mut carried = self.parts.args.to_vec();
        for round in 0..most {
            self.begin(round, &carried);
            if round < sure || mutant!(TailIsFull) {
                carried = self.rest();
                continue;
            }
            let condition = self.copy.value(self.parts.condition);
            let around = std::mem::take(&mut self.copy.code.nodes);
            let done = self.rest();
            let nodes = std::mem::replace(&mut self.copy.code.nodes, around);
            let [goes_on, stops] = [(); 2].map(|()| self.copy.code.function().region());
            let sides = if self.parts.goes_on { [goes_on, stops] } else { [stops, goes_on] };
            let to = self.copy.code.select(condition, sides, Some(SelectionControl::NONE));
            let f = self.copy.code.function();
            f.regions[goes_on].nodes = nodes;
            for (region, args) in [(goes_on, done), (stops, carried)] {
                f.regions[region].end = End::Exit { to, args: args.into() };
            }
            carried = results(f, to, &self.parts.params);
        }
        self.begin(most, &carried);
        let f = self.copy.code.f();
        let (mut by, own) = (SecondaryMap::of(&f.values), f.constructs[construct].results.clone());
        for (result, &value) in own.into_iter().zip(&self.parts.leaves) {
            by[result] = Some(self.copy.value(value));
        }
        self.copy.code.function().substitute(&by);
        std::mem::take(&mut self.copy.code.nodes)
    }

    /// The `first` iterations, a loop of `times` by `at_once`, and the loop as it was behind it.
    fn part(&mut self, construct: Construct, first: u32, (times, at_once): (u32, u32)) -> Vec<Node> {
        let (round, params) = (self.round, self.parts.params.clone());
        let mut carried = self.parts.args.to_vec();
        for round in 0..first {
            self.begin(round, &carried);
            carried = self.rest();
        }
        if mutant!(FirstRoundsComeAgain) {
            carried = self.parts.args.to_vec();
        }
        let mut all = std::mem::take(&mut self.copy.code.nodes);
        let code = &mut self.copy.code;
        let number = code.module.u32();
        let (zero, one, limit) = (code.word(0), code.word(1), code.word(times));
        let f = code.function();
        let [body, continuing] = [(); 2].map(|()| f.region());
        let args = std::iter::once(zero).chain(carried).collect();
        let operands = Vec::new();
        let kind =
            ConstructKind::Loop { args, body, continuing, control: LoopControl::DONT_UNROLL, operands };
        let to = f.constructs.push(ConstructData { kind, results: Vec::new() });
        let count = f.param(body, number, None);
        let mut carried = params_like(f, body, &params);
        let behind = results(f, to, &params);
        let more = code.test(Op::ULessThan, count, limit);
        let [_, done] = code.branch(more, None);
        code.function().regions[done].end = End::Exit { to, args: SmallVec::from_slice(&carried) };
        for _ in 0..at_once {
            self.begin(0, &carried);
            carried = self.rest();
        }
        let code = &mut self.copy.code;
        let nodes = std::mem::take(&mut code.nodes);
        let next = code.math(Op::IAdd, count, one);
        let last = std::mem::take(&mut code.nodes);
        let f = code.function();
        let args = std::iter::once(next).chain(params_like(f, continuing, &params)).collect();
        let data = &mut f.regions[body];
        (data.nodes, data.end) = (nodes, End::Continue { to, args: carried.into() });
        let data = &mut f.regions[continuing];
        (data.nodes, data.end) = (last, End::Repeat { args, until: None });
        if let ConstructKind::Loop { args, body, .. } = &mut f.constructs[construct].kind {
            *args = behind.into();
            let body = *body;
            let mut nodes = std::mem::take(&mut f.regions[body].nodes);
            nodes.retain(|&node| !is_round(f, node, round));
            f.regions[body].nodes = nodes;
        }
        all.extend([Node::Construct(to), Node::Construct(construct)]);
        all
    }
}

/// Results of a construct, one for each of these values.
fn results(f: &mut Function, of: Construct, like: &[Value]) -> Vec<Value> {
    let data: Vec<_> = like.iter().map(|&value| f.values[value]).collect();
    data.into_iter().map(|data| f.result(of, data.ty, data.decorations)).collect()
}

/// Parameters of a region, one for each of these values.
fn params_like(f: &mut Function, of: Region, like: &[Value]) -> Vec<Value> {
    let data: Vec<_> = like.iter().map(|&value| f.values[value]).collect();
    data.into_iter().map(|data| f.param(of, data.ty, data.decorations)).collect()
}
