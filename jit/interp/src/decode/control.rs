//! Branches, calls, returns, barriers.

use ahash::AHashMap;
use rspirv::spirv::{MemorySemantics, Op, Scope};

use super::scan::Raw;
use super::{Decoded, Decoder};
use crate::program::{Covers, Edge, Inst, Move};

/// What the terminators of one function need to know.
pub(super) struct Flow<'w, 'f> {
    /// The phi instructions of each block.
    pub(super) phis: &'f AHashMap<u32, Vec<Raw<'w>>>,
    /// Label of the block being decoded.
    pub(super) block: u32,
    /// Edges whose target is still a label.
    pub(super) open: Vec<(u32, u32)>,
    /// Register for the return address, or `None` in the entry point.
    pub(super) link: Option<u32>,
    /// Register of the result.
    pub(super) result: u32,
    pub(super) result_lanes: u32,
}

impl<'w> Decoder<'w> {
    /// Decodes an instruction that changes control flow or orders memory; false if it is none.
    pub(super) fn control(&mut self, raw: &Raw<'w>, flow: &mut Flow<'w, '_>) -> Decoded<bool> {
        match raw.op {
            Op::Branch => {
                let edge = self.edge(raw, raw.arg(0)?, flow)?;
                self.emit(raw, Inst::Jump { edge });
            }
            Op::BranchConditional => {
                let cond = self.register(raw.arg(0)?, raw)?;
                let yes = self.edge(raw, raw.arg(1)?, flow)?;
                let no = self.edge(raw, raw.arg(2)?, flow)?;
                self.emit(raw, Inst::Branch { cond, yes, no });
            }
            Op::Switch => self.switch(raw, flow)?,
            Op::Return => self.leave(raw, flow),
            Op::ReturnValue => {
                let src = self.register(raw.arg(0)?, raw)?;
                self.emit(raw, Inst::Move { dst: flow.result, src, n: flow.result_lanes });
                self.leave(raw, flow);
            }
            Op::Unreachable => self.emit(raw, Inst::Unreachable),
            Op::ControlBarrier => {
                let scope = self.constant_value(raw.arg(0)?, raw)? as u32;
                let subgroup = match Scope::from_u32(scope) {
                    Some(Scope::Workgroup) => false,
                    Some(Scope::Subgroup) => true,
                    // A barrier of one invocation does not wait.
                    Some(Scope::Invocation) => return Ok(true),
                    _ => return Err(raw.unsupported("only barriers of a work-group or sub-group are")),
                };
                let covers = self.covers(raw, 1, subgroup)?;
                self.emit(raw, Inst::Barrier { subgroup, covers });
            }
            Op::MemoryBarrier => {
                let covers = self.covers(raw, 0, false)?;
                self.emit(raw, Inst::Fence { covers });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn leave(&mut self, raw: &Raw<'_>, flow: &Flow<'_, '_>) {
        self.emit(raw, flow.link.map_or(Inst::End, |link| Inst::Return { link }));
    }

    /// Which memory the scope and semantics at operands `at` and `at + 1` order.
    fn covers(&self, raw: &Raw<'_>, at: usize, subgroup: bool) -> Decoded<Covers> {
        let scope = self.constant_value(raw.arg(at)?, raw)? as u32;
        let wide_enough = match Scope::from_u32(scope) {
            Some(Scope::CrossDevice | Scope::Device | Scope::QueueFamily | Scope::Workgroup) => true,
            Some(Scope::Subgroup) => subgroup,
            _ => false,
        };
        let semantics = MemorySemantics::from_bits_retain(self.constant_value(raw.arg(at + 1)?, raw)? as u32);
        let ordering = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::SEQUENTIALLY_CONSISTENT;
        // Both sides pass the same instruction, so it must be a release and an acquire.
        let both = MemorySemantics::ACQUIRE | MemorySemantics::RELEASE;
        let orders = wide_enough && (semantics.intersects(ordering) || semantics.contains(both));
        Ok(Covers {
            buffer: orders && semantics.contains(MemorySemantics::UNIFORM_MEMORY),
            shared: orders && semantics.contains(MemorySemantics::WORKGROUP_MEMORY),
            image: orders && semantics.contains(MemorySemantics::IMAGE_MEMORY),
        })
    }

    fn switch(&mut self, raw: &Raw<'w>, flow: &mut Flow<'w, '_>) -> Decoded<()> {
        let (selector, num) = self.operand(raw, 0)?;
        let default = self.edge(raw, raw.arg(1)?, flow)?;
        let literal = if num.bits() == 64 { 2 } else { 1 };
        let mut cases = Vec::new();
        for case in raw.rest(2).chunks(literal + 1) {
            let (value, target) = match *case {
                [low, target] => (u64::from(low), target),
                [low, high, target] => (u64::from(low) | u64::from(high) << 32, target),
                _ => return Err(raw.malformed("a case is cut off")),
            };
            cases.push((value & num.mask(), self.edge(raw, target, flow)?));
        }
        let first = self.program.cases.len() as u32;
        let count = cases.len() as u32;
        self.program.cases.append(&mut cases);
        self.emit(raw, Inst::Switch { selector, first, count, default });
        Ok(())
    }

    /// The way from this block to another, with what its phis take from here.
    fn edge(&mut self, raw: &Raw<'w>, label: u32, flow: &mut Flow<'w, '_>) -> Decoded<u32> {
        let phis = flow.phis;
        let mut moves = Vec::new();
        for phi in phis.get(&label).map_or(&[][..], Vec::as_slice) {
            let source = phi.args.chunks_exact(2).find(|pair| pair[1] == flow.block);
            let source = source.ok_or_else(|| phi.malformed("a phi without a value for a predecessor"))?[0];
            let (to, from) = (self.register(phi.id, phi)?, self.register(source, phi)?);
            moves.push(Move { to, from, lanes: self.shapes.lanes(phi.ty) });
        }
        let first = self.program.moves.len() as u32;
        let count = moves.len() as u32;
        self.program.moves.append(&mut moves);
        let index = self.program.edges.len() as u32;
        self.program.edges.push(Edge { target: 0, moves: first, count });
        if label == 0 {
            return Err(raw.malformed("a branch to nowhere"));
        }
        flow.open.push((index, label));
        Ok(index)
    }
}
