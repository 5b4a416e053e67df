//! Gives a value that is overwritten later in the list a buffer of its own, if that stays inside of a kernel.
//!
//! Pools and ping-pong buffers hold one value after another. The writer of a value has to wait for the readers of the one
//! before, and each value is stored to memory although it is overwritten before the list ends. Here such a value is moved to a
//! new buffer with the wish to stay inside. The result is an ordinary list, and its plan is used only
//! where none of the new buffers is in memory.
//!
//! # Requires
//! - the plan of the list as it is
//!
//! # Guarantees
//! - no other access touches the bytes while the value is in use, and afterwards each of them is certainly written before it is read (`allows`)
//!
//! # Refuses
//! - values that a kernel may read by device address, images, and what the list leaves in memory

use ahash::{AHashMap, AHashSet};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

use crate::kernel::BindingKind;
use crate::plan::input::limits::Limits;
use crate::plan::input::submission::{BufferId, Internalization, Promote, Submission};
use crate::plan::input::uses::Place;
use crate::plan::output::plan::Plan;
use crate::plan::output::report::{BufferReport, RenameReport, Report};
use crate::plan::rewrites::must_write::overwrites;
use crate::plan::rewrites::reorder::{Touched, is_addressed, touched};

/// Longest list in which values are renamed.
const MOST: usize = 512;
/// Plans that are made, each of those values that stayed inside in the one before.
pub(crate) const MOST_TRIED: usize = 3;

/// Byte ranges in order, apart from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bytes(SmallVec<[(u64, u64); 2]>);

impl Bytes {
    fn of(touch: &Touched) -> Self {
        Self(if touch.start < touch.end { smallvec![(touch.start, touch.end)] } else { SmallVec::new() })
    }

    fn overlaps(&self, other: &Self) -> bool {
        let meets = |&(start, end): &(u64, u64)| {
            let is_view = |from: u64| from != start && mutant!(ViewsAreOtherValues);
            other.0.iter().any(|&(from, to)| from < end && start < to && !is_view(from))
        };
        self.0.iter().any(meets)
    }

    fn with(&self, other: &Self) -> Self {
        let mut all: SmallVec<[(u64, u64); 2]> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        all.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        Self(all)
    }

    fn without(&self, other: &Self) -> Self {
        if mutant!(OnePartIsWhole) {
            return Self(SmallVec::new());
        }
        let mut left = self.0.clone();
        for &(start, end) in &other.0 {
            let parts = |&(from, to): &(u64, u64)| [(from, to.min(start)), (from.max(end), to)];
            left = left.iter().flat_map(parts).filter(|(from, to)| from < to).collect();
        }
        Self(left)
    }
}

/// A value of a list: what arguments hand to each other in some bytes of a memory object.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    buffer: BufferId,
    /// Submissions and arguments, in order.
    uses: SmallVec<[Place; 4]>,
    bytes: Bytes,
    /// The bytes that have not been overwritten yet, as far as the list has been looked at.
    left: Bytes,
    /// The submissions that overwrite it.
    by: SmallVec<[usize; 1]>,
}

impl Value {
    fn new(place: Place, touch: &Touched) -> Self {
        let bytes = Bytes::of(touch);
        Self { buffer: touch.buffer, uses: smallvec![place], left: bytes.clone(), bytes, by: SmallVec::new() }
    }

    fn add(&mut self, other: &Self) {
        self.uses.extend_from_slice(&other.uses);
        self.uses.sort_unstable();
        self.bytes = self.bytes.with(&other.bytes);
        self.left = self.bytes.clone();
    }

    /// The value that these arguments use.
    fn of(list: &[Submission], uses: &[Place]) -> Option<Self> {
        let mut whole: Option<Self> = None;
        for &(at, number) in uses {
            let touch = touched(list.get(at)?).nth(number).filter(|_| is_buffer(&list[at], number))?;
            let value = Value::new((at, number), &touch);
            match &mut whole {
                None => whole = Some(value),
                Some(whole) if whole.buffer == value.buffer => whole.add(&value),
                Some(_) => return None,
            }
        }
        whole
    }

    pub(crate) fn uses(&self) -> &[Place] {
        &self.uses
    }
}

fn is_buffer(one: &Submission, number: usize) -> bool {
    let kind = one.kernel.interface.bindings[number].kind;
    matches!(kind, BindingKind::StorageBuffer | BindingKind::UniformBuffer) && one.args[number].len > 0
}

/// Remembers for each argument whether it certainly overwrites its bytes.
pub(crate) struct Overwriting<'a> {
    list: &'a [Submission],
    limits: &'a Limits,
    known: AHashMap<Place, bool>,
}

impl<'a> Overwriting<'a> {
    pub(crate) fn new(list: &'a [Submission], limits: &'a Limits) -> Self {
        Self { list, limits, known: AHashMap::new() }
    }

    /// Whether an argument's bytes are certainly written, and not read.
    fn is_by(&mut self, (at, number): Place, touch: &Touched) -> bool {
        let writes_only = touch.writes && (!touch.reads || mutant!(OverwritersMayRead));
        let Self { list, limits, known } = self;
        let all = || overwrites(&list[at], number, limits) || mutant!(WritersOverwrite);
        writes_only && *known.entry((at, number)).or_insert_with(all)
    }

    /// Whether these arguments of the list may have a buffer of their own that is not in memory: the side condition of theorem 8. Returns the
    /// submissions that overwrite their bytes.
    pub(crate) fn allows(&mut self, uses: &[Place]) -> Option<SmallVec<[usize; 1]>> {
        let list = self.list;
        let value = Value::of(list, uses)?;
        let (first, last) = (uses.first()?.0, uses.last()?.0);
        let own: AHashSet<Place> = uses.iter().copied().collect();
        let of_buffer = |at: usize| {
            let all = touched(&list[at]).enumerate();
            all.filter(|(_, touch)| touch.buffer == value.buffer)
        };
        // While it is in use, no other access touches its bytes.
        for (at, one) in list.iter().enumerate().take(last + 1).skip(first) {
            let is_other = |(number, touch): (usize, Touched)| {
                !own.contains(&(at, number))
                    && (value.bytes.overlaps(&Bytes::of(&touch)) || !is_buffer(one, number))
            };
            if is_addressed(one) || of_buffer(at).any(is_other) {
                return None;
            }
        }
        // Behind that, each byte is written before it is read.
        let (mut left, mut by) = (value.bytes.clone(), SmallVec::new());
        for (at, one) in list.iter().enumerate().skip(last + 1) {
            if left.0.is_empty() {
                break;
            }
            let mut touches = of_buffer(at).filter(|(_, touch)| left.overlaps(&Bytes::of(touch)));
            let reads = |(_, touch): (usize, Touched)| touch.reads && !mutant!(OverwritersMayRead);
            if is_addressed(one) || touches.any(reads) {
                return None;
            }
            for (number, touch) in of_buffer(at) {
                let bytes = Bytes::of(&touch);
                if left.overlaps(&bytes) && self.is_by((at, number), &touch) {
                    left = left.without(&bytes);
                    by.push(at);
                }
            }
        }
        (left.0.is_empty() || mutant!(EndsOverwrite)).then_some(by)
    }
}

/// The values of a list that may have buffers of their own, of those memory objects that a plan of it writes in memory.
pub(crate) fn values(list: &[Submission], plan: &Plan, limits: &Limits) -> Vec<Value> {
    if list.len() > MOST || !is_reused(list) {
        return Vec::new();
    }
    let bounds = plan.steps.iter().flat_map(|step| &step.bindings);
    let written: AHashSet<BufferId> = bounds.filter(|bound| bound.writes).map(|bound| bound.buffer).collect();
    let mut overwriting = Overwriting::new(list, limits);
    let mut live: AHashMap<BufferId, SmallVec<[Value; 2]>> = AHashMap::new();
    let mut found: Vec<Value> = Vec::new();
    for (at, one) in list.iter().enumerate() {
        if is_addressed(one) {
            live.clear();
            continue;
        }
        for (number, touch) in touched(one).enumerate() {
            if !written.contains(&touch.buffer) {
                continue;
            }
            let values = live.entry(touch.buffer).or_default();
            let mut next = Value::new((at, number), &touch);
            let writes_only = touch.writes && !touch.reads;
            let is_met = |value: &Value| value.left.overlaps(&next.bytes);
            let meets = values.iter().any(|value| is_met(value) && value.uses.last() < Some(&(at, 0)));
            if meets && overwriting.is_by((at, number), &touch) {
                for value in values.iter_mut().filter(|value| is_met(value)) {
                    value.left = value.left.without(&next.bytes);
                    value.by.push(at);
                }
                let (over, rest): (SmallVec<[Value; 2]>, SmallVec<[Value; 2]>) =
                    values.drain(..).partition(|value| value.left.0.is_empty());
                found.extend(over);
                *values = rest;
                values.push(next);
                continue;
            }
            // An access that touches several values makes them one. A value that is used after it was overwritten in part is left alone.
            let mut is_known = false;
            while let Some(met) = values.iter().position(|value| value.left.overlaps(&next.bytes)) {
                let value = values.swap_remove(met);
                if value.by.is_empty() {
                    next.add(&value);
                    is_known = true;
                }
            }
            if is_known || writes_only {
                values.push(next);
            }
        }
    }
    if mutant!(EndsOverwrite) {
        found.extend(live.into_values().flatten());
    }
    found.sort_by(|a, b| a.uses.cmp(&b.uses));
    found.retain_mut(|value| match overwriting.allows(&value.uses) {
        Some(by) => {
            value.by = by;
            true
        }
        None => false,
    });
    found
}

/// Whether several submissions write to one memory object without reading it: each of them may begin another value.
fn is_reused(list: &[Submission]) -> bool {
    let mut written = AHashSet::new();
    let mut begins = list.iter().flat_map(touched).filter(|touch| touch.writes);
    begins.any(|touch| !written.insert(touch.buffer))
}

/// A list in which these arguments have buffers of their own.
pub(crate) struct Renamed {
    pub(crate) list: Vec<Submission>,
    /// Number of the first of these buffers; each value has the next one.
    first: u64,
}

impl Renamed {
    /// `None` if there are no numbers left.
    pub(crate) fn of<'a>(
        list: &[Submission],
        values: impl ExactSizeIterator<Item = &'a [Place]>,
    ) -> Option<Self> {
        let first = u64::MAX - values.len() as u64;
        let mut list = list.to_vec();
        if list.iter().flat_map(|one| &one.args).any(|arg| arg.buffer.0 >= first) {
            return None;
        }
        for (uses, id) in values.zip(first..) {
            for &(at, number) in uses {
                let arg = list.get_mut(at)?.args.get_mut(number)?;
                (arg.buffer, arg.promote, arg.numbers) = (BufferId(id), Promote::Auto, None);
            }
        }
        Some(Self { list, first })
    }

    /// The value that has this buffer.
    fn number(&self, buffer: BufferId) -> Option<usize> {
        buffer.0.checked_sub(self.first).map(|number| number as usize)
    }

    /// The values that are in memory in a plan of the list, or that stay inside only because the plan trusts the user: a promise about the
    /// user's buffers does not cover the new ones.
    pub(crate) fn in_memory(&self, plan: &Plan) -> AHashSet<usize> {
        let bound = plan.steps.iter().flat_map(|step| &step.bindings).map(|bound| bound.buffer);
        let trusted = plan.report.trusted.iter().filter_map(|one| one.buffer);
        let trusted = trusted.filter(|_| !mutant!(TrustedIsInside));
        bound.chain(trusted).filter_map(|buffer| self.number(buffer)).collect()
    }

    /// Turns a plan of the renamed list, in which none of the new buffers is in memory, into one of the list as it was submitted: reports name
    /// the user's buffers.
    pub(crate) fn as_submitted(&self, mut plan: Plan, values: &[Value]) -> Plan {
        let own = |buffer: BufferId| self.number(buffer).and_then(|number| values.get(number));
        let report = &mut plan.report;
        let of_values: Vec<BufferReport> =
            report.buffers.extract_if(.., |one| own(one.buffer).is_some()).collect();
        let renamed = values.iter().zip(self.first..).map(|(value, id)| {
            let one = of_values.iter().find(|one| one.buffer == BufferId(id));
            RenameReport {
                buffer: value.buffer,
                arguments: value.uses.to_vec(),
                bytes: value.bytes.0.iter().map(|&(start, end)| start..end).collect(),
                overwritten_by: value.by.to_vec(),
                got: one.map_or(Internalization::Private, |one| one.got),
            }
        });
        report.renamed = renamed.collect();
        let original = |buffer: &mut BufferId| {
            if let Some(value) = own(*buffer) {
                *buffer = value.buffer;
            }
        };
        report.splits.iter_mut().filter_map(|split| split.buffer.as_mut()).for_each(original);
        report.trusted.iter_mut().filter_map(|one| one.buffer.as_mut()).for_each(original);
        report.inlined.iter_mut().for_each(|one| original(&mut one.buffer));
        report.epilogues.iter_mut().for_each(|one| original(&mut one.buffer));
        #[cfg(feature = "certify")]
        plan.rewritten.get_or_insert_with(|| self.list.clone());
        plan
    }
}

impl Report {
    /// The list that the plan is of: the one that was submitted, with a buffer of its own for each value that was renamed.
    ///
    /// These buffers have the largest numbers there are, in the order of the values, and no dispatch binds one.
    pub fn renamed_list<'a>(&self, list: &'a [Submission]) -> Cow<'a, [Submission]> {
        let values = self.renamed.iter().map(|one| &*one.arguments);
        match Renamed::of(list, values) {
            Some(renamed) if !self.renamed.is_empty() => Cow::Owned(renamed.list),
            _ => Cow::Borrowed(list),
        }
    }
}
