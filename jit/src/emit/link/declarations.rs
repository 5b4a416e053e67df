//! What a member declares: capabilities, imports, types, constants and variables, each in the fused module once.

use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Decoration, StorageClass};

use super::{Linker, Role};
use crate::emit::JitError;
use crate::emit::ids::VirtualIds;
use crate::ir::entity::{Const, DecorationSet, Global, Type};
use crate::ir::{ConstData, ConstKind, GlobalArg, GlobalData, Item, TypeData, TypeKind};
use crate::kernel::SetBinding;
use crate::plan::recipe::Target;

/// An undefined value is zero in a fused kernel. Members that hand it on through memory have one value of it, whatever that is; in a
/// register, each of its uses could have another.
pub(super) fn frozen() -> ConstKind {
    if mutant!(UndefinedStaysSo) { ConstKind::Undef } else { ConstKind::Null }
}

/// Whether a decoration says how memory may be accessed, which the fused module says anew.
fn is_access_qualifier(decoration: &[Operand]) -> bool {
    decoration.iter().any(|operand| {
        matches!(
            operand,
            Operand::Decoration(
                Decoration::NonWritable
                    | Decoration::NonReadable
                    | Decoration::Coherent
                    | Decoration::Volatile
                    | Decoration::Restrict
                    | Decoration::Aliased
            )
        )
    })
}

fn asks_for_order(decoration: &[Operand]) -> bool {
    let order = |d: &Operand| matches!(d, Operand::Decoration(Decoration::Coherent | Decoration::Volatile));
    decoration.iter().any(order)
}

/// The claim that memory is reached in no other way, taken back: other members may reach it.
fn claimless(decoration: &[Operand]) -> Vec<Operand> {
    let claimless = |operand: &Operand| match operand {
        Operand::Decoration(Decoration::RestrictPointer) => Operand::Decoration(Decoration::AliasedPointer),
        other => other.clone(),
    };
    decoration.iter().map(claimless).collect()
}

impl Linker<'_> {
    pub(super) fn declarations(&mut self) -> Result<(), JitError> {
        let (source, module) = (self.source, &mut *self.code.module);
        // All members have the same memory model; some may use addresses.
        if module.functions.is_empty() || self.kernel.interface.uses_device_addresses {
            module.memory_model = source.memory_model;
        }
        source.capabilities.iter().for_each(|&capability| module.capability(capability));
        source.extensions.iter().for_each(|name| module.extension(name));
        for name in source.sets.values() {
            let known = module.sets.iter().find(|(_, known)| *known == name).map(|(set, _)| set);
            self.sets.push(known.unwrap_or_else(|| module.sets.push(name.clone())));
        }
        let push =
            source.push_constants().and_then(|push| source.types.pointer(source.globals[push].pointer));
        let push = push.map(|(_, block)| block);
        for &item in source.items() {
            match item {
                Item::Forward(_) => {}
                Item::Type(ty) => {
                    let new = self.declare_type(ty, push)?;
                    self.types[ty] = Some(new);
                }
                Item::Const(constant) => self.declare_constant(constant)?,
                Item::Global(global) => {
                    let role = self.variable(global)?;
                    self.roles[global] = Some(role);
                }
            }
        }
        Ok(())
    }

    pub(super) fn ty(&self, ty: Type) -> Result<Type, JitError> {
        self.types[ty].ok_or_else(|| self.error(format!("{ty:?} is used before it is declared")))
    }

    pub(super) fn constant(&self, constant: Const) -> Result<Const, JitError> {
        self.constants[constant]
            .ok_or_else(|| self.error(format!("{constant:?} is used before it is declared")))
    }

    fn args(&self, args: &[GlobalArg]) -> Result<Vec<GlobalArg>, JitError> {
        let one = |arg: &GlobalArg| {
            Ok(match arg {
                GlobalArg::Type(ty) => GlobalArg::Type(self.ty(*ty)?),
                GlobalArg::Const(constant) => GlobalArg::Const(self.constant(*constant)?),
                GlobalArg::Global(_) => return Err(self.error("a declaration of a variable")),
                GlobalArg::Literal(literal) => GlobalArg::Literal(literal.clone()),
            })
        };
        args.iter().map(one).collect()
    }

    /// Whether a type or a constant has a decoration in the fused module as well.
    fn is_kept(&self, decoration: &[Operand]) -> bool {
        // What is coherent or volatile behind an address is nowhere else said to be.
        let is_order = self.kernel.interface.uses_device_addresses && asks_for_order(decoration);
        !is_access_qualifier(decoration) || is_order
    }

    /// Whether a buffer has the type of the block of the push constants, too.
    fn is_shared(&self, block: Type) -> bool {
        self.source.types.iter().any(|(_, data)| match &data.kind {
            TypeKind::Pointer { class, pointee } => *pointee == block && *class != StorageClass::PushConstant,
            TypeKind::Struct { members } => members.contains(&block),
            TypeKind::Array { element, .. } | TypeKind::RuntimeArray { element } => *element == block,
            _ => false,
        })
    }

    /// A type; `push` is the block of the push constants.
    fn declare_type(&mut self, ty: Type, push: Option<Type>) -> Result<Type, JitError> {
        let TypeData { kind, mut decorations, mut members } = self.source.types.get(ty).clone();
        let kind = match kind {
            TypeKind::Vector { element, count } => TypeKind::Vector { element: self.ty(element)?, count },
            TypeKind::Matrix { column, count } => TypeKind::Matrix { column: self.ty(column)?, count },
            TypeKind::Array { element, length } => {
                TypeKind::Array { element: self.ty(element)?, length: self.constant(length)? }
            }
            TypeKind::RuntimeArray { element } => TypeKind::RuntimeArray { element: self.ty(element)? },
            TypeKind::Struct { members } => {
                let members = members.into_iter().map(|member| self.ty(member));
                TypeKind::Struct { members: members.collect::<Result<_, _>>()? }
            }
            TypeKind::Pointer { class, pointee } => {
                let own =
                    self.push_block.filter(|_| push == Some(pointee) && class == StorageClass::PushConstant);
                TypeKind::Pointer { class, pointee: own.map_or_else(|| self.ty(pointee), Ok)? }
            }
            TypeKind::Function { result, parameters } => {
                let parameters = parameters.into_iter().map(|parameter| self.ty(parameter));
                TypeKind::Function {
                    result: self.ty(result)?,
                    parameters: parameters.collect::<Result<_, _>>()?,
                }
            }
            TypeKind::Other { op, operands } => TypeKind::Other { op, operands: self.args(&operands)? },
            kind @ (TypeKind::Void
            | TypeKind::Bool
            | TypeKind::Int { .. }
            | TypeKind::Float { .. }
            | TypeKind::Forward { .. }) => kind,
        };
        decorations.retain(|one| self.is_kept(one));
        members.retain(|(_, one)| self.is_kept(one));
        let data = TypeData { kind, decorations, members }.sorted();
        if push != Some(ty) {
            return Ok(self.code.module.ty(data));
        }
        // A block inside the fused push-constant block is a plain struct.
        let is_block = |one: &Vec<Operand>| one.first() == Some(&Operand::Decoration(Decoration::Block));
        let decorations = data.decorations.iter().filter(|one| !is_block(one)).cloned().collect();
        let plain = TypeData { decorations, ..data.clone() };
        let shared = self.is_shared(ty).then(|| self.code.module.ty(data));
        let plain = self.code.module.ty(plain);
        self.push_block = Some(plain);
        Ok(shared.unwrap_or(plain))
    }

    fn declare_constant(&mut self, constant: Const) -> Result<(), JitError> {
        let ConstData { ty, kind, decorations } = self.source.const_data(constant).clone();
        let kind = match kind {
            ConstKind::Composite(parts) => ConstKind::Composite(
                parts.into_iter().map(|part| self.constant(part)).collect::<Result<_, _>>()?,
            ),
            ConstKind::Other { op, operands } => ConstKind::Other { op, operands: self.args(&operands)? },
            ConstKind::Undef => frozen(),
            kind @ (ConstKind::Bool(_) | ConstKind::Bits(_) | ConstKind::Null) => kind,
        };
        let decorations = self.source.decoration_list(decorations).iter().filter(|one| self.is_kept(one));
        let decorations = decorations.cloned().collect();
        let decorations = self.code.module.decorations(decorations);
        let ty = self.ty(ty)?;
        self.constants[constant] = Some(self.code.module.constant(ConstData { ty, kind, decorations }));
        Ok(())
    }

    /// The decorations of a value, of a place or of a variable of a function.
    pub(super) fn decorations(&mut self, set: Option<DecorationSet>) -> Option<DecorationSet> {
        let list = self.source.decoration_list(set).iter().map(|one| claimless(one)).collect();
        self.code.module.decorations(list)
    }

    fn literal(&self, global: Global, which: Decoration) -> u32 {
        match self.source.decoration(global, which) {
            Some([Operand::LiteralBit32(n)]) => *n,
            _ => 0,
        }
    }

    fn variable(&mut self, global: Global) -> Result<Role, JitError> {
        let source = self.source;
        let GlobalData { pointer, class, initializer, decorations } = source.globals[global].clone();
        let own = source.decoration_list(decorations);
        let (_, pointee) =
            source.types.pointer(pointer).ok_or_else(|| self.error("variable that is no pointer"))?;
        let new = match class {
            StorageClass::Input => {
                let Some(&[Operand::BuiltIn(builtin)]) = source.decoration(global, Decoration::BuiltIn)
                else {
                    return Err(self.error("input that is no built-in"));
                };
                let ty = self.ty(pointee)?;
                self.input(builtin, ty)
            }
            StorageClass::PushConstant => return Ok(Role::Push),
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant => {
                let set = self.literal(global, Decoration::DescriptorSet);
                let binding = self.literal(global, Decoration::Binding);
                let slots = &self.kernel.interface.bindings;
                let number = slots.iter().position(|b| b.at == SetBinding::from((set, binding)));
                let Some(number) = number else {
                    return Err(self.error("resource that was not reflected"));
                };
                match self.member.targets[number] {
                    Target::Internal { .. } => return Ok(Role::Internal(number)),
                    Target::Bound(unified) => {
                        // Qualifiers on members count for the variable as a whole.
                        let ty = source.types.get(pointee);
                        let members = ty.members.iter().map(|(_, one)| one);
                        let coherent =
                            own.iter().chain(&ty.decorations).chain(members).any(|one| asks_for_order(one));
                        let pointer = self.ty(pointer)?;
                        self.bindings.variable(self.code.module, unified, class, pointer, coherent)
                    }
                }
            }
            _ => {
                let initializer = match initializer {
                    Some(initializer) => self.args(&[initializer])?.pop(),
                    None => None,
                };
                let kept = own.iter().filter(|one| !is_access_qualifier(one) && one.len() == 1);
                let decorations = self.code.module.decorations(kept.map(|one| claimless(one)).collect());
                let pointer = self.ty(pointer)?;
                self.code.module.global(GlobalData { pointer, class, initializer, decorations })
            }
        };
        Ok(Role::Variable(new))
    }

    fn input(&mut self, builtin: BuiltIn, ty: Type) -> Global {
        let is_virtual =
            self.member.remap.is_some() && VirtualIds::covers(self.recipe.schedule.domain(), builtin);
        match is_virtual {
            true => self.ids.variable(self.code.module, builtin, ty),
            false => self.code.module.input_of(builtin, ty),
        }
    }
}
