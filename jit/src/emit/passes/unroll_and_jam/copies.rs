//! A function that is written several times side by side: what becomes of its regions, instructions, values and places.

use super::jam::{Body, Copies, Jam, Several, Version};
use super::ranges::Range;
use crate::analysis::uniformity::Manner;
use crate::emit::JitError;
use crate::emit::passes::slots::Slot;
use crate::ir::entity::{Construct, Func, Inst, Place, Region, Value};
use crate::ir::{
    Args, Builder, Case, ConstructData, ConstructKind, Def, EdgeArgs, End, Function, Node, Operation,
    PlaceData, Root, TypeKind, Until,
};
use smallvec::SmallVec;

impl Jam<'_> {
    /// Writes a region of a construct.
    pub(super) fn region(
        &mut self,
        body: &mut Body<'_>,
        own: Option<Construct>,
        (from, to): (Region, Region),
        copies: &Copies,
    ) -> Result<(), JitError> {
        let f = &body.original.f;
        let before = std::mem::take(&mut body.nodes);
        for &param in &f.regions[from].params {
            for at in body.copies_of(param, copies) {
                let data = f.values[param];
                let new = self.written(body).param(to, data.ty, data.decorations);
                body.set(param, at, new);
            }
        }
        for node in &f.regions[from].nodes {
            match *node {
                Node::Inst(inst) => self.inst(body, inst, copies)?,
                Node::Construct(construct) if body.is_apart(construct) => {
                    for at in copies.clone() {
                        let passed = match f.constructs[construct].kind {
                            ConstructKind::If { condition, .. } => {
                                let condition = self.value(body, condition, at);
                                body.ranges.is_passed_by(f, construct, condition)
                            }
                            _ => false,
                        };
                        if !passed {
                            self.construct(body, construct, &(at..at + 1))?;
                        }
                    }
                }
                Node::Construct(construct) => self.construct(body, construct, copies)?,
            }
        }
        let end = self.end(body, own, from, copies);
        let nodes = std::mem::replace(&mut body.nodes, before);
        let region = &mut self.written(body).regions[to];
        (region.nodes, region.end) = (nodes, end);
        Ok(())
    }

    fn end(&mut self, body: &mut Body<'_>, own: Option<Construct>, region: Region, copies: &Copies) -> End {
        let f = &body.original.f;
        let results = |of: Construct| &*f.constructs[of].results;
        match &f.regions[region].end {
            End::Exit { to, args } => {
                let args = self.edge(body, args, results(*to), copies);
                End::Exit { to: body.constructs[&(*to, copies.start)], args }
            }
            End::Continue { to, args } => {
                let args = self.edge(body, args, f.params_of(*to)[1], copies);
                End::Continue { to: body.constructs[&(*to, copies.start)], args }
            }
            End::Repeat { args, until } => {
                let params = own.map_or(&[][..], |own| f.params_of(own)[0]);
                let results = own.map_or(&[][..], |own| results(own));
                let args = self.edge(body, args, params, copies);
                let until = until.as_ref().map(|until| Until {
                    condition: self.value(body, until.condition, copies.start),
                    is: until.is,
                    args: self.edge(body, &until.args, results, copies),
                });
                End::Repeat { args, until }
            }
            End::Fall { to, args } => {
                let args = self.edge(body, args, &f.regions[*to].params, copies);
                End::Fall { to: body.regions[&(*to, copies.start)], args }
            }
            End::Return(value) => End::Return(value.map(|value| self.value(body, value, copies.start))),
            end @ (End::Unreachable | End::Terminate(_)) => end.clone(),
        }
    }

    /// What an edge carries to values.
    fn edge(&mut self, body: &mut Body<'_>, args: &[Value], to: &[Value], copies: &Copies) -> EdgeArgs {
        let mut new = EdgeArgs::new();
        for (&arg, &to) in args.iter().zip(to) {
            for at in body.copies_of(to, copies) {
                new.push(self.value(body, arg, at));
            }
        }
        new
    }

    fn construct(
        &mut self,
        body: &mut Body<'_>,
        construct: Construct,
        copies: &Copies,
    ) -> Result<(), JitError> {
        let f = &body.original.f;
        let data = &f.constructs[construct];
        let regions = data.kind.regions();
        let new: SmallVec<[Region; 4]> = regions.iter().map(|_| self.written(body).region()).collect();
        body.regions.extend(regions.iter().zip(&new).map(|(&from, &to)| ((from, copies.start), to)));
        let kind = match &data.kind {
            &ConstructKind::If { condition, control, weights, .. } => {
                let condition = self.value(body, condition, copies.start);
                ConstructKind::If { condition, accept: new[0], reject: new[1], control, weights }
            }
            ConstructKind::Switch { selector, cases, control } => {
                let selector = self.value(body, *selector, copies.start);
                let mut all = Vec::with_capacity(cases.len());
                for (case, &region) in cases.iter().zip(&new) {
                    let args = self.edge(body, &case.args, &f.regions[case.region].params, copies);
                    all.push(Case { numbers: case.numbers.clone(), region, args });
                }
                ConstructKind::Switch { selector, cases: all, control: *control }
            }
            ConstructKind::Loop { args, body: inner, control, operands, .. } => {
                let args = self.edge(body, args, &f.regions[*inner].params, copies);
                let (control, operands) = (*control, operands.clone());
                ConstructKind::Loop { args, body: new[0], continuing: new[1], control, operands }
            }
        };
        let made = self.written(body).constructs.push(ConstructData { kind, results: Vec::new() });
        body.constructs.insert((construct, copies.start), made);
        body.nodes.push(Node::Construct(made));
        for (&from, &to) in regions.iter().zip(&new) {
            self.region(body, Some(construct), (from, to), copies)?;
        }
        for &result in &data.results {
            for at in body.copies_of(result, copies) {
                let data = f.values[result];
                let new = self.written(body).result(made, data.ty, data.decorations);
                body.set(result, at, new);
            }
        }
        Ok(())
    }

    fn inst(&mut self, body: &mut Body<'_>, inst: Inst, copies: &Copies) -> Result<(), JitError> {
        let f = &body.original.f;
        let data = &f.insts[inst];
        let root = data.operation.place().map(|place| f.places[place].root);
        let one = copies.start..copies.start + 1;
        let all = match (&data.operation, root, data.result) {
            (Operation::Call { function, .. }, ..) => return self.call(body, *function, copies),
            (&Operation::Load { place, .. }, Some(Root::Global(root)), Some(result))
                if self.globals.ids.contains_key(&root) =>
            {
                for at in body.copies_of(result, copies) {
                    let new = self.load_id(body, (root, place), f.values[result].ty, at);
                    body.set(result, at, new);
                }
                return Ok(());
            }
            // One serves all.
            (Operation::Barrier { .. }, ..) => one,
            (Operation::Store { .. }, Some(Root::Global(root)), _) if self.globals.common.contains(&root) => {
                one
            }
            (_, _, Some(result)) => body.copies_of(result, copies),
            _ => copies.clone(),
        };
        for at in all {
            let mut operation = data.operation.clone();
            operation.change_values(|value| *value = self.value(body, *value, at));
            if let Some(place) = operation.place_mut() {
                *place = self.place(body, *place, at);
            }
            let result = data.result.map(|result| f.values[result]);
            let range = match (self.what, result) {
                (Several::Invocations { .. }, Some(result)) => {
                    let new = &self.module.functions[body.func];
                    let is_load = matches!(operation, Operation::Load { .. });
                    let of_push = || self.push_range(new, operation.place().filter(|_| is_load)?);
                    body.ranges.of_result(self.module, new, &operation, result.ty).or_else(of_push)
                }
                _ => None,
            };
            if let (Some((least, greatest)), Some(result), Some(original)) = (range, result, data.result)
                && least == greatest
                && *self.module.types.kind(result.ty) == TypeKind::Bool
            {
                let truth = Builder::new(self.module, body.func).truth(least != 0);
                body.set(original, at, truth);
                body.ranges.note(truth, (least, greatest));
                continue;
            }
            let (ty, decorations) = result.map_or((None, None), |data| (Some(data.ty), data.decorations));
            let (new, made) = self.written(body).inst(operation, ty, decorations);
            body.nodes.push(Node::Inst(new));
            if let (Some(result), Some(made)) = (data.result, made) {
                body.set(result, at, made);
                range.into_iter().for_each(|range| body.ranges.note(made, range));
            }
        }
        Ok(())
    }

    /// The range of the push constant at a place, where the recipe has one.
    fn push_range(&self, f: &Function, place: Place) -> Option<Range> {
        let is_there = |&&(slot, _): &&(Slot, Range)| slot.is_at(self.module, f, place);
        self.push_ranges.iter().find(is_there).map(|&(_, range)| range)
    }

    fn call(&mut self, body: &mut Body<'_>, callee: Func, copies: &Copies) -> Result<(), JitError> {
        let is_jammed =
            self.originals.get(&callee).is_some_and(|one| matches!(one.manner, Manner::Together { .. }));
        let versions: Vec<Version> = match body.version {
            Version::Together if is_jammed && copies.len() == body.ones.len() => vec![Version::Together],
            _ => copies.clone().map(|at| Version::Alone(body.ones[at])).collect(),
        };
        for version in versions {
            let function = self.version(callee, version)?;
            let result = self.module.functions[function].result;
            let operation = Operation::Call { function, args: Args::new() };
            let (call, _) = self.written(body).inst(operation, Some(result), None);
            body.nodes.push(Node::Inst(call));
        }
        Ok(())
    }

    /// A value in one of the copies.
    pub(super) fn value(&mut self, body: &mut Body<'_>, value: Value, at: usize) -> Value {
        let data = body.original.f.values[value];
        match data.def {
            Def::Const(constant) => self.written(body).constant(constant, data.ty),
            Def::Address(place) => {
                let place = self.place(body, place, at);
                self.written(body).address(place)
            }
            _ => {
                let known = &body.values[value];
                let own = known.get(if body.is_each(value) { at } else { 0 });
                *own.expect("invariant: a value is written before its uses")
            }
        }
    }

    /// A place in one of the copies.
    fn place(&mut self, body: &mut Body<'_>, place: Place, at: usize) -> Place {
        let data = &body.original.f.places[place];
        let is_each = body.inside[place]
            || data.path.iter().any(|&index| body.is_each(index))
            || match data.root {
                Root::Global(global) => self.own.contains_key(&global),
                Root::Local(_) => true,
                Root::Pointer(pointer) => body.is_each(pointer),
            };
        let key = (place, is_each.then_some(at));
        if let Some(&known) = body.places.get(&key) {
            return known;
        }
        let number = body.ones[at].number() as usize;
        let root = match data.root {
            Root::Global(global) => Root::Global(self.own.get(&global).map_or(global, |all| all[number])),
            Root::Local(local) => Root::Local(body.locals[&local][at]),
            Root::Pointer(pointer) => Root::Pointer(self.value(body, pointer, at)),
        };
        let path = data.path.iter().map(|&index| self.value(body, index, at)).collect();
        let new = self.written(body).places.push(PlaceData { root, path, ..data.clone() });
        body.places.insert(key, new);
        new
    }
}
