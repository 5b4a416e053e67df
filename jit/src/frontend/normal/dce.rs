//! Dead code elimination in one function.
//!
//! # Guarantees
//! - atomic operations, barriers, volatile accesses, unknown instructions, and stores to what others see or what is loaded here stay, and so do the
//!   constructs that decide whether they are executed
//! - every other instruction, construct and variable is used by one of these, directly or not

use ahash::AHashSet;
use rspirv::spirv::{Capability, Op, StorageClass};

use super::branches::exits;
use crate::ir::entity::{Construct, Inst, Place, SecondaryMap, Value};
use crate::ir::{ConstructKind, Def, Effect, End, Function, Liveness, Module, Node, Operation, Root};

/// Removes dead code.
pub(super) fn run(module: &Module, f: &mut Function) {
    let mut marker = Marker {
        module,
        f,
        loaded: AHashSet::new(),
        insts: SecondaryMap::of(&f.insts),
        values: SecondaryMap::of(&f.values),
        constructs: SecondaryMap::of(&f.constructs),
        is_done: false,
    };
    while !std::mem::replace(&mut marker.is_done, true) {
        marker.region(f.body, None);
    }
    let Marker { loaded, insts, values, constructs, .. } = marker;
    f.variables.retain(|&local| loaded.contains(&Root::Local(local)));
    f.retain_carried(|value| values[value]);
    for data in f.regions.values_mut() {
        data.nodes.retain(|node| match node {
            Node::Inst(inst) => insts[*inst],
            Node::Construct(construct) => constructs[*construct],
        });
    }
}

/// Marks what is live, from the last instruction to the first, until nothing is new.
struct Marker<'m> {
    module: &'m Module,
    f: &'m Function,
    /// Variables of the invocation or of its work-group that something reads.
    loaded: AHashSet<Root>,
    insts: SecondaryMap<Inst, bool>,
    values: SecondaryMap<Value, bool>,
    constructs: SecondaryMap<Construct, bool>,
    is_done: bool,
}

impl<'m> Liveness<'m> for Marker<'m> {
    fn function(&self) -> &'m Function {
        self.f
    }

    fn has_value(&self, value: Value) -> bool {
        self.values[value]
    }

    fn has_construct(&self, construct: Construct) -> bool {
        self.constructs[construct]
    }

    fn mark(&mut self, construct: Construct) {
        self.is_done &= self.constructs.replace(construct, true);
    }

    fn inst(&mut self, inst: Inst) -> bool {
        let f = self.f;
        let operation = &f.insts[inst].operation;
        let has_effects = match operation.effect() {
            Effect::None | Effect::Reads(_) => false,
            Effect::Writes(place) => self.own(place).is_none_or(|root| self.loaded.contains(&root)),
            Effect::Anything => !reads_texels(operation),
        };
        if !has_effects && !f.insts[inst].result.is_some_and(|result| self.values[result]) {
            return false;
        }
        if !self.insts.replace(inst, true) {
            self.is_done = false;
            operation.values().for_each(|value| self.value(value));
            operation.place().into_iter().for_each(|place| self.place(place));
        }
        has_effects
    }

    fn value(&mut self, value: Value) {
        if let Def::Address(place) = self.f.values[value].def {
            self.place(place);
        }
        self.is_done &= self.values.replace(value, true);
    }

    fn leave(&mut self, end: &End) -> bool {
        end.values().for_each(|value| self.value(value));
        // To an unreachable end control does not come.
        *end != End::Unreachable
    }

    fn is_kept(&self, construct: Construct) -> bool {
        // What comes behind an endless loop is not executed.
        let is_loop = matches!(self.f.constructs[construct].kind, ConstructKind::Loop { .. });
        self.constructs[construct] || is_loop && exits(self.f, construct).is_empty()
    }
}

impl Marker<'_> {
    fn place(&mut self, place: Place) {
        let data = &self.f.places[place];
        data.path.iter().for_each(|&index| self.value(index));
        if let Root::Pointer(pointer) = data.root {
            self.value(pointer);
        }
        if let Some(root) = self.own(place) {
            self.is_done &= !self.loaded.insert(root);
        }
    }

    /// The variable of the invocation or of its work-group that a place lies in, and nothing else.
    fn own(&self, place: Place) -> Option<Root> {
        match self.f.places[place].root {
            root @ Root::Global(global) => {
                let is_own = match self.module.globals[global].class {
                    StorageClass::Private => true,
                    // With explicit layouts these variables may share their bytes.
                    StorageClass::Workgroup => {
                        !self.module.capabilities.contains(&Capability::WorkgroupMemoryExplicitLayoutKHR)
                    }
                    _ => false,
                };
                is_own.then_some(root)
            }
            root @ Root::Local(_) => Some(root),
            Root::Pointer(_) => None,
        }
    }
}

/// Whether it does nothing but read a texel, or a property of an image.
fn reads_texels(operation: &Operation) -> bool {
    let Operation::Other { op, .. } = operation else { return false };
    matches!(
        op,
        Op::Image
            | Op::SampledImage
            | Op::ImageFetch
            | Op::ImageRead
            | Op::ImageGather
            | Op::ImageDrefGather
            | Op::ImageSampleImplicitLod
            | Op::ImageSampleExplicitLod
            | Op::ImageQuerySize
            | Op::ImageQuerySizeLod
            | Op::ImageQueryLevels
            | Op::ImageQuerySamples
            | Op::CopyLogical
    )
}
