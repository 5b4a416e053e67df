//! A kernel whose work-groups, or invocations, are written side by side: what is known of it, and which versions of its functions there are.

use std::rc::Rc;

use ahash::AHashMap;
use rspirv::spirv::StorageClass;
use smallvec::SmallVec;

use super::ranges::{Range, Ranges};
use crate::analysis::uniformity::{Globals, Manner};
use crate::emit::JitError;
use crate::emit::passes::slots::Slot;
use crate::ir::entity::{Construct, Func, Global, Local, Place, Region, SecondaryMap, Value};
use crate::ir::{Function, GlobalData, Module, Node, positions};
use crate::plan::recipe::{PushRange, Recipe};
use crate::schedule::BlockCoarsening;

pub(super) fn error(what: &str) -> JitError {
    JitError::new("unroll_and_jam", what)
}

/// What an invocation does several of, side by side.
#[derive(Clone, Copy)]
pub(super) enum Several {
    /// Work-groups that follow each other, and the invocation of its local id in each.
    Groups(BlockCoarsening),
    /// Invocations of its work-group; `left` is the number of invocations that the work-group keeps.
    Invocations { left: u32 },
}

/// One of the work-groups, or of the invocations, that an invocation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum One {
    /// By its number among those that are side by side.
    Numbered(u32),
    /// One of the last, whose number is in a variable.
    Rest,
}

/// What a function is written for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Version {
    Together,
    Alone(One),
}

/// What an instruction is written for: copies, by their numbers.
pub(super) type Copies = std::ops::Range<usize>;

impl One {
    /// Its number; of one of the last, whatever it is.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Numbered(number) => number,
            Self::Rest => 0,
        }
    }
}

pub(super) type Ways = (Globals, AHashMap<Func, Manner>);

/// A function as it was.
pub(super) struct Original {
    pub(super) f: Function,
    pub(super) manner: Manner,
    /// Regions of constructs that are apart.
    pub(super) inside: SecondaryMap<Region, bool>,
}

pub(super) struct Jam<'a> {
    pub(super) module: &'a mut Module,
    pub(super) what: Several,
    /// How many are side by side.
    pub(super) several: u32,
    /// Local size of the kernel in the dimension in which the work-groups, or invocations, follow each other.
    pub(super) local: u32,
    pub(super) globals: Globals,
    pub(super) originals: AHashMap<Func, Rc<Original>>,
    /// The copies of variables that each work-group has its own of, by the original variable.
    pub(super) own: AHashMap<Global, Vec<Global>>,
    /// Holds the number of one of the last work-groups.
    pub(super) rest: Option<Global>,
    /// Where the number of work-groups is.
    pub(super) total: Option<Slot>,
    /// Push constants whose ranges the recipe has.
    pub(super) push_ranges: Vec<(Slot, Range)>,
    pub(super) versions: AHashMap<(Func, Version), Func>,
}

/// A function that is being written.
pub(super) struct Body<'o> {
    pub(super) original: &'o Original,
    /// What it is written for.
    pub(super) version: Version,
    pub(super) ones: Vec<One>,
    pub(super) func: Func,
    /// Nodes of the region that is being written.
    pub(super) nodes: Vec<Node>,
    /// What became of values: one for all copies, or one for each.
    pub(super) values: SecondaryMap<Value, SmallVec<[Value; 2]>>,
    /// What became of places, in all copies or in one.
    pub(super) places: AHashMap<(Place, Option<usize>), Place>,
    /// Places whose addresses are computed in constructs that are apart.
    pub(super) inside: SecondaryMap<Place, bool>,
    pub(super) locals: AHashMap<Local, Vec<Local>>,
    /// What became of constructs and regions, for copies from this one on.
    pub(super) constructs: AHashMap<(Construct, usize), Construct>,
    pub(super) regions: AHashMap<(Region, usize), Region>,
    /// What is known of local ids, where invocations are side by side, and of what is made of them.
    pub(super) ranges: Ranges,
}

impl<'a> Jam<'a> {
    pub(super) fn new(
        module: &'a mut Module,
        recipe: &Recipe,
        what: Several,
        several: u32,
        (globals, mut manners): Ways,
    ) -> Result<Self, JitError> {
        let mut own = AHashMap::new();
        for global in module.declared().collect::<Vec<_>>() {
            if globals.is_own(global) {
                let data = module.globals[global].clone();
                let mut all = vec![global];
                all.extend((1..several).map(|_| match mutant!(SharedMemoryIsOne) {
                    true => global,
                    false => module.global(data.clone()),
                }));
                own.insert(global, all);
            }
        }
        let (axis, total) = match what {
            Several::Groups(how) => (usize::from(how.axis), how.total),
            Several::Invocations { .. } => (0, None),
        };
        let total = total.map(|slot| Slot::find(module, recipe, slot)).transpose()?;
        let rest = total.map(|_| {
            let number = module.u32();
            let (class, pointer) = (StorageClass::Private, module.pointer(StorageClass::Private, number));
            module.global(GlobalData { pointer, class, initializer: None, decorations: None })
        });
        let range = |range: &PushRange| {
            Slot::find(module, recipe, range.slot).map(|slot| (slot, (range.least, range.greatest)))
        };
        let push_ranges = match what {
            Several::Groups(_) => Vec::new(),
            Several::Invocations { .. } => recipe.push_ranges.iter().map(range).collect::<Result<_, _>>()?,
        };
        let mut originals = AHashMap::new();
        for func in std::mem::take(&mut module.defined) {
            let Some(manner) = manners.remove(&func) else { continue };
            let f = &mut module.functions[func];
            let empty = Function::new(f.ty, f.result, f.control);
            let f = std::mem::replace(f, empty);
            let mut inside = SecondaryMap::of(&f.regions);
            if let Manner::Together { apart, .. } = &manner {
                for &construct in apart {
                    let mut note = |one: Construct| {
                        f.constructs[one].kind.regions().into_iter().for_each(|region| inside[region] = true);
                    };
                    note(construct);
                    f.visit_construct(construct, &mut |node| match node {
                        Node::Construct(inner) => note(inner),
                        Node::Inst(_) => {}
                    });
                }
            }
            originals.insert(func, Rc::new(Original { f, manner, inside }));
        }
        let (local, versions) = (recipe.schedule.local_size()[axis], AHashMap::new());
        Ok(Self { module, what, several, local, globals, originals, own, rest, total, push_ranges, versions })
    }

    /// A version of a function, which is written if it is new.
    pub(super) fn version(&mut self, func: Func, version: Version) -> Result<Func, JitError> {
        if let Some(&known) = self.versions.get(&(func, version)) {
            return Ok(known);
        }
        let original = self.originals.get(&func).cloned().ok_or_else(|| error("a call of no function"))?;
        let f = &original.f;
        if !f.params.is_empty() {
            return Err(error("a function with parameters"));
        }
        let mut new = Function::new(f.ty, f.result, f.control);
        new.decorations = f.decorations;
        let to = self.module.functions.push(new);
        self.versions.insert((func, version), to);
        let ones: Vec<One> = match (version, &original.manner) {
            (Version::Alone(one), _) => vec![one],
            (Version::Together, Manner::Together { .. }) => (0..self.several).map(One::Numbered).collect(),
            (Version::Together, Manner::InTurn) => return Err(error("nothing to do side by side")),
        };
        let mut inside = SecondaryMap::of(&f.places);
        let found = positions(f);
        for place in f.places.keys() {
            inside[place] = found[place].is_some_and(|(region, _)| original.inside[region]);
        }
        let mut body = Body {
            original: &original,
            version,
            ones,
            func: to,
            nodes: Vec::new(),
            values: SecondaryMap::of(&f.values),
            places: AHashMap::new(),
            inside,
            locals: AHashMap::new(),
            constructs: AHashMap::new(),
            regions: AHashMap::new(),
            ranges: Ranges::default(),
        };
        let all = 0..body.ones.len();
        for &local in &f.variables {
            let new = &mut self.module.functions[to];
            let copies = all.clone().map(|_| new.locals.push(f.locals[local].clone())).collect::<Vec<_>>();
            new.variables.extend(&copies);
            body.locals.insert(local, copies);
        }
        let region = self.module.functions[to].body;
        self.region(&mut body, None, (f.body, region), &all)?;
        self.module.defined.push(to);
        Ok(to)
    }

    /// The function that is being written.
    pub(super) fn written(&mut self, body: &Body<'_>) -> &mut Function {
        &mut self.module.functions[body.func]
    }
}

impl Body<'_> {
    /// Whether each copy has its own of a value.
    pub(super) fn is_each(&self, value: Value) -> bool {
        match (&self.original.manner, self.version) {
            (Manner::Together { varying, .. }, Version::Together) => varying[value],
            _ => true,
        }
    }

    pub(super) fn is_apart(&self, construct: Construct) -> bool {
        match (&self.original.manner, self.version) {
            (Manner::Together { apart, .. }, Version::Together) => apart.contains(&construct),
            _ => false,
        }
    }

    /// The copies that a value is written for: one, if it is common.
    pub(super) fn copies_of(&self, value: Value, copies: &Copies) -> Copies {
        if self.is_each(value) { copies.clone() } else { copies.start..copies.start + 1 }
    }

    /// Says what became of a value in one of the copies.
    pub(super) fn set(&mut self, value: Value, at: usize, new: Value) {
        let at = if self.is_each(value) { at } else { 0 };
        let all = &mut self.values[value];
        all.resize(all.len().max(at + 1), new);
        all[at] = new;
    }
}
