//! Makes values of variables (promotion of memory to registers).
//!
//! A value of a variable at a point of the function follows from nesting: a construct in which the variable is stored to has a result for it, a loop's
//! body a parameter. Those that carry nothing new or that are not used go in later passes.
//!
//! # Guarantees
//! - a variable whose accesses are loads and stores of it, or of parts of it at constant indices, is not a variable any more
//! - a variable that begins undefined is an undefined constant until it is stored to
//!
//! # Leaves alone
//! - variables indexed at run time; volatile and atomic accesses; addresses that are taken

use rspirv::spirv::Op;
use smallvec::SmallVec;

use super::private::addresses_taken;
use super::split::{accesses, index, precision};
use crate::ir::entity::{Construct, DecorationSet, Inst, Local, Place, Region, SecondaryMap, Type, Value};
use crate::ir::{
    ConstData, ConstKind, ConstructKind, End, Function, Module, Node, Operation, Root, TypeKind,
};

/// A variable that becomes a value.
#[derive(Clone, Copy)]
struct Variable {
    ty: Type,
    decorations: Option<DecorationSet>,
}

/// Makes values of all variables that can be.
pub(super) fn run(module: &mut Module, f: &mut Function) {
    let (variables, number, mut env) = candidates(module, f);
    if variables.is_empty() {
        return;
    }
    let mut owners: SecondaryMap<Region, Option<Construct>> = SecondaryMap::of(&f.regions);
    for construct in f.constructs_in(f.body) {
        for region in f.constructs[construct].kind.regions() {
            owners[region] = Some(construct);
        }
    }
    let mut fallen: SecondaryMap<Region, bool> = SecondaryMap::of(&f.regions);
    for region in f.regions_in(f.body) {
        if let End::Fall { to, .. } = f.regions[region].end {
            fallen[to] = true;
        }
    }
    let mut stored: SecondaryMap<Construct, Vec<u32>> = SecondaryMap::of(&f.constructs);
    stores_of(f, f.body, &number, &mut stored);
    let renames = SecondaryMap::of(&f.values);
    let mut walk =
        Walk { module, f, variables, number, owners, fallen, stored, renames, env: std::mem::take(&mut env) };
    let body = walk.f.body;
    walk.region(body);
    let Walk { f, number, renames, .. } = walk;
    f.variables.retain(|&local| number[local].is_none());
    f.substitute(&renames);
}

type Candidates = (Vec<Variable>, SecondaryMap<Local, Option<u32>>, Vec<Value>);

/// The variables, their numbers, and what they begin with.
fn candidates(module: &mut Module, f: &mut Function) -> Candidates {
    let mut stays: SecondaryMap<Local, bool> = SecondaryMap::of(&f.locals);
    for root in addresses_taken(f) {
        if let Root::Local(local) = root {
            stays[local] = true;
        }
    }
    for (place, local, access) in accesses(f) {
        let is_plain = access.is_some_and(|access| !access.is_volatile());
        stays[local] |= !is_plain || literals(module, f, place).is_none();
    }
    let mut number: SecondaryMap<Local, Option<u32>> = SecondaryMap::of(&f.locals);
    let (mut variables, mut env) = (Vec::new(), Vec::new());
    for local in f.variables.clone() {
        let data = f.locals[local].clone();
        let Some((_, ty)) = module.types.pointer(data.pointer).filter(|_| !stays[local]) else { continue };
        let initial = match data.initializer {
            Some(initial) => initial,
            None => module.constant(ConstData { ty, kind: ConstKind::Undef, decorations: None }),
        };
        number[local] = Some(variables.len() as u32);
        variables.push(Variable { ty, decorations: precision(module, data.decorations) });
        env.push(f.constant(initial, ty));
    }
    (variables, number, env)
}

/// The path of a place as literals, if it lies inside of its variable.
fn literals(module: &Module, f: &Function, place: Place) -> Option<SmallVec<[u32; 2]>> {
    let data = &f.places[place];
    let Root::Local(local) = data.root else { return None };
    let (_, mut ty) = module.types.pointer(f.locals[local].pointer)?;
    let mut found = SmallVec::new();
    for &value in &data.path {
        let at = u32::try_from(index(module, f.as_const(value)?)?).ok()?;
        let count = match module.types.kind(ty) {
            TypeKind::Vector { count, .. } | TypeKind::Matrix { count, .. } => *count,
            TypeKind::Struct { members } => members.len() as u32,
            TypeKind::Array { length, .. } => module.number(*length)?,
            _ => return None,
        };
        ty = module.types.part(ty, Some(at)).filter(|_| at < count)?;
        found.push(at);
    }
    Some(found)
}

/// The variables that are stored to in a region, in order, and in each construct there.
fn stores_of(
    f: &Function,
    region: Region,
    number: &SecondaryMap<Local, Option<u32>>,
    stored: &mut SecondaryMap<Construct, Vec<u32>>,
) -> Vec<u32> {
    let mut found = Vec::new();
    for node in &f.regions[region].nodes {
        match *node {
            Node::Inst(inst) => {
                if let Operation::Store { place, .. } = f.insts[inst].operation
                    && let Root::Local(local) = f.places[place].root
                {
                    found.extend(number[local]);
                }
            }
            Node::Construct(construct) => {
                let mut all = Vec::new();
                for inner in f.constructs[construct].kind.regions() {
                    all.extend(stores_of(f, inner, number, stored));
                }
                all.sort_unstable();
                all.dedup();
                found.extend(&all);
                stored[construct] = all;
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

struct Walk<'a> {
    module: &'a Module,
    f: &'a mut Function,
    variables: Vec<Variable>,
    number: SecondaryMap<Local, Option<u32>>,
    /// The construct that a region belongs to.
    owners: SecondaryMap<Region, Option<Construct>>,
    /// Cases that others fall into.
    fallen: SecondaryMap<Region, bool>,
    /// The variables that are stored to in a construct, in order.
    stored: SecondaryMap<Construct, Vec<u32>>,
    renames: SecondaryMap<Value, Option<Value>>,
    /// The values of the variables here.
    env: Vec<Value>,
}

impl Walk<'_> {
    fn region(&mut self, region: Region) {
        let nodes = std::mem::take(&mut self.f.regions[region].nodes);
        let mut kept = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::Inst(inst) => self.inst(inst, &mut kept),
                Node::Construct(construct) => {
                    self.construct(construct);
                    kept.push(node);
                }
            }
        }
        self.f.regions[region].nodes = kept;
        self.end(region);
    }

    fn inst(&mut self, inst: Inst, kept: &mut Vec<Node>) {
        let (place, stored) = match self.f.insts[inst].operation {
            Operation::Load { place, .. } => (place, None),
            Operation::Store { place, value, .. } => (place, Some(value)),
            _ => return kept.push(Node::Inst(inst)),
        };
        let number = match self.f.places[place].root {
            Root::Local(local) => self.number[local],
            _ => None,
        };
        let (Some(number), Some(literals)) = (number, literals(self.module, self.f, place)) else {
            return kept.push(Node::Inst(inst));
        };
        let now = self.env[number as usize];
        match stored {
            None if literals.is_empty() => {
                if let Some(result) = self.f.insts[inst].result {
                    self.renames[result] = Some(now);
                }
            }
            None => {
                let args = SmallVec::from_slice(&[now]);
                self.f.insts[inst].operation = Operation::Pure { op: Op::CompositeExtract, args, literals };
                kept.push(Node::Inst(inst));
            }
            Some(value) => {
                let value = self.renames[value].unwrap_or(value);
                self.env[number as usize] = if literals.is_empty() {
                    value
                } else {
                    let args = SmallVec::from_slice(&[value, now]);
                    let insert = Operation::Pure { op: Op::CompositeInsert, args, literals };
                    let Variable { ty, decorations } = self.variables[number as usize];
                    let (inst, result) = self.f.inst(insert, Some(ty), decorations);
                    kept.push(Node::Inst(inst));
                    result.unwrap_or(now)
                };
            }
        }
    }

    /// The values of the variables that are stored to in a construct.
    fn carried(&self, construct: Construct) -> SmallVec<[Value; 2]> {
        self.stored[construct].iter().map(|&number| self.env[number as usize]).collect()
    }

    fn set(&mut self, construct: Construct, values: &[Value]) {
        for (&number, &value) in self.stored[construct].iter().zip(values) {
            self.env[number as usize] = value;
        }
    }

    /// New parameters of a region for the variables that are stored to in a construct.
    fn params(&mut self, construct: Construct, region: Region) {
        for at in 0..self.stored[construct].len() {
            let number = self.stored[construct][at] as usize;
            let Variable { ty, decorations } = self.variables[number];
            self.env[number] = self.f.param(region, ty, decorations);
        }
    }

    fn construct(&mut self, construct: Construct) {
        let before = self.carried(construct);
        match self.f.constructs[construct].kind.clone() {
            ConstructKind::If { accept, reject, .. } => {
                self.region(accept);
                self.set(construct, &before);
                self.region(reject);
            }
            ConstructKind::Switch { cases, .. } => {
                for (number, case) in cases.iter().enumerate() {
                    self.set(construct, &before);
                    if self.fallen[case.region] {
                        if let ConstructKind::Switch { cases, .. } = &mut self.f.constructs[construct].kind {
                            cases[number].args.extend_from_slice(&before);
                        }
                        self.params(construct, case.region);
                    }
                    self.region(case.region);
                }
            }
            ConstructKind::Loop { body, continuing, .. } => {
                if let ConstructKind::Loop { args, .. } = &mut self.f.constructs[construct].kind {
                    args.extend_from_slice(&before);
                }
                self.params(construct, body);
                self.region(body);
                self.params(construct, continuing);
                self.region(continuing);
            }
        }
        for at in 0..self.stored[construct].len() {
            let number = self.stored[construct][at] as usize;
            let Variable { ty, decorations } = self.variables[number];
            self.env[number] = self.f.result(construct, ty, decorations);
        }
    }

    fn end(&mut self, region: Region) {
        let end = &self.f.regions[region].end;
        let to = match end {
            End::Exit { to, .. } | End::Continue { to, .. } => Some(*to),
            End::Repeat { .. } => self.owners[region],
            End::Fall { to, .. } => self.owners[*to],
            End::Return(_) | End::Unreachable | End::Terminate(_) => None,
        };
        let Some(to) = to else { return };
        let carried = self.carried(to);
        match &mut self.f.regions[region].end {
            End::Exit { args, .. } | End::Continue { args, .. } | End::Fall { args, .. } => {
                args.extend_from_slice(&carried);
            }
            End::Repeat { args, until } => {
                args.extend_from_slice(&carried);
                if let Some(until) = until {
                    until.args.extend_from_slice(&carried);
                }
            }
            End::Return(_) | End::Unreachable | End::Terminate(_) => {}
        }
    }
}
