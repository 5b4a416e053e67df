//! Variables that see bindings: what is known of them, and those that see words as vectors.

use std::sync::Arc;

use ahash::AHashSet;
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, StorageClass};

use crate::emit::entry;
use crate::ir::entity::{Func, Global, Type};
use crate::ir::{GlobalData, Module, Operation, Root, TypeData, TypeKind};
use crate::kernel::{BindingKind, Specialized};
use crate::plan::recipe::{Recipe, UnifiedBinding};

/// Elements of a vector.
const WIDE: u32 = 4;

/// Number of the binding that a variable sees.
pub(super) fn binding(module: &Module, variable: Global) -> Option<u32> {
    match module.decoration(variable, Decoration::Binding) {
        Some(&[Operand::LiteralBit32(binding)]) => Some(binding),
        _ => None,
    }
}

/// The variables of storage buffers whose facts fit.
fn buffers(module: &Module, recipe: &Recipe, fits: impl Fn(&UnifiedBinding) -> bool) -> AHashSet<Global> {
    let facts = |&global: &Global| recipe.bindings.get(binding(module, global)? as usize);
    let fits = |global: &Global| {
        facts(global).is_some_and(|facts| facts.kind == BindingKind::StorageBuffer && fits(facts))
    };
    module.declared().filter(fits).collect()
}

/// Storage buffers whose bytes nothing writes while the kernel runs, through whatever variable.
pub(super) fn frozen(module: &Module, recipe: &Recipe) -> AHashSet<Global> {
    buffers(module, recipe, |facts| facts.read_only && facts.restrict)
}

/// Storage buffers whose elements, of items that hand nothing to each other, no other binding and no other invocation reaches.
pub(super) fn own(module: &Module, recipe: &Recipe, kernels: &[Arc<Specialized>]) -> AHashSet<Global> {
    let has_order = has_order(kernels);
    buffers(module, recipe, |facts| facts.restrict && !facts.coherent && !has_order)
}

/// Whether some member asks for an order of its accesses.
fn has_order(kernels: &[Arc<Specialized>]) -> bool {
    let orders = |operand: &Operand| {
        matches!(operand, Operand::Decoration(Decoration::Coherent | Decoration::Volatile))
    };
    let normal = kernels.iter().filter_map(|kernel| kernel.normal.as_ref().ok());
    normal.flat_map(|normal| &normal.module.annotations).any(|inst| inst.operands.iter().any(orders))
}

/// A view of a variable's binding as a block with an array of vectors of these words at byte `offset`, and the type of a vector. A new view
/// is decorated only by [`decorate`].
pub(super) fn view(module: &mut Module, of: Global, word: Type, offset: u32) -> Option<(Global, Type)> {
    let binding = binding(module, of)?;
    let vector = module.ty(TypeKind::Vector { element: word, count: WIDE });
    let stride = vec![Operand::Decoration(Decoration::ArrayStride), Operand::LiteralBit32(4 * WIDE)];
    let kind = TypeKind::RuntimeArray { element: vector };
    let array = module.ty(TypeData { kind, decorations: vec![stride], members: Vec::new() });
    let first = vec![Operand::Decoration(Decoration::Offset), Operand::LiteralBit32(offset)];
    let block = module.ty(TypeData {
        kind: TypeKind::Struct { members: vec![array] },
        decorations: vec![vec![Operand::Decoration(Decoration::Block)]],
        members: vec![(0, first)],
    });
    let pointer = module.pointer(StorageClass::StorageBuffer, block);
    let known = module
        .declared()
        .find(|&one| module.globals[one].pointer == pointer && self::binding(module, one) == Some(binding));
    let view = known.unwrap_or_else(|| {
        let decorations = module.decorations(Module::bound(binding).to_vec());
        let class = StorageClass::StorageBuffer;
        module.global(GlobalData { pointer, class, initializer: None, decorations })
    });
    Some((view, vector))
}

/// Says of bindings that `main` sees as vectors, through these variables, what drivers may rest on.
///
/// An invocation that takes the way of vectors and one that does its items one by one each reach a binding through one variable, unless some
/// access of `main` is not to vectors. Where one reaches a byte through two variables and something is written, both are `Aliased` and
/// `Coherent`. So are vectors over a binding that is `Coherent` element by element.
pub(super) fn decorate(
    module: &mut Module,
    recipe: &Recipe,
    kernels: &[Arc<Specialized>],
    (main, wide): (Func, &AHashSet<Global>),
) {
    let ordered = entry::ordered(recipe, kernels);
    let has_order = has_order(kernels);
    let f = &module.functions[main];
    let beside: AHashSet<Global> = { f.insts.values() }
        .filter_map(|data| match (&data.operation, f.places[data.operation.place()?].root) {
            (Operation::Load { .. } | Operation::Store { .. }, Root::Global(global)) => Some(global),
            _ => None,
        })
        .collect();
    for global in module.declared().collect::<Vec<_>>() {
        let Some(number) = binding(module, global) else { continue };
        let views = || module.declared().filter(|&one| binding(module, one) == Some(number));
        if !views().any(|one| wide.contains(&one)) {
            continue;
        }
        let facts = &recipe.bindings[number as usize];
        let is_one = |are_wide: bool| views().filter(|one| wide.contains(one) == are_wide).count() == 1;
        let is_alone = facts.restrict
            && is_one(true)
            && (views().count() == 1
                || is_one(false) && !views().any(|one| !wide.contains(&one) && beside.contains(&one)))
            || mutant!(ViewsAreApart);
        let mut is_coherent =
            facts.coherent || (ordered[number as usize].reads_back || !is_alone) && !facts.read_only;
        // Some driver loads before the same invocation's store through the very same pointer (docs/drivers.md): what one member stores and
        // another loads is coherent through vectors as it is element by element.
        is_coherent |= views()
            .any(|one| !wide.contains(&one) && module.decoration(one, Decoration::Coherent).is_some())
            || wide.contains(&global) && has_order;
        // A read-only buffer may be aliased by a scalar and a vector view: without writes the alias is unobservable.
        let is_apart = is_alone || facts.read_only && facts.restrict;
        let sharing = if is_apart { Decoration::Restrict } else { Decoration::Aliased };
        let claims = [
            facts.read_only.then_some(Decoration::NonWritable),
            is_coherent.then_some(Decoration::Coherent),
            Some(sharing),
        ];
        let own = module.decoration_list(module.globals[global].decorations).iter();
        let own = own.filter(|one| {
            matches!(one[0], Operand::Decoration(Decoration::DescriptorSet | Decoration::Binding))
        });
        let claims = claims.into_iter().flatten().map(|claim| vec![Operand::Decoration(claim)]);
        let all = own.cloned().chain(claims).collect();
        module.globals[global].decorations = module.decorations(all);
    }
}
