//! A list whose buffers come from a pool: what is done with one value, the next one gets its memory.

use super::case::{Case, Family, Legality};
use super::check::trace;
use super::pool::Kind;
use super::random::Random;
use vkfuse_jit::plan::{BufferId, Promote};

/// The uses of a memory object that may share its memory with others.
struct Temporary {
    buffer: usize,
    /// Submissions and arguments.
    places: Vec<(usize, usize)>,
    /// First byte, and the one behind the last that is touched.
    start: u64,
    end: u64,
}

impl Temporary {
    fn first(&self) -> usize {
        self.places[0].0
    }

    fn last(&self) -> usize {
        self.places[self.places.len() - 1].0
    }
}

/// The same list with fewer buffers; `None` if none of them can be another one, too.
///
/// Most are used again when their contents are no longer needed, and some while they still are: the list then computes something
/// else, and is a valid list all the same. Arguments end where the accesses end, so that a value is overwritten as a whole.
pub(super) fn reused(random: &mut Random, mut case: Case) -> Option<Case> {
    let touches = trace(&case).ok()?.touches;
    let mut all: Vec<Temporary> = Vec::new();
    for buffer in 0..case.buffers.len() {
        let mut places = Vec::new();
        for (at, submission) in case.submissions.iter().enumerate() {
            let own = submission.args.iter().enumerate().filter(|(_, arg)| arg.buffer.0 == buffer as u64);
            places.extend(own.map(|(number, _)| (at, number)));
        }
        let arg = |&(at, number): &(usize, usize)| &case.submissions[at].args[number];
        let Some(first) = places.first() else { continue };
        let begins = &case.submissions[first.0].kernel.interface.bindings[first.1];
        let (start, len) = (arg(first).offset, arg(first).len);
        let is_plain = |place: &(usize, usize)| match &case.kernels[place.0].kind {
            Kind::Soup { .. } => false,
            Kind::Known { uses, .. } => {
                let at = arg(place).at;
                let mut used = uses.iter().filter(|used| (used.set, used.binding) == (at.set, at.binding));
                used.all(|used| !used.by_length && !used.table)
                    && (arg(place).offset, arg(place).len) == (start, len)
            }
        };
        if !begins.writes || begins.reads || !places.iter().all(is_plain) {
            continue;
        }
        let own = touches.iter().filter(|t| t.object.0 == buffer as u32);
        let end = own.map(|t| t.offset + u64::from(t.bytes)).max().unwrap_or(0).next_multiple_of(4);
        if end > start {
            all.push(Temporary { buffer, places, start, end });
        }
    }
    all.sort_by_key(Temporary::first);
    // Objects of the pool, and when they are free again.
    let mut pool: Vec<(usize, usize)> = Vec::new();
    let mut is_reused = false;
    for temporary in all {
        let hurried = random.one_in(6);
        let shift = if random.one_in(8) { 256 } else { 0 };
        let range = |shift: u64| (temporary.start + shift, temporary.end - temporary.start);
        let is_free = |&slot: &usize| {
            let (buffer, until) = pool[slot];
            (hurried || until < temporary.first())
                && temporary.places.iter().all(|&place| binds(&case, place, buffer, range(shift)))
        };
        let free: Vec<usize> = (0..pool.len()).filter(is_free).collect();
        let (buffer, shift) = match free.is_empty() || random.one_in(6) {
            true => {
                pool.push((temporary.buffer, temporary.last()));
                (temporary.buffer, 0)
            }
            false => {
                is_reused = true;
                let slot = *random.pick(&free);
                pool[slot].1 = pool[slot].1.max(temporary.last());
                (pool[slot].0, shift)
            }
        };
        let (offset, len) = range(shift);
        for &(at, number) in &temporary.places {
            let arg = &mut case.submissions[at].args[number];
            (arg.buffer, arg.offset, arg.len) = (BufferId(buffer as u64), offset, len);
        }
        let missing = case.buffers[temporary.buffer].get(case.buffers[buffer].len()..).unwrap_or_default();
        let longer: Vec<u8> = missing.iter().copied().chain([0x5a; 256]).collect();
        case.buffers[buffer].extend(longer);
    }
    // One memory object has one wish.
    for &(buffer, _) in &pool {
        let wish = if random.one_in(4) { Promote::Auto } else { Promote::None };
        for arg in case.submissions.iter_mut().flat_map(|one| &mut one.args) {
            if arg.buffer.0 == buffer as u64 {
                arg.promote = wish;
            }
        }
    }
    (case.family, case.legality, case.violation) = (Family::Reused, Legality::Unlabelled, "");
    is_reused.then_some(case)
}

/// Whether an argument can be this range of a buffer: the submission has no other one that meets it, as ranges that overlap and
/// are not equal are no list.
fn binds(case: &Case, (at, number): (usize, usize), buffer: usize, (offset, len): (u64, u64)) -> bool {
    let others = case.submissions[at].args.iter().enumerate().filter(|(other, _)| *other != number);
    { others }.all(|(_, arg)| {
        let meets =
            arg.buffer.0 == buffer as u64 && arg.offset < offset + len && offset < arg.offset + arg.len;
        !meets || (arg.offset, arg.len) == (offset, len)
    })
}
