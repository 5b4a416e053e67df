//! Functions: what ids mean where, one region after another.

use ahash::AHashMap;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::declarations::{Importer, Result, Slot, Unsupported, id_at};
use super::frame::{Entry, Frame};
use crate::ir::entity::{
    Construct, DecorationSet, Func, Inst, Place, PrimaryMap, Region, SecondaryMap, Type, Value,
};
use crate::ir::function::{Def, Function, LocalData, PlaceData, Root, Tree, ValueData};
use crate::ir::inst::Operation;
use crate::ir::region::Node;

/// Imports the code of a function whose signature is known.
pub(super) fn import(importer: &mut Importer<'_>, source: &dr::Function, name: Func) -> Result<()> {
    let placeholder = &importer.module.functions[name];
    let empty = Function::new(placeholder.ty, placeholder.result, placeholder.control);
    let f = std::mem::replace(&mut importer.module.functions[name], empty);
    importer.origins = Default::default();
    let labels = source.blocks.iter().enumerate();
    let labels = labels.filter_map(|(number, block)| Some((block.label_id()?, number))).collect();
    let mut body = Body {
        importer,
        source,
        labels,
        visited: vec![false; source.blocks.len()],
        home: SecondaryMap::of(&PrimaryMap::<Value, ()>::default()),
        place_home: SecondaryMap::of(&PrimaryMap::<Place, ()>::default()),
        whole: AHashMap::new(),
        tree: Tree::default(),
        frames: Vec::new(),
        exits: SecondaryMap::of(&f.constructs),
        continues: SecondaryMap::of(&f.constructs),
        closed: SecondaryMap::of(&f.constructs),
        carried: AHashMap::new(),
        moved: AHashMap::new(),
        f,
    };
    body.params()?;
    let region = body.f.body;
    body.run(region, 0, Entry::From(0))?;
    let Body { f, .. } = body;
    importer.module.functions[name] = f;
    importer.leave();
    Ok(())
}

pub(super) struct Body<'a, 's> {
    pub(super) importer: &'a mut Importer<'s>,
    pub(super) source: &'a dr::Function,
    pub(super) labels: AHashMap<Word, usize>,
    pub(super) visited: Vec<bool>,
    pub(super) f: Function,
    pub(super) tree: Tree,
    /// The constructs around the present block, outermost first.
    pub(super) frames: Vec<Frame>,
    /// The region that a value is made in, if it is not there from the beginning.
    pub(super) home: SecondaryMap<Value, Option<Region>>,
    pub(super) place_home: SecondaryMap<Place, Option<Region>>,
    /// Places that are whole variables, or what pointers lead to.
    pub(super) whole: AHashMap<Root, Place>,
    /// Regions that leave a construct at their ends, or continue a loop.
    pub(super) exits: SecondaryMap<Construct, Vec<Region>>,
    pub(super) continues: SecondaryMap<Construct, Vec<Region>>,
    /// Whether all ways out of a construct are known.
    pub(super) closed: SecondaryMap<Construct, bool>,
    /// Values that are carried out of a construct, or into what continues a loop.
    pub(super) carried: AHashMap<(Carrier, Value), Value>,
    /// Places as they are named in regions that do not see the values of their path.
    pub(super) moved: AHashMap<(Place, Region), Place>,
}

/// What a value is carried by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Carrier {
    Result(Construct),
    Continuing(Construct),
}

impl Body<'_, '_> {
    fn params(&mut self) -> Result<()> {
        for (number, inst) in self.source.parameters.iter().enumerate() {
            let ty = self.importer.result_type(inst)?;
            let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
            let decorations = self.importer.decorations_of(id);
            let value = self.f.values.push(ValueData { ty, def: Def::Param(number as u32), decorations });
            self.f.params.push(value);
            self.bind(id, value);
        }
        Ok(())
    }

    /// Has an id name a value.
    pub(super) fn bind(&mut self, id: Word, value: Value) {
        self.importer.set(id, Slot::Value(value));
        if let Some(name) = self.importer.names.get(&id).filter(|name| !name.is_empty()) {
            self.f.names.insert(value, (*name).to_owned());
        }
    }

    /// The value of an id, as it is seen in a region.
    pub(super) fn value(&mut self, id: Word, region: Region) -> Result<Value> {
        match self.importer.slot(id) {
            Slot::Value(value) => self.seen(value, region),
            Slot::Const(constant) => {
                let ty = self.importer.module.const_data(constant).ty;
                Ok(self.f.constant(constant, ty))
            }
            Slot::Global(_) | Slot::Local(_) | Slot::Place(_) => {
                let place = self.place(id, region)?;
                Ok(self.f.address(place))
            }
            _ => Err(Unsupported::Id { id, what: "value" }),
        }
    }

    /// The place that a pointer leads to.
    pub(super) fn place(&mut self, id: Word, region: Region) -> Result<Place> {
        let (root, pointer) = match self.importer.slot(id) {
            Slot::Place(place) => return self.seen_place(place, region),
            Slot::Global(global) => (Root::Global(global), self.importer.module.globals[global].pointer),
            Slot::Local(local) => (Root::Local(local), self.f.locals[local].pointer),
            _ => {
                let value = self.value(id, region)?;
                (Root::Pointer(value), self.f.values[value].ty)
            }
        };
        if let Some(&known) = self.whole.get(&root) {
            return Ok(known);
        }
        let path = smallvec::SmallVec::new();
        let data = PlaceData { root, path, pointer, in_bounds: true, decorations: None };
        let place = self.f.places.push(data);
        self.whole.insert(root, place);
        Ok(place)
    }

    /// A place further on.
    pub(super) fn chain(&mut self, inst: &Instruction, region: Region) -> Result<()> {
        let base = self.place(id_at(inst, 0)?, region)?;
        let indices = inst.operands.iter().skip(1).filter_map(Operand::id_ref_any);
        let indices: smallvec::SmallVec<[Word; 4]> = indices.collect();
        let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
        let PlaceData { root, mut path, in_bounds, decorations, .. } = self.f.places[base].clone();
        let is_whole = path.is_empty();
        for index in indices {
            path.push(self.value(index, region)?);
        }
        let own = self.importer.decorations_of(id);
        let pointer = self.importer.result_type(inst)?;
        let in_bounds = (is_whole || in_bounds) && inst.class.opcode == Op::InBoundsAccessChain;
        let decorations = own.or(decorations);
        let place = self.f.places.push(PlaceData { root, path, pointer, in_bounds, decorations });
        self.place_home[place] = Some(region);
        self.importer.set(id, Slot::Place(place));
        Ok(())
    }

    /// A variable of the function.
    pub(super) fn local(&mut self, inst: &Instruction) -> Result<()> {
        let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
        let pointer = self.importer.result_type(inst)?;
        let initializer = inst.operands.get(1).and_then(Operand::id_ref_any);
        let initializer = initializer.map(|id| self.importer.constant(id)).transpose()?;
        let decorations = self.importer.decorations_of(id);
        let local = self.f.locals.push(LocalData { pointer, initializer, decorations });
        self.f.variables.push(local);
        self.importer.set(id, Slot::Local(local));
        Ok(())
    }

    /// Adds an instruction to a region.
    pub(super) fn push(&mut self, region: Region, inst: &Instruction, operation: Operation) -> Result<Inst> {
        let ty = inst.result_type.map(|ty| self.importer.ty(ty)).transpose()?;
        let decorations = inst.result_id.and_then(|id| self.importer.decorations_of(id));
        let (made, result) = self.f.inst(operation, ty, decorations);
        if let (Some(id), Some(value)) = (inst.result_id, result) {
            self.home[value] = Some(region);
            self.bind(id, value);
        }
        self.f.regions[region].nodes.push(Node::Inst(made));
        Ok(made)
    }

    /// The phis of a block: id, type and decorations of each.
    pub(super) fn phis(&mut self, block: usize) -> Result<Vec<(Word, Type, Option<DecorationSet>)>> {
        let source = self.source;
        let mut found = Vec::new();
        for inst in source.blocks[block].instructions.iter().filter(|inst| inst.class.opcode == Op::Phi) {
            let id = inst.result_id.ok_or(Unsupported::of(inst, "no id"))?;
            found.push((id, self.importer.result_type(inst)?, self.importer.decorations_of(id)));
        }
        Ok(found)
    }
}
