//! A kernel in normal form with its analysis: what the planner and the emitter work on.

use std::borrow::Cow;
use std::sync::OnceLock;

use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use super::modes::Modes;
use super::{Binding, SetBinding, local_ids, push_block};
use crate::analysis::access::{Access, AccessKind};
use crate::analysis::cfg::Cfg;
use crate::analysis::expr::{IdKind, Node};
use crate::analysis::floats::{FloatUse, Floats, Open};
use crate::analysis::if_conversion::{RangeGuard, StraightLine, straight_line};
use crate::analysis::resolved_branches::{ResolvedBranch, resolve};
use crate::analysis::uniformity::{Alone, Globals, Sides, has_barrier, join_ends, loads_by_side, manner};
use crate::analysis::{self, KernelAnalysis};
use crate::frontend::types::Types;
use crate::ir::{self, Origins, Unsupported, import_with_origins, opcodes};

/// A kernel in the form that can be fused, and what is known of its accesses.
#[derive(Clone, Debug)]
pub struct NormalKernel {
    /// One function, the entry point. Floats are in contract form; the emitter makes them strict.
    pub module: Module,
    /// Its accesses to buffers.
    pub analysis: KernelAnalysis,
    pub(crate) types: Types,
    /// Its float arithmetic.
    pub(crate) floats: FloatUse,
    /// Type of the push-constant block.
    pub(crate) push_block: Option<u32>,
    /// Its execution modes.
    pub(crate) modes: Modes,
    /// Its straight line, if it is one. Found when it is first asked for.
    straight_line: OnceLock<Option<StraightLine>>,
    /// The module on the IR, if it has that form, and where its code comes from. Imported when it is first asked for.
    ir: OnceLock<Result<(ir::Module, Origins), Unsupported>>,
    /// Whether it has barriers, if its work-groups can be coarsened. Computed when it is first asked for.
    coarsened: OnceLock<Result<bool, Alone>>,
    /// The same if its invocations can be. Computed when it is first asked for.
    coarsened_invocations: OnceLock<Result<bool, Alone>>,
    /// See [`loads_by_side`]. Computed when it is first asked for.
    loads_by_side: OnceLock<[u32; 3]>,
    /// Reads that may find what the kernel wrote. Computed when it is first asked for.
    behind_stores: OnceLock<Vec<bool>>,
    /// The push constants that plans may depend on. Computed when it is first asked for.
    pub(crate) planned_push: OnceLock<Vec<(u32, u8)>>,
}

impl NormalKernel {
    /// Analyses a module in normal form whose resources are `bindings`.
    pub(super) fn new(mut module: Module, bindings: &[Binding]) -> Self {
        push_block::separate(&mut module);
        local_ids::settle(&mut module);
        let places: Vec<SetBinding> = bindings.iter().map(|b| b.at).collect();
        let analysis = analysis::build::analyse(&module, &places);
        let types = Types::new(&module);
        let push_block = module.types_global_values.iter().find_map(|inst| {
            let push = Operand::StorageClass(StorageClass::PushConstant);
            let is_push = inst.class.opcode == Op::Variable && inst.operands.first() == Some(&push);
            Some(types.pointee(is_push.then_some(inst.result_type?)?)?.1)
        });
        let floats = FloatUse::of(&module);
        let modes = Modes::of(&module, floats.kind);
        Self {
            module,
            analysis,
            types,
            straight_line: OnceLock::new(),
            floats,
            push_block,
            modes,
            ir: OnceLock::new(),
            coarsened: OnceLock::new(),
            coarsened_invocations: OnceLock::new(),
            loads_by_side: OnceLock::new(),
            behind_stores: OnceLock::new(),
            planned_push: OnceLock::new(),
        }
    }

    /// Whether there is a barrier in it, if its work-groups can be coarsened.
    pub(crate) fn waits_in_coarsened_blocks(&self) -> Result<bool, Alone> {
        *self.coarsened.get_or_init(kept!(|| self.waits_without(&[])))
    }

    /// The same where these blocks end in branches that go one way in every invocation.
    pub(crate) fn waits_without(&self, resolved: &[ResolvedBranch]) -> Result<bool, Alone> {
        self.waits(Sides::Groups, resolved)
    }

    /// Whether there is a barrier in it, if several invocations of a work-group, which is a line, can be done by one.
    pub(crate) fn waits_in_coarsened_threads(&self, resolved: &[ResolvedBranch]) -> Result<bool, Alone> {
        let plainly = *self.coarsened_invocations.get_or_init(kept!(|| self.waits(Sides::Invocations, &[])));
        match resolved {
            [] => plainly,
            _ => plainly.or_else(|_| self.waits(Sides::Invocations, resolved)),
        }
    }

    fn waits(&self, sides: Sides, resolved: &[ResolvedBranch]) -> Result<bool, Alone> {
        let imported = self.imported(resolved).map_err(|_| Alone::Unsupported)?;
        let Some(&func) = imported.0.defined.first() else { return Ok(false) };
        let mut module = Cow::Borrowed(&imported.0);
        if sides == Sides::Invocations {
            join_ends(&mut module.to_mut().functions[func]);
        }
        manner(&module, func, &Globals::of(&module, sides), &[])?;
        Ok(has_barrier(&module.functions[func], &[]))
    }

    /// The module on the IR: what rewrites change a copy of.
    pub(crate) fn ir(&self) -> Option<&ir::Module> {
        self.own().as_ref().ok().map(|(module, _)| module)
    }

    fn own(&self) -> &Result<(ir::Module, Origins), Unsupported> {
        self.ir.get_or_init(|| import_with_origins(&self.module))
    }

    /// The module on the IR, where blocks end in branches that go one way in every invocation, and where its code comes from.
    pub(crate) fn imported(
        &self,
        resolved: &[ResolvedBranch],
    ) -> Result<Cow<'_, (ir::Module, Origins)>, Unsupported> {
        if !resolved.is_empty() {
            let mut module = self.module.clone();
            for function in &mut module.functions {
                for (number, block) in function.blocks.iter_mut().enumerate() {
                    resolve(resolved, number, &mut block.instructions);
                }
            }
            return import_with_origins(&module).map(Cow::Owned);
        }
        self.own().as_ref().map(Cow::Borrowed).map_err(Clone::clone)
    }

    /// Its straight line, if it is one.
    pub(crate) fn straight_line(&self) -> Option<&StraightLine> {
        self.straight_line.get_or_init(kept!(|| straight_line(self.ir()?))).as_ref()
    }

    /// The range guards on its straight line, if it is one.
    pub(crate) fn guards(&self) -> impl Iterator<Item = &RangeGuard> {
        self.straight_line().into_iter().flat_map(|line| &line.guards)
    }

    /// Whether an access is to the element with the number of its item along `x`.
    pub(crate) fn is_own_number(&self, access: &Access) -> bool {
        let index = access.element.and_then(|element| element.index);
        let node = index.map(|index| self.analysis.exprs.get(index.node));
        matches!(node, Some(Node::Id { kind: IdKind::Global, dim: 0 }))
    }

    /// What loads of shared memory cost, by the dimension along which work-groups are coarsened.
    pub(crate) fn loads_by_side(&self) -> [u32; 3] {
        *self.loads_by_side.get_or_init(kept!(|| self.ir().map_or([0; 3], loads_by_side)))
    }

    /// By binding, of `count`: whether control can come from an access that writes to it to one that reads from it.
    pub(crate) fn reads_back(&self, count: usize) -> Vec<bool> {
        let mut reads_back = vec![false; count];
        let behind = self.behind_stores().iter().zip(&self.analysis.accesses);
        behind.filter(|(behind, _)| **behind).for_each(|(_, access)| reads_back[access.binding] = true);
        reads_back
    }

    /// What is open of its floats; nothing of those that are plain.
    pub(crate) fn open(&self) -> Open {
        if self.floats.kind != Floats::Any {
            return Open::default();
        }
        let own = self.behind_stores().iter().zip(&self.analysis.accesses);
        let own: Vec<(usize, usize)> = own.filter(|(own, _)| **own).map(|(_, access)| access.at).collect();
        Open::of(&self.module, &own)
    }

    /// Whether an access finds what memory holds, whatever a compiler knows of that: loads that a rewrite has made volatile.
    pub(crate) fn is_volatile(&self, access: usize) -> bool {
        let access = self.analysis.accesses.get(access);
        let inst = access.and_then(|access| {
            let (block, position) = access.at;
            self.module.functions.first()?.blocks.get(block)?.instructions.get(position)
        });
        inst.is_some_and(opcodes::is_volatile)
    }

    /// Whether control can come to an access that reads, by number, from one that writes to its binding.
    fn behind_stores(&self) -> &[bool] {
        self.behind_stores.get_or_init(kept!(|| {
            let accesses = &self.analysis.accesses;
            let mut behind = vec![false; accesses.len()];
            let Some(function) = self.module.functions.first() else { return behind };
            let mut cfg = None;
            for store in accesses.iter().filter(|store| store.kind.writes()) {
                let reads = |(_, load): &(usize, &Access)| {
                    load.binding == store.binding && load.kind != AccessKind::Write
                };
                let mut reading = accesses.iter().enumerate().filter(reads).peekable();
                if reading.peek().is_none() {
                    continue;
                }
                let after = cfg.get_or_insert_with(|| Cfg::new(function)).after(store.at.0);
                for (number, load) in reading {
                    behind[number] |= after[load.at.0] || load.at.0 == store.at.0 && load.at.1 > store.at.1;
                }
            }
            behind
        }))
    }
}
