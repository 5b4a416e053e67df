//! Words behind a kernel's own push constants.
//!
//! # Requires
//! - the normal form: parts of push constants are loaded one by one
//!
//! # Guarantees
//! - what the kernel loads is where it was
//!
//! # Refuses
//! - push constants that are loaded whole, or that are no block

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, StorageClass};

use super::writer::Result;
use crate::ir::entity::{Func, Global, Value};
use crate::ir::{Builder, GlobalData, Module, Root, TypeData, TypeKind};

/// Numbers that follow each other.
#[derive(Clone, Copy)]
pub(super) struct Words {
    block: Global,
    first: u32,
}

impl Words {
    /// Appends `count` words to the push-constant block, from byte `at` on.
    pub(super) fn append(module: &mut Module, func: Func, at: u32, count: u32) -> Result<Self> {
        let known = module.push_constants();
        let mut data = match known {
            Some(block) => {
                let (_, ty) = module.types.pointer(module.globals[block].pointer).ok_or("no block")?;
                module.types.get(ty).clone()
            }
            None => TypeData {
                kind: TypeKind::Struct { members: Vec::new() },
                decorations: vec![vec![Operand::Decoration(Decoration::Block)]],
                members: Vec::new(),
            },
        };
        let word = module.u32();
        let TypeKind::Struct { members } = &mut data.kind else {
            return Err("push constants of another form");
        };
        let first = members.len() as u32;
        for number in 0..count {
            members.push(word);
            let offset =
                vec![Operand::Decoration(Decoration::Offset), Operand::LiteralBit32(at + 4 * number)];
            data.members.push((first + number, offset));
        }
        let (class, ty) = (StorageClass::PushConstant, module.ty(data));
        let pointer = module.pointer(class, ty);
        let Some(block) = known else {
            let data = GlobalData { pointer, class, initializer: None, decorations: None };
            return Ok(Self { block: module.global(data), first });
        };
        let f = &module.functions[func];
        if f.names(f.body, |place| place.root == Root::Global(block) && place.path.is_empty()) {
            return Err("push constants that are loaded whole");
        }
        module.retype(block, pointer);
        Ok(Self { block, first })
    }

    /// Loads one of them.
    pub(super) fn load(self, code: &mut Builder<'_>, number: u32) -> Value {
        let member = code.word(self.first + number);
        code.load(Root::Global(self.block), &[member])
    }
}
