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

use ahash::AHashMap;
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass};

use crate::frontend::opcodes;
use crate::frontend::types::{Type, Types};

/// A straight line, by what turns items away from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StraightLine {
    pub(crate) guards: Vec<RangeGuard>,
}

/// A straight line as far as it is read.
#[derive(Default)]
struct Line {
    /// Blocks in the order in which an item in range goes through them.
    blocks: Vec<usize>,
    guards: Vec<RangeGuard>,
    /// Number of branches whose two sides are both computed.
    choices: usize,
}

/// A comparison of the item's number with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeGuard {
    /// What it is for items in range.
    pub(crate) in_range: bool,
    pub(crate) op: Op,
    /// Id of the limit.
    pub(crate) limit: u32,
    /// Whether the limit is the left operand.
    pub(crate) swapped: bool,
    /// Whether nothing comes before it that has an effect: an item it turns away has done nothing at all.
    pub(crate) first: bool,
}

/// The straight line through the only function of a module, if its body is one.
pub(crate) fn straight_line(module: &Module, types: &Types) -> Option<StraightLine> {
    Reader::new(module, types)?.run()
}

/// What control comes to from a block on, if nothing is done on the way; `labels` has the blocks by their labels.
pub(crate) fn comes_to(function: &Function, labels: &AHashMap<u32, usize>, mut at: usize) -> Option<Op> {
    for _ in 0..function.blocks.len() {
        let [last] = function.blocks[at].instructions.as_slice() else { return None };
        match last.class.opcode {
            Op::Branch => at = *labels.get(&last.operands.first()?.id_ref_any()?)?,
            op => return Some(op),
        }
    }
    None
}

struct Reader<'a> {
    function: &'a Function,
    types: &'a Types,
    definitions: AHashMap<u32, &'a Instruction>,
    labels: AHashMap<u32, usize>,
    /// The variable of `GlobalInvocationId`.
    global: Option<u32>,
}

impl<'a> Reader<'a> {
    fn new(module: &'a Module, types: &'a Types) -> Option<Self> {
        let function = module.functions.first()?;
        let body = function.blocks.iter().flat_map(|block| &block.instructions);
        let definitions = module
            .types_global_values
            .iter()
            .chain(body)
            .filter_map(|inst| Some((inst.result_id?, inst)))
            .collect();
        let labels = function
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(n, block)| Some((block.label_id()?, n)))
            .collect();
        let global = module.annotations.iter().find_map(|inst| match inst.operands.as_slice() {
            [
                Operand::IdRef(id),
                Operand::Decoration(Decoration::BuiltIn),
                Operand::BuiltIn(BuiltIn::GlobalInvocationId),
            ] => Some(*id),
            _ => None,
        });
        Some(Self { function, types, definitions, labels, global })
    }

    fn run(&self) -> Option<StraightLine> {
        let mut line = Line::default();
        let mut at = 0;
        let mut first = true;
        loop {
            let last = self.add(&mut line, at, false)?;
            // Stores are the only effects on a line.
            let body = &self.function.blocks[at].instructions;
            first &= body.iter().all(|inst| inst.class.opcode != Op::Store);
            at = match last.class.opcode {
                Op::Return => return Some(StraightLine { guards: line.guards }),
                Op::Branch => self.target(last, 0)?,
                Op::BranchConditional if self.only_way(last).is_some() => self.only_way(last)?,
                Op::BranchConditional => match self.guard(last.operands.first()?.id_ref_any()?) {
                    Some(guard) if self.leaves(last, guard) => {
                        line.guards.push(RangeGuard { first, ..guard });
                        self.target(last, if guard.in_range { 1 } else { 2 })?
                    }
                    _ => self.choice(&mut line, at, false)?,
                },
                _ => return None,
            };
        }
    }

    /// Whether nothing is left to do for an item that the guard turns away.
    fn leaves(&self, branch: &Instruction, guard: RangeGuard) -> bool {
        self.target(branch, if guard.in_range { 2 } else { 1 }).is_some_and(|out| self.ends_at_once(out))
    }

    /// Takes a block into the line; returns what ends it. What is computed in vain must only compute.
    fn add(&self, line: &mut Line, at: usize, in_vain: bool) -> Option<&'a Instruction> {
        if line.blocks.contains(&at) {
            return None;
        }
        line.blocks.push(at);
        let (last, body) = self.function.blocks[at].instructions.split_last()?;
        let fits = |inst: &Instruction| self.is_plain(inst) && !(in_vain && self.does_harm(inst));
        body.iter().all(fits).then_some(last)
    }

    /// Takes both sides of a branch into the line; returns the block where they meet.
    fn choice(&self, line: &mut Line, at: usize, nested: bool) -> Option<usize> {
        let [.., merge, branch] = self.function.blocks[at].instructions.as_slice() else { return None };
        if merge.class.opcode != Op::SelectionMerge || nested && line.choices > 16 {
            return None;
        }
        let meets = self.target(merge, 0)?;
        let (yes, no) = (self.target(branch, 1)?, self.target(branch, 2)?);
        let on_true = self.side(line, at, yes, meets)?;
        let on_false = self.side(line, at, no, meets)?;
        let phis = self.function.blocks[meets].instructions.iter().take_while(|i| i.class.opcode == Op::Phi);
        for phi in phis {
            let scalar = matches!(
                phi.result_type.map(|ty| self.types.get(ty)),
                Some(Type::Int { .. } | Type::Float { .. } | Type::Bool)
            );
            if !scalar || phi.operands.len() != 4 || on_true == on_false {
                return None;
            }
        }
        line.choices += 1;
        Some(meets)
    }

    /// Takes one side of a branch in block `from` into the line; returns its last block.
    fn side(&self, line: &mut Line, from: usize, first: usize, meets: usize) -> Option<usize> {
        let (mut last, mut at) = (from, first);
        while at != meets {
            let end = self.add(line, at, true)?;
            last = at;
            at = match end.class.opcode {
                Op::Branch => self.target(end, 0)?,
                Op::BranchConditional if self.only_way(end).is_some() => self.only_way(end)?,
                Op::BranchConditional => self.choice(line, at, true)?,
                _ => return None,
            };
        }
        Some(last)
    }

    /// Whether an instruction must not run where the kernel would not have run it. A place that varies may be out of
    /// bounds there.
    fn does_harm(&self, inst: &Instruction) -> bool {
        let reads_argument = || {
            let root = inst.operands.first().and_then(Operand::id_ref_any).and_then(|p| self.root(p));
            matches!(root, Some(StorageClass::PushConstant | StorageClass::Input))
                && self.has_constant_path(inst)
        };
        match inst.class.opcode {
            Op::Store => true,
            Op::Load => !reads_argument(),
            op => opcodes::has(op, opcodes::DIVIDES),
        }
    }

    fn target(&self, inst: &Instruction, operand: usize) -> Option<usize> {
        self.labels.get(&inst.operands.get(operand)?.id_ref_any()?).copied()
    }

    /// Where a branch leads if its other side comes to an `OpUnreachable`: then no item takes that.
    fn only_way(&self, branch: &Instruction) -> Option<usize> {
        let (yes, no) = (self.target(branch, 1)?, self.target(branch, 2)?);
        match (self.is_unreachable(yes), self.is_unreachable(no)) {
            (false, true) => Some(yes),
            (true, false) => Some(no),
            _ => None,
        }
    }

    /// Whether a block does nothing and comes to an `OpUnreachable`.
    fn is_unreachable(&self, at: usize) -> bool {
        comes_to(self.function, &self.labels, at) == Some(Op::Unreachable) && !mutant!(UnreachableIsReached)
    }

    /// Whether nothing happens from a block to the end of the kernel.
    fn ends_at_once(&self, at: usize) -> bool {
        comes_to(self.function, &self.labels, at) == Some(Op::Return)
    }

    /// Whether an instruction can stand beside its like of another item.
    fn is_plain(&self, inst: &Instruction) -> bool {
        let op = inst.class.opcode;
        let root = || inst.operands.first().and_then(Operand::id_ref_any).and_then(|p| self.root(p));
        match op {
            Op::Phi | Op::SelectionMerge | Op::Undef => true,
            // Memory operands (volatile, made visible) say that the place of the access matters.
            Op::Load => inst.operands.len() == 1 && root().is_some(),
            Op::Store => inst.operands.len() == 2 && root().is_some_and(|class| is_buffer(&class)),
            Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
                let ty = inst.result_type.map(|ty| self.types.get(ty));
                let is_pointer = matches!(ty, Some(Type::Pointer { .. }));
                if is_pointer { root().is_some() } else { op == Op::CopyObject }
            }
            Op::ArrayLength => root().is_some(),
            _ => opcodes::has(op, opcodes::PURE) && !self.takes_pointer(inst),
        }
    }

    fn takes_pointer(&self, inst: &Instruction) -> bool {
        inst.operands.iter().filter_map(Operand::id_ref_any).any(|id| {
            let ty = self.definitions.get(&id).and_then(|def| def.result_type);
            ty.is_some_and(|ty| matches!(self.types.get(ty), Type::Pointer { .. }))
        })
    }

    /// Class of the variable behind a pointer, if it is the item's number, push constants or a buffer.
    fn root(&self, mut pointer: u32) -> Option<StorageClass> {
        loop {
            let inst = self.definitions.get(&pointer)?;
            match (inst.class.opcode, inst.operands.first()?) {
                (Op::Variable, Operand::StorageClass(class)) => {
                    let known = match class {
                        StorageClass::Input => self.global == Some(pointer),
                        StorageClass::PushConstant => true,
                        class => is_buffer(class),
                    };
                    return known.then_some(*class);
                }
                (Op::AccessChain | Op::InBoundsAccessChain, Operand::IdRef(base)) => {
                    // Components of the item's number are picked out by constants.
                    let indices = inst.operands[1..].iter().filter_map(Operand::id_ref_any);
                    if self.global == Some(*base)
                        && !indices.into_iter().all(|i| self.types.constant(i).is_some())
                    {
                        return None;
                    }
                    pointer = *base;
                }
                (Op::CopyObject, Operand::IdRef(base)) => pointer = *base,
                _ => return None,
            }
        }
    }

    fn guard(&self, condition: u32) -> Option<RangeGuard> {
        let inst = self.definitions.get(&condition)?;
        let id = |n: usize| inst.operands.get(n).and_then(Operand::id_ref_any);
        let op = inst.class.opcode;
        if op == Op::LogicalNot {
            let inner = self.guard(id(0)?)?;
            return Some(RangeGuard { in_range: !inner.in_range, ..inner });
        }
        let less = match op {
            Op::ULessThan | Op::ULessThanEqual | Op::SLessThan | Op::SLessThanEqual => true,
            Op::UGreaterThan | Op::UGreaterThanEqual | Op::SGreaterThan | Op::SGreaterThanEqual => false,
            _ => return None,
        };
        let (a, b) = (id(0)?, id(1)?);
        let (limit, swapped) = match (self.is_item(a), self.is_item(b)) {
            (true, false) => (b, false),
            (false, true) => (a, true),
            _ => return None,
        };
        let width = self.definitions.get(&limit)?.result_type.and_then(|ty| self.types.int_width(ty));
        (width == Some(32) && self.is_uniform(limit, 8)).then_some(RangeGuard {
            in_range: less != swapped,
            op,
            limit,
            swapped,
            first: false,
        })
    }

    /// Whether a value is the item's number.
    fn is_item(&self, id: u32) -> bool {
        let Some(inst) = self.definitions.get(&id) else { return false };
        let first = inst.operands.first().and_then(Operand::id_ref_any);
        let zero = |index: u32| self.types.constant(index).is_some_and(|c| c.0 == 0);
        let is_global = |pointer: u32| self.global == Some(pointer);
        match inst.class.opcode {
            Op::CopyObject | Op::Bitcast => first.is_some_and(|id| self.is_item(id)),
            Op::CompositeExtract if inst.operands.len() == 2 => {
                let whole = first.and_then(|id| self.definitions.get(&id));
                let loaded = whole.filter(|inst| inst.class.opcode == Op::Load);
                let pointer = loaded.and_then(|inst| inst.operands.first()?.id_ref_any());
                inst.operands[1] == Operand::LiteralBit32(0) && pointer.is_some_and(is_global)
            }
            Op::Load => first.and_then(|p| self.definitions.get(&p)).is_some_and(|chain| {
                let ids: Vec<u32> = chain.operands.iter().filter_map(Operand::id_ref_any).collect();
                matches!(chain.class.opcode, Op::AccessChain | Op::InBoundsAccessChain)
                    && matches!(ids.as_slice(), [base, index] if is_global(*base) && zero(*index))
            }),
            _ => false,
        }
    }

    /// Whether a value is the same for all invocations and made of arguments alone.
    fn is_uniform(&self, id: u32, depth: u32) -> bool {
        let Some(inst) = self.definitions.get(&id) else { return false };
        let mut ids = inst.operands.iter().filter_map(Operand::id_ref_any);
        match inst.class.opcode {
            Op::Constant | Op::ConstantNull => true,
            Op::ArrayLength => true,
            Op::Load => {
                let push = ids.next().and_then(|p| self.root(p)) == Some(StorageClass::PushConstant);
                push && self.has_constant_path(inst)
            }
            // Computed before the guards before it are asked, which may be what keeps a divisor from being zero.
            Op::UDiv if !self.divides_by_constant(inst) => false,
            Op::CopyObject
            | Op::Bitcast
            | Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::UDiv
            | Op::CompositeExtract => depth > 0 && ids.all(|id| self.is_uniform(id, depth - 1)),
            _ => false,
        }
    }

    fn divides_by_constant(&self, inst: &Instruction) -> bool {
        let divisor = inst.operands.get(1).and_then(Operand::id_ref_any);
        divisor.and_then(|id| self.types.constant(id)).is_some_and(|c| c.0 != 0)
    }

    /// Whether all indices on the way from the variable are constants.
    fn has_constant_path(&self, load: &Instruction) -> bool {
        let mut at = load.operands.first().and_then(Operand::id_ref_any);
        loop {
            let Some(inst) = at.and_then(|id| self.definitions.get(&id)) else { return false };
            let mut indices = inst.operands.iter().skip(1).filter_map(Operand::id_ref_any);
            match inst.class.opcode {
                Op::Variable => return true,
                Op::AccessChain | Op::InBoundsAccessChain
                    if indices.all(|index| self.types.constant(index).is_some()) => {}
                Op::CopyObject => {}
                _ => return false,
            }
            at = inst.operands.first().and_then(Operand::id_ref_any);
        }
    }
}

fn is_buffer(class: &StorageClass) -> bool {
    matches!(class, StorageClass::StorageBuffer | StorageClass::Uniform)
}
