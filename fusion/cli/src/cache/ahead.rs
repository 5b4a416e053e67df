//! `vkfuse cache explain FILE`, `warm FILE…` and `verify FILE…`: the code of lists that are planned and not run.
//!
//! A file is a pipeline, or a recording that `VKFUSE_CACHE_RECORD` made. Files are worked on by several threads on one
//! device; what one has built is in the store at once, so an interrupted command goes on where it was when it is
//! started again.

use crate::args::CacheArgs;
use crate::interrupt;
use crate::pipeline::{self, check};
use crate::progress::Bar;
use crate::session;
use crate::stop::{Status, Stop};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use vkfuse::{
    CacheOptions, Context, ContextOptions, Explanation, NotCacheable, RecordedList, Recording, StepReport,
    Tier,
};
use vkfuse_cache::Event;

/// A list to work on.
enum List {
    Pipeline(PathBuf),
    Recorded(RecordedList),
}

/// What became of the lists of one file.
#[derive(Default, serde::Serialize)]
pub(super) struct Warmed {
    pub(super) file: String,
    pub(super) lists: usize,
    pub(super) dispatches: usize,
    /// Dispatches whose code was built.
    pub(super) built: usize,
    /// Dispatches whose code the store had.
    pub(super) stored: usize,
    /// Dispatches whose code the store has now.
    pub(super) kept: usize,
    /// Dispatches for which the store had what the driver made.
    pub(super) driver_blobs: usize,
    pub(super) errors: Vec<String>,
}

impl Warmed {
    /// Dispatches whose code the store has not, although it should.
    pub(super) fn lost(&self) -> usize {
        self.dispatches.saturating_sub(self.kept)
    }
}

/// Writes that the store did not do, by the reason. Threads may share it.
#[derive(Clone, Default)]
pub(super) struct Skipped(Arc<Mutex<BTreeMap<String, u64>>>);

impl Skipped {
    fn note(&self, event: &Event) {
        if let Event::DidSkip { skip, .. } = event {
            *held(&self.0).entry(skip.to_string()).or_default() += 1;
        }
    }

    /// The reasons, and how many writes each has stopped.
    pub(super) fn reasons(&self) -> BTreeMap<String, u64> {
        held(&self.0).clone()
    }
}

/// What warming all files came to.
pub(super) struct Outcome {
    pub(super) files: Vec<Warmed>,
    /// Stored code that was built anew and was equal, and that was not.
    pub(super) verified: (u64, u64),
    /// Whether it was counted what the store has now.
    is_filled: bool,
}

/// What the store is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// To be filled.
    Fill,
    /// To be looked at.
    Look,
    /// To be compared with what is built now.
    Verify,
}

/// A device with the store that is meant, with robust access or without: code is made for one of these.
pub(super) struct Device {
    plain: Option<Context>,
    robust: Option<Context>,
}

impl Device {
    /// Opens what the files need, with `robust` everything with robust access. Writes that the store does not do are noted.
    pub(super) fn open(
        args: &CacheArgs,
        device: Option<&str>,
        robust: bool,
        files: &[PathBuf],
        wanted: Use,
        skipped: &Skipped,
    ) -> Result<Device, Stop> {
        let count = files.iter().filter(|file| robust || is_robust(file)).count();
        let open = |robust| context(args, device, robust, wanted, skipped);
        let plain = (count < files.len()).then(|| open(false)).transpose()?;
        Ok(Device { plain, robust: (count > 0).then(|| open(true)).transpose()? })
    }

    fn all(&self) -> impl Iterator<Item = &Context> {
        self.plain.iter().chain(&self.robust)
    }

    /// Why nothing can be stored.
    pub(super) fn is_cacheable(&self) -> Result<(), NotCacheable> {
        self.all().try_for_each(|context| context.is_cacheable(vkfuse::Artifact::Code))
    }

    /// Stored code that was built anew and was equal, and that was not, since the contexts were opened.
    fn verified(&self) -> (u64, u64) {
        let stats = self.all().map(Context::stats);
        stats.fold((0, 0), |(same, other), now| (same + now.disk_verified, other + now.disk_different))
    }

    /// The context of a file's lists.
    fn of(&self, file: &Path) -> Result<&Context, Stop> {
        let (first, second) = match is_robust(file) {
            true => (&self.robust, &self.plain),
            false => (&self.plain, &self.robust),
        };
        first.as_ref().or(second.as_ref()).ok_or_else(|| Stop::wrong("there are no files"))
    }
}

/// Whether a pipeline file asks for robust access. A recording does not say.
fn is_robust(file: &Path) -> bool {
    pipeline::load(file).is_ok_and(|pipeline| pipeline.fusion.robust)
}

fn context(
    args: &CacheArgs,
    device: Option<&str>,
    robust: bool,
    wanted: Use,
    skipped: &Skipped,
) -> Result<Context, Stop> {
    let skipped = skipped.clone();
    // Each result is stored before the next build begins, so that stopping the command loses one at most.
    let at_once = vkfuse_cache::CacheOptions { queue_size: Some(0), ..Default::default() };
    let mut cache =
        CacheOptions::new().settings(at_once).verify(wanted == Use::Verify).look_only(wanted == Use::Look);
    cache = cache.events(move |event| skipped.note(event));
    if wanted == Use::Verify {
        // What is in memory would not be looked up in the store.
        cache = cache.no_memory();
    }
    if let Some(folder) = &args.cache_dir {
        cache = cache.directory(super::folder(folder)?);
    }
    let options = session::on_device(session::guarded(ContextOptions::from_env()), device).cache(cache);
    Context::with_options(options.robust_buffer_access(robust)).map_err(|error| Stop::opening(&error))
}

/// Builds what the lists of all files need, and keeps it in the store.
pub(super) fn warm(device: &Device, files: &[PathBuf], jobs: Option<usize>) -> Outcome {
    let results: Vec<Mutex<Warmed>> = files
        .iter()
        .map(|file| Mutex::new(Warmed { file: file.display().to_string(), ..Warmed::default() }))
        .collect();
    let mut lists = Vec::new();
    for (number, file) in files.iter().enumerate() {
        match lists_of(file) {
            Ok(found) => lists.extend(found.into_iter().map(|list| (number, list))),
            Err(stop) => held(&results[number]).errors.push(stop.message),
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = jobs.unwrap_or(threads).clamp(1, lists.len().max(1));
    let (next, bar) = (AtomicUsize::new(0), Bar::new("lists", lists.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, list)) = lists.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if interrupt::is_asked() {
                        break;
                    }
                    let warmed = device.of(&files[*number]).and_then(|context| warm_one(context, list));
                    note(&mut held(&results[*number]), warmed);
                    bar.step();
                }
            });
        }
    });
    drop(bar);
    Outcome {
        files: results.into_iter().map(|file| file.into_inner().unwrap_or_else(|e| e.into_inner())).collect(),
        verified: device.verified(),
        is_filled: false,
    }
}

/// Counts what of the files is in the store, once all are warmed: a limit may have taken away what was there.
pub(super) fn count_kept(device: &Device, files: &[PathBuf], warmed: &mut Outcome) {
    warmed.is_filled = true;
    for (file, warmed) in files.iter().zip(&mut warmed.files) {
        // Ctrl-C came first.
        if warmed.lists == 0 {
            continue;
        }
        // What could not be read or built was said, and is not among the dispatches.
        let lists = lists_of(file).unwrap_or_default().into_iter();
        let Ok(context) = device.of(file) else { continue };
        let steps = lists.filter_map(|list| explain_one(context, &list).ok()).flatten();
        warmed.kept = steps.filter(|step| step.code.is_ok()).count();
    }
}

fn held<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn note(file: &mut Warmed, warmed: Result<Vec<StepReport>, Stop>) {
    file.lists += 1;
    match warmed {
        Ok(steps) => {
            file.dispatches += steps.len();
            for step in steps {
                file.built += usize::from(step.disk == Tier::Miss);
                // What another list has put into memory is in the store as well.
                file.stored += usize::from(step.disk.is_hit() || step.disk == Tier::NotAsked);
                file.driver_blobs += usize::from(step.driver_blob.is_hit());
            }
        }
        Err(stop) => file.errors.push(stop.message),
    }
}

fn warm_one(context: &Context, list: &List) -> Result<Vec<StepReport>, Stop> {
    match list {
        List::Recorded(list) => list.warm(context).map_err(|error| Stop::running(&error)),
        List::Pipeline(file) => unrun(context, file, |list| list.warm()),
    }
}

/// Where the code of the lists of a file would come from.
pub(super) fn explain(device: &Device, file: &Path) -> Result<Vec<Vec<Explanation>>, Stop> {
    let context = device.of(file)?;
    lists_of(file)?.iter().map(|list| explain_one(context, list)).collect()
}

fn explain_one(context: &Context, list: &List) -> Result<Vec<Explanation>, Stop> {
    match list {
        List::Recorded(list) => list.explain(context).map_err(|error| Stop::running(&error)),
        List::Pipeline(file) => unrun(context, file, |list| list.explain()),
    }
}

fn unrun<T>(
    context: &Context,
    file: &Path,
    work: impl FnOnce(&vkfuse::FusedList) -> Result<T, vkfuse::Error>,
) -> Result<T, Stop> {
    let pipeline = pipeline::load(file)?;
    let checked = check::check(&pipeline, &None)?;
    let list = session::unrun(context, &pipeline, &checked, None)?;
    work(&list).map_err(|error| Stop::running(&error))
}

/// A recording says so in its first line; everything else is read as a pipeline.
fn lists_of(file: &Path) -> Result<Vec<List>, Stop> {
    let mut start = [0; 7];
    let read = std::fs::File::open(file).and_then(|mut opened| opened.read_exact(&mut start));
    if read.is_ok() && (start == *b"module " || start.starts_with(b"list ")) {
        let recording = Recording::read(file).map_err(|error| Stop::wrong(error.to_string()))?;
        return Ok(recording.lists.into_iter().map(List::Recorded).collect());
    }
    if std::fs::read(file).is_ok_and(|bytes| std::str::from_utf8(&bytes).is_err()) {
        let file = file.display();
        return Err(Stop::wrong(format!("{file}: neither a pipeline file nor a recording, which are text")));
    }
    pipeline::load(file)?;
    Ok(vec![List::Pipeline(file.to_owned())])
}

impl Outcome {
    pub(super) fn status(&self) -> Status {
        if interrupt::is_asked() {
            Status::Interrupted
        } else if self.verified.1 > 0 {
            Status::Different
        } else if self.files.iter().any(|file| !file.errors.is_empty()) {
            Status::Wrong
        } else if self.is_filled && self.files.iter().any(|file| file.lost() > 0) {
            Status::Different
        } else {
            Status::Success
        }
    }
}
