//! One list on a device, in two ways.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io::Write as _;

use vkfuse::{
    Accessor, Buffer, BufferId, CacheOptions, Context, ContextOptions, Event, FusionProperties,
    FusionWrapper, GroupReport, Internalization, Kernel, Outcome, Promote, Queue, QueueOptions, Tuning,
    module::ElementType,
};
use vkfuse_fuzz::wgsl::{
    Case, Columns, Epilogues, Forms, Generator, Grids, Legality, Random, Seams, Split, Verdict, has_columns,
    is_as_given, open_words, run_unfused,
};
use vkfuse_jit::plan;

/// Shapes of dispatches by turns, pool by pool, besides the one the device is known to like: work-group size, items
/// per invocation, whether these lie next to each other.
const SHAPES: [(u32, u32, bool, u32); 5] =
    [(0, 1, false, 1), (64, 8, true, 1), (16, 4, true, 1), (0, 4, false, 1), (0, 4, true, 3)];

/// Where lists come from.
pub(crate) enum Source {
    /// Lists over a pool of kernels.
    Lists(Generator),
    /// Several of them by turns.
    Turns(Generator),
    /// On few buffers.
    Pools(Generator),
    /// Kernels by elements and by rows.
    Seams(Seams),
    /// Kernels over a grid.
    Grids(Grids),
    Epilogues(Epilogues),
    /// Kernels that go by columns.
    Columns(Columns),
    /// Forms that real programs submit.
    Forms(Forms),
}

impl Source {
    fn case(&mut self, list: usize) -> Option<Case> {
        match self {
            Self::Lists(generator) => Some(generator.case(list)),
            Self::Turns(generator) => Some(generator.by_turns(list, 2 + list % 3)),
            Self::Pools(generator) => generator.of_pool(list),
            Self::Seams(seams) => Some(seams.case(list)),
            Self::Grids(grids) => Some(grids.case(list)),
            Self::Epilogues(epilogues) => Some(epilogues.case(list)),
            Self::Columns(columns) => Some(columns.case(list)),
            Self::Forms(forms) => Some(forms.case(list)),
        }
    }
}

/// A context with the kernels of a pool.
pub(crate) struct Device {
    source: Source,
    context: Context,
    queue: Queue,
    /// By number.
    kernels: HashMap<usize, Kernel>,
    /// Memory for the two runs, by buffer number; made larger as lists ask for it.
    memory: [Vec<Buffer<u32>>; 2],
    /// Runs that differ in words alone that are NaNs both ways.
    other_nans: Cell<usize>,
    /// Comparisons that differ in words alone that SPIR-V leaves open.
    open: Cell<usize>,
}

/// `VKFUSE_SCHEDULE`, which counts for all seeds.
fn environment() -> Tuning {
    let text = std::env::var("VKFUSE_SCHEDULE").unwrap_or_default();
    text.parse().expect("VKFUSE_SCHEDULE is a tuning")
}

/// The schedules of one seed.
fn tuning(seed: usize) -> Tuning {
    let (unroll, unroll_by) = [(16, 1), (2, 2), (64, 4), (0, 2), (4, 3)][seed % 5];
    let tuning = Tuning::new()
        .least_work_groups(1)
        .block_coarsening([1, 2, 4, 3][seed / 2 % 4])
        .thread_coarsening([0, 32, 0, 8, 16][seed % 5])
        .private_bytes(1024)
        .sunk_stores([16, 0, 2, 4][seed / 2 % 4])
        .kept_bytes([0, 64][seed % 2])
        .unroll(unroll)
        .unroll_by(unroll_by)
        .push_bytes([256, 8, 16, 0, 64][seed % 5]);
    let Some(&(group_size, items, vectors, rounds)) = SHAPES.get(seed % (SHAPES.len() + 1)) else {
        return tuning;
    };
    let superword = [4, 1, 2][seed / 2 % 3];
    tuning.work_group(group_size).items(items).vectors(vectors).serial_vectors(rounds).superword(superword)
}

impl Device {
    /// Opens the device that the environment names; without one the test is skipped, or fails where
    /// `VKFUSE_REQUIRE_DEVICE` is set.
    pub(crate) fn open(
        kind: &str,
        seed: u64,
        benches: usize,
        sizes: usize,
        validation: bool,
    ) -> Option<Device> {
        let cache = CacheOptions::default().no_disk();
        let options = ContextOptions::from_env().validation_layer(validation).cache(cache);
        let mut tuning = tuning(seed as usize);
        if kind == "columns" {
            tuning = tuning.superword(4).push_bytes(256);
        }
        let options = options.tuning(environment().or(tuning));
        let context = match Context::with(options) {
            Ok(context) => context,
            Err(error) => {
                assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
                let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
                return None;
            }
        };
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        let mut kernels = HashMap::new();
        let mut generator = || {
            Generator::with(seed, benches, &mut |module, spec| {
                let kernel = context.kernel(module, None).expect("a kernel the device can run");
                let specialized = kernel.specialized(spec).expect("its own constants");
                kernels.insert(kernels.len(), kernel);
                specialized
            })
            .sizes(sizes)
        };
        let source = match kind {
            "seams" => Source::Seams(Seams::new(seed).sizes(sizes)),
            "grids" => Source::Grids(Grids::new(seed).sizes(sizes)),
            "epilogues" => Source::Epilogues(Epilogues::new(seed)),
            "parts" => Source::Epilogues(Epilogues::of_parts(seed)),
            "halves" => Source::Epilogues(Epilogues::of_halves(seed)),
            "columns" => Source::Columns(Columns::new(seed)),
            "forms" => Source::Forms(Forms::new(seed).sizes(sizes)),
            "turns" => Source::Turns(generator()),
            "pools" => Source::Pools(generator()),
            _ => Source::Lists(generator()),
        };
        Some(Device {
            source,
            context,
            queue,
            kernels,
            memory: [Vec::new(), Vec::new()],
            other_nans: Cell::default(),
            open: Cell::default(),
        })
    }

    pub(crate) fn assert_no_validation_messages(&self) {
        assert_eq!(self.context.validation_messages(), 0, "the validation layers complained");
    }

    /// Runs so far that differ in nothing but which NaN a word is.
    pub(crate) fn other_nans(&self) -> usize {
        self.other_nans.get()
    }

    /// Comparisons so far that differ in words alone that SPIR-V leaves open.
    pub(crate) fn open_results(&self) -> usize {
        self.open.get()
    }

    /// Pipelines made so far.
    pub(crate) fn pipelines(&self) -> u64 {
        self.context.stats().driver_compiles
    }

    /// The list of that number, if there is one.
    pub(crate) fn case(&mut self, list: usize) -> Option<Case> {
        let case = self.source.case(list)?;
        for kernel in &case.kernels {
            let load = || self.context.kernel(&kernel.module, None).expect("a kernel the device can run");
            self.kernels.entry(kernel.number).or_insert_with(load);
        }
        Some(case)
    }

    /// A list, shortened while it is wrong.
    pub(crate) fn shrunk(&mut self, case: &Case, interpret: bool) -> Case {
        case.shrunk(&mut |case| self.check(case, interpret).is_err())
    }

    /// Checks a list.
    pub(crate) fn check(&mut self, case: &Case, interpret: bool) -> Result<Verdict, String> {
        // Only the interpreter knows whether a list made without a plan has a defined result.
        let reference = if interpret || case.legality == Legality::Unlabelled {
            let (bytes, findings) = run_unfused(case)?;
            if !findings.is_clean() {
                return match case.legality {
                    Legality::Unlabelled => Ok(Verdict::Undefined),
                    _ => Err(format!("a list made to be right is not: {findings:#?}")),
                };
            }
            Some(bytes)
        } else {
            None
        };
        let verdict = self.run_both(case, reference)?;
        // What becomes a known list, and what is special, runs again: with the same push constants, and with others.
        let is_special =
            matches!(verdict, Verdict::Equal { reordered, renamed, .. } if reordered || renamed > 0);
        if is_special || case.submissions.len() % 4 == 1 {
            let mut random = Random::new(case.submissions.iter().map(|one| u64::from(one.groups[0])).sum());
            let mut other = case.clone();
            for round in 0..4 {
                if case.legality == Legality::Unlabelled && !run_unfused(&other)?.1.is_clean() {
                    break;
                }
                self.run_both(&other, None)
                    .map_err(|what| format!("run again, round {round}: {what}\n{}", other.describe()))?;
                other = case.with_other_values(&mut random);
            }
        }
        Ok(verdict)
    }

    /// Runs a list unfused and fused, from the same contents.
    fn run_both(&mut self, case: &Case, reference: Option<Vec<Vec<u8>>>) -> Result<Verdict, String> {
        let failed = |error: vkfuse::Error| error.to_string();
        self.fill(case).map_err(failed)?;
        self.submit(case, 0).map_err(failed)?;
        let unfused = self.contents(case, 0, &HashSet::new())?;
        if let Some(reference) = reference {
            compare("unfused on the device and in the interpreter", (&unfused, &reference), are_one)
                .or_else(|what| self.are_open(case, (&unfused, &reference)).map_err(|()| what))?;
        }
        let fusion = FusionWrapper::new(&self.queue).map_err(failed)?;
        fusion.start_fusion().map_err(failed)?;
        self.submit(case, 1).map_err(failed)?;
        let done = fusion.complete_fusion(&FusionProperties::default()).map_err(failed)?;
        self.verdict(case, &done, &unfused)
    }

    fn verdict(&self, case: &Case, done: &Event, unfused: &[Vec<u8>]) -> Result<Verdict, String> {
        let report = done.report().ok_or("no report")?;
        if let Outcome::Refused { reason: vkfuse::Reason::Internal { what } } = &report.outcome {
            return Err(format!("could not be built: {what}"));
        }
        let inside: HashSet<BufferId> =
            report.plan.buffers.iter().filter(|b| b.got != Internalization::None).map(|b| b.buffer).collect();
        // What nothing writes, because no one is in range, is what it was.
        let writes = |s: &plan::Submission, id: BufferId| {
            let mut args = s.args.iter().zip(&s.kernel.interface.bindings);
            args.any(|(arg, binding)| self.memory[1][arg.buffer.0 as usize].id() == id && binding.writes)
        };
        let mut gone = inside.clone();
        gone.retain(|&id| case.submissions.iter().any(|s| writes(s, id)));
        let fused = self.contents(case, 1, &gone).map_err(|e| format!("{e}\n{:#?}", report.plan))?;
        let both = (&fused[..], unfused);
        if let Err(what) = compare("fused and unfused", both, |a, b| a == b) {
            compare("fused and unfused", both, are_one)
                .or_else(|_| self.are_open(case, both))
                .map_err(|()| format!("{what}; {}\n{:#?}", judged(case, both), report.plan))?;
            self.other_nans.set(self.other_nans.get() + 1);
        }
        let one = report.dispatches == 1 && case.submissions.len() > 1;
        let items = |s: &plan::Submission| {
            s.groups.iter().product::<u32>() * s.kernel.interface.local_size.iter().product::<u32>()
        };
        let group = report.plan.groups.first();
        let room = group.map_or(0, |g| g.work_group.iter().product::<u32>() * g.items_per_invocation);
        let one_group = one && case.submissions.iter().all(|s| items(s) <= room);
        let report_of = &report.plan;
        // Rows that one work-group has are legal: how many rows a placed kernel has is not looked at here.
        let is_placed = !report_of.rewrites.is_empty();
        let is_wrong = one && !one_group && !is_placed && is_as_given(case, report_of);
        if case.legality == Legality::Illegal && is_wrong {
            return Err(format!("an illegal list was fused as a whole\n{:#?}", report.plan));
        }
        let asked = report.plan.buffers.iter().filter(|b| b.asked != Promote::None);
        Ok(Verdict::Equal {
            steps: report.dispatches,
            submissions: case.submissions.len(),
            one_group,
            internalized: inside.len(),
            refused: asked.filter(|b| b.got == Internalization::None).count(),
            barriers: report.plan.groups.iter().flat_map(|g| &g.barriers).filter(|b| b.kept).count(),
            split: Split::of(&report.plan),
            reordered: report.plan.reordered.is_some(),
            renamed: report.plan.renamed.len(),
            narrow: report_of.groups.iter().filter(|group| is_narrow(case, group)).count(),
            vectors: report_of.groups.iter().filter(|group| is_in_vectors(case, group)).count(),
            columns: report_of.groups.iter().filter(|group| has_columns(group)).count(),
        })
    }

    /// Whether words differ only where SPIR-V leaves the result open, as where integers are made of the bits of a NaN.
    fn are_open(&self, case: &Case, (got, want): (&[Vec<u8>], &[Vec<u8>])) -> Result<(), ()> {
        let open = open_words(case).ok_or(())?;
        let differs = |buffer: usize| {
            let (got, want) = (words(&got[buffer]), words(&want[buffer]));
            let mut at = (0..got.len().min(want.len())).filter(|&at| !are_one(got[at], want[at]));
            at.any(|at| !open[buffer].contains(&at))
        };
        if (0..got.len()).any(differs) {
            return Err(());
        }
        self.open.set(self.open.get() + 1);
        Ok(())
    }

    /// Gives both sets of buffers the initial contents.
    fn fill(&mut self, case: &Case) -> Result<(), vkfuse::Error> {
        for memory in &mut self.memory {
            for (number, bytes) in case.buffers.iter().enumerate() {
                let words: Vec<u32> = words(bytes);
                match memory.get(number) {
                    Some(buffer) if buffer.len() == words.len() => buffer.upload(&words)?,
                    Some(_) => memory[number] = self.context.buffer_from(&words)?,
                    None => memory.push(self.context.buffer_from(&words)?),
                }
            }
        }
        Ok(())
    }

    fn submit(&self, case: &Case, run: usize) -> Result<(), vkfuse::Error> {
        for (submission, kernel) in case.submissions.iter().zip(&case.kernels) {
            self.queue.submit(|h| {
                for (arg, binding) in submission.args.iter().zip(&submission.kernel.interface.bindings) {
                    let buffer = &self.memory[run][arg.buffer.0 as usize];
                    let accessor = if binding.writes { buffer.read_write() } else { buffer.read() };
                    // Words stand for elements of any type.
                    let accessor = accessor.elements(ElementType::Bytes);
                    let accessor = accessor.range(arg.offset as usize / 4, arg.len as usize / 4);
                    h.arg(arg.at, promoted(accessor, arg.promote));
                }
                for (id, value) in &kernel.spec {
                    h.spec(*id, *value);
                }
                h.push_bytes(&submission.push).dispatch(&self.kernels[&kernel.number], submission.groups);
            })?;
        }
        Ok(())
    }

    /// All bytes after a run. What was kept inside a fused kernel must not be readable, and counts as empty.
    fn contents(&self, case: &Case, run: usize, inside: &HashSet<BufferId>) -> Result<Vec<Vec<u8>>, String> {
        let read = |buffer: &Buffer<u32>| match (buffer.download(), inside.contains(&buffer.id())) {
            (Ok(words), false) => Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect()),
            (Err(_), true) => Ok(Vec::new()),
            (Ok(_), true) => Err("an internalized buffer can be read".to_owned()),
            (Err(error), false) => Err(error.to_string()),
        };
        self.memory[run][..case.buffers.len()].iter().map(read).collect()
    }
}

/// Whether invocations do several of a work-group with barriers. Those of kernels by element have none.
fn is_narrow(case: &Case, group: &GroupReport) -> bool {
    let waits = |at: &usize| case.submissions[*at].kernel.interface.has_barrier;
    group.items_per_invocation > 1 && group.members.iter().any(waits)
}

/// Whether invocations do four items next to each other of a work-group of two dimensions: others have them below each other.
fn is_in_vectors(case: &Case, group: &GroupReport) -> bool {
    let is_it = |at: &usize| {
        let [x, y, _] = case.submissions[*at].kernel.interface.local_size;
        y > 1 && group.items_per_invocation == 4 && group.work_group[..2] == [x / 4, y]
    };
    group.members.iter().any(is_it)
}

fn promoted(accessor: Accessor, promote: Promote) -> Accessor {
    match promote {
        Promote::Private => accessor.promote_private(),
        Promote::Local => accessor.promote_local(),
        Promote::Auto => accessor.promote_auto(),
        _ => accessor,
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Whether two words are one: which NaN an operation makes of another is the device's, from one kernel to another.
fn are_one(a: u32, b: u32) -> bool {
    let is_nan = |word: u32| f32::from_bits(word).is_nan();
    a == b || is_nan(a) && is_nan(b)
}

/// Which of a fused and an unfused run has the interpreter's words.
fn judged(case: &Case, (fused, unfused): (&[Vec<u8>], &[Vec<u8>])) -> String {
    let Ok((reference, _)) = run_unfused(case) else { return "the interpreter cannot run it".to_owned() };
    let runs = [("fused and interpreted", fused), ("unfused and interpreted", unfused)];
    let found = runs.map(|(what, run)| match compare(what, (run, &reference), are_one) {
        Ok(()) => format!("{what} are equal"),
        Err(difference) => difference,
    });
    found.join("; ")
}

/// Compares all bytes; an empty buffer is one that was kept inside.
fn compare(
    what: &str,
    (got, want): (&[Vec<u8>], &[Vec<u8>]),
    are_one: impl Fn(u32, u32) -> bool,
) -> Result<(), String> {
    for (number, (got, want)) in got.iter().zip(want).enumerate().filter(|(_, (got, _))| !got.is_empty()) {
        let (got, want) = (words(got), words(want));
        let mut differing = (0..got.len().min(want.len())).filter(|&at| !are_one(got[at], want[at]));
        if let Some(at) = differing.next() {
            let (got, want) = (got[at], want[at]);
            let others: Vec<usize> = differing.collect();
            return Err(format!(
                "{what} differ: buffer {number}, word {at}: {got:#x} and {want:#x}; {} others: {:?}",
                others.len(),
                &others[..others.len().min(16)]
            ));
        }
    }
    Ok(())
}
