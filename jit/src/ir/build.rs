//! Instructions under construction.

use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl};
use smallvec::SmallVec;

use super::entity::{Construct, Func, Global, Place, Region, Type, Value};
use super::function::{Function, PlaceData, Root};
use super::inst::{Access, Operation};
use super::module::{ConstData, ConstKind, Module};
use super::region::{ConstructData, ConstructKind, EdgeArgs, End, Node};
use super::types::TypeKind;

/// Instructions of a function that are to stand in a region.
pub struct Builder<'m> {
    /// The module.
    pub module: &'m mut Module,
    /// What was made so far.
    pub nodes: Vec<Node>,
    function: Func,
}

/// A loop under construction.
pub struct OpenLoop {
    /// The number of the iteration.
    pub count: Value,
    body: Region,
    limits: [Value; 2],
    control: LoopControl,
    /// What was made before it.
    around: Vec<Node>,
}

impl<'m> Builder<'m> {
    /// A builder that has made nothing.
    pub fn new(module: &'m mut Module, function: Func) -> Self {
        Self { module, nodes: Vec::new(), function }
    }

    /// The function as it is.
    pub fn f(&self) -> &Function {
        &self.module.functions[self.function]
    }

    /// The function.
    pub fn function(&mut self) -> &mut Function {
        &mut self.module.functions[self.function]
    }

    /// The value of a number of 32 bits without a sign.
    pub fn word(&mut self, number: u32) -> Value {
        let (constant, ty) = (self.module.word(number), self.module.u32());
        self.function().constant(constant, ty)
    }

    /// Adds an instruction with a result.
    pub fn value(&mut self, operation: Operation, ty: Type) -> Value {
        let (inst, result) = self.function().inst(operation, Some(ty), None);
        self.nodes.push(Node::Inst(inst));
        result.expect("invariant: an instruction with a type has a result")
    }

    /// Adds an instruction without a result.
    pub fn effect(&mut self, operation: Operation) {
        let (inst, _) = self.function().inst(operation, None, None);
        self.nodes.push(Node::Inst(inst));
    }

    /// Adds an operation on values.
    pub fn pure(&mut self, op: Op, ty: Type, args: &[Value], literals: &[u32]) -> Value {
        let (args, literals) = (SmallVec::from_slice(args), SmallVec::from_slice(literals));
        self.value(Operation::Pure { op, args, literals }, ty)
    }

    /// Adds an operation on two numbers of 32 bits without a sign.
    pub fn math(&mut self, op: Op, a: Value, b: Value) -> Value {
        let ty = self.module.u32();
        self.pure(op, ty, &[a, b], &[])
    }

    /// Adds an operation on two values whose result is a Boolean.
    pub fn test(&mut self, op: Op, a: Value, b: Value) -> Value {
        let ty = self.module.ty(TypeKind::Bool);
        self.pure(op, ty, &[a, b], &[])
    }

    /// The bits of a value as another type.
    pub fn cast(&mut self, value: Value, ty: Type) -> Value {
        if self.function().values[value].ty == ty { value } else { self.pure(Op::Bitcast, ty, &[value], &[]) }
    }

    /// `a · factor + b`, of numbers of 32 bits without a sign.
    pub fn linear(&mut self, a: Value, factor: u32, b: Value) -> Value {
        let factor = self.word(factor);
        let product = self.math(Op::IMul, a, factor);
        self.math(Op::IAdd, product, b)
    }

    /// A place in a variable.
    pub fn place(&mut self, root: Root, path: &[Value]) -> Place {
        let f = &self.module.functions[self.function];
        let number = |&index: &Value| f.number(self.module, index);
        let members: SmallVec<[Option<u32>; 3]> = path.iter().map(number).collect();
        let mut pointer = match root {
            Root::Global(global) => self.module.globals[global].pointer,
            Root::Local(local) => f.locals[local].pointer,
            Root::Pointer(value) => f.values[value].ty,
        };
        for member in members {
            let Some((class, ty)) = self.module.types.pointer(pointer) else { continue };
            if let Some(pointee) = self.module.types.part(ty, member) {
                pointer = self.module.pointer(class, pointee);
            }
        }
        let path = SmallVec::from_slice(path);
        self.function().places.push(PlaceData { root, path, pointer, in_bounds: false, decorations: None })
    }

    /// A place in a variable that holds a value of a type.
    pub(crate) fn place_of(&mut self, global: Global, path: &[Value], ty: Type) -> Place {
        let class = self.module.globals[global].class;
        let (root, pointer) = (Root::Global(global), self.module.pointer(class, ty));
        let path = SmallVec::from_slice(path);
        self.function().places.push(PlaceData { root, path, pointer, in_bounds: false, decorations: None })
    }

    /// Adds a load of a built-in, which is of a type if there is no variable of it yet.
    pub fn input(&mut self, builtin: BuiltIn, ty: Type) -> Value {
        let input = self.module.input_of(builtin, ty);
        self.load(Root::Global(input), &[])
    }

    /// Adds a load.
    pub fn load(&mut self, root: Root, path: &[Value]) -> Value {
        let place = self.place(root, path);
        let pointer = self.function().places[place].pointer;
        let ty = self.module.types.pointer(pointer).map_or(pointer, |(_, pointee)| pointee);
        self.value(Operation::Load { place, access: Access::default() }, ty)
    }

    /// Adds a store.
    pub fn store(&mut self, root: Root, path: &[Value], value: Value) {
        let place = self.place(root, path);
        self.effect(Operation::Store { place, value, access: Access::default() });
    }

    /// The value of a truth.
    pub fn truth(&mut self, truth: bool) -> Value {
        let ty = self.module.ty(TypeKind::Bool);
        let constant =
            self.module.constant(ConstData { ty, kind: ConstKind::Bool(truth), decorations: None });
        self.function().constant(constant, ty)
    }

    /// Adds a selection, and returns its regions: where a condition holds, and where not. Without a `control`, one of them is to leave a construct.
    pub fn branch(&mut self, condition: Value, control: Option<SelectionControl>) -> [Region; 2] {
        let sides = [self.function().region(), self.function().region()];
        let construct = self.select(condition, sides, control);
        for region in sides {
            self.function().regions[region].end = End::Exit { to: construct, args: SmallVec::new() };
        }
        sides
    }

    /// Puts what is added by `write` into a region, which has no code yet.
    pub fn within(&mut self, region: Region, write: impl FnOnce(&mut Self)) {
        let around = std::mem::take(&mut self.nodes);
        write(self);
        let nodes = std::mem::replace(&mut self.nodes, around);
        self.function().regions[region].nodes = nodes;
    }

    /// Adds a selection of two regions.
    pub fn select(
        &mut self,
        condition: Value,
        [accept, reject]: [Region; 2],
        control: Option<SelectionControl>,
    ) -> Construct {
        self.construct(ConstructKind::If { condition, accept, reject, control, weights: None })
    }

    /// Adds a construct without results.
    pub fn construct(&mut self, kind: ConstructKind) -> Construct {
        let construct = self.function().constructs.push(ConstructData { kind, results: Vec::new() });
        self.nodes.push(Node::Construct(construct));
        construct
    }

    /// Adds a loop that does a region with its parameter `count` for `first`, `first + step`, and so on below `limit`. The region is to
    /// continue the loop.
    pub fn counted(
        &mut self,
        (body, count): (Region, Value),
        [first, limit, step]: [Value; 3],
        control: LoopControl,
    ) -> Construct {
        let continuing = self.function().region();
        let (args, operands) = (EdgeArgs::from_slice(&[first]), Vec::new());
        let repeat = self.construct(ConstructKind::Loop { args, body, continuing, control, operands });
        let before = std::mem::take(&mut self.nodes);
        let more = self.test(Op::ULessThan, count, limit);
        let [_, done] = self.branch(more, None);
        self.function().regions[done].end = End::Exit { to: repeat, args: EdgeArgs::new() };
        let test = std::mem::take(&mut self.nodes);
        self.function().regions[body].nodes.splice(0..0, test);
        let args = EdgeArgs::from_slice(&[self.math(Op::IAdd, count, step)]);
        let nodes = std::mem::replace(&mut self.nodes, before);
        let data = &mut self.function().regions[continuing];
        (data.nodes, data.end) = (nodes, End::Repeat { args, until: None });
        repeat
    }

    /// Begins a loop over the numbers from `first` to below `limit`: what is added until [`Self::end_loop`] stands in it.
    pub fn begin_loop(&mut self, first: Value, limit: Value, control: LoopControl) -> OpenLoop {
        let around = std::mem::take(&mut self.nodes);
        let number = self.module.u32();
        let body = self.function().region();
        let count = self.function().param(body, number, None);
        OpenLoop { count, body, limits: [first, limit], control, around }
    }

    /// Ends a loop, and adds it.
    pub fn end_loop(&mut self, open: OpenLoop) {
        let OpenLoop { count, body, limits: [first, limit], control, around } = open;
        self.function().regions[body].nodes = std::mem::replace(&mut self.nodes, around);
        let one = self.word(1);
        let repeat = self.counted((body, count), [first, limit, one], control);
        self.function().regions[body].end = End::Continue { to: repeat, args: EdgeArgs::new() };
    }

    /// Puts the code at the beginning of the function.
    pub fn begin(mut self) {
        let nodes = std::mem::take(&mut self.nodes);
        let f = self.function();
        f.regions[f.body].nodes.splice(0..0, nodes);
    }
}
