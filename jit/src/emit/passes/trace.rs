//! One way through the functions of a fused kernel, written for several items at once: the code that item coarsening and superword code
//! have in common.
//!
//! Branches that constants decide are followed, so loops over constants are unrolled. What is the same is written once, for all
//! items and all places. A branch that turns items away, and a clamp that changes nothing in the middle of a range, are taken for decided:
//! what has to hold for that is noted ([`Conditions`]), and asked before.

pub(super) mod conditions;
mod copies;
pub(super) mod guard;
mod hoist;
mod key;
mod memory;
pub(super) mod parts;
mod quarters;
pub(super) mod stage;
mod staging;
mod turned_away;
pub(super) mod vectors;
mod wide;
pub(super) mod words;
mod write;

use std::rc::Rc;
use std::sync::Arc;

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{BuiltIn, Op, SelectionControl, StorageClass};
use smallvec::SmallVec;

use super::bindings;
use crate::ir::entity::{Construct, Func, Global, Inst, Place, Region, Type, Value};
use crate::ir::opcodes::{self, DIVIDES};
use crate::ir::{
    Args, Builder, ConstKind, ConstructKind, Def, EdgeArgs, Effect, End, Function, Module, Node, Operation,
    Root, TypeKind,
};
use crate::kernel::Specialized;
use crate::plan::recipe::Recipe;
use conditions::Conditions;
use copies::{Copies, Frame, of};
pub(super) use hoist::hoist;
use key::Key;
use parts::{Met, Part};
use stage::{Noted, Stage};
use vectors::{Touch, Which};
use words::Polynomial;

/// Instructions that are gone through for each that may be written, at most: a loop may have many rounds and write nothing.
const STEPS: usize = 8;

/// Why there is no such way: nothing is lost but time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other;

type Traced<T> = Result<T, Other>;

/// What is known of a value of the code that is written.
#[derive(Clone, Default)]
pub(super) struct Fact {
    /// It is made of ids, arguments and constants, and can be computed before anything is asked.
    early: bool,
    /// It is made of ids of the invocation.
    varies: bool,
    words: Option<Polynomial>,
    /// Its least and its greatest number, as far as they are known.
    range: Option<(u32, u32)>,
    parts: Option<Args>,
    made: Option<(Op, Args)>,
}

/// Where control goes from a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Exit(Construct),
    Continue(Construct),
    Repeat,
    Return,
}

/// A variable of the invocation: its function, if it is of one, and its number.
type Variable = (Option<Func>, usize);

/// What variables hold at paths into them.
type Memory = AHashMap<(Variable, Vec<u32>), Copies>;

/// A selection that was left where it is, and its regions.
type Join = (Construct, [Region; 2]);

/// The ids of the items.
pub(super) struct Ids {
    pub(super) variables: AHashMap<Global, BuiltIn>,
    /// The invocation's number in the dimension in which items are next to each other, and how many it does.
    pub(super) base: Option<(Value, u32)>,
}

pub(super) struct Tracer<'m> {
    /// The function in which the way stands, and what is written of it.
    pub(super) code: Builder<'m>,
    pub(super) conditions: Conditions,
    /// Loads that another load has replaced.
    pub(super) spared: usize,
    /// There were clamps that could be taken to change nothing.
    pub(super) met_clamps: bool,
    start: Start,
    values_of_ids: AHashMap<BuiltIn, Vec<[Value; 3]>>,
    facts: AHashMap<Value, Fact>,
    /// What has been written, innermost branch last.
    known: Vec<AHashMap<Key, Value>>,
    places: AHashMap<(Global, SmallVec<[Value; 3]>), Place>,
    memory: Memory,
    /// Vectors that memory holds, with their bindings.
    vectors: AHashMap<Place, (Option<u32>, Copies)>,
    pub(super) written: usize,
    steps: usize,
    /// Accesses to buffers so far.
    accesses: usize,
    /// What they touch, if it is not known yet which are to vectors.
    pub(super) touches: Vec<Touch>,
    /// Variables that see buffers as vectors.
    pub(super) views: AHashSet<Global>,
    pub(super) parts: Met,
    /// Candidates for staging, while none are chosen.
    pub(super) noted: Vec<Noted>,
    /// The regions that were gone through.
    pub(super) trail: Vec<(Func, Region)>,
    /// By item, the index of its word among those of one staged load.
    pub(super) stage_words: Vec<Value>,
}

/// What ways are written of.
pub(super) struct Source {
    functions: AHashMap<Func, Rc<Function>>,
    /// See [`bindings::frozen`].
    frozen: AHashSet<Global>,
    /// See [`bindings::own`].
    own: AHashSet<Global>,
    /// Powers of two that push constants, by their offsets, are multiples of; none of these is zero.
    multiples: AHashMap<u32, u32>,
}

impl Source {
    pub(super) fn of(module: &Module, recipe: &Recipe, kernels: &[Arc<Specialized>]) -> Self {
        let multiples = { recipe.push_multiples.iter() }
            .filter_map(|one| Some((recipe.push.get(usize::from(one.slot))?.offset, one.of)));
        let functions = module.defined.iter().map(|&func| (func, Rc::new(module.functions[func].clone())));
        Self {
            functions: functions.collect(),
            frozen: bindings::frozen(module, recipe),
            own: bindings::own(module, recipe, kernels),
            multiples: multiples.filter(|_| recipe.behind.is_none()).collect(),
        }
    }
}

/// What a tracer starts with.
pub(super) struct Start {
    pub(super) source: Rc<Source>,
    pub(super) ids: Ids,
    pub(super) items: usize,
    /// Clamps are taken to change nothing.
    pub(super) clamps: bool,
    pub(super) wide: Which,
    pub(super) part: Part,
    pub(super) stage: Stage,
    /// The function in which selections only keep out items that are not in range.
    pub(super) guards: Option<Func>,
    /// Most instructions that are written.
    pub(super) most: usize,
}

impl<'m> Tracer<'m> {
    pub(super) fn new(code: Builder<'m>, start: Start) -> Self {
        Self {
            code,
            conditions: Conditions::default(),
            spared: 0,
            met_clamps: false,
            start,
            values_of_ids: AHashMap::new(),
            facts: AHashMap::new(),
            known: vec![AHashMap::new()],
            places: AHashMap::new(),
            memory: Memory::new(),
            vectors: AHashMap::new(),
            written: 0,
            steps: 0,
            accesses: 0,
            touches: Vec::new(),
            views: AHashSet::new(),
            parts: Met::default(),
            noted: Vec::new(),
            trail: Vec::new(),
            stage_words: Vec::new(),
        }
    }

    /// The values of an id built-in, item by item.
    pub(super) fn set_ids(&mut self, builtin: BuiltIn, values: Vec<[Value; 3]>) {
        self.values_of_ids.insert(builtin, values);
    }

    /// Goes through a function.
    pub(super) fn call(&mut self, func: Func, args: &[Copies]) -> Traced<()> {
        let f = self.start.source.functions.get(&func).cloned().ok_or(Other)?;
        let body = f.body;
        let mut frame = Frame::new(func, f);
        let params = frame.f.params.clone();
        params.into_iter().zip(args).for_each(|(param, arg)| frame.values[param] = arg.clone());
        match self.region(&mut frame, body)? {
            Flow::Return => Ok(()),
            _ => Err(Other),
        }
    }

    fn region(&mut self, frame: &mut Frame, region: Region) -> Traced<Flow> {
        let f = frame.f.clone();
        let data = &f.regions[region];
        self.trail.push((frame.func, region));
        self.steps += data.nodes.len() + 1;
        if self.steps > self.start.most.saturating_mul(STEPS) {
            return Err(Other);
        }
        for (number, node) in data.nodes.iter().enumerate() {
            match *node {
                Node::Inst(inst) => self.inst(frame, inst)?,
                Node::Construct(construct) => {
                    frame.around.enter(&f, construct, (region, number));
                    let flow = self.construct(frame, construct)?;
                    frame.around.leave();
                    if flow != Flow::Exit(construct) {
                        return Ok(flow);
                    }
                }
            }
        }
        match &data.end {
            End::Exit { to, args } => {
                self.carry(frame, args, &f.constructs[*to].results)?;
                Ok(Flow::Exit(*to))
            }
            End::Continue { to, args } => {
                let ConstructKind::Loop { continuing, .. } = f.constructs[*to].kind else {
                    return Err(Other);
                };
                self.carry(frame, args, &f.regions[continuing].params)?;
                Ok(Flow::Continue(*to))
            }
            End::Repeat { .. } => Ok(Flow::Repeat),
            End::Return(None) => Ok(Flow::Return),
            _ => Err(Other),
        }
    }

    /// Gives values what an edge carries.
    fn carry(&mut self, frame: &mut Frame, args: &EdgeArgs, to: &[Value]) -> Traced<()> {
        let all = args.iter().map(|&arg| self.value(frame, arg)).collect::<Traced<Vec<_>>>()?;
        to.iter().zip(all).for_each(|(&value, copies)| frame.values[value] = copies);
        Ok(())
    }

    fn construct(&mut self, frame: &mut Frame, construct: Construct) -> Traced<Flow> {
        let f = frame.f.clone();
        match f.constructs[construct].kind {
            ConstructKind::If { condition, accept, reject, .. } => {
                let condition = self.value(frame, condition)?;
                if let Some(truth) = self.decided(&condition) {
                    return self.region(frame, if truth { accept } else { reject });
                }
                match [accept, reject].map(|side| frame.is_unreachable(side)) {
                    [false, true] => return self.region(frame, accept),
                    [true, false] => return self.region(frame, reject),
                    _ => {}
                }
                let truth = match [accept, reject].map(|side| frame.around.ends_at_once(&f, side)) {
                    _ if self.start.guards == Some(frame.func) => true,
                    [true, true] => return self.region(frame, accept),
                    [false, false] => return self.sides(frame, construct, &condition, [accept, reject]),
                    [_, is_out] => is_out,
                };
                let goes_on = self.goes_on(&condition, truth)?;
                self.region(frame, if truth == goes_on { accept } else { reject })
            }
            ConstructKind::Loop { ref args, body, continuing, .. } => {
                self.carry(frame, args, &f.regions[body].params)?;
                self.rounds(frame, construct, (body, continuing))
            }
            ConstructKind::Switch { .. } => Err(Other),
        }
    }

    /// Traces the rounds of a loop whose number of rounds follows from constants.
    fn rounds(
        &mut self,
        frame: &mut Frame,
        construct: Construct,
        (body, continuing): (Region, Region),
    ) -> Traced<Flow> {
        let f = frame.f.clone();
        let End::Repeat { args, until } = &f.regions[continuing].end else { return Err(Other) };
        loop {
            match self.region(frame, body)? {
                Flow::Continue(to) if to == construct => {}
                flow => return Ok(flow),
            }
            if self.region(frame, continuing)? != Flow::Repeat {
                return Err(Other);
            }
            if let Some(until) = until {
                let condition = self.value(frame, until.condition)?;
                if self.decided(&condition).ok_or(Other)? == until.is {
                    self.carry(frame, &until.args, &f.constructs[construct].results)?;
                    return Ok(Flow::Exit(construct));
                }
            }
            self.carry(frame, args, &f.regions[body].params)?;
        }
    }

    /// Goes through both sides of a branch: computes both, or leaves the branch where it is.
    fn sides(
        &mut self,
        frame: &mut Frame,
        construct: Construct,
        condition: &Copies,
        sides: [Region; 2],
    ) -> Traced<Flow> {
        let f = frame.f.clone();
        let computes = sides.iter().all(|&side| self.computes(frame, side));
        if !computes {
            let first = condition[0];
            for &other in condition.iter().filter(|&&other| other != first) {
                let same = self.test(Op::LogicalEqual, other, first)?;
                if !mutant!(SidesAgree) {
                    self.assume(same, true)?;
                }
            }
            // The conditions of what lies behind are asked before, and so is this one.
            if !self.fact(first).early {
                return Err(Other);
            }
        }
        let (mut nodes, mut results, mut memories) = (Vec::new(), Vec::new(), Vec::new());
        for (side, truth) in sides.into_iter().zip([true, false]) {
            let memory = self.memory.clone();
            let around = std::mem::take(&mut self.code.nodes);
            if !computes {
                self.conditions.enter(condition[0], truth);
            }
            self.known.push(AHashMap::new());
            // Where the next round comes from a side, the sides do not meet in this one.
            if self.region(frame, side)? != Flow::Exit(construct) && !mutant!(SidesMeetLater) {
                return Err(Other);
            }
            let written = self.known.pop().unwrap_or_default();
            let own = std::mem::replace(&mut self.code.nodes, around);
            if computes {
                self.code.nodes.extend(own);
                self.known.last_mut().ok_or(Other)?.extend(written);
            } else {
                self.conditions.leave();
                nodes.push(own);
            }
            let values = f.constructs[construct].results.iter().map(|&one| frame.values[one].clone());
            results.push(values.collect::<Vec<_>>());
            memories.push(std::mem::replace(&mut self.memory, memory));
        }
        let join = (!computes).then(|| {
            let regions = [(); 2].map(|()| self.code.function().region());
            let to = self.code.select(condition[0], regions, Some(SelectionControl::NONE));
            for (region, nodes) in regions.into_iter().zip(nodes) {
                let data = &mut self.code.function().regions[region];
                (data.nodes, data.end) = (nodes, End::Exit { to, args: EdgeArgs::new() });
            }
            (to, regions)
        });
        for (number, &result) in f.constructs[construct].results.iter().enumerate() {
            frame.values[result] =
                self.choose(condition, [&results[0][number], &results[1][number]], join)?;
        }
        let [yes, no] = <[Memory; 2]>::try_from(memories).map_err(|_| Other)?;
        self.merge_memory(&yes, &no, condition, join)?;
        Ok(Flow::Exit(construct))
    }

    /// Whether all of a region only computes, and can be computed in vain.
    fn computes(&self, frame: &Frame, region: Region) -> bool {
        let f = &frame.f;
        let divides = |op: &Op| opcodes::has(*op, DIVIDES);
        f.regions[region].nodes.iter().all(|node| match *node {
            Node::Inst(inst) => match &f.insts[inst].operation {
                Operation::Pure { op, .. } | Operation::Other { op, .. } if divides(op) => false,
                Operation::Load { place, access } => {
                    let Root::Global(root) = f.flat(f.places[*place].clone()).root else { return false };
                    let class = self.code.module.globals[root].class;
                    let path = &f.places[*place].path;
                    let is_fixed = path.iter().all(|&index| f.as_const(index).is_some());
                    is_fixed && access.is_plain() && class != StorageClass::StorageBuffer
                }
                operation => operation.effect() == Effect::None,
            },
            Node::Construct(construct) => match f.constructs[construct].kind {
                ConstructKind::If { accept, reject, .. } => {
                    self.computes(frame, accept) && self.computes(frame, reject)
                }
                _ => false,
            },
        })
    }

    /// One of two values by a condition.
    fn choose(&mut self, condition: &Copies, sides: [&Copies; 2], join: Option<Join>) -> Traced<Copies> {
        let [yes, no] = sides;
        if yes.is_empty() || no.is_empty() {
            return Err(Other);
        }
        let count = condition.len().max(yes.len()).max(no.len());
        let mut all = Copies::new();
        for item in 0..count {
            let (yes, no) = (of(yes, item), of(no, item));
            all.push(match join {
                _ if yes == no => yes,
                None => self.select(of(condition, item), yes, no)?,
                Some((construct, regions)) => {
                    let varies = self.fact(yes).varies || self.fact(no).varies;
                    let f = self.code.function();
                    let ty = f.values[yes].ty;
                    let result = f.result(construct, ty, None);
                    for (region, value) in regions.into_iter().zip([yes, no]) {
                        if let End::Exit { args, .. } = &mut f.regions[region].end {
                            args.push(value);
                        }
                    }
                    let words = self.opaque(result, ty);
                    self.facts.insert(result, Fact { varies, words, ..Fact::default() });
                    result
                }
            });
        }
        Ok(one_or_each(all))
    }

    fn select(&mut self, condition: Value, yes: Value, no: Value) -> Traced<Value> {
        let ty = self.ty(yes);
        if *self.code.module.types.kind(ty) == TypeKind::Bool {
            let mut is_not = |not: Value, of: Value| matches!(&self.fact(not).made, Some((Op::LogicalNot, inner)) if inner[0] == of);
            // `!a ? b : a` is `a || b`, `a ? b : a` is `a && b`.
            if is_not(condition, no) || is_not(no, condition) {
                return self.pure(Op::LogicalOr, ty, &[no, yes], &[]);
            }
            if no == condition {
                return self.pure(Op::LogicalAnd, ty, &[condition, yes], &[]);
            }
        }
        self.pure(Op::Select, ty, &[condition, yes, no], &[])
    }

    fn value(&mut self, frame: &Frame, value: Value) -> Traced<Copies> {
        let known = &frame.values[value];
        if !known.is_empty() {
            return Ok(known.clone());
        }
        match frame.f.values[value] {
            data if let Def::Const(constant) = data.def => {
                Ok(Copies::from_slice(&[self.code.function().constant(constant, data.ty)]))
            }
            _ => Err(Other),
        }
    }

    /// What is known of a value of the new code.
    fn fact(&mut self, value: Value) -> &Fact {
        if !self.facts.contains_key(&value) {
            let fact = self.found(value);
            self.facts.insert(value, fact);
        }
        &self.facts[&value]
    }

    /// What is known of a constant.
    fn found(&mut self, value: Value) -> Fact {
        let data = self.code.f().values[value];
        let Def::Const(constant) = data.def else { return Fact::default() };
        let module = &*self.code.module;
        let number = module.number(constant).filter(|_| self.is_word(data.ty));
        let words = number.map(Polynomial::constant).or_else(|| self.opaque(value, data.ty));
        let parts = match &module.const_data(constant).kind {
            ConstKind::Composite(parts) => {
                let parts: Vec<_> = parts.iter().map(|&part| (part, module.const_data(part).ty)).collect();
                let f = self.code.function();
                Some(parts.into_iter().map(|(part, ty)| f.constant(part, ty)).collect())
            }
            _ => None,
        };
        Fact { early: true, words, parts, ..Fact::default() }
    }

    pub(super) fn varies(&mut self, value: Value) -> bool {
        self.fact(value).varies
    }

    pub(super) fn words(&mut self, value: Value) -> Option<Polynomial> {
        self.fact(value).words.clone()
    }

    fn ty(&self, value: Value) -> Type {
        self.code.f().values[value].ty
    }

    fn opaque(&self, value: Value, ty: Type) -> Option<Polynomial> {
        self.is_word(ty).then(|| Polynomial::word(value))
    }

    /// Whether a type is an integer of 32 bits.
    fn is_word(&self, ty: Type) -> bool {
        matches!(self.code.module.types.kind(ty), TypeKind::Int { width: 32, .. })
    }

    /// What a condition is, if it is known.
    fn truth(&self, value: Value) -> Option<bool> {
        let constant = self.code.f().as_const(value)?;
        match self.code.module.const_data(constant).kind {
            ConstKind::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// What a condition is for all items, if it is known and the same.
    fn decided(&self, condition: &Copies) -> Option<bool> {
        let first = self.truth(condition[0])?;
        condition.iter().all(|&one| self.truth(one) == Some(first)).then_some(first)
    }

    fn number(&mut self, value: Value) -> Option<u32> {
        self.fact(value).words.as_ref()?.as_constant()
    }

    fn inst(&mut self, frame: &mut Frame, inst: Inst) -> Traced<()> {
        let data = &frame.f.clone().insts[inst];
        let copies = match (&data.operation, data.result) {
            (Operation::Call { function, args }, _) if args.is_empty() => return self.call(*function, &[]),
            (&Operation::Store { place, value, access }, _) => {
                let place = self.place(frame, place)?;
                let value = self.value(frame, value)?;
                return self.store(&place, &value, access);
            }
            (&Operation::Load { place, access }, Some(result)) => {
                let place = self.place(frame, place)?;
                self.load(&place, access, frame.f.values[result].ty)?
            }
            (&Operation::Length { place, member }, Some(result)) => {
                let place = self.place(frame, place)?;
                let place = self.at(&place, 0)?;
                let ty = frame.f.values[result].ty;
                Copies::from_slice(&[self.write(Operation::Length { place, member }, ty, None)?])
            }
            (Operation::Pure { op: Op::CopyObject, args, .. }, Some(_)) => self.value(frame, args[0])?,
            (operation, Some(result)) if operation.effect() == Effect::None => {
                self.copies(frame, operation, frame.f.values[result])?
            }
            _ => return Err(Other),
        };
        if let Some(result) = data.result {
            frame.values[result] = copies;
        }
        Ok(())
    }
}

/// One value for all items, if it is the same for each.
fn one_or_each(mut all: Copies) -> Copies {
    if all.iter().all(|&one| one == all[0]) {
        all.truncate(1);
    }
    all
}
