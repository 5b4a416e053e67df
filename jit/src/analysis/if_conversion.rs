//! Kernels whose work is one straight line for every item in range.
//!
//! Most element-wise kernels are: read the item's number, leave if it is past the end, then compute without a
//! branch. Such a body can be written once for several items, which is what lets one invocation do
//! several items with their loads in flight together, or as one wide access.
//!
//! # Requires
//! - the normal form
//!
//! A choice between two values counts as straight if computing both does no harm: its branches only compute.
//!
//! # Guarantees
//! - every effect of the kernel lies on the line: what a guard turns away has nothing left to do
//! - of each guard it is known whether what it turns away has done anything before
//! - each guard compares the item's number with a value that is the same for all invocations

use rspirv::spirv::{BuiltIn, Op, StorageClass};

use crate::ir::entity::{Construct, Global, Inst, Place, Region, Value};
use crate::ir::opcodes::{self, DIVIDES};
use crate::ir::{Around, ConstructKind, Def, Effect, End, Function, Module, Node, Operation, Root, TypeKind};

/// Most choices on a line that has one inside of another.
const MOST_CHOICES: usize = 16;

/// Most operations between a guard's limit and what it is made of.
pub(crate) const MOST_STEPS: u32 = 8;

/// A straight line, by what turns items away from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StraightLine {
    pub(crate) guards: Vec<RangeGuard>,
}

/// A comparison of the item's number with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeGuard {
    /// What it is for items in range.
    pub(crate) in_range: bool,
    pub(crate) op: Op,
    pub(crate) limit: Value,
    /// Whether the limit is the left operand.
    pub(crate) swapped: bool,
    /// Whether nothing comes before it that has an effect: an item it turns away has done nothing at all.
    pub(crate) first: bool,
}

/// The straight line through the only function of a module, if its body is one.
pub(crate) fn straight_line(module: &Module) -> Option<StraightLine> {
    let f = &module.functions[*module.defined.first()?];
    let global = module.input(BuiltIn::GlobalInvocationId);
    let (around, guards) = (Around::default(), Vec::new());
    let mut reader = Reader { module, f, global, around, guards, choices: 0, first: true };
    (reader.region(f.body, false)? == Flow::Return).then_some(StraightLine { guards: reader.guards })
}

/// Where control goes from a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Exit(Construct),
    Return,
}

/// A line as far as it is read.
struct Reader<'a> {
    module: &'a Module,
    f: &'a Function,
    /// The variable of `GlobalInvocationId`.
    global: Option<Global>,
    around: Around,
    guards: Vec<RangeGuard>,
    /// Number of branches whose two sides are both computed.
    choices: usize,
    /// Whether nothing had an effect so far.
    first: bool,
}

impl Reader<'_> {
    /// Takes a region into the line. What is computed in vain must only compute.
    fn region(&mut self, region: Region, in_vain: bool) -> Option<Flow> {
        let data = &self.f.regions[region];
        for (number, node) in data.nodes.iter().enumerate() {
            match *node {
                Node::Inst(inst) => {
                    let operation = &self.f.insts[inst].operation;
                    if !self.is_plain(inst) || in_vain && self.does_harm(operation) {
                        return None;
                    }
                    // Stores are the only effects on a line.
                    self.first &= !matches!(operation, Operation::Store { .. });
                }
                Node::Construct(construct) => {
                    self.around.enter(self.f, construct, (region, number));
                    let to = self.construct(construct, in_vain)?;
                    self.around.leave();
                    if to != Flow::Exit(construct) {
                        return Some(to);
                    }
                }
            }
        }
        match data.end {
            End::Exit { to, .. } => Some(Flow::Exit(to)),
            End::Return(None) => Some(Flow::Return),
            _ => None,
        }
    }

    /// Goes the way of items in range, or takes both sides into the line.
    fn construct(&mut self, construct: Construct, in_vain: bool) -> Option<Flow> {
        let data = &self.f.constructs[construct];
        let ConstructKind::If { condition, accept, reject, .. } = data.kind else { return None };
        match [accept, reject].map(|side| self.is_unreachable(side)) {
            [false, true] => return self.region(accept, in_vain),
            [true, false] => return self.region(reject, in_vain),
            _ => {}
        }
        if let Some(guard) = self.guard(condition).filter(|_| !in_vain) {
            let (inside, outside) = if guard.in_range { (accept, reject) } else { (reject, accept) };
            if self.around.ends_at_once(self.f, outside) {
                self.guards.push(RangeGuard { first: self.first, ..guard });
                return self.region(inside, false);
            }
        }
        let is_scalar = |&one: &Value| {
            let kind = self.module.types.kind(self.f.values[one].ty);
            matches!(kind, TypeKind::Bool | TypeKind::Int { .. } | TypeKind::Float { .. })
        };
        if !data.results.iter().all(is_scalar) || in_vain && self.choices > MOST_CHOICES {
            return None;
        }
        for side in [accept, reject] {
            if self.region(side, true)? != Flow::Exit(construct) {
                return None;
            }
        }
        self.choices += 1;
        Some(Flow::Exit(construct))
    }

    /// Whether a region does nothing and control does not come to it.
    fn is_unreachable(&self, region: Region) -> bool {
        let data = &self.f.regions[region];
        data.nodes.is_empty() && data.end == End::Unreachable && !mutant!(UnreachableIsReached)
    }

    /// Whether an instruction must not run where the kernel would not have run it. A place that varies may be out of
    /// bounds there.
    fn does_harm(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Store { .. } => true,
            Operation::Load { place, .. } => {
                let is_argument =
                    matches!(self.class(*place), Some(StorageClass::PushConstant | StorageClass::Input));
                !is_argument || !self.is_fixed(*place)
            }
            Operation::Pure { op, .. } | Operation::Other { op, .. } => opcodes::has(*op, DIVIDES),
            _ => false,
        }
    }

    /// Whether an instruction can stand beside its like of another item.
    fn is_plain(&self, inst: Inst) -> bool {
        let operation = &self.f.insts[inst].operation;
        match operation {
            // Memory operands (volatile, made visible) say that the place of the access matters.
            Operation::Load { place, access } => access.is_plain() && self.class(*place).is_some(),
            Operation::Store { place, access, .. } => {
                access.is_plain() && self.class(*place).is_some_and(is_buffer)
            }
            Operation::Length { place, .. } => self.class(*place).is_some(),
            operation => {
                let takes_pointer = |value| self.module.types.is_pointer(self.f.values[value].ty);
                operation.effect() == Effect::None && !operation.values().any(takes_pointer)
            }
        }
    }

    /// Class of the variable that a place lies in, if it is the item's number, push constants or a buffer.
    fn class(&self, place: Place) -> Option<StorageClass> {
        let data = self.f.flat(self.f.places[place].clone());
        let Root::Global(root) = data.root else { return None };
        let class = self.module.globals[root].class;
        let is_known = match class {
            // Components of the item's number are picked out by constants.
            StorageClass::Input => self.global == Some(root) && self.is_fixed(place),
            StorageClass::PushConstant => true,
            class => is_buffer(class),
        };
        is_known.then_some(class)
    }

    /// Whether all indices of a place are constants.
    fn is_fixed(&self, place: Place) -> bool {
        let data = self.f.flat(self.f.places[place].clone());
        data.path.iter().all(|&index| self.f.as_const(index).is_some())
    }

    fn guard(&self, condition: Value) -> Option<RangeGuard> {
        let Def::Inst(inst) = self.f.values[condition].def else { return None };
        let Operation::Pure { op, args, .. } = &self.f.insts[inst].operation else { return None };
        let less = match *op {
            Op::LogicalNot => {
                let inner = self.guard(args[0])?;
                return Some(RangeGuard { in_range: !inner.in_range, ..inner });
            }
            Op::ULessThan | Op::ULessThanEqual | Op::SLessThan | Op::SLessThanEqual => true,
            Op::UGreaterThan | Op::UGreaterThanEqual | Op::SGreaterThan | Op::SGreaterThanEqual => false,
            _ => return None,
        };
        let &[a, b] = args.as_slice() else { return None };
        let (limit, swapped) = match (self.is_item(a), self.is_item(b)) {
            (true, false) => (b, false),
            (false, true) => (a, true),
            _ => return None,
        };
        let is_word =
            matches!(self.module.types.kind(self.f.values[limit].ty), TypeKind::Int { width: 32, .. });
        let guard = RangeGuard { in_range: less != swapped, op: *op, limit, swapped, first: false };
        (is_word && self.is_uniform(limit, MOST_STEPS)).then_some(guard)
    }

    /// Whether a value is the item's number.
    fn is_item(&self, value: Value) -> bool {
        let Def::Inst(inst) = self.f.values[value].def else { return false };
        match &self.f.insts[inst].operation {
            Operation::Pure { op: Op::CopyObject | Op::Bitcast, args, .. } => self.is_item(args[0]),
            Operation::Pure { op: Op::CompositeExtract, args, literals } => {
                literals.as_slice() == [0] && self.is_input(args[0], &[])
            }
            _ => self.is_input(value, &[0]),
        }
    }

    /// Whether a value is loaded from this place in the item's ids.
    fn is_input(&self, value: Value, wanted: &[u32]) -> bool {
        let Def::Inst(inst) = self.f.values[value].def else { return false };
        let Operation::Load { place, .. } = self.f.insts[inst].operation else { return false };
        let data = self.f.flat(self.f.places[place].clone());
        let path = data.path.iter().map(|&index| self.f.number(self.module, index));
        self.global.is_some_and(|global| data.root == Root::Global(global))
            && path.eq(wanted.iter().map(|&number| Some(number)))
    }

    /// Whether a value is the same for all invocations and made of arguments alone.
    fn is_uniform(&self, value: Value, depth: u32) -> bool {
        let inst = match self.f.values[value].def {
            Def::Const(_) => return true,
            Def::Inst(inst) => inst,
            _ => return false,
        };
        let all = |args: &[Value]| depth > 0 && args.iter().all(|&arg| self.is_uniform(arg, depth - 1));
        match &self.f.insts[inst].operation {
            Operation::Length { .. } => true,
            &Operation::Load { place, .. } => {
                self.class(place) == Some(StorageClass::PushConstant) && self.is_fixed(place)
            }
            Operation::Pure { op: Op::UDiv, args, .. } => {
                // Computed before the guards before it are asked, which may be what keeps a divisor from being zero.
                let divisor = self.f.number(self.module, args[1]);
                divisor.is_some_and(|divisor| divisor != 0) && all(args)
            }
            Operation::Pure { op, args, .. } => {
                let carries = matches!(
                    op,
                    Op::CopyObject | Op::Bitcast | Op::IAdd | Op::ISub | Op::IMul | Op::CompositeExtract
                );
                carries && all(args)
            }
            _ => false,
        }
    }
}

fn is_buffer(class: StorageClass) -> bool {
    matches!(class, StorageClass::StorageBuffer | StorageClass::Uniform)
}
