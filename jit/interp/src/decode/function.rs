//! Functions: registers for their ids, then their code.

use ahash::AHashMap;
use rspirv::spirv::Op;

use super::control::Flow;
use super::scan::{Raw, ScannedFunction};
use super::{Decoded, Decoder, NONE, is_silent};
use crate::program::Inst;

/// A function that the entry point reaches.
struct Reached<'w, 'f> {
    source: &'f ScannedFunction<'w>,
    phis: AHashMap<u32, Vec<Raw<'w>>>,
    /// Register for the return address; the entry point has none.
    link: Option<u32>,
    result: u32,
    start: u32,
}

impl<'w> Decoder<'w> {
    /// Decodes the entry point and all it calls.
    pub(super) fn functions(&mut self, all: &[ScannedFunction<'w>], entry: u32) -> Decoded<()> {
        let by_id: AHashMap<u32, usize> = all.iter().enumerate().map(|(i, f)| (f.def.id, i)).collect();
        let mut order = Vec::new();
        let mut state = vec![Visit::New; all.len()];
        let first = *by_id.get(&entry).ok_or(crate::OracleError::malformed("no entry function", 0))?;
        visit(first, all, &by_id, &mut state, &mut order)?;

        let mut reached = AHashMap::new();
        for &index in &order {
            let source = &all[index];
            let link = if index == first { None } else { Some(self.allocate(1)?) };
            let result = self.allocate(self.shapes.lanes(source.def.ty))?;
            let phis = self.assign(source)?;
            self.find_parts(source)?;
            reached.insert(source.def.id, Reached { source, phis, link, result, start: 0 });
        }
        // Callees come before callers, so a call knows where it leads.
        for &index in &order {
            let id = all[index].def.id;
            let start = self.program.code.len() as u32;
            if let Some(function) = reached.get_mut(&id) {
                function.start = start;
            }
            self.function(&reached[&id], &reached)?;
        }
        self.program.start = reached[&entry].start;
        Ok(())
    }

    /// Gives every id of the function its registers, and collects the phis of each block.
    fn assign(&mut self, function: &ScannedFunction<'w>) -> Decoded<AHashMap<u32, Vec<Raw<'w>>>> {
        let mut phis: AHashMap<u32, Vec<Raw<'w>>> = AHashMap::new();
        let mut block = 0;
        for raw in function.parameters.iter().chain(&function.body) {
            match raw.op {
                Op::Label => block = raw.id,
                Op::Phi => phis.entry(block).or_default().push(*raw),
                Op::Variable => {
                    self.variable(raw, false)?;
                    continue;
                }
                _ => {}
            }
            if raw.id == 0 || raw.ty == 0 {
                continue;
            }
            let register = match self.shared_register(raw)? {
                Some(register) => register,
                None => self.allocate(self.shapes.lanes(raw.ty))?,
            };
            self.registers[raw.id as usize] = register;
            self.value_types[raw.id as usize] = raw.ty;
        }
        Ok(phis)
    }

    /// A part of a value, or a copy of it, needs no registers of its own: SSA keeps the whole unchanged
    /// for as long as the part can be used.
    fn shared_register(&mut self, raw: &Raw<'w>) -> Decoded<Option<u32>> {
        let path = match raw.op {
            Op::CompositeExtract => raw.rest(1),
            Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => &[],
            _ => return Ok(None),
        };
        let whole = raw.arg(0)?;
        let known = self.registers.get(whole as usize).copied().unwrap_or(NONE);
        if known == NONE {
            return Ok(None);
        }
        let (part, lane) = self.shapes.path(self.value_type(whole, raw)?, path, raw)?;
        if self.shapes.lanes(part) != self.shapes.lanes(raw.ty) {
            return Err(raw.malformed("the part has another type"));
        }
        Ok(Some(known + lane))
    }

    fn function(
        &mut self,
        function: &Reached<'w, '_>,
        reached: &AHashMap<u32, Reached<'w, '_>>,
    ) -> Decoded<()> {
        let mut flow = Flow {
            phis: &function.phis,
            block: 0,
            open: Vec::new(),
            link: function.link,
            result: function.result,
            result_lanes: self.shapes.lanes(function.source.def.ty),
        };
        let mut labels = AHashMap::new();
        for raw in &function.source.body {
            match raw.op {
                Op::Label => {
                    labels.insert(raw.id, self.program.code.len() as u32);
                    flow.block = raw.id;
                }
                Op::Phi => {}
                Op::Variable => self.reset(raw)?,
                Op::ExtInst | Op::ExtInstWithForwardRefsKHR => self.extended(raw)?,
                Op::FunctionCall => self.call(raw, reached)?,
                op if is_silent(op) => {}
                _ => self.instruction(raw, &mut flow)?,
            }
        }
        for (edge, label) in flow.open {
            let end = self.program.code.len() as u32;
            let target = labels.get(&label).copied().filter(|target| *target < end);
            let target = target
                .ok_or_else(|| function.source.def.malformed("a branch to a block that is not there"))?;
            self.program.edges[edge as usize].target = target;
        }
        let empty = self.program.code.len() as u32 == function.start;
        if empty
            || !matches!(
                self.program.code.last(),
                Some(
                    Inst::Jump { .. }
                        | Inst::Branch { .. }
                        | Inst::Switch { .. }
                        | Inst::Return { .. }
                        | Inst::End
                        | Inst::Unreachable
                )
            )
        {
            return Err(function.source.def.malformed("a block without an end"));
        }
        Ok(())
    }

    fn instruction(&mut self, raw: &Raw<'w>, flow: &mut Flow<'w, '_>) -> Decoded<()> {
        let done = self.control(raw, flow)?
            || self.memory(raw)?
            || self.image(raw)?
            || self.atomic(raw)?
            || self.subgroup(raw)?
            || self.compute(raw)?;
        if done { Ok(()) } else { Err(raw.unsupported("it is outside the subset")) }
    }

    /// A Function variable starts its life anew whenever its function is entered.
    fn reset(&mut self, raw: &Raw<'w>) -> Decoded<()> {
        let register = self.register(raw.id, raw)? as usize;
        let lane = self.program.registers[register + 1] as u32;
        let (_, view, _) = self.pointer(raw.id, raw)?;
        let n = self.shapes.lanes(view.ty);
        self.emit(raw, Inst::Reset { lane, n });
        Ok(())
    }

    fn call(&mut self, raw: &Raw<'w>, reached: &AHashMap<u32, Reached<'w, '_>>) -> Decoded<()> {
        let callee =
            reached.get(&raw.arg(0)?).ok_or_else(|| raw.malformed("a call of what is no function"))?;
        let parameters = &callee.source.parameters;
        if parameters.len() + 1 != raw.args.len() {
            return Err(raw.malformed("a call with the wrong number of arguments"));
        }
        for (parameter, &argument) in parameters.iter().zip(raw.rest(1)) {
            let (dst, src) = (self.register(parameter.id, raw)?, self.register(argument, raw)?);
            let n = self.shapes.lanes(parameter.ty);
            if n != self.shapes.lanes(self.value_type(argument, raw)?) {
                return Err(raw.malformed("an argument of another type"));
            }
            self.emit(raw, Inst::Move { dst, src, n });
        }
        let link = callee.link.ok_or_else(|| raw.malformed("a call of the entry point"))?;
        self.emit(raw, Inst::Call { target: callee.start, link });
        let n = self.shapes.lanes(raw.ty);
        if n > 0 {
            let dst = self.register(raw.id, raw)?;
            self.emit(raw, Inst::Move { dst, src: callee.result, n });
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Callees before callers. Recursion has no place in SPIR-V for Vulkan.
fn visit(
    index: usize,
    all: &[ScannedFunction<'_>],
    by_id: &AHashMap<u32, usize>,
    state: &mut [Visit],
    order: &mut Vec<usize>,
) -> Decoded<()> {
    // An explicit stack: the depth of the call graph is the module's choice.
    let mut stack = vec![(index, 0)];
    state[index] = Visit::Open;
    while let Some((index, position)) = stack.pop() {
        let calls =
            all[index].body.iter().enumerate().skip(position).find(|(_, raw)| raw.op == Op::FunctionCall);
        let Some((at, raw)) = calls else {
            state[index] = Visit::Done;
            order.push(index);
            continue;
        };
        stack.push((index, at + 1));
        let callee =
            *by_id.get(&raw.arg(0)?).ok_or_else(|| raw.malformed("a call of what is no function"))?;
        match state[callee] {
            Visit::Open => return Err(raw.malformed("recursion")),
            Visit::Done => {}
            Visit::New => {
                state[callee] = Visit::Open;
                stack.push((callee, 0));
            }
        }
    }
    Ok(())
}
