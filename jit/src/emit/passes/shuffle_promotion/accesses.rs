//! Accesses of a function to shared memory: the element of each, and the invocations of a work-group that make it.
//!
//! With loops over constants unrolled, indices and conditions of the steps of a tree are functions of the local id alone, and are evaluated for each of the
//! work-group's invocations. So are those of rows of a single element, whose length is known.
//!
//! # Requires
//! - a function of a kernel whose work-groups are lines
//!
//! # Guarantees
//! - every use of a variable of shared memory is found, in order
//! - an element that is known is the one that each invocation accesses; an invocation that is not among those of an access does not make it

use std::rc::Rc;

use ahash::AHashMap;
use rspirv::spirv::{BuiltIn, Op, StorageClass};

use crate::emit::passes::slots::Slot;
use crate::frontend::opcodes::{PURE, has};
use crate::ir::entity::{Construct, Func, Global, Inst, Place, Region, SecondaryMap, Type, Value};
use crate::ir::{ConstructKind, Def, End, Function, Module, Node, Operation, Position, Root, TypeKind, fold};

/// A number in each invocation.
pub(super) type Lanes = Rc<[u32]>;

/// Whether each invocation does something.
type Active = Rc<[bool]>;

/// An access to shared memory, or another use of a variable there.
pub(super) struct SharedAccess {
    pub(super) at: Position,
    /// The instruction, and whether it is a plain load, or a plain store; else it may do anything.
    pub(super) plain: Option<(Inst, Kind)>,
    pub(super) variable: Global,
    /// The indices of the element, in each invocation, if they are known.
    pub(super) element: Option<Vec<Lanes>>,
    /// Invocations that may do it.
    pub(super) active: Active,
    pub(super) in_loop: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    Store,
}

impl SharedAccess {
    pub(super) fn is_store(&self) -> bool {
        matches!(self.plain, Some((_, Kind::Store)))
    }
}

/// Push constants that have one number in every call, and these.
pub(super) type Pushed = [(Slot, u32)];

/// All that a function does to shared memory, in work-groups of `local` invocations.
pub(super) fn accesses(module: &Module, func: Func, local: u32, pushed: &Pushed) -> Vec<SharedAccess> {
    let f = &module.functions[func];
    let all: Active = vec![true; local as usize].into();
    let ids = [BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex].map(|id| module.input(id));
    let mut reader = Reader {
        module,
        f,
        ids,
        pushed,
        local,
        numbers: SecondaryMap::of(&f.values),
        vectors: AHashMap::new(),
        leaving: AHashMap::new(),
        found: Vec::new(),
        all: all.clone(),
    };
    reader.region(f.body, None, all, false);
    reader.found
}

struct Reader<'m> {
    module: &'m Module,
    f: &'m Function,
    /// The variables of the local id and its index.
    ids: [Option<Global>; 2],
    pushed: &'m Pushed,
    local: u32,
    /// Known numbers; of loops, those that are the same in all iterations.
    numbers: SecondaryMap<Value, Option<Lanes>>,
    /// Components of vectors, as far as they are known.
    vectors: AHashMap<Value, Vec<Option<Lanes>>>,
    /// Invocations that come out of a construct.
    leaving: AHashMap<Construct, Vec<bool>>,
    found: Vec<SharedAccess>,
    /// All invocations.
    all: Active,
}

impl Reader<'_> {
    /// Reads a region of a construct, to which these invocations come.
    fn region(&mut self, region: Region, own: Option<Construct>, mut active: Active, in_loop: bool) {
        let f = self.f;
        let data = &f.regions[region];
        for (number, node) in data.nodes.iter().enumerate() {
            let at = (region, number);
            match *node {
                Node::Inst(inst) => {
                    let data = &f.insts[inst];
                    let values = data.operation.values();
                    values.for_each(|value| self.value(at, value, &active, in_loop));
                    if let Some(place) = data.operation.place() {
                        let plain = match &data.operation {
                            Operation::Load { access, .. } if access.is_plain() => Some((inst, Kind::Load)),
                            Operation::Store { access, .. } if access.is_plain() => Some((inst, Kind::Store)),
                            _ => None,
                        };
                        self.place(at, place, plain, &active, in_loop);
                    }
                    if let Some(result) = data.result {
                        self.note(&data.operation, result, in_loop);
                    }
                }
                Node::Construct(construct) => {
                    let kind = &f.constructs[construct].kind;
                    kind.values().into_iter().for_each(|value| self.value(at, value, &active, in_loop));
                    let is_loop = matches!(kind, ConstructKind::Loop { .. });
                    for (side, region) in kind.regions().into_iter().enumerate() {
                        let here = match kind {
                            ConstructKind::If { condition, .. } => {
                                self.side(&active, *condition, side == 0, in_loop)
                            }
                            _ if is_loop => self.all.clone(),
                            _ => active.clone(),
                        };
                        self.region(region, Some(construct), here, in_loop || is_loop);
                    }
                    let left = self.leaving.remove(&construct);
                    active = left.map_or_else(|| vec![false; self.local as usize].into(), Into::into);
                    if in_loop {
                        active = self.all.clone();
                    }
                }
            }
        }
        let at = (region, data.nodes.len());
        data.end.values().for_each(|value| self.value(at, value, &active, in_loop));
        let to = match data.end {
            End::Exit { to, .. } => Some(to),
            End::Repeat { until: Some(_), .. } => own,
            _ => None,
        };
        if let Some(to) = to {
            let left = self.leaving.entry(to).or_insert_with(|| vec![false; self.local as usize]);
            left.iter_mut().zip(&*active).for_each(|(left, active)| *left |= active);
        }
    }

    /// Those of some invocations that a condition leads to a side.
    fn side(&self, active: &Active, condition: Value, is: bool, in_loop: bool) -> Active {
        match self.number(condition) {
            Some(known) if !in_loop => {
                active.iter().zip(&*known).map(|(active, number)| *active && (*number != 0) == is).collect()
            }
            _ => active.clone(),
        }
    }

    fn value(&mut self, at: Position, value: Value, active: &Active, in_loop: bool) {
        if let Def::Address(place) = self.f.values[value].def {
            self.place(at, place, None, active, in_loop);
        }
    }

    fn place(
        &mut self,
        at: Position,
        place: Place,
        plain: Option<(Inst, Kind)>,
        active: &Active,
        in_loop: bool,
    ) {
        let data = &self.f.places[place];
        let Root::Global(variable) = data.root else { return };
        if self.module.globals[variable].class == StorageClass::Workgroup {
            let path = data.path.iter().map(|&index| self.number(index).filter(|_| !in_loop));
            let (element, active) = (path.collect(), active.clone());
            self.found.push(SharedAccess { at, plain, variable, element, active, in_loop });
        }
    }

    fn is_word(&self, ty: Type) -> bool {
        matches!(self.module.types.kind(ty), TypeKind::Int { width: 32, .. })
    }

    /// Whether a type is a vector of `count` words.
    fn is_vector(&self, ty: Type, count: usize) -> bool {
        match *self.module.types.kind(ty) {
            TypeKind::Vector { element, count: known } => known as usize == count && self.is_word(element),
            _ => false,
        }
    }

    /// A number in each invocation.
    fn number(&self, value: Value) -> Option<Lanes> {
        let constant = || self.f.as_const(value).and_then(|constant| self.module.word_of(constant));
        let known = self.numbers[value].clone();
        known.or_else(|| constant().map(|number| vec![number; self.local as usize].into()))
    }

    /// Notes what is known of the result of an instruction.
    fn note(&mut self, operation: &Operation, result: Value, in_loop: bool) {
        let ty = self.f.values[result].ty;
        match operation {
            Operation::Load { place, .. } => {
                let data = &self.f.places[*place];
                let Root::Global(root) = data.root else { return };
                match (self.ids.map(|id| id == Some(root)), data.path.as_slice()) {
                    ([true, _], []) => {
                        let all = (0..3).map(|component| Some(self.own(component)));
                        self.vectors.insert(result, all.collect());
                    }
                    ([true, _], [component]) => {
                        let component = self.f.number(self.module, *component);
                        self.numbers[result] = component.map(|component| self.own(component));
                    }
                    ([_, true], []) => self.numbers[result] = Some(self.own(0)),
                    _ if self.is_word(ty) => {
                        let mut pushed = self.pushed.iter();
                        let known = pushed.find(|(slot, _)| slot.is_at(self.module, self.f, *place));
                        self.numbers[result] =
                            known.map(|&(_, number)| vec![number; self.local as usize].into());
                    }
                    _ => {}
                }
            }
            Operation::Pure { op, args, literals } => match (op, args.as_slice(), literals.as_slice()) {
                (Op::CompositeExtract, [from], [component]) => {
                    let known = self.vectors.get(from);
                    self.numbers[result] = known.and_then(|all| all.get(*component as usize)?.clone());
                }
                (Op::CompositeConstruct, parts, _) if !in_loop && self.is_vector(ty, parts.len()) => {
                    let parts = parts.iter().map(|&part| self.number(part));
                    self.vectors.insert(result, parts.collect());
                }
                (Op::CopyObject | Op::Bitcast, [from], _) => {
                    if let Some(all) = self.vectors.get(from).filter(|all| self.is_vector(ty, all.len())) {
                        self.vectors.insert(result, all.clone());
                    }
                    let fits = *op == Op::CopyObject || self.is_word(ty);
                    self.numbers[result] = self.number(*from).filter(|_| fits);
                }
                (_, args, [])
                    if has(*op, PURE)
                        && !in_loop
                        && (self.is_word(ty) || *self.module.types.kind(ty) == TypeKind::Bool) =>
                {
                    self.numbers[result] = self.evaluated(*op, args);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn evaluated(&self, op: Op, args: &[Value]) -> Option<Lanes> {
        let all: Vec<Lanes> = args.iter().map(|&arg| self.number(arg)).collect::<Option<_>>()?;
        let of_lane = |lane: usize| {
            let numbers: Vec<u32> = all.iter().map(|one| one[lane]).collect();
            fold(op, &numbers)
        };
        (0..self.local as usize).map(of_lane).collect()
    }

    /// A component of the local id.
    fn own(&self, component: u32) -> Lanes {
        (0..self.local).map(|lane| if component == 0 { lane } else { 0 }).collect()
    }
}
