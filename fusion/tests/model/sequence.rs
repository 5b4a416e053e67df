//! Sequences: made from a seed, run, and made smaller where they fail.

use std::{
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use vkfuse::{CacheOptions, Context, ContextOptions};

use super::{
    data::{Ground, Memory},
    op::Op,
    random::Random,
    support::{Rig, own::Own},
    watch::{Log, Watch},
    world::{Checked, Group, Slot, World},
};

/// Sequences on one device: in turn on one of the test's own, whose buffers are imported, on one whose queues overtake each other, and on one of the
/// engine's.
pub const EACH: u64 = 50;

/// Most calls of a sequence, over all threads.
const CALLS: u64 = 40;

/// How long a sequence may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A context that sequences run on, and one that sees what the validation layer says about the end of the first.
pub struct Engine {
    pub rig: Rig,
    /// The test's own device, where the context is over that and imports buffers.
    pub own: Option<Own>,
    witness: Option<Context>,
}

impl Engine {
    /// For a sequence by its number.
    pub fn open(seed: u64) -> Option<Engine> {
        let cache = CacheOptions::default().no_disk();
        match seed / EACH % 3 {
            0 => return Some(Engine::over(Own::open()?, cache)),
            1 => return Some(Engine::over(Own::overtaking()?, cache)),
            _ => {}
        }
        let options = ContextOptions::from_env().validation_layer(true).cache(cache);
        let rig = Rig::with(options.clone())?;
        let witness = Context::with(options).expect("a second context");
        Some(Engine { rig, own: None, witness: Some(witness) })
    }

    /// On a device of the test's own.
    pub fn over(own: Own, cache: CacheOptions) -> Engine {
        let rig = Rig::over(own.context_with(cache));
        Engine { rig, own: Some(own), witness: None }
    }

    /// Fails on a validation message; those about objects that outlive the device come as it ends.
    pub fn close(self) {
        // Host tasks of queues that are gone may have failed, as planned; that is said once.
        let _ = self.rig.context.wait();
        self.rig.context.wait().expect("a wait for everything");
        self.rig.context.wait_for_builds();
        self.rig.assert_no_validation_messages();
        drop(self.rig);
        let own = self.own.map_or(0, Own::close);
        let messages = own + self.witness.map_or(0, |witness| witness.validation_messages());
        assert_eq!(messages, 0, "the validation layer complained as the device ended");
    }
}

/// Who shares what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One thread.
    Solo,
    /// Threads with queues and buffers of their own.
    Apart,
    /// Threads with queues of their own and shared buffers.
    Buffers,
    /// Threads on the same queues, with buffers of their own and shared ones.
    Queues,
}

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub kind: Kind,
    pub threads: usize,
    /// For each thread; or all together where they are shared.
    pub queues: usize,
    /// In each group.
    pub buffers: usize,
}

impl Shape {
    pub fn of(seed: u64) -> Shape {
        let mut random = Random::new(seed ^ 0xa5a5);
        let kind =
            [Kind::Solo, Kind::Solo, Kind::Solo, Kind::Apart, Kind::Buffers, Kind::Queues][random.below(6)];
        let threads = if kind == Kind::Solo { 1 } else { 2 + random.below(2) };
        Shape { kind, threads, queues: 1 + random.below(3), buffers: 3 + random.below(4) }
    }
}

/// The calls of every thread, each with the group of buffers it uses.
type Calls = Vec<Vec<(usize, Op)>>;

fn calls(seed: u64, shape: Shape) -> Calls {
    let mut random = Random::new(seed);
    let total = 4 + random.below(CALLS - 3);
    let mut calls: Calls = vec![Vec::new(); shape.threads];
    for number in 0..total {
        let op = Op::random(&mut random, shape.buffers);
        calls[number % shape.threads].push((random.below(2), op));
    }
    calls
}

/// The calls as text.
pub fn describe(seed: u64) -> String {
    describe_as(seed, Shape::of(seed))
}

/// The calls as text, for a shape that the seed does not say.
pub fn describe_as(seed: u64, shape: Shape) -> String {
    let mut text = format!("seed {seed}: {shape:?}");
    for (thread, calls) in calls(seed, shape).iter().enumerate() {
        for (group, op) in calls {
            let _ = write!(text, "\n  thread {thread}, group {group}: {op:?}");
        }
    }
    text
}

/// Runs one sequence. How many calls were made, or what differed.
pub fn run(engine: &Engine, seed: u64) -> Result<u64, String> {
    run_as(engine, seed, Shape::of(seed))
}

/// Runs one sequence in a shape that the seed does not say.
pub fn run_as(engine: &Engine, seed: u64, shape: Shape) -> Result<u64, String> {
    run_calls(engine, seed, shape, &calls(seed, shape))
}

fn run_calls(engine: &Engine, seed: u64, shape: Shape, calls: &Calls) -> Result<u64, String> {
    let log = Log::default();
    let _watch = Watch::start(PATIENCE, format!("seed {seed}: {shape:?}"), &log);
    let rig = &engine.rig;
    let group = |salt: u32| -> (Group, Option<Arc<Ground>>) {
        let ground = engine.own.as_ref().map(|own| Ground::new(own, &rig.context, salt + seed as u32));
        let memory = |b| Memory::new(&rig.context, ground.as_ref(), b, salt + b as u32);
        let memory = (0..shape.buffers).map(memory).collect();
        (Arc::new(Mutex::new(memory)), ground.map(Arc::new))
    };
    let shared_group = group(500);
    let queue = |number: usize| World::new_queue(rig, number == 1 && seed.is_multiple_of(4));
    let shared_queues: Vec<_> = (0..shape.queues).map(queue).collect();
    if shape.kind == Kind::Solo {
        // Takes the errors of host tasks that an earlier sequence left behind.
        let _ = rig.context.wait();
    }
    let tasks = Arc::new(Mutex::new(Vec::new()));
    let world = |thread: usize| {
        let own = group(thread as u32 * 100);
        let slots: Vec<Slot> = match shape.kind {
            Kind::Queues => shared_queues.iter().map(|queue| Slot::new(queue.clone())).collect(),
            _ => (0..shape.queues).map(|number| Slot::new(queue(number))).collect(),
        };
        let strict = matches!(shape.kind, Kind::Solo | Kind::Apart);
        World {
            rig,
            slots,
            groups: if strict { vec![own.0] } else { vec![own.0, shared_group.0.clone()] },
            grounds: if strict { vec![own.1] } else { vec![own.1, shared_group.1.clone()] },
            orphan_failed: false,
            events: Vec::new(),
            kept: Vec::new(),
            strict,
            dispatches: (shape.kind == Kind::Solo).then(|| rig.context.stats().dispatches),
            alone: shape.kind == Kind::Solo,
            shared_queues: shape.kind == Kind::Queues,
            tasks: tasks.clone(),
            salt: 1000 * thread as u32,
        }
    };
    let made = |thread: usize| -> Checked {
        let mut world = world(thread);
        for (number, (group, op)) in calls[thread].iter().enumerate() {
            log.push(format!("  thread {thread}, group {group}: {op:?}"));
            world
                .call(*group, op)
                .map_err(|error| format!("thread {thread}, call {number}, {op:?}: {error}"))?;
        }
        world.finish().map_err(|error| format!("thread {thread}: {error}"))
    };
    let caught = |thread: usize| {
        catch_unwind(AssertUnwindSafe(|| made(thread))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("thread {thread} panicked: {}", text.unwrap_or_default()))
        })
    };
    let mut results: Vec<Checked> = Vec::new();
    if shape.threads == 1 {
        results.push(caught(0));
    } else {
        thread::scope(|scope| {
            let running: Vec<_> = (0..shape.threads)
                .map(|thread| {
                    let caught = &caught;
                    scope.spawn(move || caught(thread))
                })
                .collect();
            results.extend(running.into_iter().map(|thread| thread.join().expect("panics are caught")));
        });
        if results.iter().all(Result::is_ok) && !matches!(shape.kind, Kind::Apart) {
            log.push("the end".to_owned());
            let mut last = world(0);
            last.groups = vec![shared_group.0.clone()];
            last.grounds = vec![shared_group.1.clone()];
            last.shared_queues = true;
            results.push(last.finish());
        }
    }
    results.into_iter().collect::<Result<Vec<()>, String>>()?;
    let messages = rig.context.stats().validation_messages + engine.own.as_ref().map_or(0, Own::messages);
    if messages > 0 {
        return Err(format!("{messages} validation messages"));
    }
    Ok(calls.iter().map(|calls| calls.len() as u64).sum())
}

/// Says what differed, with the smallest sequence that was found to differ.
pub fn shrink(engine: &Engine, seed: u64, difference: &str) -> String {
    let shape = Shape::of(seed);
    let mut text = format!("{difference}\n{}", describe(seed));
    let mut smallest = calls(seed, shape);
    if shape.threads > 1 {
        return text;
    }
    let (started, mut last) = (Instant::now(), difference.to_owned());
    let mut at = 0;
    while at < smallest[0].len() && started.elapsed() < Duration::from_secs(30) {
        let mut fewer = smallest.clone();
        fewer[0].remove(at);
        match run_calls(engine, seed, shape, &fewer) {
            Ok(_) => at += 1,
            Err(error) => (smallest, last) = (fewer, error),
        }
    }
    let _ = write!(text, "\nsmallest: {last}");
    for (group, op) in &smallest[0] {
        let _ = write!(text, "\n  group {group}: {op:?}");
    }
    text
}
