//! What planning costs by number of kernels, with rewrites and without, as a table. No driver and no device take part.
//!
//! `cargo bench --bench planning`, with a part of a list's name for those lists alone. Each time is the least of many plans of the same list, made one after another on one core: other work on the
//! machine only adds to it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vkfuse_jit::kernel::{Kernel, Module, SetBinding, SpecValue, Specialized};
use vkfuse_jit::plan::{Arg, BufferId, FuseOptions, Limits, Plan, Promote, Submission, plan};

/// Rows of a list, and elements of a row.
const ROWS: u32 = 1024;
const COLUMNS: u32 = 1024;
const ELEMENTS: u32 = ROWS * COLUMNS;

/// Plans of one list are made for so long, and at least this many.
const TIME: Duration = Duration::from_millis(400);
const LEAST: usize = 20;

/// A list under construction.
#[derive(Default)]
struct List {
    submissions: Vec<Submission>,
}

impl List {
    /// A kernel on whole buffers; elements of each by its number.
    fn submit(
        mut self,
        kernel: &Arc<Specialized>,
        groups: [u32; 3],
        buffers: &[(u64, u32)],
        push: &[u32],
        promote: impl Fn(u64) -> Promote,
    ) -> Self {
        let args = buffers.iter().zip(0..).map(|(&(buffer, elements), binding)| Arg {
            at: SetBinding::from(binding),
            buffer: BufferId(buffer),
            offset: 0,
            len: 4 * u64::from(elements),
            promote: promote(buffer),
            numbers: None,
            image: None,
        });
        self.submissions.push(Submission {
            kernel: kernel.clone(),
            base: [0; 3],
            groups,
            args: args.collect(),
            push: push.iter().flat_map(|word| word.to_ne_bytes()).collect(),
        });
        self
    }
}

/// The kernels of all lists.
struct Kernels {
    mul: Arc<Specialized>,
    sub: Arc<Specialized>,
    reverse: Arc<Specialized>,
    product: Arc<Specialized>,
    reversed: Arc<Specialized>,
    row_max: Arc<Specialized>,
    exp_sub: Arc<Specialized>,
    row_sum: Arc<Specialized>,
    divide: Arc<Specialized>,
    scans: [Arc<Specialized>; 2],
}

fn load(name: &str, size: Option<u32>) -> Arc<Specialized> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../shaders/{name}.spv"));
    let bytes = std::fs::read(path).expect("a checked-in kernel");
    let module = Module::from_bytes(name, &bytes).expect("a valid module");
    let kernel = Kernel::new(&module, None).expect("one entry point");
    let size = size.map(|size| (0, SpecValue::U32(size)));
    kernel.specialize(size.as_slice()).expect("constants")
}

const FLAT: [u32; 3] = [ELEMENTS / 256, 1, 1];

fn nothing(_: u64) -> Promote {
    Promote::None
}

impl Kernels {
    fn new() -> Self {
        Self {
            mul: load("chain/mul", None),
            sub: load("chain/sub", None),
            reverse: load("access/reverse", None),
            product: load("seams/product", None),
            reversed: load("seams/reversed", None),
            row_max: load("softmax/row_max", None),
            exp_sub: load("seams/exp_sub", None),
            row_sum: load("softmax/row_sum", None),
            divide: load("seams/divide", None),
            scans: [64, 128].map(|size| load("groups/exclusive_scan", Some(size))),
        }
    }

    /// A chain that is one kernel, its temporaries promoted.
    fn chain(&self, count: usize) -> List {
        let inside = |buffer: u64| match buffer {
            1.. if buffer < count as u64 => Promote::Private,
            _ => Promote::None,
        };
        let whole = |buffer: u64| (buffer, ELEMENTS);
        (0..count).fold(List::default(), |list, k| {
            let kernel = if k % 2 == 0 { &self.mul } else { &self.sub };
            let buffers = [whole(k as u64), whole(1000), whole(k as u64 + 1)];
            list.submit(kernel, FLAT, &buffers, &[ELEMENTS], inside)
        })
    }

    /// As many kernels that have nothing to do with each other, and are one.
    fn apart(&self, count: usize) -> List {
        let whole = |buffer: u64| (buffer, ELEMENTS);
        (0..count as u64).fold(List::default(), |list, k| {
            let buffers = [whole(2 * k), whole(100_000), whole(2 * k + 1)];
            list.submit(&self.mul, FLAT, &buffers, &[ELEMENTS], nothing)
        })
    }

    /// Scans of work-groups of two sizes, one after the other: no two are one kernel, in no order.
    fn refused(&self, count: usize) -> List {
        (0..count).fold(List::default(), |list, k| {
            let groups = [ELEMENTS / [64, 128][k % 2], 1, 1];
            let buffers = [(k as u64, ELEMENTS), (k as u64 + 1, ELEMENTS)];
            list.submit(&self.scans[k % 2], groups, &buffers, &[0], nothing)
        })
    }

    /// Softmaxes with parts by elements, each on its own buffers: these are placed.
    fn placed(&self, count: usize) -> List {
        let rows = [ROWS, 1, 1];
        (0..count as u64 / 4).fold(List::default(), |list, k| {
            let [x, most, exp, sum, out] = std::array::from_fn(|n| 5 * k + n as u64);
            let (by_row, flat) = ([COLUMNS], [ELEMENTS, COLUMNS]);
            list.submit(&self.row_max, rows, &[(x, ELEMENTS), (most, ROWS)], &by_row, nothing)
                .submit(&self.exp_sub, FLAT, &[(x, ELEMENTS), (most, ROWS), (exp, ELEMENTS)], &flat, nothing)
                .submit(&self.row_sum, rows, &[(exp, ELEMENTS), (sum, ROWS)], &by_row, nothing)
                .submit(&self.divide, FLAT, &[(exp, ELEMENTS), (sum, ROWS), (out, ELEMENTS)], &flat, nothing)
        })
    }

    /// Products that are read in reverse, small enough for a cache: these are recomputed.
    fn inlined(&self, count: usize) -> List {
        const FEW: u32 = ELEMENTS / 16;
        let groups = [FEW / 256, 1, 1];
        (0..count as u64 / 2).fold(List::default(), |list, k| {
            let whole = |n: u64| (4 * k + n, FEW);
            let product = [whole(0), whole(1), whole(2)];
            let reversed = [whole(2), whole(3)];
            list.submit(&self.product, groups, &product, &[FEW], nothing).submit(
                &self.reversed,
                groups,
                &reversed,
                &[FEW],
                nothing,
            )
        })
    }

    /// Two chains of scans by turns: these are done in another order.
    fn reordered(&self, count: usize) -> List {
        (0..count).fold(List::default(), |list, k| {
            let (chain, link) = (k % 2, (k / 2) as u64);
            let from = 1000 * chain as u64 + link;
            let groups = [ELEMENTS / [64, 128][chain], 1, 1];
            let buffers = [(from, ELEMENTS), (from + 1, ELEMENTS)];
            list.submit(&self.scans[chain], groups, &buffers, &[0], nothing)
        })
    }

    /// A chain on two buffers by turns, every fourth kernel from the other end: values are renamed.
    fn renamed(&self, count: usize) -> List {
        (0..count).fold(List::default(), |list, k| {
            let (from, to) = (1 + (k % 2) as u64, 2 - (k % 2) as u64);
            match k % 4 {
                3 => list.submit(&self.reverse, FLAT, &[(0, ELEMENTS), (to, ELEMENTS)], &[ELEMENTS], nothing),
                0 if k > 0 => {
                    let buffers = [(0, ELEMENTS), (3, ELEMENTS), (to, ELEMENTS)];
                    list.submit(&self.mul, FLAT, &buffers, &[ELEMENTS], nothing)
                }
                _ => {
                    let buffers = [(from, ELEMENTS), (3, ELEMENTS), (to, ELEMENTS)];
                    list.submit(&self.sub, FLAT, &buffers, &[ELEMENTS], nothing)
                }
            }
        })
    }
}

/// The least time of a plan, in microseconds, and the plan.
fn timed(list: &[Submission], options: &FuseOptions, limits: &Limits) -> (f64, Plan) {
    let once = || plan(list, options, limits).expect("a plan");
    // What is made once and kept with the kernels.
    let planned = once();
    let (mut least, mut times) = (Duration::MAX, 0);
    let start = Instant::now();
    while times < LEAST || start.elapsed() < TIME {
        let start = Instant::now();
        std::hint::black_box(once());
        least = least.min(start.elapsed());
        times += 1;
    }
    (least.as_secs_f64() * 1e6, planned)
}

fn main() {
    // A desktop device's limits; the least that Vulkan demands would not take this many kernels.
    let limits = Limits {
        max_work_group_size: [1024; 3],
        max_work_group_invocations: 1024,
        max_storage_buffers: 1024,
        max_shared_bytes: 48 << 10,
        ..Limits::default()
    };
    let kernels = Kernels::new();
    type Make = fn(&Kernels, usize) -> List;
    let lists: [(&str, Make, &[usize]); 7] = [
        ("a chain, one dispatch", Kernels::chain, &[4, 16, 64, 256]),
        ("apart from each other, one dispatch", Kernels::apart, &[4, 16, 64, 256]),
        ("a chain, nothing fuses", Kernels::refused, &[4, 16, 64, 256]),
        ("placed: flat softmaxes", Kernels::placed, &[16]),
        ("inlined: products read in reverse", Kernels::inlined, &[16]),
        ("reordered: two chains by turns", Kernels::reordered, &[16]),
        ("renamed: two buffers by turns", Kernels::renamed, &[16]),
    ];
    println!(
        "| list | kernels | without rewrites, µs | dispatches | with rewrites, µs | dispatches | ratio |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|part| name.contains(part.as_str()));
    for (name, make, counts) in lists.into_iter().filter(|(name, ..)| is_asked(name)) {
        for &count in counts {
            let list = make(&kernels, count).submissions;
            let off = FuseOptions { no_rewrites: true, ..FuseOptions::default() };
            let (without, as_it_is) = timed(&list, &off, &limits);
            let (with, planned) = timed(&list, &FuseOptions::default(), &limits);
            println!(
                "| {name} | {count} | {without:.0} | {} | {with:.0} | {} | {:.1} |",
                as_it_is.steps.len(),
                planned.steps.len(),
                with / without
            );
        }
    }
}
