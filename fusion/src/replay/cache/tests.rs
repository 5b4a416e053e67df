//! The drawing in `docs/architecture.md` of the states that the graph of a list and its executable are in, and of the events that move
//! them: each event is tried in each state that any of them leads to.
//!
//! `BLESS=1 cargo test -p vkfuse --lib states` writes the drawing anew.

use std::{fs, path::Path, sync::atomic::Ordering::Acquire};

use super::*;
use crate::{
    Buffer, CacheOptions, Context, Kernel, Queue, QueueOptions, api::queue::tests::context,
    options::environment::variable, runtime::schedule::Schedule,
};

const N: usize = 100;

/// A list of two kernels, and all that may happen to it.
struct Rig {
    context: Context,
    queue: Queue,
    kernel: Kernel,
    /// Those of the list, and others. Gone where a buffer went.
    buffers: Option<[Buffer<i32>; 3]>,
    others: [Buffer<i32>; 3],
}

/// What happens, in words, and how.
type Event = (&'static str, fn(&mut Rig));

const EVENTS: [Event; 7] = [
    ("list runs", |rig| rig.buffers.clone().iter().for_each(|buffers| rig.run(buffers))),
    ("list runs elsewhere", |rig| rig.run(&rig.others.clone())),
    ("schedule is locked", |rig| drop(rig.context.inner.lock())),
    ("memory is written", |rig| {
        rig.buffers.iter().for_each(|[.., out]| drop(rig.queue.fill(out.write(), 1i32).unwrap()));
    }),
    ("buffer is named", |rig| rig.buffers.iter().for_each(|[_, one, _]| one.inner.set_name("one"))),
    ("buffer goes", |rig| {
        rig.context.wait().unwrap();
        rig.buffers = None;
    }),
    ("cache is cleared", |rig| rig.context.clear_memory_cache()),
];

impl Rig {
    /// `None` on a machine without a device.
    fn new() -> Option<Rig> {
        let context = context(CacheOptions::new().no_disk())?;
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
        let kernel = context.load_spirv(concat!(env!("CARGO_MANIFEST_DIR"), "/../shaders/pair/scale.spv"));
        let others = [0, 1, 2].map(|_| context.buffer(N).unwrap());
        Some(Rig { queue, kernel: kernel.unwrap(), buffers: None, others, context })
    }

    fn run(&self, buffers: &[Buffer<i32>; 3]) {
        let list = |queue: &Queue| {
            buffers.windows(2).try_for_each(|pair| {
                let submitted = queue.submit(|h| {
                    h.arg(0, pair[0].read()).arg(1, pair[1].write()).push(&(N as u32)).push(&2i32);
                    h.dispatch_items(&self.kernel, [N as u32, 1, 1]);
                });
                submitted.map(drop)
            })
        };
        self.queue.fuse(list).unwrap();
    }

    /// A list that was never seen before, after these events.
    fn after(&mut self, events: &[usize]) {
        self.context.clear_memory_cache();
        self.buffers = Some([0, 1, 2].map(|_| self.context.buffer(N).unwrap()));
        events.iter().for_each(|event| EVENTS[*event].1(self));
    }

    fn state(&self) -> &'static str {
        let (changes, lane) = (self.context.inner.contents.load(Acquire), self.queue.inner.lane);
        let Schedule { cache, deps, .. } = &mut *self.context.inner.lock_as_it_is();
        let Some(cached) = cache.graphs.values().flatten().next() else {
            return if cache.seen.is_empty() { "new" } else { "seen" };
        };
        let Some(buffers) = &self.buffers else { return "graph" };
        let buffers: Buffers = buffers.iter().map(|buffer| (*buffer.inner).clone()).collect();
        let mut hash = ByNumber::default();
        buffers.iter().for_each(|buffer| buffer.handle.hash(&mut hash));
        let Execs { all, once, .. } = &*cached.execs.lock();
        match all.iter().find(|exec| exec.is_of(&buffers)).cloned() {
            None if once.contains(&hash.finish()) => "graph, buffers seen",
            None => "graph",
            Some(exec) if !exec.is_in_force(changes) => "out of force",
            Some(exec) if exec.is_relaunched() => "relaunched",
            Some(exec) if exec.repeats(deps, lane) => "repeats",
            Some(_) => "in force",
        }
    }
}

#[test]
fn states_are_as_drawn() {
    let Some(mut rig) = Rig::new() else { return };
    // Each with the events that lead to it.
    let mut states: Vec<(&str, Vec<usize>)> = vec![("new", Vec::new())];
    let (mut at, mut rows) = (0, EVENTS.map(|(what, _)| format!("{what:<20}")));
    while let Some((state, path)) = states.get(at).cloned() {
        for (event, (_, happens)) in EVENTS.iter().enumerate() {
            rig.after(&path);
            assert_eq!(rig.state(), state, "after {path:?}");
            happens(&mut rig);
            let next = rig.state();
            let known = states.iter().position(|(known, _)| *known == next);
            let number = known.unwrap_or_else(|| {
                states.push((next, [&path[..], &[event]].concat()));
                states.len() - 1
            });
            rows[event] += &if number == at { "·".to_owned() } else { (number + 1).to_string() };
        }
        at += 1;
    }
    let names: Vec<String> =
        states.iter().enumerate().map(|(at, (state, _))| format!("{} {state}", at + 1)).collect();
    let heads: String = (1..=states.len()).map(|number| number.to_string()).collect();
    let (names, rows) = (names.join("   "), rows.join("\n"));
    let drawing = format!("```text\n{names}\n\n{:<20}{heads}\n{rows}\n```\n", "from");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/architecture.md");
    let mut text = fs::read_to_string(&page).unwrap();
    let start = "<!-- states of graphs -->\n";
    let from = text.find(start).expect("a place for the drawing") + start.len();
    let to = text.find("<!-- end of states -->").expect("its end");
    if variable("BLESS").is_some() {
        text.replace_range(from..to, &drawing);
        fs::write(&page, text).unwrap();
        return;
    }
    assert_eq!(&text[from..to], drawing, "BLESS=1 writes it");
}
