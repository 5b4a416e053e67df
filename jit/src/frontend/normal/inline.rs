//! Inlines every call of the entry point, after branches on constants were folded.
//!
//! # Guarantees
//! - one function, no calls
//! - a variable of a function begins with its initializer at each call
//! - a call that is the last thing its caller does keeps its early returns; any other has one return, at its end
//!
//! # Refuses
//! - recursion, calls of functions without code, returns out of what continues a loop, too many constructs inside each other

use super::branches;
use super::copy::copy;
use super::returns;
use crate::frontend::reason::KernelReason;
use crate::ir::entity::{Entity as _, Func, Region, SecondaryMap, Value};
use crate::ir::{Access, ConstructKind, End, Function, Module, Node, Operation, PlaceData, Root, TypeKind};

/// Most regions inside each other.
const DEEPEST: usize = 400;

/// Inlines calls, callees first.
pub(super) fn run(module: &mut Module) -> Result<Func, KernelReason> {
    let entry = module.entry_points.first().map(|entry| entry.function).ok_or(KernelReason::Call)?;
    let mut single = SecondaryMap::default();
    for func in callees_first(module, entry)? {
        function(module, func, &mut single)?;
    }
    module.defined = vec![entry];
    Ok(entry)
}

/// The functions that one calls.
fn callees(f: &Function) -> Vec<Func> {
    let calls = f.insts.values().filter_map(|inst| match inst.operation {
        Operation::Call { function, .. } => Some(function),
        _ => None,
    });
    calls.collect()
}

/// The functions that are called, each behind those that it calls.
fn callees_first(module: &Module, entry: Func) -> Result<Vec<Func>, KernelReason> {
    #[derive(Clone, Copy, PartialEq, Default)]
    enum State {
        #[default]
        New,
        Open,
        Done,
    }
    let mut state: SecondaryMap<Func, State> = SecondaryMap::of(&module.functions);
    let (mut order, mut stack) = (Vec::new(), vec![entry]);
    while let Some(&func) = stack.last() {
        match state[func] {
            State::New => {
                if !module.defined.contains(&func) {
                    return Err(KernelReason::Call);
                }
                state[func] = State::Open;
                for callee in callees(&module.functions[func]) {
                    match state[callee] {
                        State::New => stack.push(callee),
                        State::Open => return Err(KernelReason::Call),
                        State::Done => {}
                    }
                }
            }
            State::Open => {
                state[func] = State::Done;
                order.push(func);
                stack.pop();
            }
            State::Done => drop(stack.pop()),
        }
    }
    Ok(order)
}

/// Folds branches of one function, and inlines its calls. `single` keeps callees with a single return.
fn function(
    module: &mut Module,
    func: Func,
    single: &mut SecondaryMap<Func, Option<Function>>,
) -> Result<(), KernelReason> {
    let placeholder = &module.functions[func];
    let placeholder = Function::new(placeholder.ty, placeholder.result, placeholder.control);
    let mut f = std::mem::replace(&mut module.functions[func], placeholder);
    // What is not executed needs no way out.
    branches::run(module, &mut f);
    let mut renames: SecondaryMap<Value, Option<Value>> = SecondaryMap::default();
    for region in f.regions_in(f.body) {
        let calls = f.regions[region].nodes.iter().any(|&node| call(&f, node).is_some());
        if calls {
            calls_of(module, &mut f, region, &mut renames, single)?;
        }
    }
    f.substitute(&renames);
    if depth(&f) > DEEPEST {
        return Err(KernelReason::Optimizer("too many constructs stand inside each other".to_owned()));
    }
    module.functions[func] = f;
    Ok(())
}

/// Function, arguments and result of a call.
fn call(f: &Function, node: Node) -> Option<(Func, Vec<Value>, Option<Value>)> {
    let Node::Inst(inst) = node else { return None };
    let data = &f.insts[inst];
    match &data.operation {
        Operation::Call { function, args } => Some((*function, args.to_vec(), data.result)),
        _ => None,
    }
}

fn calls_of(
    module: &mut Module,
    f: &mut Function,
    region: Region,
    renames: &mut SecondaryMap<Value, Option<Value>>,
    single: &mut SecondaryMap<Func, Option<Function>>,
) -> Result<(), KernelReason> {
    let nodes = std::mem::take(&mut f.regions[region].nodes);
    let count = nodes.len();
    let mut made = Vec::with_capacity(count);
    for (number, node) in nodes.into_iter().enumerate() {
        let Some((callee, mut args, result)) = call(f, node) else {
            made.push(node);
            continue;
        };
        for arg in &mut args {
            while let Some(other) = renames[*arg] {
                *arg = other;
            }
        }
        let is_last = number + 1 == count
            && match f.regions[region].end {
                End::Return(None) => true,
                End::Return(Some(value)) => Some(value) == result,
                _ => false,
            };
        if !is_last && single[callee].is_none() {
            let mut one = module.functions[callee].clone();
            returns::single(module, &mut one)?;
            single[callee] = Some(one);
        }
        let from = match &single[callee] {
            Some(one) if !is_last => one,
            _ => &module.functions[callee],
        };
        let inlined = copy(from, f, &args);
        let initial: Vec<_> = inlined
            .variables
            .iter()
            .filter_map(|&local| Some((local, f.locals[local].initializer.take()?)))
            .collect();
        for (local, constant) in initial {
            let ty = module.const_data(constant).ty;
            let value = f.constant(constant, ty);
            let pointer = f.locals[local].pointer;
            let place = f.places.push(PlaceData {
                root: Root::Local(local),
                path: Default::default(),
                pointer,
                in_bounds: true,
                decorations: None,
            });
            let store = Operation::Store { place, value, access: Access::default() };
            made.push(Node::Inst(f.inst(store, None, None).0));
        }
        made.append(&mut f.regions[inlined.body].nodes);
        let end = std::mem::replace(&mut f.regions[inlined.body].end, End::Unreachable);
        if is_last {
            f.regions[region].end = end;
            let is_void = *module.types.kind(f.result) == TypeKind::Void;
            if is_void {
                // What the callee returns is not used.
                let inner = f.regions.keys().filter(|inner| inner.index() >= inlined.body.index());
                for inner in inner.chain([region]).collect::<Vec<_>>() {
                    if let End::Return(value) = &mut f.regions[inner].end {
                        *value = None;
                    }
                }
            }
            break;
        }
        match end {
            End::Return(value) => {
                if let (Some(result), Some(value)) = (result, value) {
                    renames[result] = Some(value);
                }
            }
            // It does not come back.
            end => {
                f.regions[region].end = end;
                break;
            }
        }
    }
    f.regions[region].nodes = made;
    Ok(())
}

/// The number of regions inside each other.
fn depth(f: &Function) -> usize {
    let mut deepest = 0;
    let mut open = vec![(f.body, 1)];
    while let Some((region, depth)) = open.pop() {
        deepest = deepest.max(depth);
        for node in &f.regions[region].nodes {
            if let Node::Construct(construct) = node {
                let kind: &ConstructKind = &f.constructs[*construct].kind;
                open.extend(kind.regions().into_iter().map(|inner| (inner, depth + 1)));
            }
        }
    }
    deepest
}
