//! The body of a member, as a function of its own.

use rspirv::spirv::{FunctionControl, MemoryAccess, Op, Scope, StorageClass};

use super::declarations::frozen;
use super::{Linker, ROUND, Role};
use crate::analysis::cfg::Cfg;
use crate::emit::JitError;
use crate::emit::entry::{self, Ordering};
use crate::emit::hide::Hiding;
use crate::ir::entity::{Entity as _, Inst, Place, Region, Value};
use crate::ir::{
    Access, Arg, ConstData, ConstructKind, Def, Function, GlobalData, Named, Node, Operation, Origins,
    PlaceData, Root,
};

impl Linker<'_> {
    /// Copies the body into the function that is linked.
    pub(super) fn function(&mut self, origins: &Origins) -> Result<(), JitError> {
        let f = self.adopted()?;
        let (function, body) = (self.code.module.functions.push(f), self.from.body);
        self.code.module.defined.push(function);
        self.number(origins)?;
        self.name_rounds(origins)?;
        self.region(body)?;
        self.load_zero();
        Ok(())
    }

    /// The function, with what the declarations became in the place of these. Places in what is gone stay as they are.
    fn adopted(&mut self) -> Result<Function, JitError> {
        let mut f = self.from.clone();
        (f.ty, f.result) = (self.ty(f.ty)?, self.ty(f.result)?);
        (f.control, f.decorations) = (FunctionControl::NONE, None);
        f.names.clear();
        f.change_constants(|constant| self.constants[constant].unwrap_or(constant));
        for data in f.values.values_mut() {
            (data.ty, data.decorations) = (self.ty(data.ty)?, self.decorations(data.decorations));
        }
        for data in f.locals.values_mut() {
            (data.pointer, data.decorations) = (self.ty(data.pointer)?, self.decorations(data.decorations));
            data.initializer = data.initializer.map(|constant| self.constant(constant)).transpose()?;
        }
        for data in f.places.values_mut() {
            (data.pointer, data.decorations) = (self.ty(data.pointer)?, self.decorations(data.decorations));
            if let Root::Global(global) = &mut data.root
                && let Some(Role::Variable(new)) = self.roles[*global]
            {
                *global = new;
            }
        }
        for data in f.insts.values_mut() {
            match &mut data.operation {
                Operation::Ext { set, .. } => *set = self.sets[set.index()],
                Operation::Other { operands, .. } => {
                    for operand in operands {
                        if let Arg::Type(ty) = operand {
                            *ty = self.ty(*ty)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(f)
    }

    /// Gives accesses and queries of lengths their numbers.
    fn number(&mut self, origins: &Origins) -> Result<(), JitError> {
        let analysis = &self.normal.analysis;
        let (accesses, lengths) = (analysis.numbered(), analysis.numbered_lengths());
        let function = self.normal.module.functions.first().ok_or_else(|| self.error("no function"))?;
        for &(at, inst) in &origins.insts {
            self.accesses.extend(accesses.get(&at).map(|&numbers| (inst, numbers)));
            if let Operation::Length { .. } = self.from.insts[inst].operation {
                let id = function.blocks[at.0].instructions[at.1].result_id;
                self.lengths.extend(id.and_then(|id| Some((inst, *lengths.get(&id)?))));
            }
        }
        Ok(())
    }

    /// Makes a variable for the iteration of each loop that is unrolled, which is named after the loop's number among those of all members.
    fn name_rounds(&mut self, origins: &Origins) -> Result<(), JitError> {
        let Some(function) = self.normal.module.functions.first().filter(|_| !self.member.unroll.is_empty())
        else {
            return Ok(());
        };
        let cfg = Cfg::new(function);
        for how in &self.member.unroll {
            let header = cfg.loops.get(how.index() as usize).map(|one| one.header);
            let header = header.ok_or_else(|| self.error(format!("there is no loop {}", how.index())))?;
            let module = &mut *self.code.module;
            let (ty, class) = (module.u32(), StorageClass::Private);
            let pointer = module.pointer(class, ty);
            let variable = module.global(GlobalData { pointer, class, initializer: None, decorations: None });
            module.names.insert(Named::Global(variable), format!("{ROUND}{}", module.names.len()));
            let place = self.code.place_of(variable, &[], ty);
            let load = Operation::Load { place, access: Access::default() };
            let (load, round) = self.code.function().inst(load, Some(ty), None);
            self.rounds.extend(round.map(|round| (how.index(), round)));
            let construct =
                origins.loops.iter().find(|(at, _)| *at == header).map(|(_, construct)| *construct);
            if let Some(ConstructKind::Loop { body, .. }) =
                construct.map(|construct| &self.from.constructs[construct].kind)
            {
                self.loads.insert(*body, load);
            }
        }
        Ok(())
    }

    fn region(&mut self, region: Region) -> Result<(), JitError> {
        let nodes = std::mem::take(&mut self.code.function().regions[region].nodes);
        let around = std::mem::take(&mut self.code.nodes);
        self.code.nodes.extend(self.loads.get(&region).map(|&load| Node::Inst(load)));
        for node in nodes {
            match node {
                Node::Inst(inst) => self.instruction(inst)?,
                Node::Construct(construct) => {
                    self.code.nodes.push(node);
                    for inner in self.from.constructs[construct].kind.regions() {
                        self.region(inner)?;
                    }
                }
            }
        }
        self.code.function().regions[region].nodes = std::mem::replace(&mut self.code.nodes, around);
        Ok(())
    }

    /// What the variable is that a place of the member lies in.
    fn role(&self, place: Place) -> Option<Role> {
        match self.from.places[place].root {
            Root::Global(global) => self.roles[global],
            Root::Local(_) | Root::Pointer(_) => None,
        }
    }

    fn instruction(&mut self, inst: Inst) -> Result<(), JitError> {
        self.at = self.accesses.get(&inst).copied();
        let data = self.code.f().insts[inst].clone();
        let ty = data.result.map(|result| self.code.f().values[result].ty);
        let (mut operation, place) = (data.operation, self.from.insts[inst].operation.place());
        let is_gone = |value: Value| match self.from.values[value].def {
            Def::Address(place) => matches!(self.role(place), Some(Role::Push | Role::Internal(_))),
            _ => false,
        };
        if self.from.insts[inst].operation.values().any(is_gone) {
            return Err(self.error("the address of a variable that is gone"));
        }
        let hiding = ty.map_or(Hiding::None, |ty| self.hiding(ty));
        let mut is_hidden = hiding == Hiding::Word;
        match (place.and_then(|place| self.role(place)), &mut operation, ty) {
            (Some(Role::Internal(binding)), Operation::Load { place, .. }, Some(ty)) => {
                // What is inside may be computed with: the variable's type has asked for what that takes.
                is_hidden = hiding != Hiding::None;
                operation = self.internal_load(binding, *place, ty)?;
            }
            (Some(Role::Internal(binding)), Operation::Store { place, value, .. }, _) => {
                return self.internal_store(binding, *place, *value);
            }
            (Some(Role::Internal(binding)), Operation::Length { .. }, _) => {
                operation = self.internal_length(binding, inst)?;
            }
            (Some(Role::Push), Operation::Load { place, .. }, Some(ty)) => {
                (operation, is_hidden) = self.push_load(*place, ty)?;
            }
            (Some(Role::Internal(_) | Role::Push), ..) => {
                return Err(self.error("a pointer to a variable that is gone"));
            }
            (_, Operation::Load { place, access }, Some(ty)) => {
                self.settle(*place);
                self.keep_order(*place, access);
                match self.kept(ty)? {
                    Some(kept) => {
                        // What is hidden is hidden from each place anew.
                        is_hidden = hiding != Hiding::None;
                        operation = kept.variable.load(&mut self.code, &kept.path, ty);
                    }
                    None if hiding == Hiding::Volatile => access.flags.0 |= MemoryAccess::VOLATILE,
                    None => {}
                }
            }
            (_, Operation::Store { place, value, access }, _) => {
                let value = *value;
                self.keep_order(*place, access);
                self.set(inst, operation);
                return self.keep_stored(value);
            }
            (_, Operation::Barrier { execution: Some(_), memory, semantics }, _)
                if self.member.widen_barriers =>
            {
                // The member's own barrier, which now also orders what passes between members.
                if matches!(memory, Scope::Subgroup | Scope::Invocation) {
                    *memory = Scope::Workgroup;
                    self.code.module.word(Scope::Workgroup as u32);
                }
                *semantics = entry::widened(*semantics, Ordering::of_all(self.recipe));
                self.code.module.word(semantics.bits());
            }
            (_, Operation::Pure { op: Op::Undef, .. }, Some(ty)) => {
                let null = ConstData { ty, kind: frozen(), decorations: None };
                let null = self.code.module.constant(null);
                operation = Operation::copy(self.code.function().constant(null, ty));
            }
            _ => {}
        }
        if let (true, Some(ty)) = (is_hidden, ty) {
            let plain = self.code.value(operation, ty);
            operation = self.hide(plain);
        }
        self.set(inst, operation);
        Ok(())
    }

    /// Adds an instruction of the member's, which does this now.
    fn set(&mut self, inst: Inst, operation: Operation) {
        self.code.function().insts[inst].operation = operation;
        self.code.nodes.push(Node::Inst(inst));
    }

    /// Has the type of a pointer name the memory that its variable is in now.
    fn settle(&mut self, place: Place) {
        let PlaceData { root: Root::Global(global), pointer, .. } = self.code.f().places[place] else {
            return;
        };
        let class = self.code.module.globals[global].class;
        if let Some((_, pointee)) = self.code.module.types.pointer(pointer).filter(|(old, _)| *old != class) {
            self.code.function().places[place].pointer = self.code.module.pointer(class, pointee);
        }
    }

    /// Loads and stores through device addresses are volatile: nothing else tells the driver that another member may
    /// reach the same memory.
    fn keep_order(&self, place: Place, access: &mut Access) {
        let class =
            self.code.module.types.pointer(self.code.f().places[place].pointer).map(|(class, _)| class);
        if class == Some(StorageClass::PhysicalStorageBuffer) && !access.is_plain() {
            access.flags.0 |= MemoryAccess::VOLATILE;
        }
    }

    /// Loads the zero where the body begins, if it is used.
    fn load_zero(&mut self) {
        let (Some((load, _)), Some(slot)) = (self.zero, self.recipe.zero) else { return };
        let place = self.push.place_u32(&mut self.code, slot);
        let body = self.from.body;
        let f = self.code.function();
        f.insts[load].operation = Operation::Load { place, access: Access::default() };
        f.regions[body].nodes.insert(0, Node::Inst(load));
    }
}
