//! What the engine makes of a list: which dispatches become one, and in which order all of them are done.
//!
//! A list is planned as a whole. Each group of dispatches that becomes one is then a list of its own, which is recorded where the
//! group is; what is in no group stays the program's.
//!
//! # Guarantees
//! - Nothing here looks into a buffer or a command buffer of the program: it may be done when they are no more.

use super::runs::{Dispatch, Piece, Run};
use crate::objects::Pipeline;
use crate::sink::lock;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use vkfuse::module::{BindingKind, Module, SpecValue};
use vkfuse::{
    Buffer, Context, Error, FusedList, FusionProperties, FusionWrapper, Kernel, Queue, QueueOptions,
    RawCommandBuffer, Recorded, SetBinding,
};

/// Kernels of pipelines by their number, or why there is none.
#[derive(Default)]
pub(super) struct Kernels(Mutex<BTreeMap<u64, Result<Known, String>>>);

/// A kernel with its constants.
#[derive(Clone)]
struct Known {
    kernel: Kernel,
    values: Vec<(u32, SpecValue)>,
    bindings: Vec<SetBinding>,
    push: usize,
}

/// Some of the dispatches of a list, done in this order.
pub(super) struct Cluster {
    /// Positions in the list.
    pub(super) range: Range<usize>,
    pub(super) steps: Vec<Step>,
}

pub(super) enum Step {
    /// The program's own dispatch.
    Own(usize),
    Fused(Group),
}

/// Dispatches that are one.
pub(super) struct Group {
    pub(super) members: Vec<usize>,
    /// Bytes of push constants that each takes.
    pushes: Vec<usize>,
    /// The pieces that they use, in the order of their first use.
    pieces: Vec<usize>,
    variants: Mutex<Vec<std::sync::Arc<Variant>>>,
}

/// A group with certain push constants.
pub(super) struct Variant {
    push: Vec<Vec<u8>>,
    list: FusedList,
    /// What the list is on.
    pieces: Vec<Piece>,
    buffers: Vec<Buffer<u8>>,
    /// Whether its code is there.
    is_built: AtomicBool,
    /// The list on other buffers.
    bound: Mutex<Vec<(Vec<Piece>, FusedList)>>,
}

/// Lists on other buffers that are kept of each.
const BOUND: usize = 16;
/// Push constants that a group is planned with.
const VARIANTS: usize = 16;

/// What a list becomes.
pub(super) struct Planned {
    pub(super) clusters: Vec<Cluster>,
    /// Why there are not fewer dispatches.
    pub(super) reasons: Vec<String>,
}

impl Planned {
    /// Dispatches of the list that are no more.
    pub(super) fn saved(&self) -> usize {
        let groups = self.clusters.iter().flat_map(|one| &one.steps);
        groups.map(|step| if let Step::Fused(group) = step { group.members.len() - 1 } else { 0 }).sum()
    }
}

impl Kernels {
    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }

    fn of(&self, context: &Context, pipeline: &Pipeline) -> Result<Known, String> {
        if let Some(known) = lock(&self.0).get(&pipeline.id) {
            return known.clone();
        }
        let made = load(context, pipeline);
        lock(&self.0).insert(pipeline.id, made.clone());
        made
    }
}

fn load(context: &Context, pipeline: &Pipeline) -> Result<Known, String> {
    let text = |error: Error| error.to_string();
    let code = pipeline.code.as_ref().ok_or("a module that is not known")?;
    let module = Module::from_words(&pipeline.entry, &code.words).map_err(|error| error.to_string())?;
    let mut kernel = context.kernel(&module, Some(&pipeline.entry)).map_err(text)?;
    if pipeline.subgroup_size > 0 {
        kernel = kernel.with_subgroup_size(pipeline.subgroup_size).map_err(text)?;
    }
    let mut values = Vec::new();
    for constant in kernel.spec_constants() {
        let Some((_, bytes)) = pipeline.spec.iter().find(|(id, _)| *id == constant.id) else { continue };
        if bytes.len() > 8 {
            return Err("a constant of more than eight bytes".to_owned());
        }
        let bits = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        values.push((constant.id, constant.ty.value(bits)));
    }
    let specialized = kernel.specialized(&values).map_err(text)?;
    let interface = &specialized.interface;
    if interface.uses_device_addresses {
        return Err("a kernel follows device addresses".to_owned());
    }
    if let Some(other) = interface.bindings.iter().find_map(|one| match one.kind {
        BindingKind::Other(what) => Some(format!("a kernel has a {what}")),
        _ => None,
    }) {
        return Err(other);
    }
    let push = interface.push.as_ref().map_or(0, |push| push.size.next_multiple_of(4)) as usize;
    let bindings = interface.bindings.iter().map(|one| one.at).collect();
    Ok(Known { kernel, values, bindings, push })
}

/// A dispatch as the engine takes it.
struct Call<'r> {
    known: Known,
    dispatch: &'r Dispatch,
}

impl Call<'_> {
    fn slots(&self) -> Result<Vec<(SetBinding, usize, u64, u64)>, String> {
        let find = |at: &SetBinding| {
            let place = (at.set, at.binding, at.element);
            let slot = self.dispatch.slots.iter().find(|slot| slot.at == place);
            let slot = slot.ok_or_else(|| format!("nothing that is known is bound at {at}"))?;
            Ok((*at, slot.piece, slot.offset, slot.len))
        };
        self.known.bindings.iter().map(find).collect()
    }

    fn push(&self) -> Result<&[u8], String> {
        self.dispatch
            .push
            .get(..self.known.push)
            .ok_or_else(|| "push constants that were not given".to_owned())
    }
}

fn properties() -> FusionProperties {
    FusionProperties::new().autotune(false)
}

/// Held while a list is written down, and while one is recorded.
///
/// What is listed is pending to the engine until it is kept. Recording a list on the same memory meanwhile ends the one that is pending, as a
/// submission that has to come after it does: its kernels would run, on the program's memory.
static LISTING: Mutex<()> = Mutex::new(());

/// Records a kept list while none is being written down.
pub(super) fn record(list: &FusedList, into: &RawCommandBuffer) -> Result<Recorded, Error> {
    let _listing = lock(&LISTING);
    list.record(into)
}

/// Lists calls, and keeps the list.
fn kept(
    context: &Context,
    calls: &[&Call<'_>],
    buffer: impl Fn(usize) -> Option<Buffer<u8>>,
) -> Result<FusedList, String> {
    let text = |error: Error| error.to_string();
    let _listing = lock(&LISTING);
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).map_err(text)?;
    let fusion = FusionWrapper::new(&queue).map_err(text)?;
    fusion.start_fusion().map_err(text)?;
    let listed = list(&queue, calls, buffer);
    // Also where something was not taken: leaving fusion mode in another way runs what was.
    let kept = fusion.keep_unrun(&properties()).map_err(text);
    listed.and(kept)
}

/// Submits calls to a queue in fusion mode.
fn list(
    queue: &Queue,
    calls: &[&Call<'_>],
    buffer: impl Fn(usize) -> Option<Buffer<u8>>,
) -> Result<(), String> {
    for call in calls {
        let mut args = Vec::new();
        for (at, piece, offset, len) in call.slots()? {
            let buffer = buffer(piece).ok_or("a piece that is not known")?;
            args.push((at, buffer, offset as usize, len as usize));
        }
        let push = call.push()?;
        let submitted = queue.submit(|h| {
            for (at, buffer, offset, len) in &args {
                h.arg(*at, buffer.read_write().range(*offset, *len));
            }
            for (id, value) in &call.known.values {
                h.spec(*id, *value);
            }
            h.push_bytes(push).dispatch(&call.known.kernel, call.dispatch.groups);
        });
        submitted.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Plans a list, whose pieces are these buffers, and builds its code.
pub(super) fn plan(
    context: &Context,
    kernels: &Kernels,
    run: &Run,
    buffers: &[Buffer<u8>],
) -> Result<Planned, String> {
    let mut planned = Planned { clusters: Vec::new(), reasons: Vec::new() };
    let mut part: Vec<(usize, Call<'_>)> = Vec::new();
    for (position, dispatch) in run.dispatches.iter().enumerate() {
        let call = kernels.of(context, &dispatch.pipeline).and_then(|known| {
            let call = Call { known, dispatch };
            call.slots()?;
            call.push()?;
            Ok(call)
        });
        match call {
            Ok(call) => part.push((position, call)),
            Err(reason) => {
                planned.reasons.push(reason);
                plan_part(context, std::mem::take(&mut part), (run, buffers), &mut planned)?;
            }
        }
    }
    plan_part(context, part, (run, buffers), &mut planned)?;
    Ok(planned)
}

/// Plans dispatches next to each other.
fn plan_part(
    context: &Context,
    part: Vec<(usize, Call<'_>)>,
    (run, buffers): (&Run, &[Buffer<u8>]),
    planned: &mut Planned,
) -> Result<(), String> {
    if part.len() < 2 {
        return Ok(());
    }
    let first = part[0].0;
    let calls: Vec<&Call<'_>> = part.iter().map(|(_, call)| call).collect();
    let list = kept(context, &calls, |piece| buffers.get(piece).cloned())?;
    let report = list.preview().map_err(|error| error.to_string())?;
    planned.reasons.extend(report.splits.iter().map(|split| split.reason.anchor().to_owned()));
    let (mut steps, mut done, mut begins) = (Vec::new(), 0, 0);
    let mut last = 0;
    for group in &report.groups {
        let members: Vec<usize> = group.members.iter().copied().collect();
        last = members.iter().copied().fold(last, usize::max);
        done += members.len();
        let mut fused = None;
        if members.len() > 1 && group.fused {
            let own: Vec<&Call<'_>> = members.iter().map(|at| calls[*at]).collect();
            match Group::new(context, &own, members.iter().map(|at| first + at).collect(), (run, buffers)) {
                Ok(group) => fused = Some(group),
                Err(reason) => planned.reasons.push(reason),
            }
        }
        match fused {
            Some(group) => steps.push(Step::Fused(group)),
            None => steps.extend(members.iter().map(|at| Step::Own(first + at))),
        }
        // Everything up to here is done, whatever its order was.
        if last + 1 == done {
            let steps = std::mem::take(&mut steps);
            if steps.iter().any(|step| matches!(step, Step::Fused(_))) {
                planned.clusters.push(Cluster { range: first + begins..first + done, steps });
            }
            begins = done;
        }
    }
    Ok(())
}

impl Group {
    fn new(
        context: &Context,
        calls: &[&Call<'_>],
        members: Vec<usize>,
        (run, buffers): (&Run, &[Buffer<u8>]),
    ) -> Result<Group, String> {
        let mut pieces = Vec::new();
        for (_, piece, ..) in calls.iter().map(|call| call.slots()).collect::<Result<Vec<_>, _>>()?.concat() {
            if !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
        let list = kept(context, calls, |piece| buffers.get(piece).cloned())?;
        let report = list.preview().map_err(|error| error.to_string())?;
        if report.groups.len() != 1 {
            return Err("a group that is more than one by itself".to_owned());
        }
        list.warm().map_err(|error| error.to_string())?;
        let push = calls.iter().map(|call| call.push().map(<[u8]>::to_vec)).collect::<Result<Vec<_>, _>>()?;
        let pushes = push.iter().map(Vec::len).collect();
        let of_pieces = pieces.iter().filter_map(|piece| buffers.get(*piece).cloned()).collect();
        let variant = Variant {
            push,
            list,
            pieces: pieces.iter().filter_map(|piece| run.pieces.get(*piece).copied()).collect(),
            buffers: of_pieces,
            is_built: AtomicBool::new(true),
            bound: Mutex::default(),
        };
        Ok(Group { members, pushes, pieces, variants: Mutex::new(vec![std::sync::Arc::new(variant)]) })
    }

    /// The list on the pieces of a run, if it can be recorded at once; otherwise what has to be built for that, if anything
    /// helps.
    pub(super) fn on(
        &self,
        run: &Run,
        buffer: &mut dyn FnMut(&Piece) -> Result<Buffer<u8>, String>,
    ) -> Result<FusedList, Option<std::sync::Arc<Variant>>> {
        let push: Option<Vec<&[u8]>> = self
            .members
            .iter()
            .zip(&self.pushes)
            .map(|(member, len)| run.dispatches.get(*member)?.push.get(..*len))
            .collect();
        let pieces: Option<Vec<Piece>> =
            self.pieces.iter().map(|piece| run.pieces.get(*piece).copied()).collect();
        let (Some(push), Some(pieces)) = (push, pieces) else { return Err(None) };
        let mut variants = lock(&self.variants);
        if let Some(own) =
            variants.iter().find(|one| one.push.iter().map(Vec::as_slice).eq(push.iter().copied()))
        {
            if !own.is_built.load(Ordering::Acquire) {
                return Err(None);
            }
            return own.on(&pieces, None, buffer).ok_or(None);
        }
        for other in variants.iter().filter(|one| one.is_built.load(Ordering::Acquire)) {
            let Some(list) = other.on(&pieces, Some(&push), buffer) else { continue };
            if list.is_planned() {
                return Ok(list);
            }
        }
        if variants.len() >= VARIANTS {
            return Err(None);
        }
        // Planned with these push constants, for the next time.
        let Some(first) = variants.first() else { return Err(None) };
        let mut own = first.list.rebind();
        for (place, bytes) in push.iter().enumerate() {
            own = own.push_bytes(place, bytes);
        }
        let Ok(list) = own.finish() else { return Err(None) };
        let made = std::sync::Arc::new(Variant {
            push: push.iter().map(|bytes| bytes.to_vec()).collect(),
            list,
            pieces: first.pieces.clone(),
            buffers: first.buffers.clone(),
            is_built: AtomicBool::new(false),
            bound: Mutex::default(),
        });
        variants.push(made.clone());
        Err(Some(made))
    }
}

impl Variant {
    /// Plans it and builds its code.
    pub(super) fn build(&self) {
        let is_one = self.list.preview().is_ok_and(|report| report.groups.len() == 1);
        if is_one && self.list.warm().is_ok() {
            self.is_built.store(true, Ordering::Release);
        }
    }

    /// The list on these pieces, with other push constants.
    fn on(
        &self,
        pieces: &[Piece],
        push: Option<&[&[u8]]>,
        buffer: &mut dyn FnMut(&Piece) -> Result<Buffer<u8>, String>,
    ) -> Option<FusedList> {
        let mut bound = lock(&self.bound);
        let known = bound.iter().find(|(of, _)| of == pieces).map(|(_, list)| list.clone());
        let list = match known {
            Some(list) => list,
            None => {
                let others: Vec<Buffer<u8>> =
                    pieces.iter().map(&mut *buffer).collect::<Result<_, _>>().ok()?;
                let mut rebind = self.list.rebind();
                for (place, new) in others.iter().enumerate() {
                    if self.pieces[place] != pieces[place] {
                        rebind = rebind.buffer(&self.buffers[place], new);
                    }
                }
                let list = rebind.finish().ok()?;
                if bound.len() >= BOUND {
                    bound.remove(0);
                }
                bound.push((pieces.to_vec(), list.clone()));
                list
            }
        };
        let Some(push) = push else { return Some(list) };
        let mut rebind = list.rebind();
        for (place, bytes) in push.iter().enumerate() {
            rebind = rebind.push_bytes(place, bytes);
        }
        rebind.finish().ok()
    }
}
