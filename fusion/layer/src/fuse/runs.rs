//! What is in a command buffer as lists: dispatches next to each other, with what they are bound to at submission.
//!
//! # Guarantees
//! - Memory is named by the number of its allocation, and never by a handle, which a new object may take.
//! - Ranges that share bytes are parts of one piece, and pieces share none.
//!
//! # Refuses
//! - a command buffer with a command that cannot be given again: on images, of queries, waits for events, other command buffers
//! - a dispatch whose descriptors are not all plain buffers with a memory of their own, that starts from a base, or whose pipeline
//!   cannot be replaced: the lists end in front of it

use crate::descriptors::{Contents, Descriptor};
use crate::objects::{Objects, Pipeline};
use crate::recording::{Bound, Op, Recording, State};
use ash::vk;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A place in a kernel: set, binding, element.
pub(super) type At = (u32, u32, u32);

/// A range that is bound: where in which piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) at: At,
    pub(super) piece: usize,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// One dispatch.
#[derive(Clone)]
pub(super) struct Dispatch {
    /// Which of the calls it is.
    pub(super) op: usize,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) groups: [u32; 3],
    pub(super) push: Vec<u8>,
    pub(super) slots: Vec<Slot>,
}

/// Bytes of memory that ranges make together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub(super) handle: vk::Buffer,
    pub(super) buffer: u64,
    /// Where in the buffer.
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) memory: u64,
    /// Where the buffer is in the memory.
    pub(super) start: u64,
}

/// Dispatches with nothing but barriers between them.
#[derive(Clone, Default)]
pub(super) struct Run {
    pub(super) dispatches: Vec<Dispatch>,
    pub(super) pieces: Vec<Piece>,
}

/// Dispatches of a list: what takes long to plan is cut.
const MOST: usize = 128;

/// Why a command buffer, or a dispatch, stays as it is.
pub(super) type Why = &'static str;

impl Run {
    /// What the list is, without the places of its buffers and without its push constants.
    pub(super) fn structure(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(64 * self.dispatches.len());
        let mut add = |number: u64| key.extend_from_slice(&number.to_le_bytes());
        add(self.pieces.len() as u64);
        self.pieces.iter().for_each(|piece| add(piece.len));
        for one in &self.dispatches {
            add(one.pipeline.id);
            one.groups.iter().for_each(|count| add((*count).into()));
            add(one.push.len() as u64);
            add(one.slots.len() as u64);
            for slot in &one.slots {
                let (set, binding, element) = slot.at;
                [set, binding, element].iter().for_each(|number| add((*number).into()));
                add(slot.piece as u64);
                add(slot.offset);
                add(slot.len);
            }
        }
        key
    }
}

/// A range before it is known which piece it is in.
struct Found {
    at: At,
    handle: vk::Buffer,
    buffer: u64,
    offset: u64,
    len: u64,
    memory: u64,
    start: u64,
}

/// The lists of a command buffer, and why dispatches are in none.
pub(super) fn runs(objects: &Objects, recording: &Recording) -> Result<(Vec<Run>, Vec<Why>), Why> {
    let mut runs: Vec<(Vec<Dispatch>, Vec<Vec<Found>>)> = vec![Default::default()];
    let mut reasons = Vec::new();
    let mut state = State::default();
    for (number, op) in recording.ops.iter().enumerate() {
        match op {
            Op::Pipeline(_) | Op::Sets { .. } | Op::Push { .. } | Op::PushSet { .. } => {
                state.follow(objects, op)
            }
            Op::Dispatch { base, groups } => match dispatch(objects, &state, number, *base, *groups) {
                Ok(Some((one, found))) => {
                    if runs.last().is_some_and(|(dispatches, _)| dispatches.len() >= MOST) {
                        runs.push(Default::default());
                    }
                    if let Some((dispatches, all)) = runs.last_mut() {
                        dispatches.push(one);
                        all.push(found);
                    }
                }
                Ok(None) => runs.push(Default::default()),
                Err(why) => {
                    reasons.push(why);
                    runs.push(Default::default());
                }
            },
            Op::Barrier(barriers) => {
                if barriers.images > 0 {
                    return Err("a barrier of images");
                }
                if barriers.is_extended {
                    return Err("a barrier with more than Vulkan 1.3 has");
                }
                let moves = |one: &vk::BufferMemoryBarrier2<'_>| {
                    one.src_queue_family_index != one.dst_queue_family_index
                };
                if barriers.buffers.iter().any(moves) {
                    runs.push(Default::default());
                }
            }
            Op::Indirect(_) | Op::Copy { .. } | Op::Fill { .. } | Op::Update { .. } | Op::Event { .. } => {
                runs.push(Default::default())
            }
            Op::Label(_) => {}
            Op::Execute(_) => return Err("vkCmdExecuteCommands"),
            Op::Other { call, .. } | Op::Unlisted(call) => return Err(call),
        }
    }
    let mut done = Vec::new();
    for (dispatches, found) in runs.into_iter().filter(|(dispatches, _)| dispatches.len() > 1) {
        match placed(dispatches, &found) {
            Ok(run) => done.push(run),
            Err(why) => reasons.push(why),
        }
    }
    Ok((done, reasons))
}

fn dispatch(
    objects: &Objects,
    state: &State,
    op: usize,
    base: [u32; 3],
    groups: [u32; 3],
) -> Result<Option<(Dispatch, Vec<Found>)>, Why> {
    if groups.contains(&0) {
        return Ok(None);
    }
    if base != [0; 3] {
        return Err("a dispatch from a base");
    }
    let pipeline = objects.pipelines.get(&state.pipeline).ok_or("an unknown pipeline")?;
    if let Some(problem) = pipeline.problem {
        return Err(problem);
    }
    if pipeline.code.is_none() {
        return Err("a module that is not known");
    }
    let mut found = Vec::new();
    for (set, bound) in &state.sets {
        let (contents, dynamic): (&Contents, BTreeMap<(u32, u32), u32>) = match bound {
            Bound::Pushed(contents) => (contents, BTreeMap::new()),
            Bound::Set { set, dynamic } => {
                // What is bound and not used may be gone.
                let Some(set) = objects.sets.get(set) else { continue };
                if !set.layout.is_plain {
                    return Err("descriptors that may change while they are in use");
                }
                let places = set.layout.dynamic();
                if set.layout.dynamic().count() != dynamic.len() {
                    return Err("dynamic offsets that are not known");
                }
                (&set.contents, places.zip(dynamic.iter().copied()).collect())
            }
        };
        for (&(binding, element), descriptor) in contents {
            let Descriptor::Buffer { buffer, offset, range, .. } = *descriptor else { continue };
            let offset = offset + dynamic.get(&(binding, element)).map_or(0, |more| u64::from(*more));
            // What no kernel uses may be gone; a place without a range is refused if its kernel has it.
            let Some(known) = objects.buffers.get(&buffer) else { continue };
            let Some((memory, start)) = known.memory.filter(|_| known.is_plain) else { continue };
            let len = if range == vk::WHOLE_SIZE { known.size.saturating_sub(offset) } else { range };
            if len == 0 || offset.checked_add(len).is_none_or(|end| end > known.size) {
                continue;
            }
            found.push(Found {
                at: (*set, binding, element),
                handle: buffer,
                buffer: known.id,
                offset,
                len,
                memory,
                start,
            });
        }
    }
    let one =
        Dispatch { op, pipeline: pipeline.clone(), groups, push: state.push.clone(), slots: Vec::new() };
    Ok(Some((one, found)))
}

/// Puts ranges that share bytes into pieces, numbered in the order of their first use.
fn placed(mut dispatches: Vec<Dispatch>, found: &[Vec<Found>]) -> Result<Run, Why> {
    let mut all: Vec<&Found> = found.iter().flatten().collect();
    let bytes = |one: &Found| -> Range<u64> { one.start + one.offset..one.start + one.offset + one.len };
    all.sort_by_key(|one| (one.memory, bytes(one).start, bytes(one).end));
    // Memory, bytes, and the buffer that all ranges are of.
    let mut joined: Vec<(u64, Range<u64>, &Found)> = Vec::new();
    for one in all {
        let own = bytes(one);
        match joined.last_mut() {
            Some((memory, last, of)) if *memory == one.memory && own.start < last.end => {
                if of.buffer != one.buffer {
                    return Err("buffers that share memory");
                }
                last.end = last.end.max(own.end);
            }
            _ => joined.push((one.memory, own, one)),
        }
    }
    let mut numbers = vec![usize::MAX; joined.len()];
    let mut pieces = Vec::new();
    for (dispatch, found) in dispatches.iter_mut().zip(found) {
        for one in found {
            let own = bytes(one);
            let behind =
                joined.partition_point(|(memory, at, _)| (*memory, at.start) <= (one.memory, own.start));
            let place = behind.checked_sub(1).ok_or("a range that is in no piece")?;
            let (memory, at, of) = &joined[place];
            if numbers[place] == usize::MAX {
                numbers[place] = pieces.len();
                pieces.push(Piece {
                    handle: of.handle,
                    buffer: of.buffer,
                    offset: at.start - of.start,
                    len: at.end - at.start,
                    memory: *memory,
                    start: of.start,
                });
            }
            let slot = Slot { at: one.at, piece: numbers[place], offset: own.start - at.start, len: one.len };
            dispatch.slots.push(slot);
        }
    }
    Ok(Run { dispatches, pieces })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk::Handle;

    fn found(buffer: u64, memory: u64, start: u64, offset: u64, len: u64) -> Found {
        Found { at: (0, 0, 0), handle: vk::Buffer::from_raw(buffer), buffer, offset, len, memory, start }
    }

    fn one() -> Dispatch {
        let pipeline = Pipeline {
            id: 1,
            code: None,
            entry: String::new(),
            spec: Vec::new(),
            subgroup_size: 0,
            problem: None,
        };
        let (pipeline, groups) = (Arc::new(pipeline), [1; 3]);
        Dispatch { op: 0, pipeline, groups, push: Vec::new(), slots: Vec::new() }
    }

    #[test]
    fn ranges_that_share_bytes_are_one_piece_and_others_are_not() {
        let ranges = [
            vec![found(1, 9, 0, 0, 64), found(1, 9, 0, 32, 64)],
            vec![found(1, 9, 0, 96, 4), found(2, 8, 0, 0, 64)],
        ];
        let run = placed(vec![one(), one()], &ranges).unwrap_or_default();
        let pieces: Vec<(u64, u64, u64)> = run.pieces.iter().map(|p| (p.memory, p.offset, p.len)).collect();
        assert_eq!(pieces, [(9, 0, 96), (9, 96, 4), (8, 0, 64)]);
        let slots: Vec<(usize, u64)> =
            run.dispatches.iter().flat_map(|one| &one.slots).map(|slot| (slot.piece, slot.offset)).collect();
        assert_eq!(slots, [(0, 0), (0, 32), (1, 0), (2, 0)]);
    }

    #[test]
    fn buffers_that_share_memory_are_refused_and_neighbours_are_not() {
        let shared = [vec![found(1, 9, 0, 0, 64)], vec![found(2, 9, 32, 0, 64)]];
        assert!(placed(vec![one(), one()], &shared).is_err());
        let beside = [vec![found(1, 9, 0, 0, 64)], vec![found(2, 9, 64, 0, 64)]];
        assert!(placed(vec![one(), one()], &beside).is_ok());
    }

    #[test]
    fn the_structure_is_the_same_elsewhere_and_not_with_other_sizes() {
        let of = |buffer, offset, len| {
            let ranges = [vec![found(buffer, 9, 0, offset, len)], vec![found(buffer, 9, 0, offset, len)]];
            placed(vec![one(), one()], &ranges).unwrap_or_default().structure()
        };
        assert_eq!(of(1, 0, 64), of(2, 128, 64));
        assert_ne!(of(1, 0, 64), of(1, 0, 32));
    }
}
