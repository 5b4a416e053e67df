//! Store sinking: stores wait for loads behind them.
//!
//! A store to what another member reads in memory has to stay in order ([`super::super::interface::Ordered`]), and a driver keeps all loads behind it
//! there: rounds that stand one after another then load one after another. Here such stores come after the loads of several rounds, which are
//! in flight together.
//!
//! # Requires
//! - bindings numbered as in the recipe; variables whose accesses a driver keeps in order are `Coherent`
//!
//! # Guarantees
//! - a store comes later in its region, in front of the next selection or loop at the latest; stores to buffers stay in their order
//! - a store does not pass what may touch its bytes, nor anything that orders memory: barriers, atomic operations, calls, whatever is not known
//! - at most as many stores wait at a time as the recipe allows (`late_stores`)

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, StorageClass};

use crate::emit::JitError;
use crate::ir::entity::{Place, Value};
use crate::ir::{Effect, Function, InstData, Module, Node, Operation, Root};
use crate::plan::recipe::{Recipe, UnifiedBinding};

/// Lets stores wait, as many at a time as the recipe says.
pub(in crate::emit) fn run(module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
    let Some(most) = recipe.late_stores else { return Ok(()) };
    for func in module.defined.clone() {
        let sunk =
            Memory { module, f: &module.functions[func], unified: &recipe.bindings }.function(most as usize);
        for (data, nodes) in module.functions[func].regions.values_mut().zip(sunk) {
            data.nodes = nodes;
        }
    }
    Ok(())
}

/// What an access touches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    /// What no binding sees, or nothing.
    Own,
    Binding(u16),
    Anything,
}

/// Stores that wait, and the bindings that they are to.
type Waiting = Vec<(u16, Node)>;

struct Memory<'a> {
    module: &'a Module,
    f: &'a Function,
    unified: &'a [UnifiedBinding],
}

impl Memory<'_> {
    /// The nodes of each region.
    fn function(&self, most: usize) -> Vec<Vec<Node>> {
        // Where loads stay in order, any store holds them back.
        let is_load = |data: &InstData| matches!(data.operation, Operation::Load { place, .. } if self.is_ordered(place));
        let all = self.f.insts.values().any(is_load);
        self.f.regions.values().map(|region| self.region(&region.nodes, most, all)).collect()
    }

    fn region(&self, nodes: &[Node], most: usize, all: bool) -> Vec<Node> {
        let mut held = Waiting::new();
        let mut code = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let Node::Inst(inst) = node else {
                release(&mut held, &mut code);
                code.push(node);
                continue;
            };
            let operation = &self.f.insts[inst].operation;
            match (operation, self.touched(operation)) {
                (Operation::Store { place, .. }, Touched::Binding(binding))
                    if (all || self.is_ordered(*place)) && self.is_apart(binding) =>
                {
                    held.push((binding, node));
                    if held.len() >= most {
                        release(&mut held, &mut code);
                    }
                    continue;
                }
                (Operation::Load { .. }, Touched::Binding(binding)) => {
                    if held.iter().any(|one| one.0 == binding) && !mutant!(StoresPassTheirLoads) {
                        release(&mut held, &mut code);
                    }
                }
                (_, Touched::Own) => {}
                _ => release(&mut held, &mut code),
            }
            code.push(node);
        }
        release(&mut held, &mut code);
        code
    }

    /// Whether a driver keeps accesses to a place in order.
    fn is_ordered(&self, place: Place) -> bool {
        match self.f.places[place].root {
            Root::Global(global) => self.module.decoration(global, Decoration::Coherent).is_some(),
            Root::Local(_) | Root::Pointer(_) => false,
        }
    }

    fn touched(&self, operation: &Operation) -> Touched {
        let is_pointer = |value: Value| self.module.types.is_pointer(self.f.values[value].ty);
        match (operation, operation.effect()) {
            // Instructions of imported sets may write through a pointer, as `modf` and `frexp` do.
            (Operation::Ext { args, .. }, _) if !args.iter().any(|&arg| is_pointer(arg)) => Touched::Own,
            (Operation::Barrier { execution: Some(_), .. }, _) if mutant!(StoresPassBarriers) => Touched::Own,
            (_, Effect::None) => Touched::Own,
            (_, Effect::Reads(place) | Effect::Writes(place)) => self.reached(place),
            (_, Effect::Anything) => Touched::Anything,
        }
    }

    fn reached(&self, place: Place) -> Touched {
        let data = &self.f.places[place];
        if let Root::Global(global) = data.root
            && let Some([Operand::LiteralBit32(binding)]) =
                self.module.decoration(global, Decoration::Binding)
            && (*binding as usize) < self.unified.len()
        {
            return Touched::Binding(*binding as u16);
        }
        match self.module.types.pointer(data.pointer) {
            Some((
                StorageClass::Function
                | StorageClass::Private
                | StorageClass::Workgroup
                | StorageClass::Input
                | StorageClass::PushConstant,
                _,
            )) => Touched::Own,
            _ => Touched::Anything,
        }
    }

    /// Whether no other binding has a byte of this one.
    fn is_apart(&self, binding: u16) -> bool {
        self.unified[usize::from(binding)].restrict || mutant!(StoresToViewsWait)
    }
}

/// Does what waits.
fn release(held: &mut Waiting, code: &mut Vec<Node>) {
    if mutant!(LaterStoresComeFirst) {
        held.reverse();
    }
    code.extend(held.drain(..).map(|(_, store)| store));
}
