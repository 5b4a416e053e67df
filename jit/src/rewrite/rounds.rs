//! Makes each round of a kernel's loop an item of its own.
//!
//! Libraries let an invocation do several elements that are a work-group apart, in a loop or in a sequence of statements. The kernel that is made here
//! has `n` work-groups for each of the kernel's, where `n` is the number of rounds; work-group `g` does round `g mod n` of work-group `g / n`.
//!
//! # Requires
//! - a free kernel in normal form (`free::why_not_free`)
//!
//! # Guarantees
//! - the body runs once for each invocation and round, with the ids of the invocation; of the loop, or of the stores, the round alone is done
//!
//! # Refuses
//! - loops that carry anything but counters from round to round ([`looped`]); stores that are not alike ([`stores`]); local variables
//!
//! # Leaves alone
//! - whether rounds have to do with each other's bytes, and whether a round that is not reached would do something
//!   ([`Rounds::must_last`]): both depend on the numbers of a call (`plan::rewrites::rounds`)

mod alike;
pub(super) mod looped;
mod stores;

use rspirv::spirv::{BuiltIn, Op};

use self::looped::Looped;
use self::stores::Stores;
use super::built_ins::BuiltIns;
use super::wrap::copied;
use super::writer::Result;
use crate::ir::entity::Value;
use crate::ir::{Builder, Module};
use crate::kernel::Specialized;

/// What of a kernel is an item.
pub(super) enum Rounds {
    /// A round of the loop that stores.
    Looped(Looped),
    /// A store.
    Stores(Box<Stores>),
}

impl Rounds {
    /// Those of a kernel. `most` says how many rounds of a loop any invocation does, where no constants of the kernel say it.
    /// At most `limit` of a loop.
    pub(super) fn of(
        kernel: &Specialized,
        most: &mut dyn FnMut(usize) -> Option<u32>,
        limit: u32,
    ) -> Result<Self> {
        let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
        let module = normal.ir().ok_or("no structured form")?;
        let &[func] = module.defined.as_slice() else { return Err("several functions") };
        let f = &module.functions[func];
        if !f.variables.is_empty() {
            return Err("local variables");
        }
        if normal.analysis.loops.is_empty() {
            return Stores::of(normal, module, func).map(|stores| Self::Stores(Box::new(stores)));
        }
        Looped::of(normal, module, f, most, limit).map(Self::Looped)
    }

    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Looped(looped) => looped.count,
            Self::Stores(stores) => stores.count(),
        }
    }

    /// Whether a round that stores has to show that all rounds before it do: the kernel does not come to it otherwise, or comes to
    /// it with another counter.
    pub(super) fn must_last(&self) -> bool {
        match self {
            Self::Looped(looped) => looped.must_last,
            Self::Stores(stores) => stores.must_last,
        }
    }
}

/// The kernel whose items are the rounds.
pub(super) fn apart(kernel: &Specialized, rounds: &Rounds, beside: bool) -> Result<Module> {
    let (mut module, func) = match rounds {
        Rounds::Looped(_) => copied(kernel)?,
        Rounds::Stores(stores) => (stores.module.clone(), stores.func),
    };
    let mut ids = BuiltIns::of(&module);
    if ids.has(BuiltIn::LocalInvocationIndex) {
        return Err("a local index");
    }
    let mut code = Builder::new(&mut module, func);
    let round = set(&mut code, &mut ids, (beside, rounds.count()), kernel.interface.local_size[0]);
    let head = std::mem::take(&mut code.nodes);
    match rounds {
        Rounds::Looped(looped) => looped.apart(&mut module, func, round)?,
        Rounds::Stores(stores) => stores.apart(&mut module, round)?,
    }
    let body = module.functions[func].body;
    ids.replace(&mut module, func, body)?;
    module.functions[func].regions[body].nodes.splice(0..0, head);
    Ok(module)
}

/// Says what the ids are: those of the work-group whose round this is or, where the rounds of an invocation are neighbours in a line, those of
/// this invocation. Returns the number of the round.
fn set(code: &mut Builder<'_>, ids: &mut BuiltIns, (beside, count): (bool, u32), size: u32) -> Value {
    let place = if beside { BuiltIn::GlobalInvocationId } else { BuiltIn::WorkgroupId };
    let (place, count) = (code.component(place, 0), code.word(count));
    let number = code.math(Op::UDiv, place, count);
    let round = code.math(Op::UMod, place, count);
    let width = code.word(size);
    for builtin in [BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId, BuiltIn::GlobalInvocationId] {
        if !ids.has(builtin) {
            continue;
        }
        let mut parts = [0, 1, 2].map(|dim| code.component(builtin, dim));
        parts[0] = match (builtin, beside) {
            (BuiltIn::WorkgroupId, false) | (BuiltIn::GlobalInvocationId, true) => number,
            (BuiltIn::WorkgroupId, true) => code.math(Op::UDiv, number, width),
            (BuiltIn::LocalInvocationId, true) => code.math(Op::UMod, number, width),
            (BuiltIn::LocalInvocationId, false) => parts[0],
            (_, _) => {
                let inside = code.component(BuiltIn::LocalInvocationId, 0);
                code.linear(number, size, inside)
            }
        };
        ids.set(builtin, parts);
    }
    round
}
