//! Bindings of the fused kernel: one number per distinct buffer range.

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, Op, StorageClass};

use crate::ir::entity::{Global, Type};
use crate::ir::{Arg, Def, GlobalData, Module, Operation, Root};
use crate::kernel::{BindingKind, TextureKind};
use crate::plan::recipe::UnifiedBinding;

/// Variables by binding number. Views of one range by different types are variables of one binding.
#[derive(Clone, Default)]
pub(crate) struct Bindings(Vec<View>);

#[derive(Clone)]
struct View {
    binding: u16,
    pointer: Type,
    global: Global,
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
        module: &mut Module,
        binding: u16,
        class: StorageClass,
        pointer: Type,
        coherent: bool,
    ) -> Global {
        let known = self.0.iter_mut().find(|v| v.binding == binding && v.pointer == pointer);
        if let Some(view) = known {
            view.coherent |= coherent;
            return view.global;
        }
        let global = module.global(GlobalData { pointer, class, initializer: None, decorations: None });
        self.0.push(View { binding, pointer, global, coherent });
        global
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
    pub(crate) fn decorate(&self, module: &mut Module, unified: &[UnifiedBinding], ordered: &[Ordered]) {
        for view in &self.0 {
            let facts = &unified[usize::from(view.binding)];
            let mut claims = Vec::new();
            let is_image = facts.kind.texture() == Some(TextureKind::StorageImage);
            if facts.kind == BindingKind::StorageBuffer || is_image {
                claims.extend(facts.read_only.then_some(Decoration::NonWritable));
                // A device may be able to read only images with a declared format.
                let is_unread = is_image && !is_read(module, view.global);
                claims.extend(is_unread.then_some(Decoration::NonReadable));
                let has_order = self.has_order(view, unified, ordered);
                claims.extend(has_order.then_some(Decoration::Coherent));
                // A read-only buffer may be aliased by views of other types: without writes the alias is unobservable.
                let is_apart = self.is_alone(view, unified) || facts.read_only && facts.restrict;
                claims.push(if is_apart { Decoration::Restrict } else { Decoration::Aliased });
            }
            let claims = claims.into_iter().map(|claim| vec![Operand::Decoration(claim)]);
            let decorations =
                module.decorations(Module::bound(view.binding.into()).into_iter().chain(claims).collect());
            module.globals[view.global].decorations = decorations;
        }
    }
}

/// Whether a texel is read through a variable of a storage image.
fn is_read(module: &Module, variable: Global) -> bool {
    module.functions.values().any(|f| {
        let is_handle = |arg: Option<&Arg>| match arg {
            Some(&Arg::Value(handle)) => match f.values[handle].def {
                Def::Inst(inst) => f.insts[inst].operation.place(),
                _ => None,
            },
            _ => None,
        };
        f.insts.values().any(|inst| match &inst.operation {
            Operation::Other { op: Op::ImageRead, operands } => is_handle(operands.first())
                .is_some_and(|place| f.places[place].root == Root::Global(variable)),
            _ => false,
        })
    })
}
