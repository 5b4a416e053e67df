//! The cases of the hit path: the chain of four kernels on a thousand elements.

use ash::vk::Handle;
use vkfuse::{
    Buffer, Context, Event, FusionProperties, FusionWrapper, Kernel, Queue, QueueOptions, RawCommandBuffer,
};

use crate::workloads::{Chain, shader};

/// Elements: a few work-groups.
const ELEMENTS: usize = 1 << 10;

/// Sets of buffers to go round: more than anything is recorded for.
pub(crate) const SETS: usize = 400;

/// Elements of a buffer of 1 MiB.
const MEBIBYTE: usize = 1 << 18;

/// Every case.
pub(crate) const NAMES: [&str; 11] = [
    "same_buffers",
    "alternating",
    "profiled",
    "other_scalars",
    "other_buffers",
    "fresh_buffers",
    "kept",
    "kept_other_buffers",
    "kept_rebound",
    "kept_other_scalars",
    "unfused",
];

/// Factors in a row.
struct Scaled {
    queue: Queue,
    scale: Kernel,
    buffers: Vec<Buffer<i32>>,
    /// The first, and by how much each is more than the one before.
    factor: i32,
    step: i32,
}

impl Scaled {
    fn new(context: &Context, queue: &Queue, kernels: usize) -> Scaled {
        let scale = context.load_spirv(shader("pair/scale")).expect("a checked-in kernel");
        let buffer = |_| context.buffer(ELEMENTS).expect("a buffer");
        let mut buffers: Vec<Buffer<i32>> = (0..=kernels).map(buffer).collect();
        buffers[1..kernels].iter_mut().for_each(|temporary| *temporary = temporary.clone().promote_private());
        Scaled { queue: queue.clone(), scale, buffers, factor: 0, step: 1 }
    }

    /// Submits them, and returns the event of the last.
    fn submit(&self, queue: &Queue) -> Result<Event, vkfuse::Error> {
        let mut last = None;
        for (at, pair) in self.buffers.windows(2).enumerate() {
            last = Some(queue.submit(|h| {
                h.arg(0, pair[0].read()).arg(1, pair[1].write());
                h.push(&(ELEMENTS as u32)).push(&(self.factor + at as i32 * self.step));
                h.dispatch_items(&self.scale, [ELEMENTS as u32, 1, 1]);
            })?);
        }
        Ok(last.expect("a kernel"))
    }

    fn submit_fused(&mut self) -> Event {
        self.factor += 4;
        self.queue.fuse(|queue| self.submit(queue).map(drop)).expect("a fused dispatch")
    }

    /// The list, kept, with other factors.
    fn rebound(&mut self, list: &vkfuse::FusedList) -> vkfuse::FusedList {
        self.factor += 4;
        let with =
            (0..4).fold(list.rebind(), |with, at| with.push(at, &[ELEMENTS as i32, self.factor + at as i32]));
        with.finish().expect("another list")
    }
}

/// Runs a list in fusion mode and keeps it.
fn keep(queue: &Queue, submit: impl FnOnce()) -> vkfuse::FusedList {
    let fusion = FusionWrapper::new(queue).expect("the queue enables fusion");
    fusion.start_fusion().expect("fusion mode");
    submit();
    fusion.complete_and_keep(&FusionProperties::default()).expect("a fused dispatch").1
}

/// Records a kept list into a command buffer of the program's, over a driver that looks at no command buffer.
#[allow(unsafe_code)]
pub(crate) fn recording(context: &Context) -> impl FnMut() {
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
    let chain = Chain::of(Chain::kernels(context), context, &queue, ELEMENTS, true);
    let list = keep(&queue, || drop(chain.submit()));
    // SAFETY: the functions that would follow the handle are empty.
    let into = unsafe { RawCommandBuffer::recording(Handle::from_raw(1)) };
    move || drop(list.record(&into).expect("a recording"))
}

/// `same_buffers` this many times, each on a queue of its own, with outputs and temporaries of its own and inputs that all read.
pub(crate) fn shared_inputs(context: &Context, count: usize) -> Vec<Box<dyn FnMut() -> Event + Send>> {
    let chain = || {
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        Chain::of(Chain::kernels(context), context, &queue, ELEMENTS, true)
    };
    let first = chain();
    let others = (0..count).map(|_| chain().with_inputs_of(&first));
    others.map(|chain| Box::new(move || chain.submit_fused()) as Box<dyn FnMut() -> Event + Send>).collect()
}

/// What a plain program does again and again, warmed up, with this many kernels: they are submitted by themselves (`unfused`), as a list (`fused`), or as
/// one that was kept (`kept`).
pub(crate) fn plain(
    context: &Context,
    name: &str,
    kernels: usize,
    profiling: bool,
) -> Box<dyn FnMut() -> Event> {
    let options = QueueOptions::new().enable_fusion(true).profiling(profiling);
    let queue = context.queue(options).expect("a queue that can fuse");
    let mut scaled = Scaled::new(context, &queue, kernels);
    scaled.step = 0;
    let mut run: Box<dyn FnMut() -> Event> = match name {
        "unfused" => Box::new(move || scaled.submit(&scaled.queue).expect("submissions")),
        "fused" => {
            Box::new(move || scaled.queue.fuse(|queue| scaled.submit(queue).map(drop)).expect("a list"))
        }
        _ => {
            let list = keep(&queue, || drop(scaled.submit(&queue).expect("submissions")));
            Box::new(move || list.run().expect("a run"))
        }
    };
    for _ in 0..100 {
        run().wait().expect("a run");
    }
    run
}

/// A case, warmed up: each call is one run, whose last event it returns.
///
/// - `same_buffers`: `start_fusion`, four submissions, `complete_fusion`, again and again;
/// - `alternating`: as `same_buffers`, on two sets of buffers in turn;
/// - `other_scalars`: the same of four kernels with an input and a factor each, on the same buffers with other factors each time;
/// - `other_buffers`: as `same_buffers`, each time on buffers that it did not see for long;
/// - `profiled`: as `same_buffers`, with times;
/// - `fresh_buffers`: as `same_buffers`, with a new output and three new temporaries each time, of 1 MiB each, which are dropped
///   before the next time;
/// - `kept`: a kept list is run again;
/// - `kept_other_buffers`: a kept list is run with another input and output;
/// - `kept_rebound`: a list is made of a kept one with another input and output, and is run;
/// - `kept_other_scalars`: a kept list of four kernels with an input and a factor each gets other factors, and is run;
/// - `unfused`: the four submissions by themselves.
pub(crate) fn case(context: &Context, name: &str) -> Box<dyn FnMut() -> Event + Send> {
    let options = QueueOptions::new().enable_fusion(true).profiling(name == "profiled");
    let queue = context.queue(options).expect("a queue that can fuse");
    // A program loads its kernels once.
    let kernels = Chain::kernels(context);
    let chain = |queue: &Queue| Chain::of(kernels.clone(), context, queue, ELEMENTS, true);
    let mut run: Box<dyn FnMut() -> Event + Send> = match name {
        "same_buffers" | "profiled" => {
            let chain = chain(&queue);
            Box::new(move || chain.submit_fused())
        }
        "alternating" => {
            let chains = [chain(&queue), chain(&queue)];
            let mut at = 0;
            Box::new(move || {
                at = 1 - at;
                chains[at].submit_fused()
            })
        }
        "other_scalars" => {
            let mut scaled = Scaled::new(context, &queue, 4);
            Box::new(move || scaled.submit_fused())
        }
        "fresh_buffers" => {
            let mut chain = Chain::of(kernels, context, &queue, MEBIBYTE, true);
            Box::new(move || {
                chain.refresh();
                chain.submit_fused()
            })
        }
        "other_buffers" => {
            let chains: Vec<Chain> = (0..SETS).map(|_| chain(&queue)).collect();
            let mut at = 0;
            Box::new(move || {
                at = (at + 1) % SETS;
                chains[at].submit_fused()
            })
        }
        "kept" => {
            let chain = chain(&queue);
            let list = keep(&queue, || drop(chain.submit()));
            Box::new(move || list.run().expect("a run"))
        }
        "kept_other_buffers" | "kept_rebound" => {
            let (first, others): (Chain, Vec<Chain>) =
                (chain(&queue), (0..SETS).map(|_| chain(&queue)).collect());
            let list = keep(&queue, || drop(first.submit()));
            let (mut at, rebound) = (0, name == "kept_rebound");
            Box::new(move || {
                at = (at + 1) % SETS;
                let other = &others[at];
                let with =
                    list.rebind().buffer(first.input(), other.input()).buffer(first.out(), other.out());
                if rebound { with.finish().and_then(|list| list.run()) } else { with.run() }.expect("a run")
            })
        }
        "kept_other_scalars" => {
            let mut scaled = Scaled::new(context, &queue, 4);
            let list = keep(&queue, || drop(scaled.submit(&queue).expect("four submissions")));
            Box::new(move || scaled.rebound(&list).run().expect("a run"))
        }
        "unfused" => {
            let chain = chain(&queue);
            Box::new(move || {
                let [_, _, _, last] = chain.submit_each();
                last
            })
        }
        _ => panic!("there is no case {name}; there are {NAMES:?}"),
    };
    for _ in 0..2 * SETS {
        run().wait().expect("a run");
    }
    run
}
