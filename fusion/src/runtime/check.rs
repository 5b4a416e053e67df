//! A submission checked against its kernel and the device, before anything of it is recorded.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    error::{BindingName, BufferError, Error, OverrunAccess, SubmitError},
    jit::{
        self, Arg, Binding, BindingKind, ElementType, ImageDeclaration, Overrun, Promote, SetBinding,
        Specialized, Submission, has_work, loop_rounds, overrun, texel_overrun,
    },
    runtime::{context::ContextInner, schedule::List},
    submission::{
        accessor::{Access, Accessor},
        buffer::BufferInner,
        dependencies::Touches,
        entry::{After, Entry},
        ignored::{Found, Ignored},
        kernel::check_device,
        pushed::{Misfit, Pushed},
        request::{Request, Size},
        signature::Given,
    },
    vk::{self, DeviceError},
};

/// Checks a submission, so that it can be listed or run. What it was `given` was looked at before.
pub(crate) fn check(
    context: &Arc<ContextInner>,
    request: &Request<'_>,
    given: Option<Given>,
) -> Result<Entry, Error> {
    let Some((handle, size)) = &request.dispatch else {
        return Err(Error::submit("", SubmitError::NoDispatch));
    };
    if !Arc::ptr_eq(&handle.device, &context.device) {
        return Err(Error::submit(handle.jit.name(), SubmitError::Foreign { what: "the kernel".to_owned() }));
    }
    let kernel = handle.jit.specialize(&request.spec)?;
    check_device(&context.device, &kernel)?;
    let fail = |problem| Error::submit(&kernel.name, problem);

    let groups = groups_of(&kernel, *size);
    // A dispatch of no work-groups touches nothing, whatever its kernel would do.
    let runs = has_work(groups);
    let base = request.base;
    let pushed = push(context, &kernel, (request.push.len(), request.pushed)).map_err(fail)?;
    let foreign = request.args.iter().find(|(_, given)| !Arc::ptr_eq(&given.buffer.device, &context.device));
    if let Some((at, given)) = foreign {
        let what = format!("buffer `{}`, passed for {at},", given.buffer.name());
        return Err(fail(SubmitError::Foreign { what }));
    }
    repeated(&request.args).map_err(fail)?;
    let push = SmallVec::from_slice(&request.push[..pushed]);
    let args = SmallVec::with_capacity(request.args.len());
    let mut entry = Entry {
        submission: Submission { kernel: kernel.clone(), base, groups, args, push },
        label: Arc::from(kernel.name.as_str()),
        touches: Touches::with_capacity(request.args.len()),
        buffers: SmallVec::with_capacity(request.args.len()),
        asked: SmallVec::with_capacity(request.args.len()),
        declared: SmallVec::with_capacity(request.args.len()),
        ignored: None,
        after: After::default(),
        given,
    };
    // In the order of the kernel's bindings, which is the order that the planner expects.
    let (mut declared, mut number) = (None, 0);
    for binding in &kernel.interface.bindings {
        let at = binding.at;
        if let (BindingKind::Other(kind), None) = (binding.kind, binding.kind.texture()) {
            return Err(fail(SubmitError::NotABuffer { at, name: name(binding), kind }));
        }
        if at.element == 0 {
            elements(binding, &request.args).map_err(fail)?;
            declared = binding.kind.texture().and_then(|_| kernel.image_at(at));
        }
        // Mostly they are given in that order.
        let is = |(given, _): &(SetBinding, Accessor<'_>)| *given == at;
        let next = request.args[number..].iter().position(is).map(|place| number + place);
        let Some(place) = next.or_else(|| request.args.iter().position(is)) else {
            let unused = unused(&kernel, &request.args);
            return Err(fail(SubmitError::MissingBinding { at, name: name(binding), unused }));
        };
        number = place + 1;
        let (_, accessor) = &request.args[place];
        let buffer = &accessor.buffer;
        texture(&kernel, declared, binding, buffer).map_err(fail)?;
        let (offset, len) = range(context, binding, accessor).map_err(fail)?;
        element_type(&kernel, binding, accessor).map_err(fail)?;
        bound(context, &kernel.name, binding, buffer, offset)?;
        // Looked at once: another thread may change it.
        let property = buffer.promote();
        let promote = promotion(at, accessor, property).map_err(fail)?;
        entry.submission.args.push(Arg {
            at,
            buffer: buffer.shared.id.planned(),
            offset: buffer.span(offset..offset + len).start,
            len,
            promote,
            numbers: None,
            image: buffer.image_size(),
        });
        entry.asked.push(property);
        entry.declared.push(accessor.constant);
        entry.touches.push(buffer.touch(offset..offset + len, runs && binding.reads, runs && binding.writes));
        entry.buffers.push(Arc::clone(buffer));
    }
    for accessor in &request.uses {
        let (range, reads) = (accessor.checked(&context.device)?, accessor.access != Access::Write);
        entry.touches.push(accessor.buffer.touch(range, runs && reads, runs && accessor.access.may_write()));
        entry.buffers.push(Arc::clone(&accessor.buffer));
    }
    for ((base, count), limit) in base.iter().zip(groups).zip(context.limits.max_groups) {
        let end = u64::from(*base) + u64::from(count);
        if *base > 0 && end > u64::from(limit) {
            let (what, name) = ("the last work-group", "maxComputeWorkGroupCount");
            return Err(DeviceError::OverLimit { what, asked: end, limit: limit.into(), name }.into());
        }
    }
    let submission = &entry.submission;
    let over = (0..3).find(|&dim| groups[dim] > context.limits.max_groups[dim]);
    if let Some(dim) = over.filter(|_| runs) {
        // Whether such counts can be folded is for the planner to say, and better now than when a whole list ends.
        jit::plan_unfused(submission, context.float, &context.limits).map_err(|error| {
            let (count, limit, why) = (groups[dim], context.limits.max_groups[dim], error.reason);
            fail(SubmitError::GroupCount { dim, count, limit, why })
        })?;
    }
    let total = groups.iter().fold(1, |total: u64, &count| total.saturating_mul(count.into()));
    if total > 1 << 31
        && let Some(limit) = context.gpu.caps().profile.vendor().max_total_groups
        && total > limit
    {
        return Err(fail(SubmitError::GroupTotal { total, limit }));
    }
    let sizes = handle.sizes_of(submission);
    if !handle.is_within(sizes) {
        none_overruns(context, submission, &entry.buffers).map_err(fail)?;
        handle.note_within(sizes);
    }
    let limit = context.limits.max_loop_rounds.filter(|_| runs);
    let rounds = limit.and_then(|limit| Some((loop_rounds(submission)?, limit)));
    let too_many = rounds.filter(|(rounds, limit)| *rounds > u128::from(*limit));
    let beside = if context.limits.robust { None } else { texel_overrun(submission) };
    entry.ignored =
        Ignored::of(&handle.jit, &kernel, request, Found { groups, rounds: too_many, beside }).map(Arc::new);
    entry.ignored.iter().for_each(|ignored| handle.say(ignored));
    Ok(entry)
}

fn name(binding: &Binding) -> BindingName {
    BindingName(binding.name.clone())
}

fn groups_of(kernel: &Specialized, size: Size) -> [u32; 3] {
    match size {
        Size::Groups(groups) => groups,
        Size::Items(items) => {
            let local = kernel.interface.local_size;
            [0, 1, 2].map(|axis| items[axis].div_ceil(local[axis].max(1)))
        }
    }
}

/// How many of the bytes given the kernel takes: those of its block. More of mere bytes, up to what the device takes, are a part of
/// the block that it does not use; values have to be those of the block.
pub(crate) fn push(
    context: &ContextInner,
    kernel: &Specialized,
    (given, types): (usize, Pushed),
) -> Result<usize, SubmitError> {
    let block = kernel.interface.push.as_ref();
    let needed = block.map_or(0, |push| push.size);
    let most = needed.next_multiple_of(4).max(context.gpu.caps().limits().max_push_bytes);
    let misfit = block.and_then(|block| types.misfit(block, kernel.interface.uses_device_addresses));
    if let Some(Misfit { offset, declared, pushed }) = misfit {
        return Err(SubmitError::PushType { offset, declared, pushed });
    }
    if (needed as usize..=most as usize).contains(&given) && !types.is_beyond(given, needed) {
        Ok(given.min(needed.next_multiple_of(4) as usize))
    } else {
        let pushed = if given > needed as usize { types.list() } else { String::new() };
        Err(SubmitError::PushSize { given, pushed: pushed.into(), needed })
    }
}

/// Whether no two arguments are for one place.
fn repeated(args: &[(SetBinding, Accessor<'_>)]) -> Result<(), SubmitError> {
    let mut places: SmallVec<[SetBinding; 8]> = args.iter().map(|(at, _)| *at).collect();
    // Arrays have many.
    places.sort_unstable();
    let repeated = places.windows(2).find(|pair| pair[0] == pair[1]);
    repeated.map_or(Ok(()), |pair| Err(SubmitError::RepeatedBinding { at: pair[0] }))
}

/// Whether there are as many arguments for a binding as it has elements. None at all are another mistake.
fn elements(binding: &Binding, args: &[(SetBinding, Accessor<'_>)]) -> Result<(), SubmitError> {
    let len = binding.array.map_or(1, |array| array.len);
    let given = args.iter().filter(|(at, _)| at.whole() == binding.at).count();
    if given != len as usize && given != 0 {
        return Err(SubmitError::ArrayLength { at: binding.at, name: name(binding), len, given });
    }
    Ok(())
}

/// Whether a buffer is given where the kernel has a buffer, and what it has where that is an image or a sampler.
fn texture(
    kernel: &Specialized,
    declared: Option<ImageDeclaration>,
    binding: &Binding,
    buffer: &BufferInner,
) -> Result<(), SubmitError> {
    let problem = match (binding.kind.texture(), &buffer.texture) {
        (None, None) => None,
        (None, Some(_)) => {
            Some("it is a buffer, and what is passed is an image, a sampler or texels".to_owned())
        }
        (Some(_), None) => Some(format!("it is a {}, and what is passed is a buffer", kind_word(binding))),
        (Some(kind), Some(texture)) if !texture.serves(vk::BindingKind::of(kind)) => {
            Some(format!("it is a {}, and what is passed cannot be used as one", kind_word(binding)))
        }
        (Some(_), Some(texture)) => declared.and_then(|declared| texture.misfit(&declared)),
    };
    let Some(problem) = problem else { return Ok(()) };
    let resource = match buffer.given_name() {
        None if buffer.texture.is_some() => format!("image {}", buffer.shared.id.planned().0).into(),
        _ => (&*buffer.name()).into(),
    };
    let (at, name) = (binding.at, name(binding));
    let problem = (problem + &fits(kernel, buffer)).into();
    Err(SubmitError::WrongResource { at, name, resource, problem })
}

/// What a kernel has at a binding, in a word or two.
fn kind_word(binding: &Binding) -> &'static str {
    match binding.kind {
        BindingKind::StorageBuffer => "storage buffer",
        BindingKind::UniformBuffer => "uniform buffer",
        BindingKind::Other(kind) => kind,
    }
}

/// Most bindings that a message names.
const NAMED: usize = 8;

/// Bindings, each once, with their names and what they are.
fn listed<'a>(bindings: impl Iterator<Item = &'a Binding>) -> String {
    let whole = bindings.filter(|binding| binding.at.element == 0);
    let words = |binding: &Binding| format!("{}{} ({})", binding.at, name(binding), kind_word(binding));
    let mut words: Vec<String> = whole.map(words).collect();
    let more = words.len().saturating_sub(NAMED);
    words.truncate(NAMED);
    if more > 0 { format!("{} and {more} more", words.join(", ")) } else { words.join(", ") }
}

/// Where a buffer or an image could be passed instead, as the end of a sentence; all bindings, if it fits none.
fn fits(kernel: &Specialized, buffer: &BufferInner) -> String {
    let fits = |binding: &&Binding| match (binding.kind.texture(), &buffer.texture) {
        (None, None) => true,
        (Some(kind), Some(texture)) => {
            let declared = kernel.image_at(binding.at);
            let agrees = |declared| texture.misfit(&declared).is_none();
            texture.serves(vk::BindingKind::of(kind)) && declared.is_none_or(agrees)
        }
        _ => false,
    };
    let bindings = &kernel.interface.bindings;
    match &*listed(bindings.iter().filter(fits)) {
        "" => format!("; the kernel takes {}", listed(bindings.iter())),
        fitting => format!("; the kernel takes such at {fitting}"),
    }
}

/// An argument that the kernel does not use where another one is missing, as the end of a sentence.
fn unused(kernel: &Specialized, args: &[(SetBinding, Accessor<'_>)]) -> Box<str> {
    let bindings = &kernel.interface.bindings;
    let is_unused = |at: &SetBinding| bindings.iter().all(|binding| binding.at != *at);
    match args.iter().map(|(at, _)| *at).find(is_unused) {
        Some(at) => {
            format!("; {at} got one, and the kernel does not use it: it takes {}", listed(bindings.iter()))
                .into()
        }
        None => Box::default(),
    }
}

/// The accessor's byte range in its buffer, if it can be bound.
fn range(
    context: &ContextInner,
    binding: &Binding,
    accessor: &Accessor<'_>,
) -> Result<(u64, u64), SubmitError> {
    let at = binding.at;
    let buffer = || accessor.buffer.name().to_string();
    let elements = accessor.buffer.elements(accessor.element);
    if accessor.offset.checked_add(accessor.count).is_none_or(|end| end > elements) {
        let (offset, count) = (accessor.offset, accessor.count);
        return Err(SubmitError::OutOfRange { at, buffer: buffer(), offset, count, len: elements });
    }
    let (offset, len) = accessor.bytes();
    if len == 0 {
        return Err(SubmitError::EmptyRange { at, buffer: buffer() });
    }
    if len < binding.min_size {
        let (name, needed) = (name(binding), binding.min_size);
        return Err(SubmitError::TooSmall { at, name, buffer: buffer(), needed, given: len });
    }
    if binding.writes && !accessor.access.may_write() {
        let (name, reads) = (name(binding), binding.reads);
        return Err(SubmitError::WriteThroughRead { at, name, buffer: buffer(), reads });
    }
    if binding.kind.texture().is_some() {
        // All of it, whatever the accessor says.
        return Ok((0, accessor.buffer.size));
    }
    let limits = context.gpu.caps().limits();
    let (limit, limit_name) = match binding.kind {
        BindingKind::UniformBuffer => (limits.max_uniform_range, "maxUniformBufferRange"),
        _ => (limits.max_storage_range, "maxStorageBufferRange"),
    };
    if len > limit {
        return Err(SubmitError::TooLarge { at, buffer: buffer(), given: len, limit, limit_name });
    }
    Ok((offset, len))
}

/// Whether no access of a submission is certain to go beyond what is bound, where that is undefined.
fn none_overruns(
    context: &ContextInner,
    submission: &Submission,
    buffers: &[Arc<BufferInner>],
) -> Result<(), SubmitError> {
    if context.limits.robust || !submission.runs() {
        return Ok(());
    }
    let Some(Overrun { arg, writes, invocation, bytes }) = overrun(submission) else { return Ok(()) };
    Err(SubmitError::Overrun {
        at: submission.args[arg].at,
        name: name(&submission.kernel.interface.bindings[arg]),
        buffer: (&*buffers[arg].name()).into(),
        len: submission.args[arg].len,
        access: Box::new(OverrunAccess { invocation, writes, bytes }),
    })
}

/// Whether the elements of the buffer are those that the kernel has there.
fn element_type(kernel: &Specialized, binding: &Binding, accessor: &Accessor<'_>) -> Result<(), SubmitError> {
    if accessor.ty == ElementType::Bytes || binding.kind.texture().is_some() {
        return Ok(());
    }
    match kernel.elements_at(binding.at) {
        Some(declared) if !declared.takes(accessor.ty) => Err(SubmitError::ElementType {
            at: binding.at,
            name: name(binding),
            declared: declared.to_string().into(),
            buffer: (&*accessor.buffer.name()).into(),
            given: accessor.ty,
        }),
        _ => Ok(()),
    }
}

/// Whether a buffer may be bound in this way, from a byte on.
fn bound(
    context: &ContextInner,
    kernel: &str,
    binding: &Binding,
    buffer: &BufferInner,
    offset: u64,
) -> Result<(), Error> {
    let limits = context.gpu.caps().limits();
    let (align, limit_name) = match binding.kind {
        BindingKind::UniformBuffer if !buffer.may_be_uniform() => {
            return Err(DeviceError::MissingUsage { usage: "UNIFORM_BUFFER" }.into());
        }
        BindingKind::UniformBuffer => (limits.uniform_offset_align, "minUniformBufferOffsetAlignment"),
        kind if kind.texture().is_some() => return Ok(()),
        _ => (limits.storage_offset_align, "minStorageBufferOffsetAlignment"),
    };
    let offset = buffer.bound_at(offset);
    if !offset.is_multiple_of(align.max(1)) {
        let (at, buffer) = (binding.at, buffer.name().to_string());
        return Err(Error::submit(kernel, SubmitError::Misaligned { at, buffer, offset, align, limit_name }));
    }
    Ok(())
}

/// Checks a submission that was recorded by another process and will not run here.
pub(crate) fn recorded(
    context: &ContextInner,
    kernel: &Arc<Specialized>,
    groups: [u32; 3],
    args: &[Arg],
    bytes: &[u8],
) -> Result<Submission, Error> {
    check_device(&context.device, kernel)?;
    let fail = |problem| Error::submit(&kernel.name, problem);
    let pushed = push(context, kernel, (bytes.len(), Pushed::default())).map_err(fail)?;
    // In the order of the kernel's bindings, each once, as it was when it was recorded.
    for (number, binding) in kernel.interface.bindings.iter().enumerate() {
        let at = binding.at;
        let Some(arg) = args.get(number).filter(|arg| arg.at == at) else {
            let (name, unused) = (name(binding), Box::default());
            return Err(fail(SubmitError::MissingBinding { at, name, unused }));
        };
        if arg.len < binding.min_size.max(1) || arg.offset.checked_add(arg.len).is_none() {
            return Err(fail(SubmitError::EmptyRange { at, buffer: format!("{:?}", arg.buffer) }));
        }
    }
    Ok(Submission {
        kernel: kernel.clone(),
        base: [0; 3],
        groups,
        args: args.into(),
        push: bytes[..pushed].into(),
    })
}

/// Checks a submission again that has other buffers of the same size, or other push constants of the same length.
pub(crate) fn rebound(context: &ContextInner, entry: &Entry) -> Result<(), Error> {
    let fail = |problem| Error::submit(&entry.label, problem);
    let submission = &entry.submission;
    let bindings = submission.args.iter().zip(&submission.kernel.interface.bindings);
    for ((arg, binding), (buffer, touch)) in bindings.zip(entry.buffers.iter().zip(&entry.touches)) {
        if binding.kind.texture().is_some() {
            let declared = submission.kernel.image_at(arg.at);
            texture(&submission.kernel, declared, binding, buffer).map_err(fail)?;
        }
        let offset = buffer.within(touch.span).map_or(0, |range| range.start);
        bound(context, &entry.label, binding, buffer, offset)?;
    }
    none_overruns(context, submission, &entry.buffers).map_err(fail)
}

/// What accessor and buffer together ask for. An accessor may opt out or be more exact than `auto`; otherwise the two
/// must not contradict each other.
fn promotion(at: SetBinding, accessor: &Accessor<'_>, property: Promote) -> Result<Promote, SubmitError> {
    match (accessor.promote, property) {
        (Some(asked @ Promote::None), _) | (Some(asked), Promote::None | Promote::Auto) => Ok(asked),
        (None | Some(Promote::Auto), property) => Ok(property),
        (Some(asked), property) if asked == property => Ok(asked),
        (Some(asked), property) => Err(SubmitError::PromotionConflict {
            at,
            buffer: accessor.buffer.name().to_string(),
            accessor: promotion_word(asked),
            property: promotion_word(property),
        }),
    }
}

fn promotion_word(promote: Promote) -> &'static str {
    match promote {
        Promote::None => "no",
        Promote::Private => "private",
        Promote::Local => "local",
        Promote::Auto => "automatic",
    }
}

/// Whether everything that the kernel reads is there to be read: in memory, or written earlier in the same list.
pub(crate) fn readable(entry: &Entry, list: Option<&List>) -> Result<(), Error> {
    for (position, (touch, buffer)) in entry.touches.iter().zip(&entry.buffers).enumerate() {
        if !touch.reads || buffer.unreadable(touch.span).is_none() {
            continue;
        }
        let earlier = list.map_or(&[][..], |list| &list.entries);
        let written = earlier.iter().flat_map(|earlier| earlier.overwritten(&buffer.device, touch.memory));
        // Of a range that is longer than what there is in it, not all is read.
        let read = entry.read_span(&buffer.device, position);
        let Some(state) = buffer.unreadable_after(read, written) else { continue };
        return Err(match entry.submission.args.get(position) {
            Some(arg) => {
                let (at, buffer) = (arg.at, buffer.name().to_string());
                Error::submit(&entry.label, SubmitError::Unreadable { at, buffer, state })
            }
            None => buffer.error(BufferError::Unreadable(state)),
        });
    }
    Ok(())
}
