//! Kept lists on parts of one memory, launched again without the schedule while others change who uses it.

use vkfuse::{
    Buffer, CacheOptions, ContextOptions, Error, Event, FusedList, FusionProperties, FusionWrapper, Kernel,
    Queue, QueueOptions,
};

use super::support::Rig;

/// Elements of a part.
const N: usize = 1024;

/// In place; the rounds keep a list pending for a while.
const IN_PLACE: &str = "
struct P { n: u32, by: u32, rounds: u32 }
var<immediate> p: P;
@group(0) @binding(0) var<storage, read_write> z: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (gid.x >= p.n) { return; }
  var v = z[gid.x];
  for (var k = 0u; k < p.rounds; k++) { v = v * p.by + 1u; }
  z[gid.x] = v;
}";

const COPY: &str = "
struct P { n: u32, by: u32 }
var<immediate> p: P;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> z: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (gid.x < p.n) { z[gid.x] = x[gid.x] * p.by; }
}";

/// A buffer and the part of it that is meant.
type Part<'a> = (&'a Buffer<u32>, usize);

struct Kernels {
    in_place: Kernel,
    copy: Kernel,
}

impl Kernels {
    fn new(rig: &Rig) -> Kernels {
        let load = |name, text| rig.context.kernel_from_wgsl(name, text).expect("a kernel");
        Kernels { in_place: load("in_place", IN_PLACE), copy: load("copy", COPY) }
    }

    fn in_place(&self, queue: &Queue, z: Part<'_>, by: u32, rounds: u32) -> Result<Event, Error> {
        queue.submit(|h| {
            h.arg(0, z.0.read_write().range(z.1 * N, N)).push(&[N as u32, by, rounds]);
            h.dispatch_items(&self.in_place, [N as u32, 1, 1]);
        })
    }

    fn copy(&self, queue: &Queue, x: Part<'_>, z: Part<'_>, by: u32) -> Result<Event, Error> {
        queue.submit(|h| {
            h.arg(0, x.0.read().range(x.1 * N, N)).arg(1, z.0.write().range(z.1 * N, N));
            h.push(&[N as u32, by]).dispatch_items(&self.copy, [N as u32, 1, 1]);
        })
    }
}

fn rig() -> Option<Rig> {
    Rig::with(ContextOptions::from_env().cache(CacheOptions::default().no_disk()))
}

fn keep(queue: &Queue, list: impl FnOnce() -> Result<Event, Error>) -> FusedList {
    let fusion = FusionWrapper::new(queue).expect("a queue that fuses");
    fusion.start_fusion().expect("fusion mode");
    list().expect("listed");
    fusion.complete_and_keep(&FusionProperties::default()).expect("kept").1
}

/// What rounds of the kernel in place make of an element; all of a part are equal.
fn after(value: &mut u32, by: u32, rounds: u32) {
    (0..rounds).for_each(|_| *value = value.wrapping_mul(by).wrapping_add(1));
}

/// A launch of one queue that takes the memory from another one, while that has a list there that is launched without the schedule.
#[test]
fn a_list_on_memory_that_was_taken_comes_before_what_runs_later() {
    let Some(rig) = rig() else { return };
    let kernels = Kernels::new(&rig);
    let queue = || rig.context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue");
    let (first, second) = (queue(), queue());
    let made = |parts: usize| rig.context.buffer_from(&vec![3_u32; parts * N]).expect("a buffer");
    // What the second queue does to the part that the first one's kept list writes: it writes, or it reads.
    for is_read in [false, true] {
        let (m, x, y) = (made(2), made(1), made(1));
        let mut low = 3_u32;
        let of_first = keep(&first, || kernels.in_place(&first, (&m, 0), 5, 1));
        after(&mut low, 5, 1);
        let of_second = keep(&second, || match is_read {
            true => kernels.copy(&second, (&m, 1), (&x, 0), 3),
            false => kernels.in_place(&second, (&m, 1), 3, 1),
        });
        let list = || match is_read {
            true => kernels.copy(&second, (&m, 0), (&y, 0), 9),
            false => kernels.copy(&second, (&x, 0), (&m, 0), 9),
        };
        let mut read = 0;
        let listed = |low: &mut u32, read: &mut u32| match is_read {
            true => *read = low.wrapping_mul(9),
            false => *low = 27,
        };
        for round in 0..3 {
            (0..3).for_each(|_| of_second.run().expect("a run").wait().expect("done"));
            (0..3).for_each(|_| drop(of_second.run().expect("a run")));
            for _ in 0..8 {
                second.fuse(|_| list().map(drop)).expect("a list");
                listed(&mut low, &mut read);
            }
            for step in 0..8 {
                let run = of_first.run().expect("a run");
                if step < 4 {
                    run.wait().expect("done");
                }
                after(&mut low, 5, 1);
            }
            of_second.run().expect("a run");
            let fusion = FusionWrapper::new(&second).expect("a queue that fuses");
            fusion.start_fusion().expect("fusion mode");
            list().expect("listed");
            listed(&mut low, &mut read);
            of_first.run().expect("a run");
            after(&mut low, 5, 1);
            fusion.complete_fusion(&FusionProperties::default()).expect("it ended");
            assert_eq!(m.download_range(0..N).expect("the part"), [low; N], "round {round}, read {is_read}");
            if is_read {
                assert_eq!(y.download().expect("what it read"), [read; N], "round {round}");
            }
        }
    }
}

/// More lists on parts of one memory than accesses are kept of it: one that has to be recorded after others were launched without the schedule.
#[test]
fn launches_on_many_parts_of_a_memory_are_all_known() {
    const PARTS: usize = 42;
    let Some(rig) = rig() else { return };
    let (kernels, queue) = (Kernels::new(&rig), &rig.queue);
    let m = rig.context.buffer_from(&vec![3_u32; PARTS * N]).expect("a buffer");
    let other = rig.context.buffer_from(&vec![3_u32; N]).expect("a buffer");
    let mut all = [3_u32; PARTS];
    let rounds = |part: usize| if part == 0 { 60_000 } else { 50 };
    let lists: Vec<FusedList> =
        (0..PARTS).map(|part| keep(queue, || kernels.in_place(queue, (&m, part), 5, rounds(part)))).collect();
    let slow = keep(queue, || kernels.in_place(queue, (&other, 0), 5, 60_000));
    let mut ran = |part: usize| after(&mut all[part], 5, rounds(part));
    (0..PARTS).for_each(&mut ran);
    queue.wait().expect("all done");
    let mut run = |part: usize| {
        ran(part);
        lists[part].run().expect("a run")
    };
    (1..PARTS).for_each(|part| drop(run(part)));
    queue.wait().expect("all done");
    (0..4).for_each(|_| run(0).wait().expect("done"));
    (0..3).for_each(|_| drop(run(0)));
    queue.wait().expect("all done");
    // All of this is pending behind the slow one, so that each list starts with a barrier.
    (0..3).for_each(|_| drop(slow.run().expect("a run")));
    run(0);
    (1..PARTS).for_each(|part| drop((run(part), run(part))));
    queue.wait().expect("all done");
    run(0).wait().expect("done");
    // Without the schedule; then one that finds nothing pending of its own, which has not been recorded.
    run(0);
    run(5);
    let parts = m.download().expect("all parts");
    assert!(parts.chunks(N).zip(all).all(|(part, value)| part.iter().all(|element| *element == value)));
}
