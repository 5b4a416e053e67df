//! What the verifier refuses.

use vkfuse_jit::ir::entity::Func;
use vkfuse_jit::ir::{self, ConstructKind, End, Function, Module, Node, Operation};

use crate::list::kernel;

/// A reduction of rows: loops with parameters and results, shared memory and barriers.
fn module() -> (Module, Func) {
    let kernel = kernel("softmax/row_max.spv");
    let normal = kernel.normal.as_ref().expect("a normal form");
    let module = ir::import(&normal.module).expect("supported");
    ir::verify(&module).expect("sound");
    let function = module.defined[0];
    (module, function)
}

/// What the verifier says of a function that was changed.
fn fault(change: impl FnOnce(&mut Function)) -> String {
    let (mut module, function) = module();
    change(&mut module.functions[function]);
    ir::verify(&module).expect_err("a broken promise").what
}

/// The nodes of the body and of what continues the first loop.
fn first_loop(f: &Function) -> (ir::entity::Region, ir::entity::Region) {
    let found = f.constructs.values().find_map(|data| match data.kind {
        ConstructKind::Loop { body, continuing, .. } => Some((body, continuing)),
        _ => None,
    });
    found.expect("a loop")
}

#[test]
fn refuses_an_edge_without_a_value() {
    let what = fault(|f| {
        let (_, continuing) = first_loop(f);
        let End::Repeat { args, .. } = &mut f.regions[continuing].end else { panic!("an iteration") };
        args.pop();
    });
    assert!(what.contains("1 values for the 2"), "{what}");
}

#[test]
fn refuses_a_value_of_another_type() {
    let what = fault(|f| {
        let (_, continuing) = first_loop(f);
        let End::Repeat { args, .. } = &mut f.regions[continuing].end else { panic!("an iteration") };
        args.swap(0, 1);
    });
    assert!(what.contains("another type"), "{what}");
}

#[test]
fn refuses_a_value_outside_of_its_region() {
    let what = fault(|f| {
        let (_, continuing) = first_loop(f);
        let End::Repeat { args, .. } = &f.regions[continuing].end else { panic!("an iteration") };
        let inner = args[0];
        let stores = f.insts.values_mut().find_map(|inst| match &mut inst.operation {
            Operation::Store { value, .. } => Some(value),
            _ => None,
        });
        *stores.expect("a store") = inner;
    });
    assert!(what.contains("not seen"), "{what}");
}

#[test]
fn refuses_an_instruction_that_stands_twice() {
    let what = fault(|f| {
        let body = f.body;
        let nodes = &mut f.regions[body].nodes;
        let store = nodes.iter().copied().find(|node| matches!(node, Node::Inst(_))).expect("an instruction");
        nodes.push(store);
    });
    assert!(what.contains("stands twice"), "{what}");
}

#[test]
fn refuses_a_place_whose_path_is_not_seen() {
    let what = fault(|f| {
        let (body, continuing) = first_loop(f);
        // The element of a row is found in what continues the loop; here it is loaded in front of the loop.
        let element = f.regions[continuing].nodes.iter().find_map(|node| match node {
            Node::Inst(inst) => match f.insts[*inst].operation {
                Operation::Load { place, .. } if f.places[place].path.len() == 2 => Some(place),
                _ => None,
            },
            Node::Construct(_) => None,
        });
        let element = element.expect("a load of an element");
        let load = f.regions[body].nodes.iter().find_map(|node| match node {
            Node::Inst(inst) => f.insts[*inst].operation.place().map(|_| *inst),
            Node::Construct(_) => None,
        });
        *f.insts[load.expect("a load")].operation.place_mut().expect("a place") = element;
    });
    assert!(what.contains("not seen"), "{what}");
}

#[test]
fn refuses_a_way_out_of_a_loop_that_is_not_around() {
    let what = fault(|f| {
        let target = f.constructs.keys().next().expect("a construct");
        let body = f.body;
        f.regions[body].end = End::Exit { to: target, args: Default::default() };
    });
    assert!(what.contains("not around"), "{what}");
}
