//! Dead code elimination in one function.
//!
//! # Guarantees
//! - atomic operations, barriers, volatile accesses, unknown instructions, and stores to what others see or what is loaded here stay, and so do the
//!   constructs that decide whether they are executed
//! - every other instruction, construct and variable is used by one of these, directly or not

use ahash::AHashSet;
use rspirv::spirv::{Capability, Op, StorageClass};

use super::branches::exits;
use crate::ir::entity::{Construct, Place};
use crate::ir::{ConstructKind, Effect, End, Function, Liveness, Marks, Module, Operation, Root};

/// Removes dead code.
pub(super) fn run(module: &Module, f: &mut Function) {
    let mut marker = Marker { module, f, loaded: AHashSet::new(), marks: Marks::default() };
    while !std::mem::replace(&mut marker.marks.is_done, true) {
        marker.region(f.body, None);
    }
    let Marker { loaded, marks, .. } = marker;
    f.variables.retain(|&local| loaded.contains(&Root::Local(local)));
    marks.sweep(f);
}

/// Marks what is live, from the last instruction to the first, until nothing is new.
struct Marker<'m> {
    module: &'m Module,
    f: &'m Function,
    /// Variables of the invocation or of its work-group that something reads.
    loaded: AHashSet<Root>,
    marks: Marks,
}

impl<'m> Liveness<'m> for Marker<'m> {
    fn function(&self) -> &'m Function {
        self.f
    }

    fn marks(&mut self) -> &mut Marks {
        &mut self.marks
    }

    fn has_effects(&self, operation: &Operation) -> bool {
        match operation.effect() {
            Effect::None | Effect::Reads(_) => false,
            Effect::Writes(place) => self.own(place).is_none_or(|root| self.loaded.contains(&root)),
            Effect::Anything => !reads_texels(operation),
        }
    }

    fn accessed(&mut self, place: Place) {
        if let Some(root) = self.own(place) {
            self.marks.is_done &= !self.loaded.insert(root);
        }
    }

    fn leave(&mut self, end: &End) -> bool {
        end.values().for_each(|value| self.value(value));
        // To an unreachable end control does not come.
        *end != End::Unreachable
    }

    fn is_kept(&self, construct: Construct) -> bool {
        // What comes behind an endless loop is not executed.
        let is_loop = matches!(self.f.constructs[construct].kind, ConstructKind::Loop { .. });
        self.marks.has_construct(construct) || is_loop && exits(self.f, construct).is_empty()
    }
}

impl Marker<'_> {
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
