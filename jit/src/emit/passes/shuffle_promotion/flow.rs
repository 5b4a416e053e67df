//! Where control flow is uniform, and an invocation may take what others have in registers.

use ahash::AHashSet;
use rspirv::spirv::{BuiltIn, StorageClass};

use super::accesses::SharedAccess;
use crate::frontend::opcodes::{PURE, has};
use crate::ir::entity::{Construct, Func, Inst, Region, SecondaryMap, Value};
use crate::ir::{ConstKind, ConstructKind, Def, End, Function, Module, Node, Operation, Position, Root};

/// Where control flow of a function is uniform among the invocations of a work-group.
pub(super) struct Flow<'m> {
    module: &'m Module,
    pub(super) f: &'m Function,
    /// Work-group ids are uniform, which those of several work-groups in one are not.
    are_groups_uniform: bool,
    /// Up to which node control flow in a region is uniform, if it is at its beginning.
    until: SecondaryMap<Region, Option<usize>>,
    /// The construct that a region belongs to, and where that stands.
    around: SecondaryMap<Region, Option<(Position, Construct)>>,
    uniform: SecondaryMap<Value, bool>,
    /// Functions that it calls, whether where control flow is uniform, and whether in a loop.
    pub(super) calls: Vec<(Func, bool, bool)>,
    /// Barriers of control, in order, and whether in a loop.
    pub(super) barriers: Vec<(Position, Inst, bool)>,
    /// The function begins with uniform control flow.
    pub(super) begins: bool,
}

impl<'m> Flow<'m> {
    /// Of all functions, the entry point first.
    pub(super) fn of_all(module: &'m Module, entry: Func, is_packed: bool) -> Vec<(Func, Self)> {
        let main = Self::of(module, entry, true, is_packed);
        let others = module.defined.iter().filter(|&&func| func != entry);
        let mut flows: Vec<(Func, Self)> =
            others.map(|&func| (func, Self::of(module, func, false, is_packed))).collect();
        let mut apart: Vec<Func> =
            flows.iter().flat_map(|(_, flow)| &flow.calls).map(|call| call.0).collect();
        apart.extend(main.calls.iter().filter(|call| !call.1).map(|call| call.0));
        for (func, flow) in &mut flows {
            if !apart.contains(func) && main.calls.iter().any(|call| call.0 == *func) {
                *flow = Self::of(module, *func, true, is_packed);
            }
        }
        flows.insert(0, (entry, main));
        flows
    }

    pub(super) fn of(module: &'m Module, func: Func, begins: bool, is_packed: bool) -> Self {
        let f = &module.functions[func];
        let mut flow = Self {
            module,
            f,
            are_groups_uniform: !is_packed,
            until: SecondaryMap::of(&f.regions),
            around: SecondaryMap::of(&f.regions),
            uniform: SecondaryMap::of(&f.values),
            calls: Vec::new(),
            barriers: Vec::new(),
            begins,
        };
        flow.region(f.body, begins, false);
        flow
    }

    fn region(&mut self, region: Region, begins: bool, in_loop: bool) {
        let f = self.f;
        let mut until = begins.then_some(f.regions[region].nodes.len());
        for (number, node) in f.regions[region].nodes.iter().enumerate() {
            let is_uniform = until.is_some_and(|until| number <= until);
            match *node {
                Node::Inst(inst) => {
                    let data = &f.insts[inst];
                    match data.operation {
                        Operation::Call { function, .. } => self.calls.push((function, is_uniform, in_loop)),
                        Operation::Barrier { execution: Some(_), .. } => {
                            self.barriers.push(((region, number), inst, in_loop));
                        }
                        _ => {}
                    }
                    if let Some(result) = data.result {
                        self.uniform[result] = self.is_uniform_result(&data.operation);
                    }
                }
                Node::Construct(construct) => {
                    let kind = &f.constructs[construct].kind;
                    let chooses = match kind {
                        ConstructKind::If { condition, .. } => self.is_uniform(*condition),
                        _ => false,
                    };
                    let is_loop = matches!(kind, ConstructKind::Loop { .. });
                    for inner in kind.regions() {
                        self.around[inner] = Some(((region, number), construct));
                        self.region(inner, is_uniform && chooses, in_loop || is_loop);
                    }
                    if is_uniform && !f.always_ends(construct) && !(chooses && has_one_way(f, construct)) {
                        until = Some(number);
                    }
                }
            }
        }
        self.until[region] = until;
    }

    /// Whether a value is the same in all invocations of a work-group: of constants, arguments and ids of work-groups.
    fn is_uniform(&self, value: Value) -> bool {
        match self.f.values[value].def {
            Def::Const(constant) => matches!(
                self.module.const_data(constant).kind,
                ConstKind::Bool(_) | ConstKind::Bits(_) | ConstKind::Null
            ),
            _ => self.uniform[value],
        }
    }

    fn is_uniform_result(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Load { place, access } if access.is_plain() => {
                let data = &self.f.places[*place];
                let Root::Global(root) = data.root else { return false };
                let is_id = |builtin: BuiltIn| self.module.input(builtin) == Some(root);
                let is_uniform = self.module.globals[root].class == StorageClass::PushConstant
                    || self.are_groups_uniform && is_id(BuiltIn::WorkgroupId)
                    || is_id(BuiltIn::NumWorkgroups);
                is_uniform && data.path.iter().all(|&index| self.is_uniform(index))
            }
            Operation::Pure { .. } => operation.values().all(|value| self.is_uniform(value)),
            Operation::Other { op, .. } => {
                has(*op, PURE) && operation.values().all(|value| self.is_uniform(value))
            }
            _ => false,
        }
    }

    /// Where the element of an access is taken from another invocation: in front of the access, or at the last position before it where control flow is uniform,
    /// if there are no barriers in between, nor stores to what it may load itself; `all` are all accesses of the function.
    pub(super) fn place(&self, access: &SharedAccess, all: &[SharedAccess]) -> Option<Position> {
        if mutant!(ShufflesStay) {
            return Some(access.at);
        }
        let mut at = access.at;
        let from = loop {
            match self.until[at.0] {
                Some(until) => break (at.0, at.1.min(until)),
                None => at = self.around[at.0]?.0,
            }
        };
        if from == access.at {
            return Some(from);
        }
        let between = self.between(from, access.at);
        let waits = |inst: &Inst| {
            matches!(
                self.f.insts[*inst].operation,
                Operation::Barrier { execution: Some(_), .. } | Operation::Call { .. }
            )
        };
        let stores = |other: &SharedAccess| {
            let (Some((inst, _)), true) = (other.plain, other.is_store()) else { return false };
            other.variable == access.variable && between.contains(&inst)
        };
        let passes_store = all.iter().any(stores) && !mutant!(ShufflesPassStores);
        let passes_barrier = between.iter().any(waits);
        (!passes_barrier && !passes_store || mutant!(ShufflesPassBarriers)).then_some(from)
    }

    /// What may be executed between a position and a later one in its region, or in regions nested there.
    pub(super) fn between(&self, from: Position, mut to: Position) -> AHashSet<Inst> {
        let (f, mut found) = (self.f, AHashSet::new());
        let mut collect = |node: Node| match node {
            Node::Inst(inst) => drop(found.insert(inst)),
            Node::Construct(_) => {}
        };
        loop {
            let start = if to.0 == from.0 { from.1 } else { 0 };
            for &node in &f.regions[to.0].nodes[start..to.1] {
                collect(node);
                if let Node::Construct(construct) = node {
                    f.visit_construct(construct, &mut collect);
                }
            }
            if to.0 == from.0 {
                break;
            }
            let Some((at, construct)) = self.around[to.0] else { break };
            // What stands behind may have been executed in an earlier iteration, or case.
            if !matches!(f.constructs[construct].kind, ConstructKind::If { .. }) {
                f.visit_construct(construct, &mut collect);
            }
            to = at;
        }
        found
    }

    /// Whether a position lies in the region of another, or in regions nested there.
    pub(super) fn is_inside(&self, outer: Position, mut inner: Position) -> bool {
        while inner.0 != outer.0 {
            let Some((at, _)) = self.around[inner.0] else { return false };
            inner = at;
        }
        true
    }
}

/// Whether a selection has one way to its end, which is empty.
fn has_one_way(f: &Function, construct: Construct) -> bool {
    let regions = f.constructs[construct].kind.regions();
    let is_empty = |region: Region| {
        let data = &f.regions[region];
        data.nodes.is_empty() && matches!(data.end, End::Exit { to, .. } if to == construct)
    };
    let exits = f.regions.values().filter(|data| matches!(data.end, End::Exit { to, .. } if to == construct));
    exits.count() == 1 && regions.into_iter().any(is_empty)
}
