//! Kernels that do the work of others: in another order, or once more where its results are read.
//!
//! A *free* kernel may have each of its items done by any invocation. [`place`] makes of it a kernel of another shape,
//! whose invocations do its items in the order of a partner's elements: [`Order`]. That is a kernel like any other:
//! analysed, planned and emitted as if a user had submitted it. Whether a placed kernel does each item exactly once
//! depends on the numbers of a call, and is the planner's to show (`plan::rewrites::place`).
//!
//! A kernel that stores a [`Definition`] can be *inlined*: [`inline`] makes of a kernel that loads what it stored one that works it
//! out again. Whether what is loaded is what the definition gives is the planner's to show as well (`plan::rewrites::inline`).
//!
//! Placement, rounds and joint stores change a copy of the kernel's IR, which is imported once and kept with the kernel (`NormalKernel::ir`). Inlining and closed
//! forms change words (`writer`).

mod built_ins;
mod close;
mod definition;
pub(crate) mod free;
mod inline;
mod one_store;
mod order;
mod pad;
mod quotient;
mod rounds;
mod texel;
mod words;
mod wrap;
mod writer;

use std::sync::Arc;

use rspirv::dr;

use crate::ir;
use crate::kernel::Specialized;
use crate::reason::RewriteReason;

pub(crate) use definition::{Definition, Guarded, Site};
pub(crate) use free::why_not_free;
pub(crate) use inline::{Coordinate, Digit, Handed, Ids, Part, Parts, RowOf, Rows, Slots, reads_back};
pub(crate) use order::{Digits, Numbering, Order, Spread, line_of};
pub(crate) use pad::knows_subgroups;
pub(crate) use rounds::looped::MOST_ROUNDS;
pub(crate) use texel::Texels;
pub(crate) use writer::words_at;

/// What a rewrite that changes the shape alone does not do.
const OTHER_BINDINGS: &str = "it uses other bindings";

/// A free kernel in another order and with another local size; made once for each. `widths` are the first bytes of words of its
/// push constants that are the `w` of the order.
pub(crate) fn place(
    kernel: &Specialized,
    numbering: Numbering,
    order: Order,
    local: [u32; 3],
    widths: &[u32],
) -> Result<Arc<Specialized>, RewriteReason> {
    if let Some(what) = why_not_free(kernel) {
        return Err(RewriteReason::Failed { what: what.to_owned() });
    }
    let key = [order as u32, local[0], local[1], local[2]];
    let key = key.iter().flat_map(|n| n.to_le_bytes()).chain(numbering.key());
    let key = key.chain(widths.iter().flat_map(|n| n.to_le_bytes()));
    kernel.variants.get(kernel.hash.into_iter().chain(key).collect(), || {
        wrapped(kernel, numbering, order, local, widths).map(Arc::new)
    })
}

/// A kernel with larger work-groups, in which the first invocations are its own and the others have nothing to do; made once for each size.
pub(crate) fn pad(
    kernel: &Specialized,
    local: [u32; 3],
    lanes: Option<u32>,
) -> Result<Arc<Specialized>, RewriteReason> {
    if let Some(what) = pad::why_not_padded(kernel) {
        return Err(RewriteReason::NotPadded { what });
    }
    let make = || {
        let module = pad::pad(kernel, local, lanes).map_err(|what| RewriteReason::NotPadded { what })?;
        Ok(Arc::new(Specialized { lanes, ..reshaped(kernel, &module, local)? }))
    };
    let key = local.into_iter().chain([lanes.unwrap_or(0)]).flat_map(u32::to_le_bytes);
    kernel.variants.get(kernel.hash.into_iter().chain(*b"pad").chain(key).collect(), make)
}

fn failed(what: impl ToString) -> RewriteReason {
    RewriteReason::Failed { what: what.to_string() }
}

/// A rewritten module. In debug builds its invariants are checked.
fn exported(module: &ir::Module) -> Result<dr::Module, RewriteReason> {
    if cfg!(debug_assertions) {
        ir::verify(module).map_err(|fault| failed(format_args!("unsound code: {fault}")))?;
    }
    Ok(ir::export(module))
}

/// A kernel with a rewritten module of the same bindings.
fn reshaped(
    kernel: &Specialized,
    module: &ir::Module,
    local: [u32; 3],
) -> Result<Specialized, RewriteReason> {
    let made = kernel.reshaped(exported(module)?, local).map_err(failed)?;
    made.ok_or_else(|| failed(OTHER_BINDINGS))
}

fn wrapped(
    kernel: &Specialized,
    numbering: Numbering,
    order: Order,
    local: [u32; 3],
    widths: &[u32],
) -> Result<Specialized, RewriteReason> {
    let module = wrap::wrap(kernel, numbering, order, local, widths).map_err(failed)?;
    let mut placed = reshaped(kernel, &module, local)?;
    placed.is_repeated |= order == Order::Rows;
    Ok(placed)
}

/// A kernel in which each round of the loop of another one is an item.
pub(crate) struct ByRounds {
    pub(crate) kernel: Arc<Specialized>,
    /// How many rounds there are.
    pub(crate) count: u32,
    /// A round that stores has to show that all rounds before it do.
    pub(crate) must_last: bool,
}

/// A free kernel whose items are the rounds of the kernel's loop, or its stores; made once for each number of rounds. It has this many times the
/// work-groups in the first dimension; consecutive ones do the rounds of one work-group of the kernel. `most` gives the largest number of rounds of a
/// loop, where it does not follow from constants; a loop of more than `limit` has none.
///
/// Rounds that are `beside` are those of one invocation side by side: invocation `x` of a line does round `x mod n` of invocation `x / n`.
pub(crate) fn rounds(
    kernel: &Specialized,
    beside: bool,
    most: &mut dyn FnMut(usize) -> Option<u32>,
    limit: u32,
) -> Option<ByRounds> {
    if why_not_free(kernel).is_some() {
        return None;
    }
    let rounds = rounds::Rounds::of(kernel, most, limit).ok()?;
    let make = || {
        let module = rounds::apart(kernel, &rounds, beside).map_err(failed)?;
        reshaped(kernel, &module, kernel.interface.local_size).map(Arc::new)
    };
    let count = rounds.count();
    let key = kernel
        .hash
        .into_iter()
        .chain(*b"rounds")
        .chain(count.to_le_bytes())
        .chain([u8::from(beside)])
        .collect();
    let kernel = kernel.variants.get(key, make).ok()?;
    Some(ByRounds { kernel, count, must_last: rounds.must_last() })
}

/// A free kernel as it is with these push constants, with one store in the place of several if each item does one of them; made once for
/// each way that its branches take. `None` if that changes nothing, or it cannot be written.
pub(crate) fn one_store(kernel: &Specialized, push: &[u8]) -> Option<Arc<Specialized>> {
    if why_not_free(kernel).is_some() {
        return None;
    }
    let (module, taken) = one_store::one_store(kernel, push).ok()??;
    let make = || reshaped(kernel, &module, kernel.interface.local_size).map(Arc::new);
    let key = kernel.hash.into_iter().chain(*b"one store").chain(taken);
    kernel.variants.get(key.collect(), make).ok()
}

/// The kernel with what is open of its floats hidden, made once; `None` if that is what it is.
pub(crate) fn closed(kernel: &Specialized) -> Result<Option<Arc<Specialized>>, &'static str> {
    let make = || {
        let Ok(normal) = &kernel.normal else { return Ok(None) };
        let Some((module, zero)) = close::close(kernel, normal)? else { return Ok(None) };
        let made = kernel.reshaped(module, kernel.interface.local_size);
        let mut made = made.map_err(|error| {
            tracing::error!(kernel = kernel.name, %error, "a kernel has no closed form");
            "its closed form is not valid"
        })?;
        let closed = made.as_mut().ok_or(OTHER_BINDINGS)?;
        closed.zeros.push(zero);
        Ok(made.map(Arc::new))
    };
    kernel.closed.get_or_init(kept!(make)).clone()
}

/// A kernel that recomputes what a producer stores wherever it would have loaded that from its binding number `from`; it may compute with
/// `halves`. Each is made only once.
pub(crate) fn inline(
    consumer: &Specialized,
    from: usize,
    producer: &Specialized,
    definition: &Definition,
    ids: &Ids,
    halves: bool,
) -> Result<Arc<Specialized>, RewriteReason> {
    let make = || {
        let module = inline::inline(consumer, from, producer, definition, ids, halves);
        joined(consumer, producer, ids, module).map_err(|what| RewriteReason::NotInlined { what })
    };
    let mut key = [&consumer.hash[..], b"inline", &producer.hash].concat();
    key.extend_from_slice(&(from as u32).to_le_bytes());
    key.push(halves.into());
    key.extend_from_slice(&ids.bytes());
    consumer.variants.get(key, make)
}

/// A kernel that does what a free consumer makes of each element, behind its stores of these; made once for each.
pub(crate) fn append(
    producer: &Specialized,
    consumer: &Specialized,
    handed: &Handed,
    ids: &Ids,
) -> Result<Arc<Specialized>, RewriteReason> {
    let make = || {
        let module = inline::append(producer, consumer, handed, ids);
        joined(producer, consumer, ids, module).map_err(|what| RewriteReason::NotAppended { what })
    };
    let mut key = [&producer.hash[..], b"append", &consumer.hash].concat();
    key.extend_from_slice(&handed.bytes());
    key.extend_from_slice(&ids.bytes());
    producer.variants.get(key, make)
}

/// A kernel, as a module that does what another one does, too.
fn joined(
    own: &Specialized,
    other: &Specialized,
    ids: &Ids,
    module: writer::Result<dr::Module>,
) -> Result<Arc<Specialized>, String> {
    let zero = hides(own, other).then(|| zero_at(own, other, ids));
    let made = own.rewritten(module?, own.interface.local_size, zero);
    let mut made = made.map_err(|error| error.to_string())?;
    let push = Slots::of(own, other).push;
    made.zeros.extend(other.zeros.iter().map(|zero| push + zero));
    Ok(Arc::new(made))
}

/// A kernel that does nothing, of another local size, that stands where this one did.
pub(crate) fn nothing(kernel: &Specialized, local: [u32; 3]) -> Result<Arc<Specialized>, RewriteReason> {
    let make = || {
        let failed = |what: &dyn ToString| RewriteReason::NotInlined { what: what.to_string() };
        let module = wrap::nothing(kernel, local).map_err(|what| failed(&what))?;
        let made = kernel.rewritten(exported(&module)?, local, None);
        made.map(Arc::new).map_err(|error| failed(&error))
    };
    let key = local.iter().flat_map(|n| n.to_le_bytes());
    let key = kernel.hash.into_iter().chain(*b"nothing").chain(key);
    kernel.variants.get(key.collect(), make)
}

/// Whether a kernel has an empty body, as [`nothing`] makes it.
pub(crate) fn is_nothing(kernel: &Specialized) -> bool {
    kernel.normal.as_ref().is_ok_and(|normal| normal.ir().is_some_and(wrap::is_nothing))
}

/// How elements that the one loads from a binding are made of those that the other stores, if they have their bits.
///
/// # Errors
/// Why they are not.
pub(crate) fn parts(
    consumer: &Specialized,
    ty: u32,
    producer: &Specialized,
    definition: &Definition,
) -> Result<Parts, &'static str> {
    let (Ok(own), Ok(theirs)) = (&consumer.normal, &producer.normal) else {
        return Err("a kernel that is not analysed");
    };
    inline::parts(own, ty, theirs, definition.ty)
}

/// Whether a push constant that is zero keeps the floats of the two apart.
pub(crate) fn hides(consumer: &Specialized, producer: &Specialized) -> bool {
    let (Ok(own), Ok(theirs)) = (&consumer.normal, &producer.normal) else { return false };
    inline::hides(own, theirs)
}

/// Its first byte.
pub(crate) fn zero_at(consumer: &Specialized, producer: &Specialized, ids: &Ids) -> u32 {
    Slots::of(consumer, producer).words + 4 * ids.words()
}
