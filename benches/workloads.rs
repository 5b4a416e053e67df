//! What the benches run: the chain of four kernels and three temporaries, on buffers of any size.

// Every bench uses its own part of this module.
#![allow(dead_code)]

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use vkfuse::{
    Buffer, CacheOptions, Context, ContextOptions, DeviceKind, Event, FusionProperties, FusionWrapper,
    Kernel, Queue, QueueOptions,
    rust::{Captures, Item, Read, Write, kernel},
};

/// `z = x * y`, as `shaders/chain/mul.comp`.
#[derive(Captures)]
struct Mul {
    x: Read<f32>,
    y: Read<f32>,
    z: Write<f32>,
}

#[kernel]
impl Mul {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.z.set(i, self.x.get(i) * self.y.get(i));
    }
}

/// `z = x - y`, as `shaders/chain/sub.comp`.
#[derive(Captures)]
struct Sub {
    x: Read<f32>,
    y: Read<f32>,
    z: Write<f32>,
}

#[kernel]
impl Sub {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.z.set(i, self.x.get(i) - self.y.get(i));
    }
}

/// A context without disk cache, and a queue that can fuse and takes times.
pub(crate) fn open() -> (Context, Queue) {
    let options = ContextOptions::from_env().cache(CacheOptions::default().no_disk());
    let context = Context::with_options(options).expect("a Vulkan device");
    let queue = context
        .queue(QueueOptions::new().enable_fusion(true).profiling(true))
        .expect("a queue that can fuse");
    (context, queue)
}

/// Element counts worth measuring on this device: a CPU is not made to move gigabytes.
pub(crate) fn sizes(context: &Context) -> Vec<usize> {
    match context.device_info().kind {
        DeviceKind::Cpu => vec![1 << 10, 1 << 16, 1_000_003, 1 << 22],
        _ => vec![1 << 10, 1 << 16, 1_000_003, 1 << 24, 100_000_000],
    }
}

/// A compiled kernel of the `shaders` folder.
pub(crate) fn shader(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders").join(format!("{name}.spv"))
}

/// The chain on its own buffers.
pub(crate) struct Chain {
    queue: Queue,
    mul: Kernel,
    sub: Kernel,
    by_hand: OnceCell<Kernel>,
    inputs: Vec<Buffer<f32>>,
    temporaries: Vec<Buffer<f32>>,
    out: Buffer<f32>,
    n: u32,
}

impl Chain {
    /// Buffers of `n` elements; `promoted` marks the temporaries `promote_private`.
    pub(crate) fn new(context: &Context, queue: &Queue, n: usize, promoted: bool) -> Chain {
        Chain::of(Chain::kernels(context), context, queue, n, promoted)
    }

    /// The two kernels that the chain is made of.
    pub(crate) fn kernels(context: &Context) -> [Kernel; 2] {
        ["chain/mul", "chain/sub"].map(|name| context.load_spirv(shader(name)).expect("a checked-in kernel"))
    }

    /// Buffers for kernels that are loaded already.
    pub(crate) fn of(
        [mul, sub]: [Kernel; 2],
        context: &Context,
        queue: &Queue,
        n: usize,
        promoted: bool,
    ) -> Chain {
        let data: Vec<f32> = (0..n).map(|i| (i % 1009) as f32 / 1009.0).collect();
        let temporary = |_| {
            let buffer = context.buffer(n).expect("a temporary");
            if promoted { buffer.promote_private() } else { buffer }
        };
        Chain {
            queue: queue.clone(),
            mul,
            sub,
            by_hand: OnceCell::new(),
            inputs: (0..4).map(|_| context.buffer_from(&data).expect("an input")).collect(),
            temporaries: (0..3).map(temporary).collect(),
            out: context.buffer(n).expect("the output"),
            n: n as u32,
        }
    }

    /// Takes the inputs of another.
    pub(crate) fn with_inputs_of(mut self, other: &Chain) -> Chain {
        self.inputs.clone_from(&other.inputs);
        self
    }

    /// Takes new temporaries and a new output in place of the old ones.
    pub(crate) fn refresh(&mut self) {
        let (context, n) = (self.queue.context(), self.n as usize);
        let temporary = |_| context.scratch(n).expect("a temporary").promote_private();
        self.temporaries = (0..3).map(temporary).collect();
        self.out = context.buffer(n).expect("the output");
    }

    /// Four submissions.
    pub(crate) fn submit(&self) -> Vec<Event> {
        self.submit_each().into()
    }

    /// Four submissions, without a list of the events on the heap.
    pub(crate) fn submit_each(&self) -> [Event; 4] {
        let (inputs, temporaries) = (&self.inputs, &self.temporaries);
        [
            self.binary(&self.mul, &inputs[0], &inputs[1], &temporaries[0]),
            self.binary(&self.sub, &inputs[0], &inputs[2], &temporaries[1]),
            self.binary(&self.mul, &temporaries[1], &inputs[3], &temporaries[2]),
            self.binary(&self.sub, &temporaries[0], &temporaries[2], &self.out),
        ]
    }

    /// The first input.
    pub(crate) fn input(&self) -> &Buffer<f32> {
        &self.inputs[0]
    }

    /// The output.
    pub(crate) fn out(&self) -> &Buffer<f32> {
        &self.out
    }

    /// Four submissions in fusion mode.
    pub(crate) fn submit_fused(&self) -> Event {
        let fusion = FusionWrapper::new(&self.queue).expect("the queue enables fusion");
        fusion.start_fusion().expect("fusion mode");
        self.submit_each();
        fusion.complete_fusion(&FusionProperties::default()).expect("a fused dispatch")
    }

    /// [`Chain::submit_fused`] with the kernels written in Rust.
    pub(crate) fn submit_fused_rust(&self) -> Event {
        let (i, t) = (&self.inputs, &self.temporaries);
        let mul = |x: &Buffer<f32>, y: &Buffer<f32>, z: &Buffer<f32>| {
            let kernel = Mul { x: x.into(), y: y.into(), z: z.into() };
            self.queue.submit(|h| {
                h.parallel_for(self.n, &kernel);
            })
        };
        let sub = |x: &Buffer<f32>, y: &Buffer<f32>, z: &Buffer<f32>| {
            let kernel = Sub { x: x.into(), y: y.into(), z: z.into() };
            self.queue.submit(|h| {
                h.parallel_for(self.n, &kernel);
            })
        };
        let fusion = FusionWrapper::new(&self.queue).expect("the queue enables fusion");
        fusion.start_fusion().expect("fusion mode");
        mul(&i[0], &i[1], &t[0]).expect("a submission");
        sub(&i[0], &i[2], &t[1]).expect("a submission");
        mul(&t[1], &i[3], &t[2]).expect("a submission");
        sub(&t[0], &t[2], &self.out).expect("a submission");
        fusion.complete_fusion(&FusionProperties::default()).expect("a fused dispatch")
    }

    /// The kernel that somebody wrote by hand for the whole chain.
    pub(crate) fn submit_by_hand(&self) -> Event {
        let load = || self.mul.context().load_spirv(shader("chain/fused")).expect("a checked-in kernel");
        let by_hand = self.by_hand.get_or_init(load);
        self.queue
            .submit(|h| {
                for (binding, input) in (0..).zip(&self.inputs) {
                    h.arg(binding, input.read());
                }
                h.arg(4, self.out.write());
                h.push(&self.n).dispatch_items(by_hand, [self.n, 1, 1]);
            })
            .expect("a submission")
    }

    fn binary(&self, kernel: &Kernel, x: &Buffer<f32>, y: &Buffer<f32>, z: &Buffer<f32>) -> Event {
        self.queue
            .submit(|h| {
                h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write());
                h.push(&self.n).dispatch_items(kernel, [self.n, 1, 1]);
            })
            .expect("a submission")
    }
}
