//! Why no rewrite closed a seam.

use std::borrow::Cow;

use super::access::{AccessPair, AccessSite};
use crate::Reason;
use crate::frontend::SetBinding;

/// Why no rewrite closed a seam: why a kernel could not be placed on the rows or tiles of another, or recomputed where it is
/// read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteReason {
    /// It does something that ties its invocations to each other or to their dispatch.
    #[error("submission {submission} cannot be re-indexed: it has {what}{}", at.map(|at| format!(" ({})", of(at))).unwrap_or_default())]
    NotFree {
        /// The submission.
        submission: usize,
        /// What.
        what: &'static str,
        /// The binding that it does that to, if there is one.
        at: Option<SetBinding>,
    },
    /// It has fewer items than its partner's rows or tiles, or more than them and the rest may do something.
    #[error(
        "submission {submission} has {items} invocations, and submission {partner} {places} positions for them"
    )]
    Count {
        /// The submission that was to be placed.
        submission: usize,
        /// The one on whose rows or tiles.
        partner: usize,
        /// Its invocations.
        items: u64,
        /// How many of them the partner would do.
        places: u64,
    },
    /// Its invocations are not those of its partner's rows or tiles, each once, however many there are.
    #[error("submission {submission} cannot be done at the positions of submission {partner}: {what}")]
    Places {
        /// The submission that was to be placed.
        submission: usize,
        /// The one on whose rows or tiles.
        partner: usize,
        /// What keeps it from that.
        what: String,
    },
    /// Few rows, and long ones: the kernel alone uses more of the device.
    #[error("{rows} rows of {length} leave most of the device idle")]
    FewRows {
        /// Rows.
        rows: u64,
        /// Elements of a row.
        length: u64,
    },
    /// It would have far fewer invocations than by itself, which was measured to be slower.
    #[error("in {invocations} invocations instead of {own} it was measured to be slower")]
    Narrow {
        /// Invocations that would do its items.
        invocations: u64,
        /// Its own invocations.
        own: u64,
    },
    /// It cannot have larger work-groups.
    #[error("its work-groups cannot be padded: it has {what}")]
    NotPadded {
        /// What keeps it from that.
        what: &'static str,
    },
    /// Larger work-groups would have many invocations with nothing to do, and the kernel alone uses more of the device.
    #[error("in work-groups of {all} invocations it would use {own} of them, and leave the device idle")]
    Idle {
        /// Invocations of its own work-groups.
        own: u64,
        /// Those of the larger ones.
        all: u64,
    },
    /// An invocation's part of a long row is more than it keeps, so what is stored passes through memory all the same.
    #[error(
        "on rows this long an invocation stores {bytes} bytes that later kernels load, and can keep {room} of them"
    )]
    NotKept {
        /// Bytes that an invocation stores to one buffer.
        bytes: u64,
        /// Bytes that it can keep.
        room: u64,
    },
    /// Its placed form could not be made.
    #[error("its re-indexed form could not be built: {what}")]
    Failed {
        /// Why.
        what: String,
    },
    /// With the kernels placed, the group still does not hold.
    #[error("also after re-indexing: {0}")]
    Rejected(Box<Reason>),
    /// What it stores is no definition that could be computed where it is read.
    #[error("submission {producer} cannot be recomputed where it is read: it has {what}")]
    NoDefinition {
        /// The submission that stores.
        producer: usize,
        /// What keeps it from being one.
        what: &'static str,
    },
    /// Which item stores an element does not follow from its index.
    #[error("the invocation of submission {producer} that stores an element cannot be determined: {what}")]
    NoItem {
        /// The submission that stores.
        producer: usize,
        /// What is not followed.
        what: &'static str,
    },
    /// One of several stores of an item is not like the others.
    #[error("submission {producer} cannot be recomputed where it is read: its store at block {}, instruction {}, has {what}", at.0, at.1)]
    NoSite {
        /// The submission that stores.
        producer: usize,
        /// The store, by block and position in its normal form.
        at: (usize, usize),
        /// What keeps it from being computed with the others.
        what: &'static str,
    },
    /// The loads cannot be replaced.
    #[error("its loads of what submission {producer} stores cannot be replaced: {what}")]
    NoLoads {
        /// The submission that stores.
        producer: usize,
        /// Why.
        what: &'static str,
    },
    /// More is read than was certainly written.
    #[error("elements are read that submission {producer} may not have stored")]
    NotStored {
        /// The submission that stores.
        producer: usize,
    },
    /// What it would be made of again is not what it was made of.
    #[error("{}", overwritten(*producer, *writer))]
    Overwritten {
        /// The submission that stores.
        producer: usize,
        /// The one that writes.
        writer: usize,
    },
    /// It would not pay.
    #[error(
        "recomputing it costs more than it saves: {loads} loads and {work} operations per invocation, {read} bytes read to save {saved}"
    )]
    Costs {
        /// Loads of the definition, times how often an invocation works it out.
        loads: u64,
        /// Operations, likewise.
        work: u64,
        /// Bytes an element is made of.
        read: u64,
        /// Bytes of an element that are not moved.
        saved: u64,
    },
    /// The kernel could not be made.
    #[error("the kernel that recomputes it could not be built: {what}")]
    NotInlined {
        /// Why.
        what: String,
    },
    /// It cannot be done where what it reads is stored.
    #[error("submission {submission} cannot be done where submission {producer} stores what it reads: {}", if access.is_some() { what.to_string() } else { format!("submission {of} has {what}") })]
    NoEpilogue {
        /// The submission that reads.
        submission: usize,
        /// The one that stores.
        producer: usize,
        /// Which of them keeps it from that.
        of: usize,
        /// What it has.
        what: Cow<'static, str>,
        /// The access that has it, if it is one.
        access: Option<Box<AccessSite>>,
    },
    /// It cannot be done where what it reads is stored: something else that it accesses is another's until later.
    #[error("submission {submission} cannot be done where submission {producer} stores what it reads: it also {} {}, which submission {other} {}{}", verb(*.writes), of(*.at), verb(*.is_written), if *.writes { "; another buffer there would not be in the way" } else { "" })]
    TooEarly {
        /// The submission that reads.
        submission: usize,
        /// The one that stores.
        producer: usize,
        /// The one that accesses the same.
        other: usize,
        /// Where the submission accesses it.
        at: SetBinding,
        /// Whether the submission writes there.
        writes: bool,
        /// Whether the other one does.
        is_written: bool,
    },
    /// It cannot be done where what it reads is stored: an invocation reads several elements.
    #[error("an invocation of submission {} ({}) reads several elements that submission {producer} stores{}", pair.first.submission, pair.first.kernel, otherwise.as_ref().map(|why| format!("; {why}")).unwrap_or_default())]
    SeveralElements {
        /// The submission that stores.
        producer: usize,
        /// Accesses to two of the elements, or one that is repeated.
        pair: Box<AccessPair>,
        /// Why the elements cannot be recomputed.
        otherwise: Option<Box<RewriteReason>>,
    },
    /// A kernel that does it there could not be made.
    #[error("it could not be done where what it reads is stored: {what}")]
    NotAppended {
        /// Why.
        what: String,
    },
}

impl RewriteReason {
    /// More than the one-line message: the accesses that still keep kernels apart, where there are any.
    pub fn detail(&self) -> String {
        let reason = match self {
            Self::Rejected(reason) => reason,
            Self::NoEpilogue { access: Some(access), .. } => return format!("{self}: {access}"),
            Self::SeveralElements { producer, pair, otherwise } => {
                let own = Self::SeveralElements { producer: *producer, pair: pair.clone(), otherwise: None };
                let otherwise = otherwise.as_ref().map(|why| format!("; {}", why.detail()));
                return format!("{own}, at {}{}", both(pair), otherwise.unwrap_or_default());
            }
            _ => return self.to_string(),
        };
        let (short, detail) = (reason.to_string(), reason.detail());
        match detail.strip_prefix(&short) {
            Some(rest) => format!("{self}{rest}"),
            None => format!("{self}: {detail}"),
        }
    }
}

/// A binding, as it is called in a sentence.
fn of(at: SetBinding) -> String {
    format!("binding {}.{}", at.set, at.binding)
}

fn verb(writes: bool) -> &'static str {
    if writes { "writes" } else { "reads" }
}

/// The places of two accesses of one submission.
fn both(AccessPair { first, second }: &AccessPair) -> String {
    let place = |site: &AccessSite| format!("byte {}", site.short_index());
    match first.at == second.at {
        true if first == second => format!("{} of {}", place(first), of(first.at)),
        true => format!("{} and {} of {}", place(first), place(second), of(first.at)),
        false => {
            format!("{} of {} and {} of {}", place(first), of(first.at), place(second), of(second.at))
        }
    }
}

/// Who overwrites what a submission would be recomputed from.
fn overwritten(producer: usize, writer: usize) -> String {
    match writer == producer {
        true => format!("submission {writer} works in place, so nothing is left to recompute it from"),
        false => format!(
            "submission {writer} overwrites what submission {producer} reads or stores before it would be recomputed"
        ),
    }
}
