//! Everything outside functions: entry point, execution modes, decorations, types, constants.

use ahash::AHashMap;
use rspirv::spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, FPEncoding, Op, StorageClass};

use super::scan::{Raw, Scanned};
use super::shape::{MatrixLayout, Member, Type};
use super::verify::verify;
use super::{Decoded, Decoder};
use crate::arith::{Num, mask};
use crate::compute;
use crate::error::OracleError;

/// What decorations say about one id, or one member of a structure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decorated {
    pub(super) builtin: Option<BuiltIn>,
    pub(super) set: Option<u32>,
    pub(super) binding: Option<u32>,
    /// The older spelling of a storage buffer.
    pub(super) buffer_block: bool,
    pub(super) block: bool,
    array_stride: Option<u32>,
    offset: Option<u32>,
    matrix_stride: Option<u32>,
    row_major: bool,
}

impl Decorated {
    /// Adds what a decoration group says.
    fn also(&mut self, group: Self) {
        let Self {
            builtin,
            set,
            binding,
            buffer_block,
            block,
            array_stride,
            offset,
            matrix_stride,
            row_major,
        } = group;
        self.builtin = builtin.or(self.builtin);
        self.set = set.or(self.set);
        self.binding = binding.or(self.binding);
        self.array_stride = array_stride.or(self.array_stride);
        self.offset = offset.or(self.offset);
        self.matrix_stride = matrix_stride.or(self.matrix_stride);
        self.buffer_block |= buffer_block;
        self.block |= block;
        self.row_major |= row_major;
    }
}

#[derive(Debug, Default)]
pub(super) struct Decorations {
    ids: AHashMap<u32, Decorated>,
    members: AHashMap<(u32, u32), Decorated>,
}

impl Decorations {
    pub(super) fn of(&self, id: u32) -> Decorated {
        self.ids.get(&id).copied().unwrap_or_default()
    }

    fn add(slot: &mut Decorated, decoration: u32, literal: Option<u32>) {
        match Decoration::from_u32(decoration) {
            Some(Decoration::BuiltIn) => slot.builtin = literal.and_then(BuiltIn::from_u32),
            Some(Decoration::DescriptorSet) => slot.set = literal,
            Some(Decoration::Binding) => slot.binding = literal,
            Some(Decoration::BufferBlock) => slot.buffer_block = true,
            Some(Decoration::Block) => slot.block = true,
            Some(Decoration::ArrayStride) => slot.array_stride = literal,
            Some(Decoration::Offset) => slot.offset = literal,
            Some(Decoration::MatrixStride) => slot.matrix_stride = literal,
            Some(Decoration::RowMajor) => slot.row_major = true,
            _ => {}
        }
    }
}

impl<'w> Decoder<'w> {
    /// Takes in all module-scope declarations and returns the id of the entry function.
    pub(super) fn module(&mut self, module: &Scanned<'w>, wanted: Option<&str>) -> Decoded<u32> {
        let entry = entry_point(&module.globals, wanted)?;
        let mut local_size_ids = None;
        for raw in &module.globals {
            match raw.op {
                Op::ExtInstImport => self.import(raw),
                Op::ExecutionMode | Op::ExecutionModeId if raw.arg(0)? == entry => {
                    if let Some(ids) = self.execution_mode(raw)? {
                        local_size_ids = Some((*raw, ids));
                    }
                }
                Op::Decorate | Op::DecorateId => {
                    let slot = self.decorations.ids.entry(raw.arg(0)?).or_default();
                    Decorations::add(slot, raw.arg(1)?, raw.args.get(2).copied());
                }
                Op::MemberDecorate => {
                    let slot = self.decorations.members.entry((raw.arg(0)?, raw.arg(1)?)).or_default();
                    Decorations::add(slot, raw.arg(2)?, raw.args.get(3).copied());
                }
                Op::GroupDecorate => {
                    let group = self.decorations.of(raw.arg(0)?);
                    for &target in raw.rest(1) {
                        self.decorations.ids.entry(target).or_default().also(group);
                    }
                }
                Op::GroupMemberDecorate => {
                    let group = self.decorations.of(raw.arg(0)?);
                    for target in raw.rest(1).as_chunks::<2>().0 {
                        self.decorations.members.entry((target[0], target[1])).or_default().also(group);
                    }
                }
                Op::Variable => {
                    if let Type::Pointer { class: StorageClass::Workgroup, to, .. } = *self.shapes.get(raw.ty)
                    {
                        self.explicit_shared |= self.decorations.of(to).block;
                    }
                    self.variables.insert(raw.id, *raw);
                    self.value_types[raw.id as usize] = raw.ty;
                }
                _ if raw.op.is_type() => self.define_type(raw)?,
                _ if raw.op.is_constant() || raw.op == Op::Undef => self.define_constant(raw)?,
                _ => {}
            }
        }
        if let Some((raw, ids)) = local_size_ids {
            for (size, id) in self.program.local_size.iter_mut().zip(ids) {
                let register = self.registers.get(id as usize).copied().unwrap_or(super::NONE);
                let value = self.program.registers.get(register as usize).copied();
                *size = value.ok_or_else(|| raw.malformed("the local size is not constant"))? as u32;
            }
        }
        // The built-in constant has precedence over execution modes.
        for (id, decorated) in &self.decorations.ids {
            let first = self.registers.get(*id as usize).copied().unwrap_or(super::NONE) as usize;
            if decorated.builtin == Some(BuiltIn::WorkgroupSize)
                && self.constant.get(*id as usize) == Some(&true)
                && let Some([x, y, z]) = self.program.registers.get(first..first.saturating_add(3))
            {
                self.program.local_size = [*x as u32, *y as u32, *z as u32];
            }
        }
        Ok(entry)
    }

    fn import(&mut self, raw: &Raw<'w>) {
        let name = literal_string(raw.args);
        if name == b"GLSL.std.450" {
            self.glsl_sets.push(raw.id);
        } else if name.starts_with(b"NonSemantic.") {
            self.quiet_sets.push(raw.id);
        }
    }

    /// Returns the ids of a local size that is given by constants.
    fn execution_mode(&mut self, raw: &Raw<'w>) -> Decoded<Option<[u32; 3]>> {
        let mode = ExecutionMode::from_u32(raw.arg(1)?);
        match mode {
            Some(ExecutionMode::LocalSize) => {
                self.program.local_size = [raw.arg(2)?, raw.arg(3)?, raw.arg(4)?];
            }
            Some(ExecutionMode::LocalSizeId) => return Ok(Some([raw.arg(2)?, raw.arg(3)?, raw.arg(4)?])),
            Some(ExecutionMode::DenormFlushToZero | ExecutionMode::RoundingModeRTZ) => {
                return Err(raw.unsupported("floats round to nearest even and keep subnormals here"));
            }
            _ => {}
        }
        Ok(None)
    }

    fn define_type(&mut self, raw: &Raw<'w>) -> Decoded<()> {
        let stride = self.decorations.of(raw.id).array_stride;
        let ty = match raw.op {
            Op::TypeForwardPointer => return Ok(()),
            Op::TypeVoid => Type::Void,
            Op::TypeBool => Type::Scalar(Num::Bool),
            Op::TypeInt => match raw.arg(0)? {
                bits @ (8 | 16 | 32 | 64) => Type::Scalar(Num::Int(bits as u8)),
                _ => Type::Opaque,
            },
            Op::TypeFloat => match (raw.arg(0)?, raw.args.get(1).copied().and_then(FPEncoding::from_u32)) {
                (16, None) if raw.args.len() == 1 => Type::Scalar(Num::F16),
                (32, None) => Type::Scalar(Num::F32),
                (64, None) => Type::Scalar(Num::F64),
                _ => Type::Opaque,
            },
            Op::TypeVector => Type::Vector { of: raw.arg(0)?, len: raw.arg(1)? },
            Op::TypeMatrix => Type::Matrix { of: raw.arg(0)?, len: raw.arg(1)? },
            Op::TypeArray => {
                let len = self.constant_value(raw.arg(1)?, raw)?;
                Type::Array { of: raw.arg(0)?, len: u32::try_from(len).unwrap_or(u32::MAX), stride }
            }
            Op::TypeRuntimeArray => Type::RuntimeArray { of: raw.arg(0)?, stride },
            Op::TypeStruct => Type::Struct(self.members(raw)),
            Op::TypePointer => {
                let class = StorageClass::from_u32(raw.arg(0)?);
                let class = class.ok_or_else(|| raw.unsupported("its storage class is not known"))?;
                Type::Pointer { class, to: raw.arg(1)?, stride }
            }
            Op::TypeImage => self.image_type(raw)?,
            Op::TypeSampledImage => match *self.shapes.get(raw.arg(0)?) {
                Type::Image(image) => Type::Image(image),
                _ => Type::Opaque,
            },
            Op::TypeSampler => Type::Sampler,
            _ => Type::Opaque,
        };
        // A structure may hold pointers that are declared later, which the subset does not follow.
        let known = match &ty {
            Type::Vector { of, .. } | Type::Matrix { of, .. } | Type::Array { of, .. } => {
                self.shapes.is_known(*of)
            }
            Type::RuntimeArray { of, .. } => self.shapes.is_known(*of),
            Type::Struct(members) => members.iter().all(|member| self.shapes.is_known(member.ty)),
            _ => true,
        };
        self.shapes.define(raw, if known { ty } else { Type::Opaque })
    }

    fn members(&self, raw: &Raw<'w>) -> Vec<Member> {
        let mut lane = 0u32;
        let mut members = Vec::with_capacity(raw.args.len());
        for (index, &ty) in raw.args.iter().enumerate() {
            let decorated =
                self.decorations.members.get(&(raw.id, index as u32)).copied().unwrap_or_default();
            let row_major = decorated.row_major;
            let matrix = decorated.matrix_stride.map(|stride| MatrixLayout { stride, row_major });
            members.push(Member { ty, lane, offset: decorated.offset, matrix });
            lane = lane.saturating_add(self.shapes.lanes(ty));
        }
        members
    }

    fn define_constant(&mut self, raw: &Raw<'w>) -> Decoded<()> {
        let mut lanes = Vec::new();
        match raw.op {
            Op::ConstantTrue | Op::SpecConstantTrue => lanes.push(1),
            Op::ConstantFalse | Op::SpecConstantFalse => lanes.push(0),
            Op::Constant | Op::SpecConstant => {
                let bits = self.shapes.bits(raw.ty, raw)?;
                let high = if bits == 64 { raw.arg(1)? } else { 0 };
                lanes.push((u64::from(raw.arg(0)?) | u64::from(high) << 32) & mask(bits));
            }
            Op::ConstantNull => self.shapes.null(raw.ty, &mut lanes),
            Op::Undef => self.shapes.garbage(raw.ty, &mut lanes),
            Op::ConstantComposite | Op::SpecConstantComposite => {
                for &part in raw.args {
                    let first = self.register(part, raw)? as usize;
                    let n = self.shapes.lanes(self.value_type(part, raw)?) as usize;
                    lanes.extend_from_slice(self.program.registers.get(first..first + n).unwrap_or(&[]));
                }
            }
            Op::SpecConstantOp => return self.constant_operation(raw),
            // Constants of opaque types; using one is an error, declaring one is not.
            _ => return Ok(()),
        }
        if lanes.len() != self.shapes.lanes(raw.ty) as usize {
            return Err(raw.malformed("a constant does not fit its type"));
        }
        let first = self.allocate(lanes.len() as u32)?;
        self.program.registers[first as usize..].copy_from_slice(&lanes);
        self.set_constant(raw, first);
        Ok(())
    }

    fn set_constant(&mut self, raw: &Raw<'w>, first: u32) {
        self.registers[raw.id as usize] = first;
        self.value_types[raw.id as usize] = raw.ty;
        self.constant[raw.id as usize] = true;
    }

    /// Decodes the operation as if it stood in a function, runs it, and forgets its code.
    fn constant_operation(&mut self, raw: &Raw<'w>) -> Decoded<()> {
        let op = Op::from_u32(raw.arg(0)?).ok_or_else(|| raw.unsupported("its operation is not known"))?;
        let inner = Raw { op, args: &raw.args[1..], ..*raw };
        let first = self.allocate(self.shapes.lanes(raw.ty))?;
        self.set_constant(raw, first);
        let code = self.program.code.len();
        if !self.compute(&inner)? {
            return Err(inner.unsupported("it is not interpreted in a constant"));
        }
        verify(&self.program)?;
        for index in code..self.program.code.len() {
            let inst = self.program.code[index];
            let mut registers = std::mem::take(&mut self.program.registers);
            compute::compute(&inst, &self.program, &mut registers);
            self.program.registers = registers;
        }
        self.program.code.truncate(code);
        self.program.words.truncate(code);
        Ok(())
    }
}

fn entry_point(globals: &[Raw<'_>], wanted: Option<&str>) -> Decoded<u32> {
    let compute = |raw: &&Raw<'_>| {
        raw.op == Op::EntryPoint
            && raw.args.len() >= 3
            && ExecutionModel::from_u32(raw.args[0]) == Some(ExecutionModel::GLCompute)
    };
    let name = wanted.unwrap_or("main");
    let mut entries = globals.iter().filter(compute);
    if let Some(raw) = entries.clone().find(|raw| literal_string(&raw.args[2..]) == name.as_bytes()) {
        return Ok(raw.args[1]);
    }
    match (wanted, entries.next(), entries.next()) {
        (None, Some(only), None) => Ok(only.args[1]),
        _ => Err(OracleError::NoEntry { name: name.to_owned() }),
    }
}

/// The bytes of a literal string, up to its end.
fn literal_string(words: &[u32]) -> Vec<u8> {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.take_while(|byte| *byte != 0).collect()
}
