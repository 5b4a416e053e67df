//! `VK_LAYER_VKFUSE_fuse`: command buffers with fused kernels in place of those that a program submits.
//!
//! | module | does |
//! |---|---|
//! | `device`, `chains` | the engine over the program's device, and what that is made with |
//! | `runs` | what is in a command buffer as lists |
//! | `lists`, `plans` | what became of each list; what the engine makes of it |
//! | `builder` | a thread that plans and builds |
//! | `trials` | which is faster, the program's command buffer or the layer's |
//! | `worth`, `attention` | whether all of this is worth what it costs; looks away if not |
//! | `kept` | command buffers of the layer's that are not in use |
//! | `write` | commands again, with fused dispatches in place of some |
//! | `report` | what was done |
//!
//! The program records its command buffers as ever. If all lists of a submitted one are planned, the layer submits a command buffer of its
//! own in its place. Any other goes through as it is, and is planned meanwhile. The layer's command buffer is kept until the program begins,
//! resets or frees its own. Vulkan forbids that while a command buffer is pending, so the layer's is not pending then either.
//!
//! # Guarantees
//! - Everything that the program's kernels store is stored, unless it is certainly written over in the same list.
//! - What is not understood, and what fails, goes through as it is.

use crate::chain::{self, Device};
use crate::objects::Objects;
use crate::recording::{CommandBuffer, Recording};
use crate::sink::{self, is_stopped, lock};
use crate::submission::Given;
use ash::vk::{self, Handle};
pub(crate) use attention::passes;
use attention::{Followed, book};
use device::Fuser;
use kept::idle;
pub(crate) use kept::{Stand, give_back, stood_for};
use lists::State;
use plans::Step;
use runs::{Piece, Run};
use std::sync::{
    Arc, LazyLock, Mutex, Once,
    atomic::{AtomicBool, Ordering},
};
use std::time::{Duration, Instant};
use trials::{Side, Trial};
use vkfuse::{Buffer, RawBuffer, UserBuffer};
use worth::Outcome;
use write::{Placed, Writer};

mod attention;
mod builder;
mod chains;
pub(crate) mod device;
mod kept;
mod lists;
mod plans;
mod report;
mod runs;
mod trials;
pub(crate) mod worth;
mod write;

/// Words of the variable.
struct Settings {
    /// What was done is written at the end.
    reports: bool,
    /// A submission waits until its lists are planned: for tests.
    waits: bool,
}

static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
    let said = std::env::var(crate::FUSE).unwrap_or_default();
    let words = || said.split(',').map(str::trim);
    for word in words().filter(|word| !matches!(*word, "" | "report" | "wait")) {
        sink::warn(&format!("{}: there is no word {word}, but report and wait", crate::FUSE));
    }
    let has = |word: &str| words().any(|one| one == word);
    Settings { reports: has("report"), waits: has("wait") }
});

/// Whether nothing is fused any more.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// How long the end of a process waits for what is being built.
const PATIENCE: Duration = Duration::from_secs(10);

unsafe extern "C" {
    /// Of the C library.
    fn atexit(call: extern "C" fn()) -> std::ffi::c_int;
}

/// What a process does at its end.
extern "C" fn at_end() {
    let done = std::panic::catch_unwind(|| {
        IS_OVER.store(true, Ordering::Relaxed);
        for device in chain::devices() {
            if let Ok(fuser) = &device.fuser {
                fuser.builder.end(Some(PATIENCE));
            }
        }
        if SETTINGS.reports {
            report::print();
        }
    });
    drop(done);
}

/// What a batch is submitted with: which of the program's command buffers each is, or is in place of, if any.
pub(crate) type Batch = Vec<(Option<usize>, vk::CommandBuffer)>;

/// Why a pipeline cannot be replaced, by how it is made.
pub(crate) unsafe fn problem(
    device: &Device,
    info: &vk::ComputePipelineCreateInfo<'_>,
) -> Option<&'static str> {
    let plain = vk::PipelineCreateFlags::DISABLE_OPTIMIZATION
        | vk::PipelineCreateFlags::ALLOW_DERIVATIVES
        | vk::PipelineCreateFlags::DERIVATIVE
        | vk::PipelineCreateFlags::DISPATCH_BASE
        | vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
        | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR
        | vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED
        | vk::PipelineCreateFlags::EARLY_RETURN_ON_FAILURE;
    if !plain.contains(info.flags) {
        return Some("a pipeline with flags");
    }
    if !vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE.contains(info.stage.flags) {
        return Some("a pipeline that asks for full sub-groups");
    }
    let is_robust = device.fuser.as_ref().is_ok_and(Fuser::is_robust);
    for chain in [info.p_next, info.stage.p_next] {
        let mut at = chain.cast::<vk::BaseInStructure<'_>>();
        // SAFETY: a chain that the program passes to Vulkan.
        while let Some(node) = unsafe { at.as_ref() } {
            match node.s_type {
                vk::StructureType::PIPELINE_CREATION_FEEDBACK_CREATE_INFO
                | vk::StructureType::SHADER_MODULE_CREATE_INFO
                | vk::StructureType::DEBUG_UTILS_OBJECT_NAME_INFO_EXT
                | vk::StructureType::PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO => {}
                vk::StructureType::PIPELINE_ROBUSTNESS_CREATE_INFO_EXT => {
                    // SAFETY: it is of this type.
                    let info = unsafe { &*at.cast::<vk::PipelineRobustnessCreateInfoEXT<'_>>() };
                    let plain = [
                        vk::PipelineRobustnessBufferBehaviorEXT::DEVICE_DEFAULT,
                        vk::PipelineRobustnessBufferBehaviorEXT::DISABLED,
                    ];
                    let is_plain =
                        plain.contains(&info.storage_buffers) && plain.contains(&info.uniform_buffers);
                    if !is_robust && !is_plain {
                        return Some("a pipeline that is robust on a device that is not");
                    }
                }
                _ => return Some("a pipeline with what is not known"),
            }
            at = node.p_next;
        }
    }
    None
}

/// Has the report written at the end.
fn at_end_once() {
    static AT_END: Once = Once::new();
    AT_END.call_once(|| {
        // SAFETY: the function is of this library, which is never unloaded. Where it is not taken there is no report.
        let _ = unsafe { atexit(at_end) };
    });
}

/// Makes command buffers that stand for those of a submission; `None` if all go through as they are.
pub(crate) fn submit(device: &Arc<Device>, queue: vk::Queue, given: &[Given]) -> Option<Vec<Batch>> {
    if is_stopped() || IS_OVER.load(Ordering::Relaxed) {
        return None;
    }
    at_end_once();
    let fuser = match &device.fuser {
        Ok(fuser) => fuser,
        Err(why) => {
            given.iter().flat_map(|batch| &batch.buffers).for_each(|_| report::kept(why));
            return None;
        }
    };
    let mut any = false;
    let mut all = Vec::with_capacity(given.len());
    for batch in given {
        let mut buffers = Batch::with_capacity(batch.buffers.len());
        for (number, buffer) in batch.buffers.iter().enumerate() {
            let start = Instant::now();
            let mut followed = Followed { outcome: Outcome::Nothing, recording: Duration::ZERO };
            let known = chain::command_buffer(*buffer).filter(|_| batch.is_plain);
            let stands =
                known.map_or(Ok(None), |known| stand(device, fuser, queue, &known, (start, &mut followed)));
            book(device, fuser, start, &followed);
            let (own, around) = match stands {
                Ok(Some(Standing { own, around })) => (own, around),
                Ok(None) => {
                    report::kept("nothing to fuse");
                    (None, None)
                }
                Err(why) => {
                    report::kept(&why);
                    (None, None)
                }
            };
            any |= own.is_some() || around.is_some();
            let [before, behind] = around.map_or([None; 2], |around| around.map(Some));
            buffers.extend(before.map(|buffer| (None, buffer)));
            buffers.push((Some(number), own.unwrap_or(*buffer)));
            buffers.extend(behind.map(|buffer| (None, buffer)));
        }
        all.push(buffers);
    }
    any.then_some(all)
}

/// What is submitted in place of a command buffer, and what is around it.
struct Standing {
    /// The layer's, if it is that one's turn.
    own: Option<vk::CommandBuffer>,
    around: Option<[vk::CommandBuffer; 2]>,
}

/// What is submitted by the side whose turn it is: `write` makes the layer's command buffer. What the processor did for it since its commands
/// were recorded began at `start`.
fn turn(
    device: &Device,
    fuser: &Fuser,
    queue: vk::Queue,
    (trial, start, followed): (Option<&Arc<Mutex<Trial>>>, Instant, &mut Followed),
    write: impl FnOnce(u32) -> Result<(vk::CommandBuffer, u64, u64), String>,
) -> Result<Option<Standing>, String> {
    let (family, _) = chain::queue(device, queue);
    let family = family.ok_or("a queue that is not known")?;
    let (side, is_timed) = trial.map_or((Side::Layer, false), |trial| lock(trial).turn());
    followed.outcome = match side {
        _ if is_timed => Outcome::Tried,
        Side::Layer => Outcome::Won(trial.map_or(Duration::ZERO, |trial| lock(trial).saves())),
        Side::Program => Outcome::Nothing,
    };
    let own = match side {
        Side::Layer => {
            let (own, before, after) = write(family)?;
            report::replaced(before, after);
            Some(own)
        }
        Side::Program => {
            report::kept(if is_timed { "its turn, to be timed" } else { "it is faster as it is" });
            None
        }
    };
    let period = fuser.periods.get(family as usize).copied().unwrap_or(0.0);
    let more = if side == Side::Layer { followed.recording + start.elapsed() } else { Duration::ZERO };
    let around = trial
        .filter(|_| is_timed)
        .and_then(|trial| fuser.trials.around(device, trial, (side, more), (family, period)));
    Ok(Some(Standing { own, around }))
}

/// The command buffer that stands for one of the program's.
fn stand(
    device: &Arc<Device>,
    fuser: &Fuser,
    queue: vk::Queue,
    known: &CommandBuffer,
    (start, followed): (Instant, &mut Followed),
) -> Result<Option<Standing>, String> {
    if !known.is_primary {
        return Ok(None);
    }
    // Nothing that commands refer to goes while this is locked.
    let objects = lock(&device.objects);
    let mut recording = lock(&known.recording);
    followed.recording = std::mem::take(&mut recording.spent);
    if !recording.is_whole {
        return Err("not all of it was followed".to_owned());
    }
    if recording.layouts_gone != objects.layouts_gone {
        return Err("a pipeline layout is gone".to_owned());
    }
    if recording.is_unfit_at == Some(objects.version) {
        return Ok(None);
    }
    if let Some(stand) = recording.stands.iter().find(|stand| stand.version == objects.version) {
        let own = (stand.buffer, stand.before, stand.after);
        return turn(device, fuser, queue, (stand.trial.as_ref(), start, followed), |_| Ok(own));
    }
    let (family, _) = chain::queue(device, queue);
    if let Some(stand) = fuser.kept.take(&recording, family, &objects) {
        report::again();
        let (own, trial) = ((stand.buffer, stand.before, stand.after), stand.trial.clone());
        hold(device, &mut recording, stand);
        return turn(device, fuser, queue, (trial.as_ref(), start, followed), |_| Ok(own));
    }
    let (runs, reasons) = runs::runs(&objects, &recording).map_err(str::to_owned)?;
    reasons.into_iter().for_each(|why| report::noted(format!("dispatch: {why}")));
    if runs.is_empty() {
        recording.is_unfit_at = Some(objects.version);
        return Ok(None);
    }
    let Some(context) = context(device, fuser)? else {
        followed.outcome = Outcome::Building;
        return Err(BUILDING.to_owned());
    };
    let mut import = |piece: &Piece| import(fuser, &context, piece);
    let (mut planned, mut key) = (Vec::new(), Vec::new());
    let (mut is_building, mut is_unfit) = (false, true);
    for run in runs {
        let structure = run.structure();
        key.extend_from_slice(&structure);
        let Some(list) = fuser.lists.of(structure) else { continue };
        if list.begin() && !build(fuser, &list, &run, &mut import)? {
            list.becomes(State::New);
        }
        if SETTINGS.waits {
            fuser.builder.wait();
        }
        match list.state() {
            State::Planned(plan) => planned.push((run, plan)),
            State::Unfit => {}
            State::New | State::Building => is_building = true,
        }
        is_unfit &= matches!(list.state(), State::Unfit);
    }
    if is_unfit {
        recording.is_unfit_at = Some(objects.version);
        return Ok(None);
    }
    if is_building {
        followed.outcome = Outcome::Building;
        return Err(BUILDING.to_owned());
    }
    if planned.iter().all(|(_, plan)| plan.clusters.is_empty()) {
        return Ok(None);
    }
    if recording.stands.len() >= MOST_STANDS {
        return Err("too many have stood for it since it was recorded".to_owned());
    }
    let trial = match SETTINGS.waits {
        true => None,
        false => Some(fuser.trials.of(&key).ok_or("there are too many to time")?),
    };
    if trial.as_ref().is_some_and(|trial| lock(trial).is_lost()) {
        return Err("it is faster as it is".to_owned());
    }
    let mut clusters = Vec::new();
    let mut saved = 0;
    for (run, plan) in &planned {
        let ops: Vec<usize> = run.dispatches.iter().map(|one| one.op).collect();
        for cluster in &plan.clusters {
            let mut lists = Vec::new();
            for step in &cluster.steps {
                let Step::Fused(group) = step else { continue };
                match group.on(run, &mut import) {
                    Ok(list) => lists.push(list),
                    Err(variant) => {
                        if let Some(variant) = variant {
                            followed.outcome = Outcome::Building;
                            fuser.builder.add(Box::new(move || variant.build()));
                        }
                        return Err("push constants that are not planned with".to_owned());
                    }
                }
            }
            clusters.push(Placed { cluster, ops: ops.clone(), lists });
        }
        saved += plan.saved() as u64;
    }
    turn(device, fuser, queue, (trial.as_ref(), start, followed), |family| {
        let mut stand = written(device, fuser, family, &recording, &objects, (&clusters, saved))?;
        stand.trial = trial.clone();
        let done = (stand.buffer, stand.before, stand.after);
        hold(device, &mut recording, stand);
        Ok(done)
    })
}

/// Command buffers that stand for one that may be pending more than once: none of them is given back before it is recorded anew.
const MOST_STANDS: usize = 64;

/// Another one stands for a command buffer.
fn hold(device: &Device, recording: &mut Recording, stand: Stand) {
    if !recording.usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE) {
        // It may be submitted again, so it is not pending.
        give_back(device, std::mem::take(&mut recording.stands));
    }
    recording.stands.push(stand);
}

const BUILDING: &str = "it is being built";

/// The engine, or nothing while it is being made, which takes the thread that builds a while.
fn context(device: &Arc<Device>, fuser: &Fuser) -> Result<Option<vkfuse::Context>, String> {
    if SETTINGS.waits {
        return fuser.context().map(Some);
    }
    if let Some(made) = fuser.made() {
        return made.map(Some);
    }
    if fuser.builder.is_idle() {
        let device = device.clone();
        fuser.builder.add(Box::new(move || drop(device.fuser.as_ref().map(Fuser::context))));
    }
    Ok(None)
}

/// A buffer of the engine's over a piece.
fn import(fuser: &Fuser, context: &vkfuse::Context, piece: &Piece) -> Result<Buffer<u8>, String> {
    const MOST: usize = 1 << 14;
    let mut imports = lock(&fuser.imports);
    let key = (piece.buffer, piece.offset, piece.len);
    if let Some(known) = imports.get(&key) {
        return Ok(known.clone());
    }
    let raw = RawBuffer {
        buffer: piece.handle,
        // It is only bound, as what the program binds it as.
        usage: vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST,
        offset: piece.offset,
        size: piece.len,
        // By the number of the allocation, which no other one ever has.
        memory: Some((vk::DeviceMemory::from_raw(piece.memory), piece.start)),
    };
    // SAFETY: the buffer is alive, for objects are locked, and is bound only by what is recorded for a submission of the program's, which
    // orders what uses it.
    let buffer = context.import(&unsafe { UserBuffer::from_raw(&raw) }).map_err(|error| error.to_string())?;
    if imports.len() >= MOST {
        imports.clear();
    }
    imports.insert(key, buffer.clone());
    Ok(buffer)
}

/// Has a list planned and built. Whether it will be.
fn build(
    fuser: &Fuser,
    list: &Arc<lists::List>,
    run: &Run,
    import: &mut dyn FnMut(&Piece) -> Result<Buffer<u8>, String>,
) -> Result<bool, String> {
    let buffers = run.pieces.iter().map(import).collect::<Result<Vec<_>, _>>();
    let buffers = match buffers {
        Ok(buffers) => buffers,
        Err(why) => {
            report::planned(false, &[why]);
            list.becomes(State::Unfit);
            return Ok(true);
        }
    };
    let (list, run, kernels) = (list.clone(), run.clone(), fuser.lists.kernels.clone());
    let context = fuser.context()?;
    Ok(fuser.builder.add(Box::new(move || {
        let mut built = Built { list, state: State::Unfit };
        match plans::plan(&context, &kernels, &run, &buffers) {
            Ok(planned) => {
                report::planned(!planned.clusters.is_empty(), &planned.reasons);
                if !planned.clusters.is_empty() {
                    built.state = State::Planned(Arc::new(planned));
                }
            }
            Err(why) => report::planned(false, &[why]),
        }
    })))
}

/// What becomes of a list that was built, a panic included.
struct Built {
    list: Arc<lists::List>,
    state: State,
}

impl Drop for Built {
    fn drop(&mut self) {
        self.list.becomes(std::mem::take(&mut self.state));
    }
}

/// Writes the commands again, with clusters in place of some.
fn written(
    device: &Device,
    fuser: &Fuser,
    family: u32,
    recording: &Recording,
    objects: &Objects,
    (clusters, saved): (&[Placed<'_>], u64),
) -> Result<Stand, String> {
    let (pool, to) = idle(device, fuser, family)?;
    // It may be submitted again where the program's may not: when the program records the same.
    let info = vk::CommandBufferBeginInfo::default().flags(recording.usage & kept::USAGE);
    let mut writer = Writer { device, to, ops: &recording.ops, recorded: Vec::new() };
    // SAFETY: the command buffer is not in use; objects are locked, so what commands refer to is alive.
    let done = unsafe {
        match device.own.begin_command_buffer(to, &info) {
            Ok(()) => {
                let written = writer.all(clusters);
                let ended = device.own.end_command_buffer(to).map_err(|error| error.to_string());
                written.and(ended)
            }
            Err(error) => Err(error.to_string()),
        }
    };
    let is_dispatch = |op: &&crate::recording::Op| {
        matches!(op, crate::recording::Op::Dispatch { .. } | crate::recording::Op::Indirect(_))
    };
    let before = recording.ops.iter().filter(is_dispatch).count() as u64;
    let stand = Stand {
        family,
        pool,
        buffer: to,
        version: objects.version,
        layouts_gone: objects.layouts_gone,
        usage: recording.usage & kept::USAGE,
        of: Vec::new(),
        before,
        after: before - saved,
        trial: None,
        _recorded: writer.recorded,
    };
    match done {
        Ok(()) => Ok(stand),
        Err(why) => {
            give_back(device, vec![stand]);
            Err(why)
        }
    }
}

/// A buffer is no more.
pub(crate) fn buffer_gone(device: &Device, buffer: u64) {
    if let Ok(fuser) = &device.fuser {
        let gone: Vec<Buffer<u8>> =
            lock(&fuser.imports).extract_if(|(of, ..), _| *of == buffer).map(|(_, one)| one).collect();
        drop(gone);
    }
}

/// A device is about to be no more: nothing of it is in use.
pub(crate) fn device_gone(device: &Arc<Device>) {
    let Ok(fuser) = &device.fuser else { return };
    fuser.builder.end(None);
    chain::drop_command_buffers(|_, buffer| Arc::ptr_eq(&buffer.device, device));
    give_back(device, fuser.kept.all());
    for (_, pool, _) in std::mem::take(&mut *lock(&fuser.idle)) {
        // SAFETY: no command buffer of the device is pending.
        unsafe { device.own.destroy_command_pool(pool, None) };
    }
    lock(&fuser.imports).clear();
    fuser.trials.end(device);
    fuser.end();
}
