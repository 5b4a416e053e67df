//! Small lists that stand for what programs submit, one for each form that once kept kernels apart, and variations of each: of
//! sizes, promotions, orders, offsets, trip counts, element types, and forms that an optimiser makes.
//!
//! Every list has its number of dispatches, the same bits unfused and fused, and the values that the host computes. Where a form has
//! a file of its own, that one goes further:
//!
//! | form | here | further |
//! | --- | --- | --- |
//! | a push block by name and by value, and under contraction | `blocks` | `by_value.rs` |
//! | ids in variables of the module, in both memory models | `ids_in_variables` | `memory_models.rs` |
//! | private and other stores, read by neighbours | `neighbours` | `memory_models.rs`, `inlining.rs` |
//! | a copy or a fill beside a kernel with a memory model or rounding of its own | `commands` | `memory_models.rs` |
//! | an array as long as a constant says | `lengths` | `given.rs` |
//! | a binding over the tail of another | `tails` | `overlaps.rs` |
//! | rows before one, two and more elements an invocation, before quotients and multiplied quotients | `rows` | `strided.rs`, `seams.rs` |
//! | sizes in a uniform buffer | `sizes_*` | `numbers.rs` |
//! | three loops in each other | `three_loops` | |

use crate::support::{Buf, Ran, Rig, Size, Submit, Workload};
use vkfuse::{
    Buffer, Event, FloatMode, FusionProperties, FusionWrapper, Outcome, Promote, Reason, SetBinding,
};

fn groups(count: u32) -> Size {
    Size::Groups([count, 1, 1])
}

/// Small numbers of both signs whose sums and small products are exact.
fn value(i: u32) -> f32 {
    (i.wrapping_mul(2_654_435_761) >> 22) as f32 - 512.0
}

/// Elements, promotion of what is between, elements in front of each range.
type Variation = (u32, Promote, u32);

const VARIATIONS: [Variation; 8] = [
    (4096, Promote::Auto, 0),
    (4096, Promote::None, 0),
    (4096, Promote::Private, 0),
    (1000, Promote::Private, 0),
    (1, Promote::Auto, 0),
    (64, Promote::Private, 0),
    (777, Promote::None, 128),
    (4033, Promote::None, 64),
];

/// A list of kernels over `n` elements behind `front` others; each kernel except for the first reads what the one before it stored.
struct Line {
    list: Workload,
    /// What the first reads, and what each stores.
    places: Vec<Buf>,
    n: u32,
    front: u32,
}

impl Line {
    fn new(
        (n, promote, front): Variation,
        kernels: &[&str],
        finish: impl Fn(&str, Submit) -> Submit,
    ) -> Line {
        let mut list = Workload::default();
        let len = (n + 2 * front) as usize;
        let mut places = vec![list.floats("x", (0..len as u32).map(value))];
        for (at, kernel) in kernels.iter().enumerate() {
            let to = list.poisoned(&format!("t{at}"), len);
            if at + 1 < kernels.len() {
                list.promote(to, promote);
            }
            let submit = Submit::new(kernel, groups(n.div_ceil(64)));
            let submit = submit.read(0, places[at]).range(front as usize, n as usize);
            let submit = submit.write(1, to).range(front as usize, n as usize);
            list.submit(finish(kernel, submit));
            places.push(to);
        }
        Line { list, places, n, front }
    }

    /// Demands one dispatch, and this many times what was given.
    #[track_caller]
    fn assert_scaled(&self, rig: &Rig, properties: &FusionProperties, by: f32, what: &str) {
        let wanted: Vec<f32> = (0..self.n).map(|i| by * value(self.front + i)).collect();
        self.assert_values(rig, properties, &wanted, what);
    }

    #[track_caller]
    fn assert_values(&self, rig: &Rig, properties: &FusionProperties, wanted: &[f32], what: &str) -> Ran {
        let (unfused, fused) = (self.list.run_unfused(rig), self.list.run_fused(rig, properties));
        fused.assert_equals(&unfused);
        assert_eq!(fused.stats.dispatches, 1, "{what}: {:#?}", fused.report().plan);
        let out = *self.places.last().unwrap();
        let (front, n) = (self.front as usize, self.n as usize);
        for ran in [&unfused, &fused] {
            let found = ran.floats(out);
            assert_eq!(&found[front..front + n], wanted, "{what}");
            let preset = self.list.preset(out);
            assert_eq!(ran.words(out)[..front], preset[..front], "{what}: stored in front");
            assert_eq!(ran.words(out)[front + n..], preset[front + n..], "{what}: stored behind");
        }
        rig.assert_no_validation_messages();
        fused
    }
}

/// A kernel that doubles by itself twice and three times, and with a plain one before and behind.
fn among_others(rig: &Rig, kernel: &str) {
    const PLAIN: &str = "views/double";
    for variation in VARIATIONS {
        for kernels in [
            &[kernel, kernel][..],
            &[kernel, kernel, kernel],
            &[kernel, PLAIN],
            &[PLAIN, kernel],
            &[PLAIN, kernel, PLAIN],
        ] {
            let line = Line::new(variation, kernels, |_, submit| submit.push(variation.0));
            let by = (1 << kernels.len()) as f32;
            line.assert_scaled(rig, &FusionProperties::default(), by, &format!("{kernels:?}, {variation:?}"));
        }
    }
}

#[test]
fn blocks() {
    let rig = rig!();
    for kernel in ["by_value/push.named", "by_value/push.plain"] {
        for float in [FloatMode::Strict, FloatMode::Contract] {
            let properties = FusionProperties::default().float(float);
            for variation in VARIATIONS {
                for count in [2, 3] {
                    let line = Line::new(variation, &vec![kernel; count], |_, s| {
                        s.push(variation.0).push(1).push(0)
                    });
                    let what = format!("{kernel}, {float:?}, {variation:?}, {count}");
                    line.assert_scaled(&rig, &properties, (1 << count) as f32, &what);
                }
            }
        }
    }
}

/// Strides and offsets of the block: the elements between keep what they had.
#[test]
fn blocks_with_strides() {
    let rig = rig!();
    for (n, stride, offset) in [(512, 2, 1), (100, 7, 3), (64, 3, 0), (1, 5, 4), (1000, 1, 24)] {
        for kernel in ["by_value/push.named", "by_value/push.plain"] {
            let mut list = Workload::default();
            let len = n * stride + offset;
            let x = list.floats("x", (0..len).map(value));
            let [tmp, out] = ["tmp", "out"].map(|name| list.poisoned(name, len as usize));
            for (from, to) in [(x, tmp), (tmp, out)] {
                let submit = Submit::new(kernel, groups(n.div_ceil(64))).read(0, from).write(1, to);
                list.submit(submit.push(n).push(stride).push(offset));
            }
            let ran = list.check_equal(&rig);
            assert_eq!(ran.stats.dispatches, 1, "{kernel}, {stride}: {:#?}", ran.report().plan);
            for i in 0..len {
                let stored = i >= offset && (i - offset) % stride == 0 && (i - offset) / stride < n;
                let wanted = if stored { (4.0 * value(i)).to_bits() } else { list.preset(out)[i as usize] };
                assert_eq!(ran.words(out)[i as usize], wanted, "{kernel}, {stride}, {i}");
            }
        }
    }
}

#[test]
fn ids_in_variables() {
    let rig = rig!();
    for kernel in [
        "model/globals",
        "model/globals_vulkan.13",
        "model/globals_vulkan.14",
        "reduced/globals.optimised",
        "reduced/globals_vulkan.optimised",
    ] {
        among_others(&rig, kernel);
    }
}

#[test]
fn neighbours() {
    let rig = rig!();
    for first in ["model/access.own", "model/access.nonprivate"] {
        for (n, promote) in [
            (4096, Promote::Auto),
            (4096, Promote::None),
            (1000, Promote::Auto),
            (64, Promote::Auto),
            (65, Promote::None),
            (1, Promote::Auto),
        ] {
            let line = Line::new((n, promote, 0), &[first, "model/access.shift"], |_, s| s.push(n));
            let next = |i: u32| value((i + 1).min(n - 1));
            let wanted: Vec<f32> = (0..n).map(|i| 2.0 * value(i) + 2.0 * next(i)).collect();
            let what = format!("{first}, {n}, {promote:?}");
            line.assert_values(&rig, &FusionProperties::default(), &wanted, &what);
        }
    }
}

#[test]
fn lengths() {
    let rig = rig!();
    for room in [8, 16, 20, 64, 200] {
        let factor = (0..room / 8).sum::<u32>() as f32;
        for variation in VARIATIONS {
            for kernels in [["reduced/lengths", "views/double"], ["views/double", "reduced/lengths"]] {
                let line = Line::new(variation, &kernels, |kernel, submit| {
                    let submit = submit.push(variation.0);
                    if kernel == "reduced/lengths" { submit.spec(3, room) } else { submit }
                });
                let what = format!("{kernels:?}, {room}, {variation:?}");
                line.assert_scaled(&rig, &FusionProperties::default(), 2.0 * factor, &what);
            }
        }
    }
}

/// A kernel before a copy, behind a copy and a fill, and between them, in a list.
#[test]
fn commands() {
    let rig = rig!();
    for kernel in [
        "views/double",
        "model/modes.rte",
        "model/modes.half",
        "model/access.own",
        "model/access.nonprivate",
        "model/globals_vulkan.14",
    ] {
        if rig.context.load_spirv(crate::support::shader(kernel)).is_err() {
            continue;
        }
        for n in [4096, 1000, 64, 65, 1] {
            for order in
                ["kernel copy", "copy kernel", "fill kernel", "fill kernel copy", "kernel copy kernel"]
            {
                for promote in [Promote::None, Promote::Auto] {
                    one_order(&rig, kernel, n, order, promote);
                }
            }
        }
    }
    rig.assert_no_validation_messages();
}

/// Steps by name, each from a buffer to the next, unfused and fused.
fn one_order(rig: &Rig, kernel: &str, n: u32, order: &str, promote: Promote) {
    let given: Vec<f32> = (0..n).map(value).collect();
    let mut wanted = given.clone();
    let steps: Vec<&str> = order.split(' ').collect();
    for step in &steps {
        match *step {
            "kernel" => wanted.iter_mut().for_each(|x| *x *= 2.0),
            "fill" => wanted.fill(1.5),
            _ => {}
        }
    }
    let loaded = rig.kernel(kernel);
    let unset = vec![-7.0; n as usize];
    for fused in [false, true] {
        let places: Vec<Buffer<f32>> = (0..=steps.len())
            .map(|at| {
                let buffer = rig.context.buffer_from(if at == 0 { &given } else { &unset }).unwrap();
                let inside = (1..steps.len()).contains(&at);
                if inside && promote == Promote::Auto { buffer.promote_auto() } else { buffer }
            })
            .collect();
        let record = |queue: &vkfuse::Queue| {
            for (at, step) in steps.iter().enumerate() {
                let (from, to) = (&places[at], &places[at + 1]);
                match *step {
                    "copy" => drop(queue.copy(from.read(), to.write())?),
                    "fill" => drop(queue.fill(to.write(), 1.5f32)?),
                    _ => drop(queue.submit(|h| {
                        h.arg(0, from.read())
                            .arg(1, to.write())
                            .push(&n)
                            .dispatch(&loaded, [n.div_ceil(64), 1, 1]);
                    })?),
                }
            }
            Ok(())
        };
        let what = format!("{kernel}, {n}, {order}, {promote:?}");
        if fused {
            let event = rig.queue.fuse(|queue| record(queue)).unwrap();
            event.wait().unwrap();
            let report = event.report().unwrap();
            assert_eq!(report.dispatches, 1, "{what}: {:#?}", report.plan);
        } else {
            record(&rig.queue).unwrap();
            rig.queue.wait().unwrap();
        }
        assert_eq!(places[steps.len()].download().unwrap(), wanted, "{what}, fused: {fused}");
    }
}

/// What is read lies in a range that is written: such a submission runs by itself, and the report names the bindings.
#[test]
fn tails() {
    let rig = rig!();
    let overlap = Reason::Overlap { first: SetBinding::from(0), second: SetBinding::from(1) };
    for (n, from, whole, extra) in [
        (4096_u32, 4096, 12288, 0),
        (1000, 1024, 3072, 0),
        (64, 64, 192, 0),
        (64, 128, 256, 1),
        (1, 64, 128, 0),
        (4033, 8192, 12288, 2),
    ] {
        let mut list = Workload::default();
        let x = list.floats("x", (0..whole).map(value));
        let mut last = list.poisoned("o", n as usize);
        let kernel = || Submit::new("views/double", groups(n.div_ceil(64))).push(n);
        let len = n as usize;
        list.submit(kernel().read(0, x).range(from as usize, len).read_write(1, x).range(0, whole as usize));
        list.submit(kernel().read(0, x).range(0, len).write(1, last));
        for _ in 0..extra {
            let next = list.poisoned("p", len);
            list.submit(kernel().read(0, last).write(1, next));
            last = next;
        }
        let ran = list.check_equal(&rig);
        let report = ran.report();
        assert_eq!(ran.stats.dispatches, 2, "{:#?}", report.plan);
        assert_eq!(report.plan.splits[0].reason, overlap);
        let by = (4 << extra) as f32;
        assert_eq!(ran.floats(last), (0..n).map(|i| by * value(from + i)).collect::<Vec<_>>());
        for i in 0..whole {
            let wanted = if i < n { 2.0 * value(from + i) } else { value(i) };
            assert_eq!(ran.floats(x)[i as usize], wanted, "{i}");
        }
    }
    rig.assert_no_validation_messages();
}

/// Rows and columns: whole work-groups, one group, one row, and neither a multiple nor a power of two.
const ROWS: [(u32, u32); 6] = [(30, 256), (1, 256), (7, 320), (5, 100), (3, 1000), (1, 33)];

#[test]
fn rows() {
    let rig = rig!();
    for (at, (rows, columns)) in ROWS.into_iter().enumerate() {
        for (kernel, each) in [
            ("seams/weight", 1),
            ("strided/two", 2),
            ("reduced/two.optimised", 2),
            ("strided/written_out", 2),
            ("reduced/written_out.optimised", 2),
            ("strided/split", 1),
            ("reduced/split.optimised", 1),
            ("strided/fast", 1),
            ("reduced/fast.optimised", 1),
            ("strided/asked", 2),
            ("strided/asked", 3),
            ("strided/asked", 8),
        ] {
            // (high + i) >> shift is i / columns where the columns are a power of two.
            if kernel.contains("fast") && !columns.is_power_of_two() {
                continue;
            }
            rows_before(&rig, (rows, columns), kernel, each, Promote::Auto);
            if at < 3 && !kernel.contains("optimised") {
                rows_before(&rig, (rows, columns), kernel, each, Promote::None);
            }
        }
    }
}

fn rows_before(rig: &Rig, (rows, columns): (u32, u32), kernel: &str, each: u32, promote: Promote) {
    let n = rows * columns;
    let small = |i: u32| value(i) / 512.0;
    let mut list = Workload::default();
    let x = list.floats("x", (0..n).map(small));
    let w = list.floats("w", (0..columns).map(|c| 2.0 + small(c)));
    let [scaled, out] = ["scaled", "out"].map(|name| list.poisoned(name, n as usize));
    list.promote(scaled, promote);
    list.submit(Submit::new("seams/rms_norm", groups(rows)).read(0, x).write(1, scaled).push(columns));
    let count = n.div_ceil(256 * each);
    let size = if kernel.ends_with("asked") { Size::Groups([1, count, 1]) } else { groups(count) };
    let last = Submit::new(kernel, size).read(0, scaled).read(1, w).write(2, out).push(n).push(columns);
    list.submit(match kernel {
        "seams/weight" => last,
        _ if kernel.contains("split") => last.push(columns).push(0),
        _ if kernel.contains("fast") => last.push(1).push(columns.ilog2()),
        _ => last.push(each).push(0),
    });
    let ran = list.check_equal(rig);
    let what = format!("{rows} rows of {columns}, {kernel}, {each} each, {promote:?}");
    for row in 0..rows {
        let of = |c: u32| f64::from(small(row * columns + c));
        let mean = (0..columns).map(|c| of(c) * of(c)).sum::<f64>() / f64::from(columns);
        let scale = 1.0 / (mean + 1e-5).sqrt();
        for c in 0..columns {
            let wanted = of(c) * scale * (2.0 + f64::from(small(c)));
            let found = f64::from(ran.floats(out)[(row * columns + c) as usize]);
            assert!(
                (wanted - found).abs() <= 1e-4 * wanted.abs().max(1e-3),
                "{what}: {row}, {c}: {found}, not {wanted}"
            );
        }
    }
    assert_eq!(ran.stats.dispatches, 1, "{what}: {:#?}", ran.report().plan);
}

/// Three loops before what reads the same places, and before a kernel by elements.
#[test]
fn three_loops() {
    let rig = rig!();
    const THREE: [&str; 2] = ["reduced/three_loops", "reduced/three_loops.optimised"];
    const AFTER: [&str; 2] = ["reduced/three_loops_after", "reduced/three_loops_after.optimised"];
    for count in [1, 3, 16] {
        for promote in [Promote::None, Promote::Auto, Promote::Private] {
            for first in THREE {
                for after in [&AFTER[..1], &AFTER[1..], &AFTER[..], &["views/double"]] {
                    if after[0] == "views/double" && promote == Promote::Private {
                        continue;
                    }
                    loops(&rig, count, promote, first, after);
                }
            }
        }
    }
}

fn loops(rig: &Rig, count: u32, promote: Promote, first: &str, after: &[&str]) {
    let invocations = count * 64;
    let n = 24 * invocations;
    let mut list = Workload::default();
    let mut from = list.floats("x", (0..8 * invocations).map(value));
    let mut to = list.poisoned("t", n as usize);
    list.submit(Submit::new(first, groups(count)).read(0, from).write(1, to));
    for kernel in after {
        list.promote(to, promote);
        (from, to) = (to, list.poisoned("o", n as usize));
        let double = *kernel == "views/double";
        let submit =
            Submit::new(kernel, groups(if double { n / 64 } else { count })).read(0, from).write(1, to);
        list.submit(if double { submit.push(n) } else { submit });
    }
    let ran = list.check_equal(rig);
    let what = format!("{count} groups, {promote:?}, {first}, {after:?}");
    for (i, found) in ran.floats(to).iter().enumerate() {
        let twice = 2.0 * value(i as u32 / 3);
        let wanted = if after[0] == "views/double" { 2.0 * twice } else { twice + after.len() as f32 };
        assert_eq!(*found, wanted, "{what}, {i}");
    }
    assert_eq!(ran.stats.dispatches, 1, "{what}: {:#?}", ran.report().plan);
}

/// Two kernels that double from `front` on as many elements as a uniform buffer says.
struct Sized {
    rig: Rig,
    kernels: [&'static str; 2],
    /// For each kernel its block: the number of elements at 1, the first one at 4.
    block: Buffer<u32>,
    x: Buffer<u32>,
    tmp: Buffer<u32>,
    out: Buffer<u32>,
}

const LEN: u32 = 4096;
const OLD: u32 = 0x0100_0000;

fn block(n: u32, front: u32) -> [u32; 8] {
    [9, n, 9, 9, front, 9, 9, 9]
}

impl Sized {
    fn new(rig: Rig, kernels: [&'static str; 2], first: [u32; 8]) -> Sized {
        let words: Vec<u32> =
            (0..LEN).map(|i| if kernels[0].ends_with("words") { i } else { value(i).to_bits() }).collect();
        let [x, tmp, out] = [&words, &vec![OLD; LEN as usize], &vec![OLD; LEN as usize]]
            .map(|words| rig.context.buffer_from(words).unwrap());
        Sized {
            kernels,
            block: rig.context.buffer_from(&first).unwrap(),
            x,
            tmp: tmp.promote_auto(),
            out,
            rig,
        }
    }

    /// Runs the list, with `before` as its first command, and checks the elements from `front` on.
    fn run(&self, constant: bool, before: impl Fn(&Sized), n: u32, front: u32) -> Event {
        // What stayed inside in the run before is undefined, and no run stores all of it.
        self.tmp.fill(OLD).unwrap();
        self.out.fill(OLD).unwrap();
        let kernels = self.kernels.map(|kernel| self.rig.kernel(kernel));
        let fusion = FusionWrapper::new(&self.rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        before(self);
        for (kernel, from, to) in [(&kernels[0], &self.x, &self.tmp), (&kernels[1], &self.tmp, &self.out)] {
            let block = if constant { self.block.constant() } else { self.block.read() };
            let submitted = self.rig.queue.submit(|h| {
                // Words stand for floats as well.
                h.arg(0, from.read().cast::<u8>()).arg(1, to.write().cast::<u8>()).arg(2, block.cast::<u8>());
                h.dispatch(kernel, [LEN / 64, 1, 1]);
            });
            submitted.unwrap();
        }
        let event = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        event.wait().unwrap();
        let four = |i: u32| match self.kernels[0].ends_with("words") {
            true => 4 * i,
            false => (4.0 * value(i)).to_bits(),
        };
        let wanted: Vec<u32> =
            (0..LEN).map(|i| if (front..front + n).contains(&i) { four(i) } else { OLD }).collect();
        assert_eq!(self.out.download().unwrap(), wanted, "{:?}, {n} from {front}", self.kernels);
        event
    }

    #[track_caller]
    fn assert_one(&self, event: &Event) {
        let report = event.report().unwrap();
        assert_eq!(
            (event.outcome(), report.dispatches),
            (Outcome::Fused, 1),
            "{:?}: {:#?}",
            self.kernels,
            report.plan
        );
    }
}

const SIZES: [[&str; 2]; 5] = [
    ["reduced/sizes.floats", "reduced/sizes.floats"],
    ["reduced/sizes.words", "reduced/sizes.words"],
    ["reduced/sizes.optimised", "reduced/sizes.optimised"],
    ["reduced/sizes.floats", "reduced/sizes.optimised"],
    ["reduced/sizes.optimised", "reduced/sizes.floats"],
];

/// Whole, in part, one group, one element, none.
const BLOCKS: [(u32, u32); 6] = [(4096, 0), (1000, 24), (64, 64), (4095, 1), (1, 4000), (0, 0)];

#[test]
fn sizes_the_host_wrote() {
    for kernels in SIZES {
        for constant in [false, true] {
            let (n, front) = BLOCKS[0];
            let list = Sized::new(rig!(), kernels, block(n, front));
            for (n, front) in BLOCKS {
                if list.block.download().unwrap() != block(n, front) {
                    // As the first, or the next run's.
                    list.block.upload(&block(n, front)).unwrap();
                }
                for _ in 0..2 {
                    list.assert_one(&list.run(constant, |_| (), n, front));
                }
            }
            list.rig.assert_no_validation_messages();
        }
    }
}

/// Sizes that the list itself writes to the block, other ones in each run.
#[test]
fn sizes_the_list_wrote() {
    for kernels in SIZES {
        let list = Sized::new(rig!(), kernels, block(7, 7));
        for word in [64, 1000, 2048, 64, 1] {
            let fill = |list: &Sized| drop(list.rig.queue.fill(list.block.write(), word).unwrap());
            let event = list.run(false, fill, word, word);
            list.assert_one(&event);
        }
        for (n, front) in BLOCKS {
            let from = list.rig.context.buffer_from(&block(n, front)).unwrap();
            let copy = |list: &Sized| drop(list.rig.queue.copy(from.read(), list.block.write()).unwrap());
            let event = list.run(false, copy, n, front);
            list.assert_one(&event);
        }
        list.rig.assert_no_validation_messages();
    }
}
