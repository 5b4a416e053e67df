//! Verifies the invariants that every pass may rely on.
//!
//! | invariant | what enforces it |
//! | --- | --- |
//! | an index names something of the right sort | [`PrimaryMap`](super::entity::PrimaryMap), one type of index for each sort |
//! | a value is visible where it is used: in the rest of its region and in the regions nested there; parameters of a loop's body also in its `continuing` region | here |
//! | the values of a place's path are visible in the innermost region around all of its uses | here |
//! | an edge leads to a construct around it, and carries a value of the right type for each result or parameter | here |
//! | an iteration of a loop ends where its `continuing` ends, and nowhere else | here |
//! | each region belongs to one construct, and each construct and instruction is in one region, once | here |
//! | loads and stores have the type of their place, and each element of a path indexes the type before it | here |
//! | types, constants and sets of decorations are interned | [`Module::ty`], [`Module::constant`], [`Module::decorations`] |

use super::entity::{Construct, Func, Inst, Place, Region, SecondaryMap, Type, Value};
use super::export::positions;
use super::function::{Def, Function, PlaceData, Root};
use super::inst::Operation;
use super::module::Module;
use super::region::{ConstructKind, End, Node};
use super::types::TypeKind;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function:?}: {what}")]
pub struct Fault {
    /// The function.
    pub function: Func,
    /// What is wrong.
    pub what: String,
}

/// Checks a module.
///
/// # Errors
/// The first violated invariant.
pub fn verify(module: &Module) -> Result<(), Fault> {
    for &function in &module.defined {
        let f = &module.functions[function];
        let mut verifier = Verifier {
            module,
            f,
            seen: SecondaryMap::of(&f.values),
            stands: SecondaryMap::of(&f.insts),
            owned: SecondaryMap::of(&f.regions),
            around: Vec::new(),
            places: Vec::new(),
        };
        verifier.function().map_err(|what| Fault { function, what })?;
    }
    Ok(())
}

type Check = Result<(), String>;

/// A construct around the present region, and which of its regions that is in.
struct Around {
    construct: Construct,
    inside: Region,
}

struct Verifier<'m> {
    module: &'m Module,
    f: &'m Function,
    /// Whether a value is visible at the current position.
    seen: SecondaryMap<Value, bool>,
    stands: SecondaryMap<Inst, bool>,
    owned: SecondaryMap<Region, bool>,
    around: Vec<Around>,
    /// By region and node, the places whose addresses are computed there.
    places: Vec<((Region, usize), Place)>,
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(what()) }
}

impl Verifier<'_> {
    fn function(&mut self) -> Check {
        let f = self.f;
        for (number, &param) in f.params.iter().enumerate() {
            self.define(param, Def::Param(number as u32))?;
        }
        let positions = positions(f);
        let places = f.places.keys().filter_map(|place| Some((positions[place]?, place)));
        self.places = places.collect();
        self.places.sort_unstable();
        self.region(f.body, false)
    }

    fn define(&mut self, value: Value, def: Def) -> Check {
        ensure(self.f.values[value].def == def, || format!("{value:?} is made elsewhere than by {def:?}"))?;
        ensure(!self.seen.replace(value, true), || format!("{value:?} is made twice"))
    }

    fn used(&self, value: Value) -> Check {
        let data = self.f.values.get(value).ok_or_else(|| format!("there is no {value:?}"))?;
        match data.def {
            Def::Const(_) => Ok(()),
            Def::Address(place) => self.place(place),
            _ => ensure(self.seen[value], || format!("{value:?} is not seen where it is used")),
        }
    }

    /// Whether what a place lies in is seen; its path is checked where its address is computed.
    fn place(&self, place: Place) -> Check {
        let data = self.f.places.get(place).ok_or_else(|| format!("there is no {place:?}"))?;
        match data.root {
            Root::Pointer(pointer) => self.used(pointer),
            Root::Local(local) => {
                ensure(self.f.variables.contains(&local), || format!("{local:?} is not declared"))
            }
            Root::Global(_) => Ok(()),
        }
    }

    fn ty(&self, value: Value) -> Type {
        self.f.values[value].ty
    }

    /// Checks a region. With `stay`, its parameters may be used behind it.
    fn region(&mut self, region: Region, stay: bool) -> Check {
        let f = self.f;
        ensure(!self.owned.replace(region, true), || format!("{region:?} belongs to two constructs"))?;
        let data = &f.regions[region];
        let mut made: Vec<Value> = Vec::new();
        for (number, &param) in data.params.iter().enumerate() {
            self.define(param, Def::Region(region, number as u32))?;
        }
        made.extend(data.params.iter().filter(|_| !stay));
        let mut ends = false;
        for (number, &node) in data.nodes.iter().enumerate() {
            ensure(!ends, || format!("something stands in {region:?} where control does not come"))?;
            self.work_out((region, number))?;
            match node {
                Node::Inst(inst) => {
                    self.inst(inst)?;
                    made.extend(f.insts[inst].result);
                }
                Node::Construct(construct) => {
                    self.construct(construct)?;
                    made.extend(&f.constructs[construct].results);
                    ends = self.is_left(construct);
                }
            }
        }
        if ends {
            ensure(data.end == End::Unreachable, || format!("{region:?} ends where control does not come"))?;
        }
        self.work_out((region, data.nodes.len()))?;
        self.end(region)?;
        for value in made {
            self.seen[value] = false;
        }
        Ok(())
    }

    /// Whether both sides of a branch leave other constructs at once.
    fn is_left(&self, construct: Construct) -> bool {
        let ConstructKind::If { accept, reject, control: None, .. } = self.f.constructs[construct].kind
        else {
            return false;
        };
        let leaves = |region: Region| match self.f.regions[region].end {
            End::Exit { to, .. } => to != construct,
            End::Continue { .. } => true,
            _ => false,
        };
        leaves(accept) && leaves(reject)
    }

    fn work_out(&mut self, at: (Region, usize)) -> Check {
        let start = self.places.partition_point(|(position, _)| *position < at);
        let here: Vec<Place> =
            self.places[start..].iter().take_while(|one| one.0 == at).map(|one| one.1).collect();
        for place in here {
            self.place(place)?;
            let data = &self.f.places[place];
            data.path.iter().try_for_each(|&index| self.used(index))?;
            self.path(data).map_err(|what| format!("{place:?}: {what}"))?;
        }
        Ok(())
    }

    fn path(&self, data: &PlaceData) -> Check {
        let types = &self.module.types;
        let root = match data.root {
            Root::Global(global) => self.module.globals[global].pointer,
            Root::Local(local) => self.f.locals[local].pointer,
            Root::Pointer(value) => self.ty(value),
        };
        let (Some((class, mut ty)), Some((to, pointee))) = (types.pointer(root), types.pointer(data.pointer))
        else {
            return Ok(());
        };
        ensure(class == to, || "it lies in memory of another class".to_owned())?;
        for &index in &data.path {
            let member = self.f.number(self.module, index);
            ty = types.part(ty, member).ok_or("its path leads nowhere")?;
        }
        ensure(ty == pointee, || "its path leads to another type".to_owned())
    }

    fn inst(&mut self, inst: Inst) -> Check {
        let f = self.f;
        ensure(!self.stands.replace(inst, true), || format!("{inst:?} stands twice"))?;
        let data = &f.insts[inst];
        data.operation.values().try_for_each(|value| self.used(value))?;
        if let Some(place) = data.operation.place() {
            self.place(place)?;
        }
        let pointee = |place: Place| self.module.types.pointer(f.places[place].pointer).map(|(_, ty)| ty);
        let other = match &data.operation {
            Operation::Load { place, .. } => pointee(*place).zip(data.result.map(|value| self.ty(value))),
            Operation::Store { place, value, .. } => pointee(*place).zip(Some(self.ty(*value))),
            Operation::Call { function, args } => {
                let params = match self.module.types.kind(self.module.functions[*function].ty) {
                    TypeKind::Function { parameters, .. } => parameters.as_slice(),
                    _ => &[],
                };
                let given = args.iter().map(|&arg| self.ty(arg));
                ensure(given.eq(params.iter().copied()), || {
                    format!("{inst:?}: other arguments than parameters")
                })?;
                None
            }
            _ => None,
        };
        ensure(other.is_none_or(|(one, other)| one == other), || {
            format!("{inst:?}: another type than its place")
        })?;
        match data.result {
            Some(result) => self.define(result, Def::Inst(inst)),
            None => Ok(()),
        }
    }

    fn construct(&mut self, construct: Construct) -> Check {
        let f = self.f;
        let data = &f.constructs[construct];
        data.kind.values().iter().try_for_each(|&value| self.used(value))?;
        match &data.kind {
            ConstructKind::If { condition, accept, reject, .. } => {
                let is_truth = *self.module.types.kind(self.ty(*condition)) == TypeKind::Bool;
                ensure(is_truth, || format!("{construct:?}: a condition that is no truth"))?;
                for region in [*accept, *reject] {
                    self.arity(&[], region)?;
                    self.inside(construct, region, false)?;
                }
            }
            ConstructKind::Switch { cases, .. } => {
                for case in cases {
                    self.arity(&case.args, case.region)?;
                    self.inside(construct, case.region, false)?;
                }
            }
            ConstructKind::Loop { args, body, continuing, .. } => {
                self.arity(args, *body)?;
                self.inside(construct, *body, true)?;
                self.inside(construct, *continuing, false)?;
                for &param in &f.regions[*body].params {
                    self.seen[param] = false;
                }
            }
        }
        for (number, &result) in data.results.iter().enumerate() {
            self.define(result, Def::Result(construct, number as u32))?;
        }
        Ok(())
    }

    fn inside(&mut self, construct: Construct, region: Region, stay: bool) -> Check {
        self.around.push(Around { construct, inside: region });
        let result = self.region(region, stay);
        self.around.pop();
        result
    }

    /// Whether values fit the parameters of a region.
    fn arity(&self, args: &[Value], region: Region) -> Check {
        self.fits(args, &self.f.regions[region].params, || format!("{region:?}"))
    }

    fn fits(&self, args: &[Value], to: &[Value], what: impl Fn() -> String) -> Check {
        args.iter().try_for_each(|&arg| self.used(arg))?;
        ensure(args.len() == to.len(), || {
            format!("{} values for the {} of {}", args.len(), to.len(), what())
        })?;
        let same = args.iter().zip(to).all(|(&arg, &param)| self.ty(arg) == self.ty(param));
        ensure(same, || format!("a value of another type for {}", what()))
    }

    fn end(&self, region: Region) -> Check {
        let f = self.f;
        let find = |construct: Construct| {
            let around = self.around.iter().rev().find(|one| one.construct == construct);
            around.ok_or_else(|| format!("{region:?} leads to {construct:?}, which is not around it"))
        };
        match &f.regions[region].end {
            End::Exit { to, args } => {
                find(*to)?;
                self.fits(args, &f.constructs[*to].results, || format!("{to:?}"))
            }
            End::Continue { to, args } => match f.constructs[*to].kind {
                ConstructKind::Loop { body, continuing, .. } if find(*to)?.inside == body => {
                    self.fits(args, &f.regions[continuing].params, || format!("{continuing:?}"))
                }
                _ => Err(format!("{region:?} continues {to:?}, and is not in its body")),
            },
            End::Repeat { args, until } => {
                let owner = self.around.last().ok_or("an iteration ends outside of loops")?;
                match f.constructs[owner.construct].kind {
                    ConstructKind::Loop { body, continuing, .. } if continuing == region => {
                        self.fits(args, &f.regions[body].params, || format!("{body:?}"))?;
                        let Some(until) = until else { return Ok(()) };
                        self.used(until.condition)?;
                        let (results, construct) = (&f.constructs[owner.construct].results, owner.construct);
                        self.fits(&until.args, results, || format!("{construct:?}"))
                    }
                    _ => Err(format!("{region:?} repeats a loop that it does not continue")),
                }
            }
            End::Fall { to, args } => {
                let is_case = self.around.iter().any(|one| match &f.constructs[one.construct].kind {
                    ConstructKind::Switch { cases, .. } => cases.iter().any(|case| case.region == *to),
                    _ => false,
                });
                ensure(is_case, || format!("{region:?} falls into {to:?}, which is no case around it"))?;
                self.arity(args, *to)
            }
            End::Return(value) => {
                value.iter().try_for_each(|&value| self.used(value))?;
                let fits = match value {
                    Some(value) => self.ty(*value) == f.result,
                    None => *self.module.types.kind(f.result) == TypeKind::Void,
                };
                ensure(fits, || format!("{region:?} returns another type"))
            }
            End::Unreachable | End::Terminate(_) => Ok(()),
        }
    }
}
