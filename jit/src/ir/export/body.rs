//! Functions: regions into blocks, arguments into phis.
//!
//! There is no phi where all predecessors carry the same value, and no block for an empty side of a selection.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{LoopControl, Op, SelectionControl, Word};

use super::declarations::Exporter;
use super::places;
use crate::ir::entity::{Construct, Func, Local, Place, Region, SecondaryMap, Value};
use crate::ir::function::{Def, Function};
use crate::ir::opcodes::instruction;
use crate::ir::region::{Case, ConstructKind, EdgeArgs, End, Node, Position, Until};

/// Exports a function.
pub(super) fn export(exporter: &mut Exporter<'_>, name: Func) -> dr::Function {
    let module = exporter.module;
    let f = &module.functions[name];
    let id = exporter.function(name);
    exporter.annotate(id, f.decorations);
    let operands = vec![Operand::FunctionControl(f.control), Operand::IdRef(exporter.ty(f.ty))];
    let def = instruction(Op::Function, Some(exporter.ty(f.result)), Some(id), operands);
    let fallen = f.regions.values().filter_map(|region| match region.end {
        End::Fall { to, .. } => Some(to),
        _ => None,
    });
    let label = exporter.fresh();
    let mut writer = Writer {
        exporter,
        f,
        ids: SecondaryMap::of(&f.values),
        locals: SecondaryMap::of(&f.locals),
        addresses: SecondaryMap::of(&f.places),
        at: places::by_region(f),
        blocks: Vec::new(),
        current: None,
        here: label,
        loop_merge: None,
        merges: SecondaryMap::of(&f.constructs),
        continues: SecondaryMap::of(&f.constructs),
        headers: SecondaryMap::of(&f.constructs),
        cases: AHashMap::new(),
        targets: fallen.collect(),
        loops: AHashMap::new(),
        exits: SecondaryMap::of(&f.constructs),
        continued: SecondaryMap::of(&f.constructs),
        fallen: AHashMap::new(),
    };
    let parameters = writer.parameters();
    writer.start(label);
    writer.variables();
    writer.region(f.body);
    let blocks = std::mem::take(&mut writer.blocks);
    let end = Some(instruction(Op::FunctionEnd, None, None, Vec::new()));
    dr::Function { def: Some(def), end, parameters, blocks }
}

/// An edge: the label of the block it comes from, and what it carries.
type Edge = (Word, EdgeArgs);

pub(super) struct Writer<'e, 'm> {
    pub(super) exporter: &'e mut Exporter<'m>,
    pub(super) f: &'m Function,
    ids: SecondaryMap<Value, Option<Word>>,
    pub(super) locals: SecondaryMap<Local, Option<Word>>,
    pub(super) addresses: SecondaryMap<Place, Option<Word>>,
    /// By region, the nodes before which addresses of places are still to be computed, last first.
    at: SecondaryMap<Region, Vec<(usize, Place)>>,
    blocks: Vec<dr::Block>,
    current: Option<dr::Block>,
    /// Label of the block that was started last.
    here: Word,
    /// The merge instruction of a loop whose header is the present block.
    loop_merge: Option<Instruction>,
    /// Labels of constructs, and edges to these.
    merges: SecondaryMap<Construct, Option<Word>>,
    continues: SecondaryMap<Construct, Option<Word>>,
    headers: SecondaryMap<Construct, Option<Word>>,
    cases: AHashMap<Region, Word>,
    /// Cases that others fall into.
    targets: AHashSet<Region>,
    /// Loops by the region that continues them.
    loops: AHashMap<Region, Construct>,
    exits: SecondaryMap<Construct, Vec<Edge>>,
    continued: SecondaryMap<Construct, Vec<Edge>>,
    fallen: AHashMap<Region, Vec<Edge>>,
}

impl Writer<'_, '_> {
    /// The id of a value.
    pub(super) fn id(&mut self, value: Value) -> Word {
        match self.f.values[value].def {
            Def::Const(constant) => return self.exporter.constant(constant),
            Def::Address(place) => return self.address(place),
            _ => {}
        }
        match self.ids[value] {
            Some(id) => id,
            None => {
                let id = self.exporter.fresh();
                self.ids[value] = Some(id);
                id
            }
        }
    }

    /// The id of a value where it is made.
    pub(super) fn define(&mut self, value: Value) -> Word {
        let id = self.id(value);
        self.exporter.annotate(id, self.f.values[value].decorations);
        if let Some(name) = self.f.names.get(&value) {
            self.exporter.name(id, name);
        }
        id
    }

    fn label(&mut self, of: impl Fn(&mut Self) -> &mut Option<Word>) -> Word {
        if let Some(label) = *of(self) {
            return label;
        }
        let label = self.exporter.fresh();
        *of(self) = Some(label);
        label
    }

    fn merge(&mut self, construct: Construct) -> Word {
        self.label(|writer| &mut writer.merges[construct])
    }

    fn parameters(&mut self) -> Vec<Instruction> {
        let params = self.f.params.iter();
        let one = |&value| {
            let ty = self.exporter.ty(self.f.values[value].ty);
            instruction(Op::FunctionParameter, Some(ty), Some(self.define(value)), Vec::new())
        };
        params.map(one).collect()
    }

    fn variables(&mut self) {
        for &local in &self.f.variables {
            let data = &self.f.locals[local];
            let id = self.exporter.fresh();
            self.locals[local] = Some(id);
            self.exporter.annotate(id, data.decorations);
            let mut operands = vec![Operand::StorageClass(rspirv::spirv::StorageClass::Function)];
            operands
                .extend(data.initializer.map(|constant| Operand::IdRef(self.exporter.constant(constant))));
            let ty = self.exporter.ty(data.pointer);
            self.push(instruction(Op::Variable, Some(ty), Some(id), operands));
        }
    }

    fn start(&mut self, label: Word) {
        self.here = label;
        let label = Some(instruction(Op::Label, None, Some(label), Vec::new()));
        self.current = Some(dr::Block { label, instructions: Vec::new() });
    }

    pub(super) fn push(&mut self, inst: Instruction) {
        if let Some(block) = &mut self.current {
            block.instructions.push(inst);
        }
    }

    /// Ends the present block.
    fn terminate(&mut self, inst: Instruction) {
        if let Some(merge) = self.loop_merge.take() {
            match inst.class.opcode {
                Op::Branch | Op::BranchConditional => self.push(merge),
                _ => self.split(merge),
            }
        }
        self.push(inst);
        self.blocks.extend(self.current.take());
    }

    /// Ends the header of a loop, and goes on in another block.
    fn split(&mut self, merge: Instruction) {
        let label = self.exporter.fresh();
        self.push(merge);
        self.push(instruction(Op::Branch, None, None, vec![Operand::IdRef(label)]));
        self.blocks.extend(self.current.take());
        self.start(label);
    }

    fn branch(&mut self, label: Word) {
        self.terminate(instruction(Op::Branch, None, None, vec![Operand::IdRef(label)]));
    }

    fn region(&mut self, region: Region) {
        let data = &self.f.regions[region];
        for (number, node) in data.nodes.iter().enumerate() {
            self.work_out((region, number));
            match *node {
                Node::Inst(inst) => self.instruction(inst),
                Node::Construct(construct) => self.construct(construct),
            }
        }
        if self.current.is_none() {
            return;
        }
        self.work_out((region, data.nodes.len()));
        self.end(region);
    }

    fn work_out(&mut self, at: Position) {
        while let Some((_, place)) = self.at[at.0].pop_if(|(node, _)| *node == at.1) {
            self.chain(place);
        }
    }

    fn end(&mut self, region: Region) {
        let here = self.here;
        match &self.f.regions[region].end {
            End::Exit { .. } | End::Continue { .. } | End::Fall { .. } => {
                if let Some(label) = self.follow(region, here) {
                    self.branch(label);
                }
            }
            End::Repeat { until, .. } => {
                let Some(&construct) = self.loops.get(&region) else { return };
                let header = self.label(|writer| &mut writer.headers[construct]);
                match until {
                    None => self.branch(header),
                    Some(until) => {
                        let merge = self.merge(construct);
                        self.exits[construct].push((here, until.args.clone()));
                        self.repeat(until, header, merge);
                    }
                }
            }
            End::Return(None) => self.terminate(instruction(Op::Return, None, None, Vec::new())),
            End::Return(Some(value)) => {
                let value = Operand::IdRef(self.id(*value));
                self.terminate(instruction(Op::ReturnValue, None, None, vec![value]));
            }
            End::Unreachable => self.terminate(instruction(Op::Unreachable, None, None, Vec::new())),
            End::Terminate(op) => self.terminate(instruction(*op, None, None, Vec::new())),
        }
    }

    fn repeat(&mut self, until: &Until, header: Word, merge: Word) {
        let (on_true, on_false) = if until.is { (merge, header) } else { (header, merge) };
        let operands = [self.id(until.condition), on_true, on_false].map(Operand::IdRef).to_vec();
        self.terminate(instruction(Op::BranchConditional, None, None, operands));
    }

    /// The label that the end of a region branches to, if it leaves or continues a construct; records the edge from a block.
    fn follow(&mut self, region: Region, from: Word) -> Option<Word> {
        let f = self.f;
        match &f.regions[region].end {
            End::Exit { to, args } => {
                self.exits[*to].push((from, args.clone()));
                Some(self.merge(*to))
            }
            End::Continue { to, args } => {
                self.continued[*to].push((from, args.clone()));
                Some(self.label(|writer| &mut writer.continues[*to]))
            }
            End::Fall { to, args } => {
                self.fallen.entry(*to).or_default().push((from, args.clone()));
                self.cases.get(to).copied()
            }
            _ => None,
        }
    }

    /// What a region does at once, if it does nothing but leave a construct.
    fn direct(&self, region: Region) -> Option<(bool, Construct)> {
        let data = &self.f.regions[region];
        if !data.nodes.is_empty() || !self.at[region].is_empty() {
            return None;
        }
        match data.end {
            End::Exit { to, .. } => Some((true, to)),
            End::Continue { to, .. } => Some((false, to)),
            _ => None,
        }
    }

    fn construct(&mut self, construct: Construct) {
        let f = self.f;
        match &f.constructs[construct].kind {
            ConstructKind::If { accept, reject, control, condition, weights } => {
                let weights = weights.iter().flatten().map(|&weight| Operand::LiteralBit32(weight)).collect();
                self.selection(construct, [*accept, *reject], *control, (*condition, weights));
            }
            ConstructKind::Switch { selector, cases, control } => {
                self.switch(construct, *selector, cases, *control);
            }
            ConstructKind::Loop { args, body, continuing, control, operands } => {
                self.looped(construct, args, (*body, *continuing), (*control, operands));
            }
        }
    }

    /// Whether a selection is a branch without an end of its own.
    fn is_fork(&self, construct: Construct) -> bool {
        let ConstructKind::If { accept, reject, control: None, .. } = &self.f.constructs[construct].kind
        else {
            return false;
        };
        let (accept, reject) = (self.direct(*accept), self.direct(*reject));
        accept.is_some() && reject.is_some() && accept != reject
    }

    fn selection(
        &mut self,
        construct: Construct,
        arms: [Region; 2],
        control: Option<SelectionControl>,
        (condition, weights): (Value, Vec<Operand>),
    ) {
        let is_fork = self.is_fork(construct);
        let mut direct = arms.map(|arm| self.direct(arm));
        if direct[0] == direct[1] {
            direct[0] = None;
        }
        let condition = self.id(condition);
        if !is_fork {
            let merge = self.merge(construct);
            self.select(merge, control.unwrap_or(SelectionControl::NONE));
        }
        let here = self.here;
        let labels = [0, 1].map(|side| {
            let leads = direct[side].and_then(|_| self.follow(arms[side], here));
            leads.unwrap_or_else(|| self.exporter.fresh())
        });
        let mut operands = [condition, labels[0], labels[1]].map(Operand::IdRef).to_vec();
        operands.extend(weights);
        self.terminate(instruction(Op::BranchConditional, None, None, operands));
        for side in 0..2 {
            if direct[side].is_none() {
                self.start(labels[side]);
                self.region(arms[side]);
            }
        }
        if !is_fork || direct.contains(&Some((true, construct))) {
            self.close(construct);
        }
    }

    /// Adds the merge instruction of a selection.
    fn select(&mut self, merge: Word, control: SelectionControl) {
        if let Some(around) = self.loop_merge.take() {
            self.split(around);
        }
        let operands = vec![Operand::IdRef(merge), Operand::SelectionControl(control)];
        self.push(instruction(Op::SelectionMerge, None, None, operands));
    }

    fn close(&mut self, construct: Construct) {
        let merge = self.merge(construct);
        self.start(merge);
        let edges = std::mem::take(&mut self.exits[construct]);
        let f = self.f;
        self.join(&f.constructs[construct].results, &edges);
    }

    /// Values that edges to the present block carry.
    fn join(&mut self, values: &[Value], edges: &[Edge]) {
        let mut undefined = Vec::new();
        for (number, &value) in values.iter().enumerate() {
            let mut incoming = Vec::with_capacity(edges.len());
            for (from, args) in edges {
                incoming.extend(args.get(number).map(|&arg| (self.id(arg), *from)));
            }
            let ty = self.exporter.ty(self.f.values[value].ty);
            let Some(&(first, _)) = incoming.first() else {
                undefined.push((value, ty));
                continue;
            };
            if incoming.iter().all(|(one, _)| *one == first) {
                self.ids[value] = Some(first);
                continue;
            }
            let operands = incoming.iter().flat_map(|&(arg, from)| [arg, from]).map(Operand::IdRef).collect();
            let id = self.define(value);
            self.push(instruction(Op::Phi, Some(ty), Some(id), operands));
        }
        for (value, ty) in undefined {
            let id = self.define(value);
            self.push(instruction(Op::Undef, Some(ty), Some(id), Vec::new()));
        }
    }

    fn switch(&mut self, construct: Construct, selector: Value, cases: &[Case], control: SelectionControl) {
        let selector_id = self.id(selector);
        let merge = self.merge(construct);
        self.select(merge, control);
        let here = self.here;
        let is_wide = self.exporter.module.types.width(self.f.values[selector].ty) == Some(64);
        let mut direct: Option<Region> = None;
        let mut own = Vec::new();
        // Labels in the order of their cases, with the numbers that lead there.
        let mut targets: Vec<(Word, Vec<u64>)> = Vec::with_capacity(cases.len());
        for case in cases {
            let leaves =
                self.direct(case.region) == Some((true, construct)) && !self.targets.contains(&case.region);
            // A block has one edge to another.
            let same =
                direct.is_none_or(|other| self.f.regions[other].end == self.f.regions[case.region].end);
            let label = if leaves && same {
                if direct.replace(case.region).is_none() {
                    self.follow(case.region, here);
                }
                merge
            } else {
                let label = self.exporter.fresh();
                self.cases.insert(case.region, label);
                self.fallen.entry(case.region).or_default().push((here, case.args.clone()));
                own.push((case.region, label));
                label
            };
            match targets.iter_mut().find(|(known, _)| *known == label) {
                Some((_, numbers)) => numbers.extend(&case.numbers),
                None => targets.push((label, case.numbers.to_vec())),
            }
        }
        let default = targets.first().map_or(merge, |(label, _)| *label);
        if own.iter().any(|(region, _)| self.targets.contains(region)) {
            self.in_order_of_falling(&own, &mut targets);
        }
        let mut operands = vec![Operand::IdRef(selector_id), Operand::IdRef(default)];
        for (label, numbers) in targets {
            operands.extend(numbers.into_iter().flat_map(|number| {
                let literal = match is_wide {
                    true => Operand::LiteralBit64(number),
                    false => Operand::LiteralBit32(number as u32),
                };
                [literal, Operand::IdRef(label)]
            }));
        }
        self.terminate(instruction(Op::Switch, None, None, operands));
        let mut phis = Vec::new();
        for (region, label) in own {
            self.start(label);
            let at = self.blocks.len();
            for (number, &param) in self.f.regions[region].params.iter().enumerate() {
                let (ty, id) = (self.exporter.ty(self.f.values[param].ty), self.define(param));
                self.push(instruction(Op::Phi, Some(ty), Some(id), Vec::new()));
                phis.push((region, at, number));
            }
            self.region(region);
        }
        // Cases that are fallen into from later ones are complete now.
        for (region, at, number) in phis {
            let edges = self.fallen.get(&region).cloned().unwrap_or_default();
            let mut operands = Vec::new();
            for (from, args) in edges {
                operands.extend(args.get(number).map(|&arg| Operand::IdRef(self.id(arg))));
                operands.push(Operand::IdRef(from));
            }
            self.blocks[at].instructions[number].operands = operands;
        }
        self.close(construct);
    }

    /// Puts each case right in front of the one that it falls into, as SPIR-V demands of an `OpSwitch`.
    fn in_order_of_falling(&self, own: &[(Region, Word)], targets: &mut Vec<(Word, Vec<u64>)>) {
        let label_of = |region: Region| own.iter().find(|(one, _)| *one == region).map(|(_, label)| *label);
        let falls = |&(region, label): &(Region, Word)| {
            self.f.regions_in(region).into_iter().find_map(|inner| match self.f.regions[inner].end {
                End::Fall { to, .. } => label_of(to).filter(|&to| to != label).map(|to| (label, to)),
                _ => None,
            })
        };
        let next: AHashMap<Word, Word> = own.iter().filter_map(falls).collect();
        let entered: AHashSet<Word> = next.values().copied().collect();
        let mut rest = std::mem::take(targets);
        // From the cases that nothing falls into; what is left behind them stays as it was.
        let starts: Vec<Word> =
            rest.iter().map(|(label, _)| *label).filter(|label| !entered.contains(label)).collect();
        for start in starts {
            let mut label = Some(start);
            while let Some(one) = label {
                let at = rest.iter().position(|(other, _)| *other == one);
                targets.extend(at.map(|at| rest.remove(at)));
                label = next.get(&one).copied();
            }
        }
        targets.append(&mut rest);
    }

    fn looped(
        &mut self,
        construct: Construct,
        args: &EdgeArgs,
        (body, continuing): (Region, Region),
        (control, operands): (LoopControl, &[Operand]),
    ) {
        let f = self.f;
        let before: Vec<Word> = args.iter().map(|&arg| self.id(arg)).collect();
        let header = self.label(|writer| &mut writer.headers[construct]);
        let from = self.here;
        self.branch(header);
        self.start(header);
        let at = self.blocks.len();
        let params = &f.regions[body].params;
        for (&param, &arg) in params.iter().zip(&before) {
            let (ty, id) = (self.exporter.ty(f.values[param].ty), self.define(param));
            let operands = [arg, from].map(Operand::IdRef).to_vec();
            self.push(instruction(Op::Phi, Some(ty), Some(id), operands));
        }
        let merge = self.merge(construct);
        self.loops.insert(continuing, construct);
        let single = self.single(body, continuing);
        let latch = match single {
            true => header,
            false => self.label(|writer| &mut writer.continues[construct]),
        };
        let mut all = vec![Operand::IdRef(merge), Operand::IdRef(latch), Operand::LoopControl(control)];
        all.extend(operands.iter().cloned());
        let inst = instruction(Op::LoopMerge, None, None, all);
        match single || self.stays(body) {
            true => self.loop_merge = Some(inst),
            false => self.split(inst),
        }
        if single {
            self.single_block(body, continuing);
        } else {
            self.region(body);
            self.start(latch);
            let edges = std::mem::take(&mut self.continued[construct]);
            self.join(&f.regions[continuing].params, &edges);
            self.region(continuing);
        }
        // The block that was written last branches back to the header.
        let back = self.here;
        if let End::Repeat { args, .. } = &f.regions[continuing].end {
            for (number, &arg) in args.iter().enumerate() {
                let operands = [self.id(arg), back].map(Operand::IdRef);
                self.blocks[at].instructions[number].operands.extend(operands);
            }
        }
        self.close(construct);
    }

    /// Whether a loop is one block, which goes back to itself.
    fn single(&self, body: Region, continuing: Region) -> bool {
        let (body, next) = (&self.f.regions[body], &self.f.regions[continuing]);
        body.nodes.iter().all(|node| matches!(node, Node::Inst(_)))
            && matches!(body.end, End::Continue { .. })
            && next.nodes.is_empty()
            && matches!(next.end, End::Repeat { until: Some(_), .. })
    }

    fn single_block(&mut self, body: Region, continuing: Region) {
        let f = self.f;
        let data = &f.regions[body];
        for (number, node) in data.nodes.iter().enumerate() {
            self.work_out((body, number));
            if let Node::Inst(inst) = *node {
                self.instruction(inst);
            }
        }
        self.work_out((body, data.nodes.len()));
        let args: Vec<Value> = data.end.values().collect();
        for (&param, arg) in f.regions[continuing].params.iter().zip(args) {
            let id = self.id(arg);
            self.ids[param] = Some(id);
        }
        self.work_out((continuing, 0));
        self.end(continuing);
    }

    /// Whether the first instructions of a loop stay in its header: if they end in a branch out of it.
    fn stays(&self, body: Region) -> bool {
        let data = &self.f.regions[body];
        let first = data.nodes.iter().find_map(|node| match node {
            Node::Construct(construct) => Some(*construct),
            Node::Inst(_) => None,
        });
        match first {
            Some(construct) => self.is_fork(construct),
            None => matches!(data.end, End::Continue { .. }),
        }
    }
}
