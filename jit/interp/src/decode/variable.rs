//! Variables: a slot for each binding, lanes for everything else.

use rspirv::spirv::StorageClass;

use super::chain::View;
use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder, LANE_LIMIT};
use crate::arith::Num;
use crate::error::OracleError;
use crate::memory::GARBAGE;
use crate::program::{BindingUse, Class, ImageUse, SamplerUse};
use crate::texel::Filter;

/// The most bindings of a program; slots are remembered in 16 bits.
const BINDING_LIMIT: u64 = 4096;

impl Decoder<'_> {
    /// Which memory a storage class means here.
    pub(super) fn class_of(&self, class: StorageClass, raw: &Raw<'_>) -> Decoded<Class> {
        match class {
            // Of a pointer to a texel.
            StorageClass::StorageBuffer
            | StorageClass::Uniform
            | StorageClass::UniformConstant
            | StorageClass::Image => Ok(Class::Buffer),
            StorageClass::PushConstant => Ok(Class::Push),
            StorageClass::Private | StorageClass::Function | StorageClass::Input => Ok(Class::Private),
            StorageClass::Workgroup if self.explicit_shared => Ok(Class::Block),
            StorageClass::Workgroup => Ok(Class::Shared),
            _ => {
                let instruction = format!("storage class {class:?}");
                Err(OracleError::unsupported(
                    instruction,
                    raw.word as usize,
                    "only buffers, push constants and variables are",
                ))
            }
        }
    }

    /// Gives a variable its memory, and a register that points at it. Returns the register.
    pub(super) fn variable(&mut self, raw: &Raw<'_>, global: bool) -> Decoded<u32> {
        let Type::Pointer { class: storage, to, .. } = *self.shapes.get(raw.ty) else {
            return Err(raw.malformed("the type of a variable is not a pointer"));
        };
        let class = self.class_of(storage, raw)?;
        let pointer = match class {
            Class::Buffer => [self.slot(raw, storage, to)?, 0],
            Class::Push => [0, 0],
            Class::Block => {
                self.block(raw, to)?;
                [0, 0]
            }
            Class::Private | Class::Shared => {
                let lane = self.lanes(raw, storage, to, global)?;
                [lane, lane]
            }
        };
        let register = self.allocate(2)?;
        self.program.registers[register as usize..].copy_from_slice(&pointer);
        self.registers[raw.id as usize] = register;
        self.value_types[raw.id as usize] = raw.ty;
        self.views[raw.id as usize] = Some(View::of(to));
        Ok(register)
    }

    fn slot(&mut self, raw: &Raw<'_>, storage: StorageClass, to: u32) -> Decoded<u64> {
        let kind = self.shapes.get(to);
        if storage == StorageClass::UniformConstant && !matches!(kind, Type::Image(_) | Type::Sampler) {
            let instruction = format!("storage class {storage:?}");
            let why =
                "of images only those with one sample, no cubes and channels of one kind are interpreted";
            return Err(OracleError::unsupported(instruction, raw.word as usize, why));
        }
        if !matches!(kind, Type::Struct(_) | Type::Image(_) | Type::Sampler) {
            return Err(raw.unsupported("arrays of descriptors are not interpreted"));
        }
        let image = match kind {
            Type::Image(image) => Some(*image),
            _ => None,
        };
        let is_sampler = matches!(kind, Type::Sampler);
        let decorated = self.decorations.of(raw.id);
        let (Some(set), Some(binding)) = (decorated.set, decorated.binding) else {
            return Err(raw.malformed("a buffer without set or binding"));
        };
        if is_sampler {
            let filter = Filter::default();
            self.program.samplers.push(SamplerUse { set, binding, filter });
            return Ok(self.program.samplers.len() as u64);
        }
        let known =
            self.program.bindings.iter().position(|other| other.set == set && other.binding == binding);
        let slot = known.unwrap_or(self.program.bindings.len());
        if known.is_none() {
            let uniform = storage == StorageClass::Uniform && !self.decorations.of(to).buffer_block
                || image.is_some_and(|image| image.sampled);
            let image = image.map(|image| ImageUse {
                format: image.format,
                of_floats: image.num == Num::F32,
                is_buffer: image.is_buffer,
                filter: Filter::default(),
            });
            self.program.bindings.push(BindingUse { set, binding, uniform, image });
        }
        if slot as u64 >= BINDING_LIMIT {
            return Err(OracleError::Limit {
                what: "the bindings",
                asked: slot as u64 + 1,
                limit: BINDING_LIMIT,
            });
        }
        Ok(slot as u64)
    }

    /// Workgroup memory with an explicit layout has a lane for each byte. All variables begin at the first one.
    fn block(&mut self, raw: &Raw<'_>, to: u32) -> Decoded<()> {
        if !matches!(self.shapes.get(to), Type::Struct(_)) || !self.decorations.of(to).block {
            return Err(raw.unsupported("shared variables with and without an explicit layout are not mixed"));
        }
        let (first, n) = self.spans(View::of(to), Class::Block, raw)?;
        let spans = &self.program.spans[first as usize..(first + n) as usize];
        let len = spans.iter().map(|span| u64::from(span.offset) + u64::from(span.bytes)).max().unwrap_or(0);
        if len > LANE_LIMIT {
            return Err(OracleError::Limit { what: "the bytes in variables", asked: len, limit: LANE_LIMIT });
        }
        // Vulkan has no other initializer of Workgroup memory than a null constant.
        let zeros = raw.args.get(1).is_some();
        let shared = &mut self.program.shared;
        if shared.variables.is_empty() {
            shared.variables.push((0, raw.id));
        }
        let len = (len as usize).max(shared.lanes.len());
        shared.lanes.resize(len, GARBAGE & 0xff);
        shared.written.resize(len, false);
        if zeros {
            shared.lanes[..len].fill(0);
            shared.written[..len].fill(true);
        }
        Ok(())
    }

    fn lanes(&mut self, raw: &Raw<'_>, storage: StorageClass, to: u32, global: bool) -> Decoded<u64> {
        let mut lanes = Vec::new();
        let mut written = false;
        match raw.args.get(1) {
            Some(&initializer) => {
                let first = self.register(initializer, raw)? as usize;
                let n = self.shapes.lanes(to) as usize;
                lanes.extend(self.program.registers.get(first..first + n).unwrap_or(&[]));
                written = true;
            }
            None => self.shapes.garbage(to, &mut lanes),
        }
        if lanes.is_empty() || lanes.len() != self.shapes.lanes(to) as usize {
            return Err(raw.unsupported("a variable of this type has no lanes"));
        }
        let image = if storage == StorageClass::Workgroup {
            &mut self.program.shared
        } else {
            &mut self.program.private
        };
        let first = image.lanes.len() as u32;
        let len = image.lanes.len() as u64 + lanes.len() as u64;
        if len > LANE_LIMIT {
            return Err(OracleError::Limit {
                what: "the scalars in variables",
                asked: len,
                limit: LANE_LIMIT,
            });
        }
        image.variables.push((first, raw.id));
        image.written.resize(len as usize, written || storage == StorageClass::Input);
        image.lanes.append(&mut lanes);
        if storage == StorageClass::Input {
            let builtin = self.decorations.of(raw.id).builtin.filter(|_| global);
            let builtin = builtin.ok_or_else(|| raw.unsupported("an input that is not a known built-in"))?;
            if !crate::input::is_known(builtin) {
                let instruction = format!("built-in {builtin:?}");
                return Err(OracleError::unsupported(
                    instruction,
                    raw.word as usize,
                    "its value is not modelled",
                ));
            }
            let n = self.shapes.lanes(to);
            self.program.inputs.push((builtin, first, n));
        }
        Ok(u64::from(first))
    }
}
