//! Bindings of the fused kernel: one number per distinct buffer range.

use rspirv::spirv::{Decoration, StorageClass, Word};

use super::builder::Builder;
use crate::kernel::BindingKind;
use crate::plan::recipe::UnifiedBinding;

/// Variables by binding number. Views of one range by different types are variables of one binding.
#[derive(Default)]
pub(crate) struct Bindings(Vec<View>);

struct View {
    binding: u16,
    pointer: Word,
    id: Word,
    coherent: bool,
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

    /// Says what is known of each binding: drivers make a difference of it.
    pub(crate) fn decorate(&self, builder: &mut Builder, unified: &[UnifiedBinding]) {
        for view in &self.0 {
            let facts = &unified[usize::from(view.binding)];
            builder.decorate(view.id, Decoration::DescriptorSet, &[0]);
            builder.decorate(view.id, Decoration::Binding, &[u32::from(view.binding)]);
            if facts.kind != BindingKind::StorageBuffer {
                continue;
            }
            let views = self.0.iter().filter(|v| v.binding == view.binding).count();
            if facts.read_only {
                builder.decorate(view.id, Decoration::NonWritable, &[]);
            }
            if facts.coherent || view.coherent {
                builder.decorate(view.id, Decoration::Coherent, &[]);
            }
            let sharing =
                if facts.restrict && views == 1 { Decoration::Restrict } else { Decoration::Aliased };
            builder.decorate(view.id, sharing, &[]);
        }
    }
}
