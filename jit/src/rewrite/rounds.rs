//! Makes each round of a kernel's loop an item of its own.
//!
//! Libraries let an invocation do several elements that are a work-group apart, in a loop or written out. The kernel written here has as many
//! work-groups for each of the kernel's as there are rounds; number `g` of them does round `g mod n` of work-group `g / n`.
//!
//! # Requires
//! - a kernel in normal form, of which `free::why_not_free` has nothing to say
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

mod looped;
mod stores;

use rspirv::dr::{Instruction, Module};
use rspirv::spirv::{BuiltIn, Op, Word};

use self::looped::Looped;
use self::stores::Stores;
use super::wrap::Ids;
use super::writer::{Result, Writer};
use crate::kernel::Specialized;

/// What of a kernel is an item.
pub(super) enum Rounds {
    /// A round of the loop that stores.
    Looped(Looped),
    /// A store.
    Stores(Stores),
}

impl Rounds {
    /// Those of a kernel. `most` says how many rounds of a loop any invocation does, where no constants of the kernel say it.
    pub(super) fn of(kernel: &Specialized, most: &mut dyn FnMut(usize) -> Option<u32>) -> Result<Self> {
        let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
        let [function] = normal.module.functions.as_slice() else { return Err("several functions") };
        if function.all_inst_iter().any(|inst| inst.class.opcode == Op::Variable) {
            return Err("local variables");
        }
        if normal.analysis.loops.is_empty() {
            return Stores::of(normal, function).map(Self::Stores);
        }
        Looped::of(normal, function, most).map(Self::Looped)
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

/// The kernel whose items are the rounds, as a module.
pub(super) fn apart(kernel: &Specialized, rounds: &Rounds, beside: bool) -> Result<Module> {
    let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
    let module = normal.module.clone();
    let mut writer = Writer::new(module)?;
    let mut ids = Ids::find(&writer)?;
    if ids.has(BuiltIn::LocalInvocationIndex) {
        return Err("a local index");
    }
    let head = if beside { side_by_side } else { work_groups_apart };
    let (head, round) = head(&mut writer, kernel, &mut ids, rounds.count());
    let mut function = match rounds {
        Rounds::Looped(looped) => looped.apart(normal, &mut writer, round)?,
        Rounds::Stores(stores) => stores.apart(normal, &mut writer, round)?,
    };
    for block in &mut function.blocks {
        ids.replace(&mut writer, block)?;
    }
    if let Some(first) = function.blocks.first_mut() {
        first.instructions.splice(0..0, head);
    }
    Ok(writer.finish(function))
}

/// What comes first: the ids of the work-group whose round this is. And the number of the round.
fn work_groups_apart(
    writer: &mut Writer,
    kernel: &Specialized,
    ids: &mut Ids,
    count: u32,
) -> (Vec<Instruction>, Word) {
    let mut head = Vec::new();
    let count = writer.constant(count);
    let number = writer.component(&mut head, BuiltIn::WorkgroupId, 0);
    let group = writer.math(&mut head, Op::UDiv, number, count);
    let round = writer.math(&mut head, Op::UMod, number, count);
    for builtin in [BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId, BuiltIn::GlobalInvocationId] {
        if !ids.has(builtin) {
            continue;
        }
        let mut parts = [0, 1, 2].map(|d| writer.component(&mut head, builtin, d));
        if builtin == BuiltIn::WorkgroupId {
            parts[0] = group;
        } else if builtin == BuiltIn::GlobalInvocationId {
            let size = writer.constant(kernel.interface.local_size[0]);
            let start = writer.math(&mut head, Op::IMul, group, size);
            let inside = writer.component(&mut head, BuiltIn::LocalInvocationId, 0);
            parts[0] = writer.math(&mut head, Op::IAdd, start, inside);
        }
        ids.set(builtin, parts);
    }
    (head, round)
}

/// The same where the rounds of an invocation are neighbours in a line.
fn side_by_side(
    writer: &mut Writer,
    kernel: &Specialized,
    ids: &mut Ids,
    count: u32,
) -> (Vec<Instruction>, Word) {
    let mut head = Vec::new();
    let count = writer.constant(count);
    let place = writer.component(&mut head, BuiltIn::GlobalInvocationId, 0);
    let number = writer.math(&mut head, Op::UDiv, place, count);
    let round = writer.math(&mut head, Op::UMod, place, count);
    let size = writer.constant(kernel.interface.local_size[0]);
    for builtin in [BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId, BuiltIn::GlobalInvocationId] {
        if !ids.has(builtin) {
            continue;
        }
        let mut parts = [0, 1, 2].map(|d| writer.component(&mut head, builtin, d));
        parts[0] = match builtin {
            BuiltIn::WorkgroupId => writer.math(&mut head, Op::UDiv, number, size),
            BuiltIn::LocalInvocationId => writer.math(&mut head, Op::UMod, number, size),
            _ => number,
        };
        ids.set(builtin, parts);
    }
    (head, round)
}
