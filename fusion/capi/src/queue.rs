//! Queues, submissions and fusion mode.

use vkfuse::{
    Accessor, FloatMode, FusionProperties, FusionWrapper, Policy, Queue, QueueOptions, module::SpecValue,
};

use crate::{
    VkfuseBuffer, VkfuseContext, VkfuseEvent, VkfuseKernel, VkfuseList, VkfuseQueue,
    argument::{choice, place, put, several, structure},
    raw::VkfuseRawSemaphore,
    result::{Failure, VkfuseResult, call},
};

/// What a kernel does with a buffer.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VkfuseAccess {
    /// It only reads.
    Read = 0,
    /// It writes.
    Write = 1,
    /// It does both.
    ReadWrite = 2,
}

/// A buffer, or a part of one, for a binding.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseArgument {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// The buffer.
    pub buffer: VkfuseBuffer,
    /// Where the part starts, in bytes.
    pub offset: u64,
    /// How many bytes it has; 0 for all from `offset` on.
    pub size: u64,
    /// A `VkfuseAccess`.
    pub access: u32,
}

/// The value of a specialization constant.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseConstant {
    /// Its `constant_id` (`SpecId`). What a kernel does not declare is ignored.
    pub id: u32,
    /// The bits of the value, of the constant's type, in the low bits: 0 or 1 of a boolean, of a float those in memory.
    pub bits: u64,
}

/// One dispatch.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseSubmission {
    /// The kernel.
    pub kernel: VkfuseKernel,
    /// Its arguments.
    pub arguments: *const VkfuseArgument,
    /// How many there are.
    pub argument_count: u32,
    /// Its push constants: the whole block.
    pub push: *const std::ffi::c_void,
    /// Bytes of it.
    pub push_size: u32,
    /// Work-groups, or items if `is_items` is not 0. With a zero among them nothing is done.
    pub size: [u32; 3],
    /// Whether `size` counts items, which are rounded up to whole work-groups.
    pub is_items: u32,
    /// Events that it comes after, besides what its buffers say.
    pub after: *const VkfuseEvent,
    /// How many there are.
    pub after_count: u32,
    /// Values of specialization constants; all others keep their defaults.
    pub constants: *const VkfuseConstant,
    /// How many there are.
    pub constant_count: u32,
}

/// How a list may be fused. All zero are the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseFusionProperties {
    /// Makes it an error if the list does not become one kernel; it runs unfused then.
    pub force: u32,
    /// Runs every kernel in its own order.
    pub no_rewrites: u32,
    /// Runs unfused while code is being built.
    pub build_in_background: u32,
    /// Compares fused and unfused on the device where fused code is used first.
    pub verify_first_run: u32,
    /// Measures nothing where the planner does not know how the list is fastest.
    pub no_autotune: u32,
    /// Leaves float operations to the driver as the modules have them: it may contract and reassociate them, also across
    /// kernels, so that bits may differ from an unfused run. Otherwise they are rounded one by one.
    pub contract: u32,
    /// Takes the program's word that accesses which cannot be compared do not conflict. The report lists them (`trusted`).
    pub trust: u32,
}

/// # Safety
///
/// The pointer is null, misaligned, or to what the header says.
unsafe fn properties(given: *const VkfuseFusionProperties) -> Result<FusionProperties, Failure> {
    let mut properties = FusionProperties::new();
    if given.is_null() {
        return Ok(properties);
    }
    // SAFETY: the caller's promise.
    let given = unsafe { structure("properties", given)? };
    if given.force != 0 {
        properties = properties.force_fusion();
    }
    if given.no_rewrites != 0 {
        properties = properties.no_rewrites();
    }
    if given.build_in_background != 0 {
        properties = properties.build_in_background();
    }
    if given.contract != 0 {
        properties = properties.float(FloatMode::Contract);
    }
    if given.trust != 0 {
        properties = properties.policy(Policy::Trust);
    }
    Ok(properties.verify_first_run(given.verify_first_run != 0).autotune(given.no_autotune == 0))
}

fn wrapper(queue: VkfuseQueue) -> Result<FusionWrapper, Failure> {
    Ok(FusionWrapper::new(&queue.get()?)?)
}

/// Makes a queue that can enter fusion mode.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_queue_create(
    context: VkfuseContext,
    queue: *mut VkfuseQueue,
) -> VkfuseResult {
    call(|| {
        place("queue", queue)?;
        let made = context.get()?.queue(QueueOptions::new().enable_fusion(true))?;
        // SAFETY: the caller's promise.
        unsafe { put("queue", queue, VkfuseQueue::of(made)) }
    })
}

/// Lets go of a queue. A list that is being recorded runs first. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_queue_destroy(queue: VkfuseQueue) {
    call(|| {
        queue.destroy();
        Ok(())
    });
}

/// Waits for everything submitted to the queue. In fusion mode that cancels.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_queue_wait(queue: VkfuseQueue) -> VkfuseResult {
    call(|| Ok(queue.get()?.wait()?))
}

/// Submits a dispatch, or lists it in fusion mode. `event` may be null.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_queue_submit(
    queue: VkfuseQueue,
    submission: *const VkfuseSubmission,
    event: *mut VkfuseEvent,
) -> VkfuseResult {
    call(|| {
        if !event.is_null() {
            place("event", event)?;
        }
        let queue = queue.get()?;
        // SAFETY: the caller's promise.
        let made = unsafe { submit(&queue, structure("submission", submission)?)? };
        if event.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { put("event", event, VkfuseEvent::of(made)) }
    })
}

/// # Safety
///
/// The pointers are null, misaligned, or to what the header says.
unsafe fn submit(queue: &Queue, given: &VkfuseSubmission) -> Result<vkfuse::Event, Failure> {
    let kernel = given.kernel.get()?;
    // SAFETY: the caller's promise.
    let (arguments, push, after, constants) = unsafe {
        (
            several("arguments", given.arguments, given.argument_count as usize)?,
            several("push", given.push.cast::<u8>(), given.push_size as usize)?,
            several("after", given.after, given.after_count as usize)?,
            several("constants", given.constants, given.constant_count as usize)?,
        )
    };
    let mut accessors = Vec::with_capacity(arguments.len());
    for argument in arguments {
        accessors.push(((argument.set, argument.binding), accessor(argument)?));
    }
    let after = after.iter().map(|event| event.get()).collect::<Result<Vec<_>, _>>()?;
    let (size, is_items) = (given.size, given.is_items != 0);
    let event = queue.submit(|h| {
        for (at, accessor) in accessors {
            h.arg(at, accessor);
        }
        for VkfuseConstant { id, bits } in constants {
            // The type of one that is ignored is no matter.
            let declared = kernel.spec_constants().iter().find(|one| one.id == *id);
            h.spec(*id, declared.map_or(SpecValue::U64(*bits), |one| one.ty.value(*bits)));
        }
        for event in &after {
            h.depends_on(event);
        }
        h.push_bytes(push);
        if is_items {
            h.dispatch_items(&kernel, size)
        } else {
            h.dispatch(&kernel, size)
        };
    })?;
    Ok(event)
}

fn accessor(given: &VkfuseArgument) -> Result<Accessor<'static>, Failure> {
    let buffer = given.buffer.get()?;
    let all = [buffer.read(), buffer.write(), buffer.read_write()];
    let index = choice("access", given.access, &[0_usize, 1, 2])?;
    let accessor = all[index].clone().into_owned();
    if (given.offset, given.size) == (0, 0) {
        return Ok(accessor);
    }
    let too_large = || Failure::new(VkfuseResult::InvalidArgument, "a range is too large");
    let offset = usize::try_from(given.offset).map_err(|_| too_large())?;
    let size = match given.size {
        0 => buffer.len().saturating_sub(offset),
        size => usize::try_from(size).map_err(|_| too_large())?,
    };
    Ok(accessor.range(offset, size))
}

/// Enters fusion mode: from now on submissions are listed, until the list is completed, kept or cancelled. A program that gives up
/// in between, after a submission that failed, say, calls `vkfuse_queue_cancel_fusion`.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_queue_start_fusion(queue: VkfuseQueue) -> VkfuseResult {
    call(|| {
        let wrapper = wrapper(queue)?;
        wrapper.start_fusion()?;
        wrapper.detach();
        Ok(())
    })
}

/// Ends fusion mode: the list runs as as few kernels as can be shown to give the same results. `properties` and `event` may be
/// null.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_queue_complete_fusion(
    queue: VkfuseQueue,
    given: *const VkfuseFusionProperties,
    event: *mut VkfuseEvent,
) -> VkfuseResult {
    call(|| {
        if !event.is_null() {
            place("event", event)?;
        }
        // SAFETY: the caller's promise.
        let properties = unsafe { properties(given)? };
        let done = wrapper(queue)?.complete_fusion(&properties)?;
        if event.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { put("event", event, VkfuseEvent::of(done)) }
    })
}

/// As `vkfuse_queue_complete_fusion`, and keeps the list, to be run again or recorded.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_queue_complete_and_keep(
    queue: VkfuseQueue,
    given: *const VkfuseFusionProperties,
    event: *mut VkfuseEvent,
    list: *mut VkfuseList,
) -> VkfuseResult {
    call(|| {
        place("list", list)?;
        if !event.is_null() {
            place("event", event)?;
        }
        // SAFETY: the caller's promise.
        let properties = unsafe { properties(given)? };
        let (done, kept) = wrapper(queue)?.complete_and_keep(&properties)?;
        if !event.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put("event", event, VkfuseEvent::of(done))? };
        }
        // SAFETY: the caller's promise.
        unsafe { put("list", list, VkfuseList::of(kept)) }
    })
}

/// Ends fusion mode and keeps the list. Nothing of it runs.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_queue_keep_unrun(
    queue: VkfuseQueue,
    given: *const VkfuseFusionProperties,
    list: *mut VkfuseList,
) -> VkfuseResult {
    call(|| {
        place("list", list)?;
        // SAFETY: the caller's promise.
        let properties = unsafe { properties(given)? };
        let kept = wrapper(queue)?.keep_unrun(&properties)?;
        // SAFETY: the caller's promise.
        unsafe { put("list", list, VkfuseList::of(kept)) }
    })
}

/// Ends fusion mode: the list runs unfused.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_queue_cancel_fusion(queue: VkfuseQueue) -> VkfuseResult {
    call(|| Ok(wrapper(queue)?.cancel_fusion()?))
}

/// What the queue runs from now on starts after a semaphore of the program's.
///
/// # Safety
///
/// The pointer is null or to what the header says, and the handle is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_queue_wait_semaphore(
    queue: VkfuseQueue,
    semaphore: *const VkfuseRawSemaphore,
) -> VkfuseResult {
    call(|| {
        let queue = queue.get()?;
        // SAFETY: the caller's promise.
        let semaphore = unsafe { structure("semaphore", semaphore)?.semaphore() };
        queue.wait_semaphore(semaphore)?;
        Ok(())
    })
}

/// Signals a semaphore of the program's when everything that the queue was told to run is complete. A list that is being
/// recorded ends first.
///
/// # Safety
///
/// The pointer is null or to what the header says, and the handle is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_queue_signal_semaphore(
    queue: VkfuseQueue,
    semaphore: *const VkfuseRawSemaphore,
) -> VkfuseResult {
    call(|| {
        let queue = queue.get()?;
        // SAFETY: the caller's promise.
        let semaphore = unsafe { structure("semaphore", semaphore)?.semaphore() };
        queue.signal_semaphore(semaphore)?;
        Ok(())
    })
}
