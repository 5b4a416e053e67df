//! What a module declares, checked here where no validator has looked at it.
//!
//! Passes and analyses take what this guarantees for granted, and what they make of a kernel is no better than what it declares. What
//! functions do with it is checked where they are read (`ir::import`).
//!
//! # Requires
//! - a module that could be decoded
//!
//! # Leaves alone
//! - modules with types or instructions that no pass here knows: they run as they were given
//!
//! # Guarantees
//! - an id is defined once, and each id that is used is defined
//! - declarations stand outside of functions, and nothing else does; types are made of types of the right sort that stand before them
//! - decorations stand on what can have them, once; buffers have a place, a layout, and a block that is laid out
//! - functions have the parameters of their types; arithmetic has operands and results of its sort

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Capability, Decoration, Op, StorageClass, Word};

use super::newer;

type Check = Result<(), String>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(what()) }
}

/// Checks the declarations of a module.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn check(module: &Module) -> Check {
    let capabilities = module.capabilities.iter().filter_map(|inst| match inst.operands.first() {
        Some(Operand::Capability(capability)) => Some(*capability),
        _ => None,
    });
    let capabilities: Vec<Capability> = capabilities.collect();
    if newer::is_opaque(&capabilities) {
        return Ok(());
    }
    ensure(capabilities.contains(&Capability::Shader), || "capability Shader is not declared".to_owned())?;
    let declared = Declared::of(module)?;
    declared.uses(module)?;
    for inst in &module.types_global_values {
        declared.global(inst)?;
    }
    declared.decorations(module)?;
    declared.resources(module)?;
    module.functions.iter().try_for_each(|function| declared.function(function))
}

/// What ids are.
struct Declared<'m> {
    by_id: AHashMap<Word, &'m Instruction>,
    /// How many definitions stand before one.
    place: AHashMap<Word, usize>,
    forward: AHashSet<Word>,
    decorations: AHashMap<(Word, Option<u32>, Decoration), Option<u32>>,
}

/// A scalar, or a vector of these.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Bool(u32),
    Int(u32, u32),
    Float(u32, u32),
}

impl Sort {
    fn count(self) -> u32 {
        match self {
            Self::Bool(count) | Self::Int(_, count) | Self::Float(_, count) => count,
        }
    }
}

fn ids(inst: &Instruction) -> impl Iterator<Item = Word> + '_ {
    inst.operands.iter().filter_map(Operand::id_ref_any)
}

fn number(inst: &Instruction, at: usize) -> Option<u32> {
    match inst.operands.get(at) {
        Some(Operand::LiteralBit32(number)) => Some(*number),
        _ => None,
    }
}

impl<'m> Declared<'m> {
    fn of(module: &'m Module) -> Result<Self, String> {
        let (mut by_id, mut place) = (AHashMap::new(), AHashMap::new());
        let functions = module.functions.iter().flat_map(|function| function.all_inst_iter());
        for inst in module.ext_inst_imports.iter().chain(&module.types_global_values).chain(functions) {
            let Some(id) = inst.result_id else { continue };
            place.insert(id, place.len());
            ensure(by_id.insert(id, inst).is_none(), || format!("%{id} is defined twice"))?;
        }
        let forward = module.types_global_values.iter();
        let forward = forward.filter(|inst| inst.class.opcode == Op::TypeForwardPointer);
        let forward = forward.filter_map(|inst| inst.operands.first()?.id_ref_any()).collect();
        Ok(Self { by_id, place, forward, decorations: AHashMap::new() }.decorated(module))
    }

    fn decorated(mut self, module: &Module) -> Self {
        for inst in &module.annotations {
            if let Some((key, value)) = decoration(inst) {
                self.decorations.entry(key).or_insert(value);
            }
        }
        self
    }

    fn op(&self, id: Word) -> Option<Op> {
        self.by_id.get(&id).map(|inst| inst.class.opcode)
    }

    fn is_type(&self, id: Word) -> bool {
        self.op(id).is_some_and(|op| op.is_type())
    }

    /// Each id that is used is defined, and the type of each result is a type.
    fn uses(&self, module: &Module) -> Check {
        let functions = module.functions.iter().flat_map(|function| function.all_inst_iter());
        let first = module.entry_points.iter().chain(&module.execution_modes).chain(&module.annotations);
        for inst in first.chain(&module.types_global_values).chain(functions) {
            let op = inst.class.opcode;
            let missing = ids(inst).find(|id| !self.by_id.contains_key(id) && !self.forward.contains(id));
            if let Some(id) = missing {
                return Err(format!("Op{op:?} uses %{id}, which is not there"));
            }
            ensure(inst.result_type.is_none_or(|ty| self.is_type(ty)), || {
                format!("the result of Op{op:?} is of no type")
            })?;
        }
        Ok(())
    }

    /// A declaration outside of functions.
    fn global(&self, inst: &Instruction) -> Check {
        let op = inst.class.opcode;
        if op.is_type() {
            return ensure(self.is_whole_type(inst), || {
                format!("Op{op:?} is of parts that it cannot be made of")
            });
        }
        let is_declaration = op.is_constant()
            || op.is_debug()
            || matches!(op, Op::Variable | Op::Undef | Op::ExtInst | Op::Line | Op::NoLine);
        ensure(is_declaration, || format!("Op{op:?} stands outside of functions"))?;
        let ty = inst.result_type.and_then(|ty| self.by_id.get(&ty));
        let is_right = match op {
            Op::Variable => self.is_variable(inst),
            Op::Constant | Op::SpecConstant => {
                ty.is_some_and(|ty| matches!(ty.class.opcode, Op::TypeInt | Op::TypeFloat))
            }
            Op::ConstantTrue | Op::ConstantFalse | Op::SpecConstantTrue | Op::SpecConstantFalse => {
                ty.is_some_and(|ty| ty.class.opcode == Op::TypeBool)
            }
            Op::ConstantComposite | Op::SpecConstantComposite => self.is_whole(inst),
            _ => true,
        };
        ensure(is_right, || format!("Op{op:?} is of another type"))
    }

    fn is_variable(&self, inst: &Instruction) -> bool {
        let ty = inst.result_type.and_then(|ty| self.by_id.get(&ty));
        ty.is_some_and(|ty| {
            ty.class.opcode == Op::TypePointer && ty.operands.first() == inst.operands.first()
        })
    }

    /// Class and pointee of a pointer type.
    fn pointer(&self, ty: Word) -> Option<(&Operand, Word)> {
        let inst = self.by_id.get(&ty).filter(|inst| inst.class.opcode == Op::TypePointer)?;
        Some((inst.operands.first()?, ids(inst).next()?))
    }

    /// Whether what an instruction reads, writes or goes on from is memory of the right type.
    fn is_of_memory(&self, inst: &Instruction) -> bool {
        let of =
            |at: usize| inst.operands.get(at)?.id_ref_any().and_then(|id| self.by_id.get(&id)?.result_type);
        let Some((class, pointee)) = of(0).and_then(|ty| self.pointer(ty)) else { return false };
        match inst.class.opcode {
            Op::Load => inst.result_type == Some(pointee),
            Op::Store => of(1) == Some(pointee),
            _ => inst.result_type.and_then(|ty| self.pointer(ty)).is_some_and(|(to, _)| to == class),
        }
    }

    /// Whether a type is made of types that stand before it.
    fn is_whole_type(&self, inst: &Instruction) -> bool {
        let before = |id: Word| {
            let own = inst.result_id.and_then(|own| self.place.get(&own));
            self.is_type(id) && (self.place.get(&id) < own || self.forward.contains(&id))
        };
        let part = inst.operands.first().and_then(Operand::id_ref_any);
        let is_made_of = |ops: &[Op]| {
            part.is_some_and(|part| before(part) && self.op(part).is_some_and(|op| ops.contains(&op)))
        };
        match inst.class.opcode {
            Op::TypeInt => matches!(number(inst, 0), Some(8 | 16 | 32 | 64)) && number(inst, 1) <= Some(1),
            Op::TypeFloat => matches!(number(inst, 0), Some(16 | 32 | 64)),
            Op::TypeVector => {
                is_made_of(&[Op::TypeInt, Op::TypeFloat, Op::TypeBool])
                    && matches!(number(inst, 1), Some(2..=4 | 8 | 16))
            }
            Op::TypeMatrix => is_made_of(&[Op::TypeVector]) && matches!(number(inst, 1), Some(2..=4)),
            Op::TypeArray => {
                let length = inst.operands.get(1).and_then(Operand::id_ref_any).and_then(|id| self.op(id));
                part.is_some_and(before) && length.is_some_and(|op| op.is_constant() || op == Op::Undef)
            }
            Op::TypeRuntimeArray => part.is_some_and(before),
            Op::TypeStruct | Op::TypeFunction => ids(inst).all(before),
            Op::TypePointer => ids(inst).all(before),
            _ => true,
        }
    }

    /// Whether a composite has as many parts as its type, of the types of these.
    fn is_whole(&self, inst: &Instruction) -> bool {
        let Some(ty) = inst.result_type.and_then(|ty| self.by_id.get(&ty)) else { return false };
        let of = |id: Word| self.by_id.get(&id).and_then(|inst| inst.result_type);
        let part = ty.operands.first().and_then(Operand::id_ref_any);
        let count = match ty.class.opcode {
            Op::TypeStruct => return ids(inst).map(of).eq(ids(ty).map(Some)),
            Op::TypeVector | Op::TypeMatrix => number(ty, 1),
            Op::TypeArray => {
                let length =
                    ty.operands.get(1).and_then(Operand::id_ref_any).and_then(|id| self.by_id.get(&id));
                match length {
                    Some(length) if length.class.opcode == Op::Constant => number(length, 0),
                    // Its length is not known yet.
                    _ => Some(inst.operands.len() as u32),
                }
            }
            _ => None,
        };
        count == Some(inst.operands.len() as u32) && ids(inst).all(|id| of(id) == part)
    }

    fn decorations(&self, module: &Module) -> Check {
        let mut seen = AHashSet::new();
        for inst in &module.annotations {
            let Some(((target, member, what), value)) = decoration(inst) else { continue };
            let op = self.op(target);
            let placed = match what {
                Decoration::Block | Decoration::BufferBlock => op == Some(Op::TypeStruct) && member.is_none(),
                Decoration::ArrayStride => {
                    matches!(op, Some(Op::TypeArray | Op::TypeRuntimeArray | Op::TypePointer))
                        && value > Some(0)
                }
                Decoration::DescriptorSet | Decoration::Binding => op == Some(Op::Variable),
                Decoration::Offset | Decoration::MatrixStride => member.is_some(),
                _ => true,
            };
            let members = self.by_id.get(&target).filter(|_| op == Some(Op::TypeStruct));
            let is_member = |member: u32| members.is_some_and(|ty| (member as usize) < ty.operands.len());
            let once = match what {
                Decoration::Offset
                | Decoration::ArrayStride
                | Decoration::MatrixStride
                | Decoration::DescriptorSet
                | Decoration::Binding
                | Decoration::BuiltIn
                | Decoration::SpecId => seen.insert((target, member, what)),
                _ => true,
            };
            ensure(placed && once && member.is_none_or(is_member), || {
                format!("decoration {what:?} of %{target} is twice there, or on what cannot have it")
            })?;
        }
        Ok(())
    }

    fn has(&self, id: Word, what: Decoration) -> bool {
        self.decorations.contains_key(&(id, None, what))
    }

    /// Variables in memory that a caller binds.
    fn resources(&self, module: &Module) -> Check {
        for inst in module.types_global_values.iter().filter(|inst| inst.class.opcode == Op::Variable) {
            let (Some(id), Some(Operand::StorageClass(class))) = (inst.result_id, inst.operands.first())
            else {
                continue;
            };
            use StorageClass::{PushConstant, StorageBuffer, Uniform, UniformConstant};
            if matches!(class, StorageBuffer | Uniform | UniformConstant) {
                let is_bound = self.has(id, Decoration::DescriptorSet) && self.has(id, Decoration::Binding);
                ensure(is_bound, || format!("%{id} has no descriptor set or binding"))?;
            }
            if !matches!(class, StorageBuffer | Uniform | PushConstant) {
                continue;
            }
            let part = |ty: Word| self.by_id.get(&ty).and_then(|inst| ids(inst).next());
            let is_array = |ty: &Word| matches!(self.op(*ty), Some(Op::TypeArray | Op::TypeRuntimeArray));
            let pointee = inst.result_type.and_then(part);
            let element = pointee.filter(is_array).filter(|_| *class != PushConstant).and_then(part);
            let Some(block) = element.or(pointee) else { return Err(format!("%{id} is no block")) };
            let is_block = self.has(block, Decoration::Block) || self.has(block, Decoration::BufferBlock);
            ensure(is_block && self.op(block) == Some(Op::TypeStruct), || format!("%{id} is no block"))?;
            self.size(block).ok_or_else(|| format!("block %{block} of %{id} is not laid out"))?;
        }
        Ok(())
    }

    /// Bytes of a type that is laid out, and what its places are multiples of.
    fn size(&self, ty: Word) -> Option<(u64, u64)> {
        let inst = self.by_id.get(&ty)?;
        let part = inst.operands.first().and_then(Operand::id_ref_any);
        match inst.class.opcode {
            Op::TypeInt | Op::TypeFloat => {
                let bytes = u64::from(number(inst, 0)? / 8);
                Some((bytes, bytes))
            }
            Op::TypePointer => Some((8, 8)),
            Op::TypeVector => {
                let (bytes, align) = self.size(part?)?;
                Some((bytes * u64::from(number(inst, 1)?), align))
            }
            // The layout of its columns, or rows, is declared where it is a member.
            Op::TypeMatrix => {
                let (bytes, align) = self.size(part?)?;
                Some((bytes * u64::from(number(inst, 1)?), align))
            }
            Op::TypeArray | Op::TypeRuntimeArray => {
                let (bytes, align) = self.size(part?)?;
                let stride = u64::from((*self.decorations.get(&(ty, None, Decoration::ArrayStride))?)?);
                let is_matrix = self.op(part?) == Some(Op::TypeMatrix);
                let fits = (stride >= bytes || is_matrix) && stride % align == 0;
                let length = inst.operands.get(1).and_then(Operand::id_ref_any);
                let length = length.and_then(|id| self.by_id.get(&id)).and_then(|inst| number(inst, 0));
                fits.then(|| (stride * u64::from(length.unwrap_or(1).max(1)), align))
            }
            Op::TypeStruct => {
                let (mut end, mut align) = (0, 1);
                for (member, part) in ids(inst).enumerate() {
                    let key = (ty, Some(member as u32), Decoration::Offset);
                    let offset = u64::from((*self.decorations.get(&key)?)?);
                    let (bytes, of) = self.size(part)?;
                    if offset % of != 0 {
                        return None;
                    }
                    (end, align) = (end.max(offset + bytes), align.max(of));
                }
                Some((end, align))
            }
            _ => None,
        }
    }

    fn function(&self, function: &rspirv::dr::Function) -> Check {
        let ty = function.def.as_ref().and_then(|def| def.operands.get(1)?.id_ref_any());
        let ty = ty.and_then(|ty| self.by_id.get(&ty)).filter(|ty| ty.class.opcode == Op::TypeFunction);
        let ty = ty.ok_or("a function is of no type of functions")?;
        let result = function.def.as_ref().and_then(|def| def.result_type);
        let params = function.parameters.iter().map(|inst| inst.result_type);
        ensure(std::iter::once(result).chain(params).eq(ids(ty).map(Some)), || {
            "a function has other parameters than its type".to_owned()
        })?;
        for inst in function.blocks.iter().flat_map(|block| &block.instructions) {
            let op = inst.class.opcode;
            let is_elsewhere = op.is_type() || op.is_constant() || op.is_annotation();
            let is_first = matches!(
                op,
                Op::Capability
                    | Op::Extension
                    | Op::ExtInstImport
                    | Op::MemoryModel
                    | Op::EntryPoint
                    | Op::ExecutionMode
                    | Op::ExecutionModeId
                    | Op::Function
            );
            ensure(!is_elsewhere && !is_first, || format!("Op{op:?} stands in a function"))?;
            ensure(self.is_typed(inst), || format!("Op{op:?} is of operands or a result of another type"))?;
        }
        Ok(())
    }

    /// The sort of a value; nothing for what is neither a scalar nor a vector.
    fn sort(&self, id: Word) -> Option<Sort> {
        self.sort_of_type(self.by_id.get(&id)?.result_type?)
    }

    fn sort_of_type(&self, ty: Word) -> Option<Sort> {
        let inst = self.by_id.get(&ty)?;
        match inst.class.opcode {
            Op::TypeBool => Some(Sort::Bool(1)),
            Op::TypeInt => Some(Sort::Int(number(inst, 0)?, 1)),
            Op::TypeFloat => Some(Sort::Float(number(inst, 0)?, 1)),
            Op::TypeVector => {
                let count = number(inst, 1)?;
                Some(match self.sort_of_type(ids(inst).next()?)? {
                    Sort::Bool(_) => Sort::Bool(count),
                    Sort::Int(width, _) => Sort::Int(width, count),
                    Sort::Float(width, _) => Sort::Float(width, count),
                })
            }
            _ => None,
        }
    }

    /// Whether an instruction takes and gives what one of its sort does.
    fn is_typed(&self, inst: &Instruction) -> bool {
        let result = inst.result_type.and_then(|ty| self.sort_of_type(ty));
        let mut operands = ids(inst).map(|id| self.sort(id));
        let is_int = |sort: Option<Sort>| matches!(sort, Some(Sort::Int(..)));
        let is_float = |sort: Option<Sort>| matches!(sort, Some(Sort::Float(..)));
        let is_bool = |sort: Option<Sort>| matches!(sort, Some(Sort::Bool(_)));
        let count = |sort: Option<Sort>| sort.map(Sort::count);
        let mut all_are =
            |of: &dyn Fn(Option<Sort>) -> bool| operands.all(|one| of(one) && count(one) == count(result));
        match inst.class.opcode {
            Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod | Op::FNegate => {
                is_float(result) && all_are(&|one| one == result)
            }
            Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::UDiv
            | Op::SDiv
            | Op::UMod
            | Op::SRem
            | Op::SMod
            | Op::SNegate
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::Not => is_int(result) && all_are(&|one| one == result),
            Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                is_int(result) && all_are(&is_int)
            }
            Op::LogicalAnd | Op::LogicalOr | Op::LogicalNot | Op::LogicalEqual | Op::LogicalNotEqual => {
                is_bool(result) && all_are(&is_bool)
            }
            Op::IEqual
            | Op::INotEqual
            | Op::ULessThan
            | Op::ULessThanEqual
            | Op::UGreaterThan
            | Op::UGreaterThanEqual
            | Op::SLessThan
            | Op::SLessThanEqual
            | Op::SGreaterThan
            | Op::SGreaterThanEqual => is_bool(result) && all_are(&is_int),
            Op::FOrdEqual
            | Op::FOrdNotEqual
            | Op::FOrdLessThan
            | Op::FOrdLessThanEqual
            | Op::FOrdGreaterThan
            | Op::FOrdGreaterThanEqual
            | Op::FUnordEqual
            | Op::FUnordNotEqual
            | Op::FUnordLessThan
            | Op::FUnordLessThanEqual
            | Op::FUnordGreaterThan
            | Op::FUnordGreaterThanEqual
            | Op::IsNan
            | Op::IsInf => is_bool(result) && all_are(&is_float),
            Op::ConvertFToU | Op::ConvertFToS => is_int(result) && all_are(&is_float),
            Op::ConvertSToF | Op::ConvertUToF => is_float(result) && all_are(&is_int),
            Op::UConvert | Op::SConvert => is_int(result) && all_are(&is_int),
            Op::FConvert => is_float(result) && all_are(&is_float),
            Op::Variable => self.is_variable(inst),
            Op::Load | Op::Store | Op::AccessChain | Op::InBoundsAccessChain => self.is_of_memory(inst),
            Op::Select => ids(inst).next().is_some_and(|condition| is_bool(self.sort(condition))),
            _ => true,
        }
    }
}

/// What is decorated: an id, or a member of it; and with what.
type Decorated = (Word, Option<u32>, Decoration);

/// What is decorated, and the number of the decoration.
fn decoration(inst: &Instruction) -> Option<(Decorated, Option<u32>)> {
    let (member, at) = match inst.class.opcode {
        Op::Decorate => (None, 1),
        Op::MemberDecorate => (Some(number(inst, 1)?), 2),
        _ => return None,
    };
    let target = inst.operands.first()?.id_ref_any()?;
    let Some(Operand::Decoration(what)) = inst.operands.get(at) else { return None };
    Some(((target, member, *what), number(inst, at + 1)))
}
