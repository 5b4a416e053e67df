//! Instructions of a block other than its terminator.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{MemoryAccess, MemorySemantics, Op};
use smallvec::SmallVec;

use super::body::Body;
use super::declarations::{Importer, Result, Slot, Unsupported, id_at, literal_at};
use crate::ir::entity::Region;
use crate::ir::inst::{Access, Arg, Args, Flags, Operation};
use crate::ir::opcodes::{self, ATOMIC, PURE};
use crate::ir::region::Node;

impl Body<'_, '_> {
    /// Adds an instruction to a region; pointers become places.
    pub(super) fn instruction(&mut self, region: Region, inst: &Instruction) -> Result<()> {
        let op = inst.class.opcode;
        let operation = match op {
            Op::Phi | Op::Line | Op::NoLine | Op::SelectionMerge | Op::LoopMerge => return Ok(()),
            Op::Variable => return self.local(inst),
            Op::AccessChain | Op::InBoundsAccessChain => return self.chain(inst, region),
            Op::CopyObject if self.is_pointer(inst)? => {
                let from = id_at(inst, 0)?;
                return self.alias(inst.result_id.ok_or(Unsupported::of(inst, "no id"))?, from);
            }
            Op::Load => {
                let place = self.place(id_at(inst, 0)?, region)?;
                Operation::Load { place, access: self.importer.access(inst, &inst.operands[1..])? }
            }
            Op::Store => {
                let place = self.place(id_at(inst, 0)?, region)?;
                let value = self.value(id_at(inst, 1)?, region)?;
                Operation::Store { place, value, access: self.importer.access(inst, &inst.operands[2..])? }
            }
            Op::CopyMemory => return self.copy(region, inst),
            Op::ArrayLength => {
                let place = self.place(id_at(inst, 0)?, region)?;
                Operation::Length { place, member: literal_at(inst, 1)? }
            }
            Op::ControlBarrier => Operation::Barrier {
                execution: Some(self.importer.scope(id_at(inst, 0)?)?),
                memory: self.importer.scope(id_at(inst, 1)?)?,
                semantics: self.semantics(inst, 2)?,
            },
            Op::MemoryBarrier => Operation::Barrier {
                execution: None,
                memory: self.importer.scope(id_at(inst, 0)?)?,
                semantics: self.semantics(inst, 1)?,
            },
            Op::FunctionCall => Operation::Call {
                function: self.importer.function(id_at(inst, 0)?)?,
                args: self.args_from(inst, 1, region)?,
            },
            Op::ExtInst => match self.ext(inst, region)? {
                Some(operation) => operation,
                None => return Ok(()),
            },
            _ if opcodes::has(op, ATOMIC) => self.atomic(inst, region)?,
            _ if opcodes::has(op, PURE) || matches!(op, Op::CopyObject | Op::Undef) => {
                match self.pure(inst, region)? {
                    Some(operation) => operation,
                    None => self.other(inst, region)?,
                }
            }
            _ => self.other(inst, region)?,
        };
        self.push(region, inst, operation).map(drop)
    }

    /// A copy of memory is a load and a store.
    fn copy(&mut self, region: Region, inst: &Instruction) -> Result<()> {
        let [to, from] = [0, 1].map(|at| self.place(id_at(inst, at)?, region));
        let (to, from) = (to?, from?);
        let how = &inst.operands[2..];
        let is_mask = |operand: &Operand| matches!(operand, Operand::MemoryAccess(_));
        // Of two masks the first is the store's (SPIR-V 1.4). A single one is of both.
        let second = how.iter().skip(1).position(is_mask);
        let (store, load) = second.map_or((how, how), |at| how.split_at(at + 1));
        let (store, load) = (self.importer.access(inst, store)?, self.importer.access(inst, load)?);
        let ty = self.importer.module.types.pointer(self.f.places[from].pointer).map(|(_, ty)| ty);
        let load = Operation::Load { place: from, access: load };
        let (load, value) = self.f.inst(load, ty, None);
        let value = value.ok_or(Unsupported::of(inst, "no type"))?;
        self.home[value] = Some(region);
        let (store, _) = self.f.inst(Operation::Store { place: to, value, access: store }, None, None);
        self.f.regions[region].nodes.extend([load, store].map(Node::Inst));
        Ok(())
    }

    fn is_pointer(&self, inst: &Instruction) -> Result<bool> {
        Ok(self.importer.module.types.is_pointer(self.importer.result_type(inst)?))
    }

    fn semantics(&self, inst: &Instruction, at: usize) -> Result<MemorySemantics> {
        Ok(MemorySemantics::from_bits_retain(self.importer.number(id_at(inst, at)?)?))
    }

    fn args_from(&mut self, inst: &Instruction, at: usize, region: Region) -> Result<Args> {
        let mut args = Args::new();
        for operand in inst.operands.iter().skip(at) {
            let id = operand.id_ref_any().ok_or(Unsupported::of(inst, "a literal among values"))?;
            args.push(self.value(id, region)?);
        }
        Ok(args)
    }

    /// Values, then numbers; nothing for other forms.
    fn pure(&mut self, inst: &Instruction, region: Region) -> Result<Option<Operation>> {
        let ids = inst.operands.iter().map_while(|operand| match operand {
            Operand::IdRef(id) => Some(*id),
            _ => None,
        });
        let ids: SmallVec<[u32; 4]> = ids.collect();
        let literals = inst.operands[ids.len()..].iter().map(|operand| match operand {
            Operand::LiteralBit32(number) => Some(*number),
            _ => None,
        });
        let Some(literals) = literals.collect::<Option<SmallVec<[u32; 2]>>>() else { return Ok(None) };
        let mut args = Args::new();
        for id in ids {
            args.push(self.value(id, region)?);
        }
        Ok(Some(Operation::Pure { op: inst.class.opcode, args, literals }))
    }

    fn ext(&mut self, inst: &Instruction, region: Region) -> Result<Option<Operation>> {
        let id = id_at(inst, 0)?;
        if self.importer.dropped_sets.contains(&id) {
            return Ok(None);
        }
        let (Slot::Set(set), Some(Operand::LiteralExtInstInteger(number))) =
            (self.importer.slot(id), inst.operands.get(1))
        else {
            return Err(Unsupported::of(inst, "an instruction of no set"));
        };
        let is_known = self.importer.module.sets[set] == "GLSL.std.450";
        let args = self.args_from(inst, 2, region)?;
        Ok(Some(Operation::Ext { set, number: *number, args, pure: is_known && opcodes::is_pure(inst) }))
    }

    fn atomic(&mut self, inst: &Instruction, region: Region) -> Result<Operation> {
        let op = inst.class.opcode;
        let place = self.place(id_at(inst, 0)?, region)?;
        let scope = self.importer.scope(id_at(inst, 1)?)?;
        let semantics = self.semantics(inst, 2)?;
        let compares = matches!(op, Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak);
        let unequal = if compares { Some(self.semantics(inst, 3)?) } else { None };
        let args = self.args_from(inst, if compares { 4 } else { 3 }, region)?;
        Ok(Operation::Atomic { op, place, scope, semantics, unequal, args })
    }

    fn other(&mut self, inst: &Instruction, region: Region) -> Result<Operation> {
        let mut operands = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            operands.push(match operand {
                Operand::IdRef(id) => match self.importer.slot(*id) {
                    Slot::Type(ty) => Arg::Type(ty),
                    _ => Arg::Value(self.value(*id, region)?),
                },
                Operand::IdScope(id) => Arg::Scope(self.value(*id, region)?),
                Operand::IdMemorySemantics(id) => Arg::Semantics(self.value(*id, region)?),
                literal => Arg::Literal(literal.clone()),
            });
        }
        Ok(Operation::Other { op: inst.class.opcode, operands })
    }
}

impl Importer<'_> {
    /// How memory is accessed, by the operands that say so.
    fn access(&self, inst: &Instruction, operands: &[Operand]) -> Result<Access> {
        let mut access = Access::default();
        let Some((first, rest)) = operands.split_first() else { return Ok(access) };
        let Operand::MemoryAccess(mask) = first else { return Err(Unsupported::of(inst, "no access")) };
        let mut rest = rest.iter();
        let (aligned, available, visible) =
            (MemoryAccess::ALIGNED, MemoryAccess::MAKE_POINTER_AVAILABLE, MemoryAccess::MAKE_POINTER_VISIBLE);
        if mask.contains(aligned) {
            access.align = match rest.next() {
                Some(Operand::LiteralBit32(align)) => Some(*align),
                _ => return Err(Unsupported::of(inst, "a number is missing")),
            };
        }
        let mut scope = || {
            let id = rest.next().and_then(Operand::id_ref_any);
            self.scope(id.ok_or(Unsupported::of(inst, "an id is missing"))?)
        };
        access.available = mask.contains(available).then(&mut scope).transpose()?;
        access.visible = mask.contains(visible).then(&mut scope).transpose()?;
        access.flags = Flags(*mask - aligned - available - visible);
        match rest.next() {
            None => Ok(access),
            Some(_) => Err(Unsupported::of(inst, "operands that are not known")),
        }
    }
}
