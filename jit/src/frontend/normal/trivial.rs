//! Removes parameters of regions and results of constructs that carry one value only.
//!
//! # Guarantees
//! - no parameter or result, and no set of them that pass one value around, has a single value besides themselves, if that is visible where they are
//!
//! # Leaves alone
//! - those with an undefined input, which may be anything

use crate::ir::entity::{Region, SecondaryMap, Value};
use crate::ir::{Carried, Def, Function, Node, Tree};

/// Replaces them by their values; says whether there were any.
pub(super) fn run(f: &mut Function) -> bool {
    let carried = carried(f);
    let values = common(f, &carried);
    let homes = homes(f);
    let tree = Tree::of(f);
    let mut by: SecondaryMap<Value, Option<Value>> = SecondaryMap::of(&f.values);
    let mut any = false;
    for (value, _) in &carried {
        let Some(common) = values[*value] else { continue };
        let is_seen = match (f.values[common].def, homes[common], homes[*value]) {
            _ if common == *value => false,
            (Def::Const(_) | Def::Param(_), ..) => true,
            (Def::Address(_), ..) => false,
            (_, Some(home), Some(here)) => tree.is_around(home, here),
            _ => false,
        };
        if is_seen {
            by[*value] = Some(common);
            any = true;
        }
    }
    if any {
        f.substitute(&by);
        f.retain_carried(|value| by[value].is_none());
    }
    any
}

/// Parameters of regions and results of constructs, with the values that edges give them.
fn carried(f: &Function) -> Vec<(Value, Vec<Value>)> {
    let mut given: SecondaryMap<Value, Vec<Value>> = SecondaryMap::of(&f.values);
    let mut order = Vec::new();
    let mut edge = |(args, to): Carried<'_>| {
        args.iter().zip(to).for_each(|(&arg, &to)| given[to].push(arg));
    };
    f.carried(f.body, None).into_iter().for_each(&mut edge);
    for region in f.regions_in(f.body) {
        order.extend(&f.regions[region].params);
        for node in &f.regions[region].nodes {
            let Node::Construct(construct) = *node else { continue };
            let data = &f.constructs[construct];
            order.extend(&data.results);
            f.entered(construct).into_iter().for_each(&mut edge);
            for inner in data.kind.regions() {
                f.carried(inner, Some(construct)).into_iter().for_each(&mut edge);
            }
        }
    }
    order.into_iter().map(|value| (value, std::mem::take(&mut given[value]))).collect()
}

/// The value of each; itself if it has several.
///
/// Optimistically: it has the value that its inputs have in common, as far as they are known to have one, until two of them
/// differ. That value comes in over every edge from outside of the set that passes it around.
fn common(f: &Function, carried: &[(Value, Vec<Value>)]) -> SecondaryMap<Value, Option<Value>> {
    let mut known: SecondaryMap<Value, Option<Value>> = SecondaryMap::of(&f.values);
    let mut is_carried: SecondaryMap<Value, bool> = SecondaryMap::of(&f.values);
    carried.iter().for_each(|(value, _)| is_carried[*value] = true);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (value, given) in carried {
            if known[*value] == Some(*value) {
                continue;
            }
            let mut common = None;
            for &arg in given {
                let arg = if is_carried[arg] { known[arg] } else { Some(arg) };
                let Some(arg) = arg.filter(|arg| arg != value) else { continue };
                if common.replace(arg).is_some_and(|other| other != arg) {
                    common = Some(*value);
                    break;
                }
            }
            // One that had another value before is followed no further.
            let now = match (known[*value], common) {
                (Some(before), Some(now)) if before != now => Some(*value),
                (before, now) => now.or(before),
            };
            if known[*value] != now {
                known[*value] = now;
                changed = true;
            }
        }
    }
    known
}

/// The region in which each value is made.
pub(super) fn homes(f: &Function) -> SecondaryMap<Value, Option<Region>> {
    let mut homes: SecondaryMap<Value, Option<Region>> = SecondaryMap::of(&f.values);
    for region in f.regions_in(f.body) {
        for &param in &f.regions[region].params {
            homes[param] = Some(region);
        }
        for node in &f.regions[region].nodes {
            match *node {
                Node::Inst(inst) => {
                    if let Some(result) = f.insts[inst].result {
                        homes[result] = Some(region);
                    }
                }
                Node::Construct(construct) => {
                    for &result in &f.constructs[construct].results {
                        homes[result] = Some(region);
                    }
                }
            }
        }
    }
    homes
}
