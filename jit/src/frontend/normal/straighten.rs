//! Moves what is done on the only way out of a construct behind it.
//!
//! # Guarantees
//! - instructions that stand alone on the only way out of a selection or a loop stand behind that, and those that stand alone between the test of a
//!   loop and what continues it stand there
//!
//! # Leaves alone
//! - instructions with effects other than plain loads and stores: which invocations do them together may depend on where they stand

use smallvec::SmallVec;

use super::branches::exits;
use crate::ir::entity::{Construct, Inst, Place, Region, SecondaryMap, Value};
use crate::ir::{ConstructKind, Def, Effect, End, Function, Node, Root};

/// Moves code, out of inner constructs first.
pub(super) fn run(f: &mut Function) {
    let mut constructs = f.constructs_in(f.body);
    constructs.reverse();
    for &construct in &constructs {
        let exits = exits(f, construct);
        let &[from] = exits.as_slice() else { continue };
        if !matches!(f.regions[from].end, End::Exit { to, .. } if to == construct) {
            continue;
        }
        let insts = f.regions[from].nodes.iter().map(|node| match *node {
            Node::Inst(inst) if f.insts[inst].operation.effect() != Effect::Anything => Some(inst),
            _ => None,
        });
        let Some(insts) = insts.collect::<Option<Vec<Inst>>>().filter(|insts| !insts.is_empty()) else {
            continue;
        };
        match f.constructs[construct].kind {
            ConstructKind::If { accept, reject, .. } if [accept, reject].contains(&from) => {
                behind(f, construct, from, &insts);
            }
            ConstructKind::Loop { body, continuing, .. } if ![body, continuing].contains(&from) => {
                let is_carried = carry(f, construct, from, &insts);
                if is_carried {
                    behind(f, construct, from, &insts);
                }
            }
            _ => {}
        }
    }
    for construct in constructs {
        into_continuing(f, construct);
    }
}

/// Puts the instructions of a region behind a construct that it leaves.
fn behind(f: &mut Function, construct: Construct, from: Region, insts: &[Inst]) {
    let around = f.regions_in(f.body).into_iter().find(|&region| place_of(f, region, construct).is_some());
    let Some(around) = around else { return };
    let Some(at) = place_of(f, around, construct) else { return };
    f.regions[from].nodes.clear();
    let nodes = insts.iter().map(|&inst| Node::Inst(inst));
    drop(f.regions[around].nodes.splice(at + 1..at + 1, nodes));
    // What it makes is seen behind the construct now.
    let made: Vec<Value> = insts.iter().filter_map(|&inst| f.insts[inst].result).collect();
    let End::Exit { args, .. } = f.regions[from].end.clone() else { return };
    let mut by: SecondaryMap<Value, Option<Value>> = SecondaryMap::of(&f.values);
    let is_if = matches!(f.constructs[construct].kind, ConstructKind::If { .. });
    for (&result, arg) in f.constructs[construct].results.iter().zip(args) {
        if is_if || made.contains(&arg) {
            by[result] = Some(arg);
        }
    }
    f.substitute(&by);
    f.retain_carried(|value| by[value].is_none());
}

fn place_of(f: &Function, region: Region, construct: Construct) -> Option<usize> {
    f.regions[region].nodes.iter().position(|&node| node == Node::Construct(construct))
}

/// Makes results of a loop of the values that instructions on its way out take from inside of it; says whether that can be.
fn carry(f: &mut Function, construct: Construct, from: Region, insts: &[Inst]) -> bool {
    let regions = f.constructs[construct].kind.regions();
    let Some(wanted) = taken(f, &regions, insts) else { return false };
    let mut by: SecondaryMap<Value, Option<Value>> = SecondaryMap::of(&f.values);
    for value in wanted {
        let End::Exit { args, .. } = &mut f.regions[from].end else { return false };
        let known = args.iter().position(|&arg| arg == value);
        let result = match known {
            Some(known) => f.constructs[construct].results[known],
            None => {
                args.push(value);
                f.result(construct, f.values[value].ty, None)
            }
        };
        by[value] = Some(result);
    }
    rename(f, insts, &by);
    true
}

/// The values that instructions use from inside of `regions`, without those that they compute themselves; `None` if they use addresses.
fn taken(f: &Function, regions: &[Region], insts: &[Inst]) -> Option<Vec<Value>> {
    let mut inside: SecondaryMap<Region, bool> = SecondaryMap::of(&f.regions);
    for region in regions.iter().flat_map(|&region| f.regions_in(region)) {
        inside[region] = true;
    }
    let homes = super::trivial::homes(f);
    let made: Vec<Value> = insts.iter().filter_map(|&inst| f.insts[inst].result).collect();
    let mut wanted: Vec<Value> = Vec::new();
    for &inst in insts {
        let operation = &f.insts[inst].operation;
        let mut values: SmallVec<[Value; 8]> = operation.values().collect();
        if values.iter().any(|&value| matches!(f.values[value].def, Def::Address(_))) {
            return None;
        }
        if let Some(place) = operation.place() {
            values.extend(f.places[place].path.iter().copied());
            if let Root::Pointer(pointer) = f.places[place].root {
                values.push(pointer);
            }
        }
        for value in values {
            let is_fixed = matches!(f.values[value].def, Def::Const(_) | Def::Param(_));
            let is_inside = !is_fixed && homes[value].is_some_and(|home| inside[home]);
            if is_inside && !made.contains(&value) && !wanted.contains(&value) {
                wanted.push(value);
            }
        }
    }
    Some(wanted)
}

/// Has instructions take values instead of others.
fn rename(f: &mut Function, insts: &[Inst], by: &SecondaryMap<Value, Option<Value>>) {
    let change = |value: &mut Value| *value = by[*value].unwrap_or(*value);
    for &inst in insts {
        f.insts[inst].operation.change_values(change);
        let Some(place) = f.insts[inst].operation.place() else { continue };
        // Others may use the place elsewhere.
        let mut data = f.places[place].clone();
        data.path.iter_mut().for_each(change);
        if let Root::Pointer(pointer) = &mut data.root {
            change(pointer);
        }
        let moved: Place = f.places.push(data);
        if let Some(place) = f.insts[inst].operation.place_mut() {
            *place = moved;
        }
    }
}

/// Moves what a loop does behind its test into what continues it, if nothing else leads there.
fn into_continuing(f: &mut Function, construct: Construct) -> Option<()> {
    let ConstructKind::Loop { body, continuing, .. } = f.constructs[construct].kind else { return None };
    let is_test = |node: &Node| match node {
        Node::Construct(test) => matches!(f.constructs[*test].kind, ConstructKind::If { control: None, .. }),
        Node::Inst(_) => false,
    };
    let nodes = &f.regions[body].nodes;
    let at = nodes.iter().rposition(is_test)?;
    let &Node::Construct(test) = &nodes[at] else { return None };
    let insts = nodes[at + 1..].iter().map(|node| match *node {
        Node::Inst(inst) if f.insts[inst].operation.effect() != Effect::Anything => Some(inst),
        _ => None,
    });
    let insts = insts.collect::<Option<Vec<Inst>>>()?;
    let End::Continue { to, args } = f.regions[body].end.clone() else { return None };
    let continues =
        |region: &Region| matches!(f.regions[*region].end, End::Continue { to, .. } if to == construct);
    let count = f.regions_in(body).into_iter().filter(continues).count();
    let ConstructKind::If { accept, reject, .. } = f.constructs[test].kind else { return None };
    let is_empty = |region: Region| f.regions[region].nodes.is_empty();
    let &[on] = exits(f, test).as_slice() else { return None };
    let off = if on == accept { reject } else { accept };
    let leaves = matches!(f.regions[off].end, End::Exit { to, .. } if to == construct);
    let is_plain = is_empty(accept) && is_empty(reject) && leaves && [accept, reject].contains(&on);
    if to != construct || count != 1 || !is_plain || !f.constructs[test].results.is_empty() {
        return None;
    }
    let wanted = taken(f, &[body], &insts)?;
    let params = f.regions[body].params.clone();
    let mut by: SecondaryMap<Value, Option<Value>> = SecondaryMap::of(&f.values);
    let mut given = args.clone();
    for value in wanted.into_iter().filter(|value| !params.contains(value)) {
        given.push(value);
        let ty = f.values[value].ty;
        by[value] = Some(f.param(continuing, ty, None));
    }
    rename(f, &insts, &by);
    // What continues the loop sees what is made there now.
    let made: Vec<Value> = insts.iter().filter_map(|&inst| f.insts[inst].result).collect();
    let mut by: SecondaryMap<Value, Option<Value>> = SecondaryMap::of(&f.values);
    for (&param, arg) in f.regions[continuing].params.clone().iter().zip(args) {
        if made.contains(&arg) {
            by[param] = Some(arg);
        }
    }
    f.regions[body].nodes.truncate(at + 1);
    f.regions[body].end = End::Unreachable;
    f.regions[on].end = End::Continue { to: construct, args: given };
    drop(f.regions[continuing].nodes.splice(0..0, insts.into_iter().map(Node::Inst)));
    f.substitute(&by);
    f.retain_carried(|value| by[value].is_none());
    Some(())
}
