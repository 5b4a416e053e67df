//! A function: its values, places, instructions and regions, each in an arena.

use ahash::AHashMap;
use rspirv::spirv::FunctionControl;
use smallvec::SmallVec;

use super::entity::{
    Const, Construct, DecorationSet, Global, Inst, Local, Place, PrimaryMap, Region, SecondaryMap, Type,
    Value,
};
use super::inst::{InstData, Operation};
use super::region::{ConstructData, ConstructKind, EdgeArgs, End, Node, RegionData};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Def {
    /// A constant.
    Const(Const),
    /// The address of a place, for what takes pointers.
    Address(Place),
    /// A parameter of the function.
    Param(u32),
    /// The result of an instruction.
    Inst(Inst),
    /// A parameter of a region.
    Region(Region, u32),
    /// A result of a construct.
    Result(Construct, u32),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub def: Def,
    /// What it is decorated with: `NoContraction`, `RelaxedPrecision`, `NonUniform`, `FPFastMathMode`.
    pub decorations: Option<DecorationSet>,
}

/// What a place lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A variable of the module.
    Global(Global),
    /// A variable of the function.
    Local(Local),
    /// Whatever a pointer leads to: a parameter, an address in a buffer, one of several pointers.
    Pointer(Value),
}

/// A place in memory. Its address is computed once, before its first use, in the innermost region around all of its uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlaceData {
    /// What it lies in.
    pub root: Root,
    /// The way from there: numbers of members, which are constants, and of elements.
    pub path: SmallVec<[Value; 3]>,
    /// Type of a pointer to it.
    pub pointer: Type,
    /// Whether the elements are there.
    pub in_bounds: bool,
    /// What its address is decorated with.
    pub decorations: Option<DecorationSet>,
}

/// A variable of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalData {
    /// Type of a pointer to it.
    pub pointer: Type,
    /// What it holds at first.
    pub initializer: Option<Const>,
    /// Its decorations.
    pub decorations: Option<DecorationSet>,
}

/// What an edge carries: values, and the parameters or results that they become.
pub type Carried<'f> = (&'f [Value], &'f [Value]);

fn one<'f>(args: &'f [Value], to: &'f [Value]) -> SmallVec<[Carried<'f>; 2]> {
    SmallVec::from_slice(&[(args, to)])
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Type of the function.
    pub ty: Type,
    /// Type of its result.
    pub result: Type,
    /// What the driver is given.
    pub control: FunctionControl,
    /// Its decorations.
    pub decorations: Option<DecorationSet>,
    /// Its parameters.
    pub params: Vec<Value>,
    /// Its variables.
    pub locals: PrimaryMap<Local, LocalData>,
    /// Those that there are, in order.
    pub variables: Vec<Local>,
    /// Its values.
    pub values: PrimaryMap<Value, ValueData>,
    /// Places in memory.
    pub places: PrimaryMap<Place, PlaceData>,
    /// Its instructions.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Its regions.
    pub regions: PrimaryMap<Region, RegionData>,
    /// Its constructs.
    pub constructs: PrimaryMap<Construct, ConstructData>,
    /// The region that it begins with.
    pub body: Region,
    /// Debug names of values.
    pub names: AHashMap<Value, String>,
    constants: AHashMap<Const, Value>,
    addresses: AHashMap<Place, Value>,
}

impl Function {
    /// A function without code.
    pub fn new(ty: Type, result: Type, control: FunctionControl) -> Self {
        let mut regions = PrimaryMap::default();
        let body = regions.push(RegionData { params: Vec::new(), nodes: Vec::new(), end: End::Unreachable });
        Self {
            ty,
            result,
            control,
            decorations: None,
            params: Vec::new(),
            locals: PrimaryMap::default(),
            variables: Vec::new(),
            values: PrimaryMap::default(),
            places: PrimaryMap::default(),
            insts: PrimaryMap::default(),
            regions,
            constructs: PrimaryMap::default(),
            body,
            names: AHashMap::new(),
            constants: AHashMap::new(),
            addresses: AHashMap::new(),
        }
    }

    /// An empty region.
    pub fn region(&mut self) -> Region {
        self.regions.push(RegionData { params: Vec::new(), nodes: Vec::new(), end: End::Unreachable })
    }

    /// Moves the code of the function into a region of its own, which nothing leads to yet; the function returns at once.
    pub fn enclose(&mut self) -> Region {
        let body = std::mem::replace(
            &mut self.regions[self.body],
            RegionData { params: Vec::new(), nodes: Vec::new(), end: End::Return(None) },
        );
        self.regions.push(body)
    }

    /// The value of a constant of a type.
    pub fn constant(&mut self, constant: Const, ty: Type) -> Value {
        let values = &mut self.values;
        let data = ValueData { ty, def: Def::Const(constant), decorations: None };
        *self.constants.entry(constant).or_insert_with(|| values.push(data))
    }

    /// Has values be other constants: those of another module.
    pub(crate) fn change_constants(&mut self, change: impl Fn(Const) -> Const) {
        self.constants.clear();
        for value in self.values.keys() {
            if let Def::Const(constant) = &mut self.values[value].def {
                *constant = change(*constant);
                self.constants.insert(*constant, value);
            }
        }
    }

    /// The address of a place, as a value.
    pub fn address(&mut self, place: Place) -> Value {
        let (values, ty) = (&mut self.values, self.places[place].pointer);
        let data = ValueData { ty, def: Def::Address(place), decorations: None };
        *self.addresses.entry(place).or_insert_with(|| values.push(data))
    }

    /// An instruction, with a result if it has a type; it stands nowhere yet.
    pub fn inst(
        &mut self,
        operation: Operation,
        ty: Option<Type>,
        decorations: Option<DecorationSet>,
    ) -> (Inst, Option<Value>) {
        let def = Def::Inst(self.insts.next_key());
        let result = ty.map(|ty| self.values.push(ValueData { ty, def, decorations }));
        (self.insts.push(InstData { operation, result }), result)
    }

    /// Adds a parameter to a region.
    pub fn param(&mut self, region: Region, ty: Type, decorations: Option<DecorationSet>) -> Value {
        let params = &mut self.regions[region].params;
        let def = Def::Region(region, params.len() as u32);
        let value = self.values.push(ValueData { ty, def, decorations });
        params.push(value);
        value
    }

    /// Adds a result to a construct.
    pub fn result(&mut self, construct: Construct, ty: Type, decorations: Option<DecorationSet>) -> Value {
        let results = &mut self.constructs[construct].results;
        let def = Def::Result(construct, results.len() as u32);
        let value = self.values.push(ValueData { ty, def, decorations });
        results.push(value);
        value
    }

    /// The constant that a value is.
    pub fn as_const(&self, value: Value) -> Option<Const> {
        match self.values[value].def {
            Def::Const(constant) => Some(constant),
            _ => None,
        }
    }

    /// Visits the nodes of a region and of those nested there, in order; a construct before its nodes.
    pub fn visit(&self, region: Region, visit: &mut dyn FnMut(Node)) {
        for &node in &self.regions[region].nodes {
            visit(node);
            if let Node::Construct(construct) = node {
                self.visit_construct(construct, visit);
            }
        }
    }

    /// Visits the nodes of a construct.
    pub fn visit_construct(&self, construct: Construct, visit: &mut dyn FnMut(Node)) {
        self.constructs[construct].kind.regions().into_iter().for_each(|region| self.visit(region, visit));
    }

    /// What the edges at the end of a region carry. `own` is the construct that it belongs to.
    pub fn carried(&self, region: Region, own: Option<Construct>) -> SmallVec<[Carried<'_>; 2]> {
        match &self.regions[region].end {
            End::Exit { to, args } => one(args, &self.constructs[*to].results),
            End::Continue { to, args } => one(args, self.params_of(*to)[1]),
            End::Fall { to, args } => one(args, &self.regions[*to].params),
            End::Repeat { args, until } => {
                let Some(own) = own else { return SmallVec::new() };
                let mut all = one(args, self.params_of(own)[0]);
                all.extend(until.iter().map(|until| (&*until.args, &*self.constructs[own].results)));
                all
            }
            End::Return(_) | End::Unreachable | End::Terminate(_) => SmallVec::new(),
        }
    }

    /// What the edges carry that lead into the regions of a construct where it begins.
    pub fn entered(&self, construct: Construct) -> SmallVec<[Carried<'_>; 2]> {
        match &self.constructs[construct].kind {
            ConstructKind::If { .. } => SmallVec::new(),
            ConstructKind::Switch { cases, .. } => {
                cases.iter().map(|case| (&*case.args, &*self.regions[case.region].params)).collect()
            }
            ConstructKind::Loop { args, body, .. } => one(args, &self.regions[*body].params),
        }
    }

    /// The parameters of a loop's body, and of what continues it; none of another construct.
    pub fn params_of(&self, construct: Construct) -> [&[Value]; 2] {
        match self.constructs[construct].kind {
            ConstructKind::Loop { body, continuing, .. } => {
                [body, continuing].map(|region| &*self.regions[region].params)
            }
            ConstructKind::If { .. } | ConstructKind::Switch { .. } => [&[]; 2],
        }
    }

    /// Whether all ways out of a construct lead to its end.
    pub fn always_ends(&self, construct: Construct) -> bool {
        let mut regions = self.constructs[construct].kind.regions().to_vec();
        let mut inside = vec![construct];
        self.visit_construct(construct, &mut |node| {
            if let Node::Construct(inner) = node {
                inside.push(inner);
                regions.extend(self.constructs[inner].kind.regions());
            }
        });
        regions.into_iter().all(|region| match &self.regions[region].end {
            End::Exit { to, .. } | End::Continue { to, .. } => inside.contains(to),
            End::Repeat { .. } | End::Fall { .. } | End::Unreachable => true,
            End::Return(_) | End::Terminate(_) => false,
        })
    }

    /// Removes parameters of regions and results of constructs, and what edges give them.
    pub fn retain_carried(&mut self, keep: impl Fn(Value) -> bool) {
        let Self { regions, constructs, values, .. } = self;
        let filter = |args: &mut EdgeArgs, to: &[Value]| {
            let mut to = to.iter();
            args.retain(|_| to.next().is_none_or(|&value| keep(value)));
        };
        for data in constructs.values_mut() {
            match &mut data.kind {
                ConstructKind::If { .. } => {}
                ConstructKind::Switch { cases, .. } => {
                    cases.iter_mut().for_each(|case| filter(&mut case.args, &regions[case.region].params));
                }
                ConstructKind::Loop { args, body, continuing, .. } => {
                    let params = regions[*body].params.clone();
                    filter(args, &params);
                    if let End::Repeat { args, until } = &mut regions[*continuing].end {
                        filter(args, &params);
                        until.iter_mut().for_each(|until| filter(&mut until.args, &data.results));
                    }
                }
            }
        }
        for region in regions.keys() {
            let mut end = std::mem::replace(&mut regions[region].end, End::Unreachable);
            match &mut end {
                End::Exit { to, args } => filter(args, &constructs[*to].results),
                End::Continue { to, args } => {
                    if let ConstructKind::Loop { continuing, .. } = constructs[*to].kind {
                        filter(args, &regions[continuing].params);
                    }
                }
                End::Fall { to, args } => filter(args, &regions[*to].params),
                _ => {}
            }
            regions[region].end = end;
        }
        let mut number = |carried: &mut Vec<Value>, def: &dyn Fn(u32) -> Def| {
            carried.retain(|&value| keep(value));
            (0..).zip(carried).for_each(|(number, value)| values[*value].def = def(number));
        };
        for region in regions.keys() {
            number(&mut regions[region].params, &|at| Def::Region(region, at));
        }
        for construct in constructs.keys() {
            number(&mut constructs[construct].results, &|at| Def::Result(construct, at));
        }
    }
}

/// Which construct a region belongs to, and in which region that stands.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    parents: SecondaryMap<Region, Option<(Region, Construct)>>,
}

impl Tree {
    /// Adds a region.
    pub(super) fn add(&mut self, region: Region, around: Region, construct: Construct) {
        self.parents[region] = Some((around, construct));
    }

    /// The region around one, and the construct that it belongs to.
    pub fn parent(&self, region: Region) -> Option<(Region, Construct)> {
        self.parents[region]
    }

    /// Whether a region is another one, or around it.
    pub fn is_around(&self, outer: Region, inner: Region) -> bool {
        let mut region = inner;
        loop {
            if region == outer {
                return true;
            }
            match self.parents[region] {
                Some((around, _)) => region = around,
                None => return false,
            }
        }
    }
}
