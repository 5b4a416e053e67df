//! Variables: a slot for each binding, lanes for everything else.

use rspirv::spirv::StorageClass;

use super::chain::View;
use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder, LANE_LIMIT};
use crate::error::OracleError;
use crate::program::{BindingUse, Class};

/// The most bindings of a program; slots are remembered in 16 bits.
const BINDING_LIMIT: u64 = 4096;

/// Which memory a storage class means here.
pub(super) fn class_of(class: StorageClass, raw: &Raw<'_>) -> Decoded<Class> {
    match class {
        StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant => {
            Ok(Class::Buffer)
        }
        StorageClass::PushConstant => Ok(Class::Push),
        StorageClass::Private | StorageClass::Function | StorageClass::Input => Ok(Class::Private),
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

impl Decoder<'_> {
    /// Gives a variable its memory, and a register that points at it. Returns the register.
    pub(super) fn variable(&mut self, raw: &Raw<'_>, global: bool) -> Decoded<u32> {
        let Type::Pointer { class: storage, to, .. } = *self.shapes.get(raw.ty) else {
            return Err(raw.malformed("the type of a variable is not a pointer"));
        };
        let class = class_of(storage, raw)?;
        let pointer = match class {
            Class::Buffer => [self.slot(raw, storage, to)?, 0],
            Class::Push => [0, 0],
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
        let is_image = matches!(self.shapes.get(to), Type::Image(_));
        if storage == StorageClass::UniformConstant && !is_image {
            let instruction = format!("storage class {storage:?}");
            let why = "of images only storage images of 32 bits a channel are interpreted, and no samplers";
            return Err(OracleError::unsupported(instruction, raw.word as usize, why));
        }
        if !is_image && !matches!(self.shapes.get(to), Type::Struct(_)) {
            return Err(raw.unsupported("arrays of descriptors are not interpreted"));
        }
        let decorated = self.decorations.of(raw.id);
        let (Some(set), Some(binding)) = (decorated.set, decorated.binding) else {
            return Err(raw.malformed("a buffer without set or binding"));
        };
        let known =
            self.program.bindings.iter().position(|other| other.set == set && other.binding == binding);
        let slot = known.unwrap_or(self.program.bindings.len());
        if known.is_none() {
            let uniform = storage == StorageClass::Uniform && !self.decorations.of(to).buffer_block;
            self.program.bindings.push(BindingUse { set, binding, uniform });
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
