//! Links one member: its globals into the fused module, its body into a function of its own.
//!
//! # Requires
//! - the normal form; a recipe made for exactly these kernels
//!
//! # Guarantees
//! - types, constants and imports are in the module once; ids are disjoint
//! - no access through an internalized binding, a virtual built-in or the member's own push-constant
//!   block remains
//! - an early return of the member leaves only the member

mod accesses;
mod declarations;
mod function;

use ahash::AHashMap;

use super::JitError;
use super::ids::VirtualIds;
use super::interface::Bindings;
use super::internal::InternalVariable;
use super::push::PushVariable;
use super::shared::Shared;
use crate::ir::entity::{Const, Entity as _, ExtSet, Func, Global, Inst, Region, SecondaryMap, Type, Value};
use crate::ir::{Builder, Function, Module};
use crate::kernel::{NormalKernel, Specialized};
use crate::plan::recipe::{Member, Recipe};

/// What the names of variables for iterations begin with.
pub(super) const ROUND: &str = "round.";

/// A linked member.
#[derive(Clone)]
pub(crate) struct Linked {
    pub(crate) function: Func,
    pub(crate) ids: VirtualIds,
    /// A memory barrier for shared memory stands in front of it.
    pub(crate) fenced: bool,
}

/// What a variable of the member became.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// A variable of the fused module; for a built-in, it may be a Private one.
    Variable(Global),
    /// The push-constant block.
    Push,
    /// An internalized binding, by its number among the kernel's bindings.
    Internal(usize),
}

struct Linker<'a> {
    code: Builder<'a>,
    bindings: &'a mut Bindings,
    push: &'a mut PushVariable,
    /// Variables of promoted buffers, and of elements that are kept.
    internal: &'a mut [Option<InternalVariable>],
    kept: &'a mut [Option<InternalVariable>],
    halves: bool,
    recipe: &'a Recipe,
    member: &'a Member,
    kernel: &'a Specialized,
    normal: &'a NormalKernel,
    /// The member, and its function.
    source: &'a Module,
    from: &'a Function,
    /// What its declarations became.
    types: SecondaryMap<Type, Option<Type>>,
    constants: SecondaryMap<Const, Option<Const>>,
    roles: SecondaryMap<Global, Option<Role>>,
    sets: Vec<ExtSet>,
    /// The block of its push constants inside of another block.
    push_block: Option<Type>,
    ids: VirtualIds,
    /// Numbers of accesses, and those among the accesses of their binding.
    accesses: AHashMap<Inst, (usize, usize)>,
    /// Numbers of length queries among those of their binding.
    lengths: AHashMap<Inst, usize>,
    /// The numbers of the present instruction, if it is an access.
    at: Option<(usize, usize)>,
    /// Of each loop that is unrolled, the number of the iteration; by the body, what loads it.
    rounds: AHashMap<u32, Value>,
    loads: AHashMap<Region, Inst>,
    /// The zero that hides floats, and what loads it, if the body wants it.
    zero: Option<(Inst, Value)>,
}

/// Links one member into the shared module.
pub(super) fn link(
    shared: &mut Shared,
    recipe: &Recipe,
    member: &Member,
    kernel: &Specialized,
) -> Result<Linked, JitError> {
    let error = |detail: &str| JitError::new("link", format!("kernel {}: {detail}", kernel.name));
    let normal = kernel.normal.as_ref().map_err(|reason| error(&reason.to_string()))?;
    let imported = normal.imported(&member.resolved).map_err(|reason| error(&reason.to_string()))?;
    let (source, origins) = &*imported;
    let &from = source.defined.first().ok_or_else(|| error("no function"))?;
    let Shared { module, bindings, push, internal, kept, halves } = shared;
    let function = Func::new(module.functions.len());
    let mut linker = Linker {
        code: Builder::new(module, function),
        bindings,
        push,
        internal,
        kept,
        halves: *halves,
        recipe,
        member,
        kernel,
        normal,
        source,
        from: &source.functions[from],
        types: SecondaryMap::default(),
        constants: SecondaryMap::default(),
        roles: SecondaryMap::default(),
        sets: Vec::new(),
        push_block: None,
        ids: VirtualIds::default(),
        accesses: AHashMap::new(),
        lengths: AHashMap::new(),
        at: None,
        rounds: AHashMap::new(),
        loads: AHashMap::new(),
        zero: None,
    };
    linker.declarations()?;
    linker.function(origins)?;
    Ok(Linked { function, ids: linker.ids, fenced: false })
}

impl Linker<'_> {
    fn error(&self, detail: impl std::fmt::Display) -> JitError {
        JitError::new("link", format!("kernel {}: {detail}", self.kernel.name))
    }
}
