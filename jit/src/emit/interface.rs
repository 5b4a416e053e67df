//! Bindings of the fused kernel: one number per distinct buffer range.

use ahash::AHashSet;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use super::builder::Builder;
use crate::kernel::{BindingKind, TextureKind};
use crate::plan::recipe::UnifiedBinding;

/// Variables by binding number. Views of one range by different types are variables of one binding.
#[derive(Clone, Default)]
pub(crate) struct Bindings(Vec<View>);

#[derive(Clone)]
struct View {
    binding: u16,
    pointer: Word,
    id: Word,
    coherent: bool,
}

/// Why the accesses of one invocation to a binding that is written have to be coherent to stay in order.
///
/// By the rules of SPIR-V program order is enough. A driver's compiler that breaks them orders only what is coherent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ordered {
    /// Several uses reach it: the driver may not see that two indices are the same.
    pub(crate) several: bool,
    /// A member may load from it after it stored to it.
    pub(crate) reads_back: bool,
}

impl Bindings {
    /// The variable through which a pointer type sees a binding.
    pub(crate) fn variable(
        &mut self,
        builder: &mut Builder,
        binding: u16,
        class: StorageClass,
        pointer: Word,
        coherent: bool,
    ) -> Word {
        let known = self.0.iter_mut().find(|v| v.binding == binding && v.pointer == pointer);
        if let Some(view) = known {
            view.coherent |= coherent;
            return view.id;
        }
        let id = builder.variable(class, pointer, None);
        self.0.push(View { binding, pointer, id, coherent });
        id
    }

    /// Whether no other variable of the kernel meets this one.
    fn is_alone(&self, view: &View, unified: &[UnifiedBinding]) -> bool {
        let views = self.0.iter().filter(|other| other.binding == view.binding);
        unified[usize::from(view.binding)].restrict && views.count() == 1 || mutant!(ViewsAreApart)
    }

    /// Whether the accesses to a variable have to be coherent: data passes through it, its accesses are [`Ordered`], or it is reached in several ways.
    fn has_order(&self, view: &View, unified: &[UnifiedBinding], ordered: &[Ordered]) -> bool {
        let facts = &unified[usize::from(view.binding)];
        let Ordered { several, reads_back } = ordered[usize::from(view.binding)];
        let handed = several || reads_back || !self.is_alone(view, unified);
        facts.coherent || view.coherent || handed && !facts.read_only
    }

    /// Says what is known of each binding: drivers make a difference of it.
    ///
    /// Where an invocation reaches one byte through two variables and something is written, both are `Aliased` and
    /// `Coherent`. So are variables over what is [`Ordered`].
    pub(crate) fn decorate(&self, builder: &mut Builder, unified: &[UnifiedBinding], ordered: &[Ordered]) {
        for view in &self.0 {
            let facts = &unified[usize::from(view.binding)];
            builder.decorate(view.id, Decoration::DescriptorSet, &[0]);
            builder.decorate(view.id, Decoration::Binding, &[u32::from(view.binding)]);
            let is_image = facts.kind.texture() == Some(TextureKind::StorageImage);
            if facts.kind != BindingKind::StorageBuffer && !is_image {
                continue;
            }
            if facts.read_only {
                builder.decorate(view.id, Decoration::NonWritable, &[]);
            }
            // A device may be able to read only images with a declared format.
            if is_image && !is_read(builder, view.id) {
                builder.decorate(view.id, Decoration::NonReadable, &[]);
            }
            let alone = self.is_alone(view, unified);
            if self.has_order(view, unified, ordered) {
                builder.decorate(view.id, Decoration::Coherent, &[]);
            }
            // A read-only buffer may be aliased by views of other types: without writes the alias is unobservable.
            let is_apart = alone || facts.read_only && facts.restrict;
            let sharing = if is_apart { Decoration::Restrict } else { Decoration::Aliased };
            builder.decorate(view.id, sharing, &[]);
        }
    }
}

/// Whether a texel is read through a variable of a storage image.
fn is_read(builder: &Builder, variable: Word) -> bool {
    let body = || builder.module.functions.iter().flat_map(|function| function.all_inst_iter());
    let takes = |inst: &Instruction, id: Word| inst.operands.first() == Some(&Operand::IdRef(id));
    let handles: AHashSet<Word> = body()
        .filter(|inst| inst.class.opcode == Op::Load && takes(inst, variable))
        .filter_map(|inst| inst.result_id)
        .collect();
    let reads = |inst: &Instruction| {
        let handle = inst.operands.first().and_then(Operand::id_ref_any);
        inst.class.opcode == Op::ImageRead && handle.is_some_and(|handle| handles.contains(&handle))
    };
    body().any(reads)
}
