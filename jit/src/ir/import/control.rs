//! Blocks and branches into regions and constructs.
//!
//! Blocks are read in the order of control flow. A branch to the end of a construct around the block, or to what continues a loop, ends the region;
//! a merge instruction begins a construct; any other branch goes on in the same region.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, SelectionControl, Word};

use super::body::Body;
use super::declarations::{Result, Unsupported, id_at};
use super::frame::{Entry, Frame};
use crate::ir::entity::{Construct, Region, Value};
use crate::ir::region::{Case, ConstructData, ConstructKind, EdgeArgs, End, Node, Until};

/// Most constructs inside each other.
const DEEPEST: usize = 500;

/// What a branch to a label is.
enum Way {
    Exit(Construct),
    Continue(Construct),
    Fall(Region),
    /// The next iteration of the loop in this frame.
    Back(usize),
    /// To a block of the same region.
    On(usize),
}

impl Body<'_, '_> {
    fn block(&self, label: Word) -> Result<usize> {
        self.labels
            .get(&label)
            .copied()
            .ok_or(Unsupported::Control { block: Some(label), what: "there is no such block" })
    }

    fn label(&self, block: usize) -> Result<Word> {
        let label = self.source.blocks[block].label_id();
        label.ok_or(Unsupported::Control { block: None, what: "a block has no label" })
    }

    fn way(&self, target: Word) -> Result<Way> {
        for (number, frame) in self.frames.iter().enumerate().rev() {
            match frame {
                Frame::If { construct, merge }
                | Frame::Switch { construct, merge, .. }
                | Frame::Loop { construct, merge, .. }
                    if *merge == target =>
                {
                    return Ok(Way::Exit(*construct));
                }
                Frame::Loop { header, latch, continuing, .. }
                    if *header == target && (continuing.is_some() || latch == header) =>
                {
                    return Ok(Way::Back(number));
                }
                Frame::Loop { construct, latch, continuing: None, .. } if *latch == target => {
                    return Ok(Way::Continue(*construct));
                }
                Frame::Switch { cases, .. } => {
                    if let Some((_, region)) = cases.iter().find(|(label, _)| *label == target) {
                        return Ok(Way::Fall(*region));
                    }
                }
                _ => {}
            }
        }
        Ok(Way::On(self.block(target)?))
    }

    /// The values that phis of a block have on an entry, seen from a region.
    fn args(&mut self, target: Word, entry: &Entry, region: Region) -> Result<EdgeArgs> {
        let from = match entry {
            Entry::With(values) => return Ok(values.clone()),
            Entry::From(from) => *from,
        };
        let block = self.block(target)?;
        let source = self.source;
        let mut args = EdgeArgs::new();
        for phi in source.blocks[block].instructions.iter().take_while(|inst| inst.class.opcode == Op::Phi) {
            args.push(self.value(incoming(phi, from)?, region)?);
        }
        Ok(args)
    }

    /// Goes on at a label: ends the region, or says at which block it goes on.
    fn go(&mut self, region: Region, target: Word, entry: Entry) -> Result<Option<(usize, Entry)>> {
        let end = match self.way(target)? {
            Way::On(block) => return Ok(Some((block, entry))),
            Way::Back(frame) => {
                self.back(region, frame, &entry, None)?;
                return Ok(None);
            }
            Way::Exit(to) => {
                let args = self.args(target, &entry, region)?;
                self.exits[to].push(region);
                End::Exit { to, args }
            }
            Way::Continue(to) => {
                let args = self.args(target, &entry, region)?;
                self.continues[to].push(region);
                End::Continue { to, args }
            }
            Way::Fall(to) => End::Fall { to, args: self.args(target, &entry, region)? },
        };
        self.f.regions[region].end = end;
        Ok(None)
    }

    /// Ends an iteration, on a condition that is `is` where the loop ends.
    fn back(
        &mut self,
        region: Region,
        frame: usize,
        entry: &Entry,
        until: Option<(Word, bool)>,
    ) -> Result<()> {
        let Frame::Loop { construct, merge, header, continuing, .. } = self.frames[frame].clone() else {
            return Ok(());
        };
        // A loop whose header continues it: nothing is done there.
        let own = match self.f.constructs[construct].kind {
            ConstructKind::Loop { continuing, .. } => continuing,
            _ => region,
        };
        if continuing.is_none() {
            self.f.regions[region].end = End::Continue { to: construct, args: EdgeArgs::new() };
            self.continues[construct].push(region);
        } else if region != own {
            return Err(Unsupported::Control {
                block: Some(header),
                what: "an iteration ends inside of a selection",
            });
        }
        // Set first: carrying a value out of the loop adds an argument.
        let until = match until {
            None => None,
            Some((condition, is)) => {
                let condition = self.value(condition, own)?;
                Some(Until { condition, is, args: self.args(merge, entry, own)? })
            }
        };
        let args = self.args(header, entry, own)?;
        if until.is_some() {
            self.exits[construct].push(own);
        }
        self.f.regions[own].end = End::Repeat { args, until };
        Ok(())
    }

    /// Reads blocks into a region until it ends.
    pub(super) fn run(&mut self, region: Region, block: usize, entry: Entry) -> Result<()> {
        let (mut block, mut entry) = (block, entry);
        loop {
            let is_loop = merge_of(&self.source.blocks[block].instructions, Op::LoopMerge).is_some();
            let next = match is_loop {
                true => self.looped(region, block, &entry)?,
                false => {
                    self.enter(block, &entry)?;
                    self.straight(region, block)?
                }
            };
            match next {
                Some(next) => (block, entry) = next,
                None => return Ok(()),
            }
        }
    }

    /// Marks a block as read, and has its phis name what comes with the entry.
    fn enter(&mut self, block: usize, entry: &Entry) -> Result<()> {
        self.visit(block)?;
        let source = self.source;
        let phis = source.blocks[block].instructions.iter().take_while(|inst| inst.class.opcode == Op::Phi);
        for (number, phi) in phis.enumerate() {
            let id = phi.result_id.ok_or(Unsupported::of(phi, "no id"))?;
            match entry {
                Entry::From(from) => self.alias(id, incoming(phi, *from)?)?,
                Entry::With(values) => {
                    let value = values.get(number).ok_or(Unsupported::of(phi, "a value is missing"))?;
                    self.bind(id, *value);
                }
            }
        }
        Ok(())
    }

    fn visit(&mut self, block: usize) -> Result<()> {
        let label = self.source.blocks[block].label_id();
        if std::mem::replace(&mut self.visited[block], true) {
            return Err(Unsupported::Control {
                block: label,
                what: "it is come to on several ways, and ends no construct",
            });
        }
        if self.frames.len() > DEEPEST {
            return Err(Unsupported::Control { block: label, what: "too many constructs inside each other" });
        }
        Ok(())
    }

    /// The instructions of a block, and its branch.
    fn straight(&mut self, region: Region, block: usize) -> Result<Option<(usize, Entry)>> {
        let source = self.source;
        let code = &source.blocks[block].instructions;
        let Some((last, before)) = code.split_last() else {
            return Err(Unsupported::Control { block: source.blocks[block].label_id(), what: "it is empty" });
        };
        for (position, inst) in before.iter().enumerate() {
            let next = self.f.insts.next_key();
            self.instruction(region, inst)?;
            if self.f.insts.get(next).is_some() {
                self.importer.origins.insts.push(((block, position), next));
            }
        }
        let from = self.label(block)?;
        let merge = merge_of(code, Op::SelectionMerge);
        let value = |at: usize| id_at(last, at);
        match (last.class.opcode, merge) {
            (Op::Branch, _) => self.go(region, value(0)?, Entry::From(from)),
            (Op::BranchConditional, Some(merge)) => self.selection(region, merge, last, from),
            (Op::BranchConditional, None) if value(1)? == value(2)? => {
                self.go(region, value(1)?, Entry::From(from))
            }
            (Op::BranchConditional, None) => self.fork(region, last, from),
            (Op::Switch, Some(merge)) => self.switch(region, merge, last, from),
            (Op::Switch, None) => {
                Err(Unsupported::Control { block: Some(from), what: "a switch without an end" })
            }
            (Op::Return, _) => self.end(region, End::Return(None)),
            (Op::ReturnValue, _) => {
                let value = self.value(value(0)?, region)?;
                self.end(region, End::Return(Some(value)))
            }
            (Op::Unreachable, _) => self.end(region, End::Unreachable),
            (op @ (Op::Kill | Op::TerminateInvocation), _) => self.end(region, End::Terminate(op)),
            _ => Err(Unsupported::of(last, "an end of a block of another sort")),
        }
    }

    fn end(&mut self, region: Region, end: End) -> Result<Option<(usize, Entry)>> {
        self.f.regions[region].end = end;
        Ok(None)
    }

    /// Adds a construct to a region, and makes room for its own.
    fn construct(&mut self, region: Region, kind: ConstructKind) -> Construct {
        let regions = kind.regions();
        let construct = self.f.constructs.push(ConstructData { kind, results: Vec::new() });
        for inner in regions {
            self.tree.add(inner, region, construct);
        }
        self.f.regions[region].nodes.push(Node::Construct(construct));
        construct
    }

    /// Ends a construct: goes on behind it with its results.
    fn close(&mut self, region: Region, construct: Construct, merge: Word) -> Result<Option<(usize, Entry)>> {
        self.frames.pop();
        let block = self.block(merge)?;
        let mut results = EdgeArgs::new();
        for (_, ty, decorations) in self.phis(block)? {
            let result = self.f.result(construct, ty, decorations);
            self.home[result] = Some(region);
            results.push(result);
        }
        self.closed[construct] = true;
        self.go(region, merge, Entry::With(results))
    }

    /// Reads what a branch leads to into a region of its own.
    fn arm(&mut self, arm: Region, target: Word, entry: Entry) -> Result<()> {
        match self.go(arm, target, entry)? {
            Some((block, entry)) => self.run(arm, block, entry),
            None => Ok(()),
        }
    }

    fn if_of(
        &mut self,
        region: Region,
        last: &Instruction,
        control: Option<SelectionControl>,
    ) -> Result<Construct> {
        let condition = self.value(id_at(last, 0)?, region)?;
        let (accept, reject) = (self.f.region(), self.f.region());
        let weights = match last.operands.get(3..) {
            Some([Operand::LiteralBit32(on_true), Operand::LiteralBit32(on_false)]) => {
                Some([*on_true, *on_false])
            }
            _ => None,
        };
        Ok(self.construct(region, ConstructKind::If { condition, accept, reject, control, weights }))
    }

    fn selection(
        &mut self,
        region: Region,
        merge: &Instruction,
        last: &Instruction,
        from: Word,
    ) -> Result<Option<(usize, Entry)>> {
        let construct = self.if_of(region, last, Some(control_of(merge)))?;
        let merge = id_at(merge, 0)?;
        self.frames.push(Frame::If { construct, merge });
        let targets = [id_at(last, 1)?, id_at(last, 2)?];
        let arms = self.f.constructs[construct].kind.regions();
        // A block that both sides lead to is read once, on a side that is always taken.
        let is_one_block = targets[0] == targets[1] && matches!(self.way(targets[0])?, Way::On(_));
        if is_one_block {
            let always = self.importer.module.truth(&mut self.f, true);
            if let ConstructKind::If { condition, .. } = &mut self.f.constructs[construct].kind {
                *condition = always;
            }
        }
        let taken = if is_one_block { 1 } else { targets.len() };
        for (arm, target) in arms.into_iter().zip(targets).take(taken) {
            self.arm(arm, target, Entry::From(from))?;
        }
        self.close(region, construct, merge)
    }

    /// A branch with one side that leaves a construct; the other goes on.
    fn fork(&mut self, region: Region, last: &Instruction, from: Word) -> Result<Option<(usize, Entry)>> {
        let targets = [id_at(last, 1)?, id_at(last, 2)?];
        for (number, target) in targets.into_iter().enumerate() {
            if let Way::Back(frame) = self.way(target)? {
                let Frame::Loop { merge, .. } = self.frames[frame] else { continue };
                if targets[1 - number] != merge {
                    return Err(Unsupported::Control {
                        block: Some(from),
                        what: "an iteration or something else follows",
                    });
                }
                let until = Some((id_at(last, 0)?, number == 1));
                self.back(region, frame, &Entry::From(from), until)?;
                return Ok(None);
            }
        }
        let construct = self.if_of(region, last, None)?;
        self.closed[construct] = true;
        let arms = self.f.constructs[construct].kind.regions();
        let mut next = None;
        for (number, target) in targets.into_iter().enumerate() {
            let goes_on = matches!(self.way(target)?, Way::On(_)) && (number == 1 || next.is_none());
            let is_last_choice = number == 1 || !matches!(self.way(targets[1])?, Way::On(_));
            if goes_on && is_last_choice {
                self.f.regions[arms[number]].end = End::Exit { to: construct, args: EdgeArgs::new() };
                self.exits[construct].push(arms[number]);
                next = Some((self.block(target)?, Entry::From(from)));
            } else {
                self.arm(arms[number], target, Entry::From(from))?;
            }
        }
        Ok(next)
    }

    fn switch(
        &mut self,
        region: Region,
        merge: &Instruction,
        last: &Instruction,
        from: Word,
    ) -> Result<Option<(usize, Entry)>> {
        let selector = self.value(id_at(last, 0)?, region)?;
        let mut targets: Vec<(Word, smallvec::SmallVec<[u64; 2]>)> =
            vec![(id_at(last, 1)?, Default::default())];
        for pair in last.operands.get(2..).unwrap_or_default().chunks(2) {
            let (number, target) = match pair {
                [Operand::LiteralBit32(number), Operand::IdRef(target)] => (u64::from(*number), *target),
                [Operand::LiteralBit64(number), Operand::IdRef(target)] => (*number, *target),
                _ => return Err(Unsupported::of(last, "a case of another form")),
            };
            match targets.iter_mut().find(|(label, _)| *label == target) {
                Some((_, numbers)) => numbers.push(number),
                None => targets.push((target, std::iter::once(number).collect())),
            }
        }
        let cases = targets.iter().map(|(_, numbers)| Case {
            numbers: numbers.clone(),
            region: self.f.region(),
            args: EdgeArgs::new(),
        });
        let cases: Vec<Case> = cases.collect();
        let regions: Vec<Region> = cases.iter().map(|case| case.region).collect();
        let control = control_of(merge);
        let construct = self.construct(region, ConstructKind::Switch { selector, cases, control });
        let merge = id_at(merge, 0)?;
        self.frames.push(Frame::Switch { construct, merge, cases: Vec::new() });
        // Blocks of cases, which others may fall into; the rest leaves at once.
        let mut blocks = vec![None; targets.len()];
        for (number, (target, _)) in targets.iter().enumerate() {
            if let Way::On(block) = self.way(*target)? {
                blocks[number] = Some(block);
            }
        }
        for (number, &block) in blocks.iter().enumerate() {
            let Some(block) = block else { continue };
            let args = self.args(targets[number].0, &Entry::From(from), region)?;
            if let ConstructKind::Switch { cases, .. } = &mut self.f.constructs[construct].kind {
                cases[number].args = args;
            }
            for (_, ty, decorations) in self.phis(block)? {
                let param = self.f.param(regions[number], ty, decorations);
                self.home[param] = Some(regions[number]);
            }
        }
        let labels = (0..targets.len()).filter(|&n| blocks[n].is_some()).map(|n| (targets[n].0, regions[n]));
        let labels: Vec<(Word, Region)> = labels.collect();
        if let Some(Frame::Switch { cases, .. }) = self.frames.last_mut() {
            *cases = labels;
        }
        for (number, block) in blocks.into_iter().enumerate() {
            match block {
                Some(block) => {
                    let params: Vec<Value> = self.f.regions[regions[number]].params.clone();
                    self.run(regions[number], block, Entry::With(params.into()))?;
                }
                None => self.arm(regions[number], targets[number].0, Entry::From(from))?,
            }
        }
        self.close(region, construct, merge)
    }

    fn looped(&mut self, region: Region, block: usize, entry: &Entry) -> Result<Option<(usize, Entry)>> {
        self.visit(block)?;
        let source = self.source;
        let header = self.label(block)?;
        let Some(inst) = merge_of(&source.blocks[block].instructions, Op::LoopMerge) else { return Ok(None) };
        let (merge, latch) = (id_at(inst, 0)?, id_at(inst, 1)?);
        let Some(Operand::LoopControl(control)) = inst.operands.get(2) else {
            return Err(Unsupported::of(inst, "no control"));
        };
        let operands = inst.operands[3..].to_vec();
        let args = self.args(header, entry, region)?;
        let (body, continuing) = (self.f.region(), self.f.region());
        let kind = ConstructKind::Loop { args, body, continuing, control: *control, operands };
        let construct = self.construct(region, kind);
        self.importer.origins.loops.push((block, construct));
        for (id, ty, decorations) in self.phis(block)? {
            let param = self.f.param(body, ty, decorations);
            self.home[param] = Some(body);
            self.bind(id, param);
        }
        self.frames.push(Frame::Loop { construct, merge, header, latch, continuing: None });
        if let Some((next, entry)) = self.straight(body, block)? {
            self.run(body, next, entry)?;
        }
        if latch != header {
            if let Some(Frame::Loop { continuing: present, .. }) = self.frames.last_mut() {
                *present = Some(continuing);
            }
            let next = self.block(latch)?;
            let mut params = EdgeArgs::new();
            for (_, ty, decorations) in self.phis(next)? {
                let param = self.f.param(continuing, ty, decorations);
                self.home[param] = Some(continuing);
                params.push(param);
            }
            self.run(continuing, next, Entry::With(params))?;
        }
        self.close(region, construct, merge)
    }
}

/// The merge instruction of a block.
fn merge_of(code: &[Instruction], op: Op) -> Option<&Instruction> {
    code.iter().rev().nth(1).filter(|inst| inst.class.opcode == op)
}

fn control_of(merge: &Instruction) -> SelectionControl {
    match merge.operands.get(1) {
        Some(Operand::SelectionControl(control)) => *control,
        _ => SelectionControl::NONE,
    }
}

/// What a phi takes where control comes from a block.
fn incoming(phi: &Instruction, from: Word) -> Result<Word> {
    let pairs = phi.operands.chunks(2);
    let mut found = pairs.filter_map(|pair| match pair {
        [Operand::IdRef(value), Operand::IdRef(label)] if *label == from => Some(*value),
        _ => None,
    });
    found.next().ok_or(Unsupported::of(phi, "it has no value for one of the ways"))
}
