//! Four small kernels, one dispatch.
//!
//! Runs `tmp1 = in1 * in2; tmp2 = in1 - in3; tmp3 = tmp2 * in4; out = tmp1 - tmp3` three times: as four dispatches,
//! fused into one, and fused with the three temporaries kept in registers. Checks every element against the host and
//! prints the times and what fusion did.
//!
//! `cargo run --example quickstart [ELEMENTS]`

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use vkfuse::{Buffer, Context, Event, Kernel, Outcome, Promote, Queue, QueueOptions};

/// Not a multiple of anything: the last work-group is partly empty.
const ELEMENTS: usize = 1_000_003;
const REPEATS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let n = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => ELEMENTS,
    };
    let context = Context::new()?;
    println!("{n} elements on {}", context.device_info().name);

    let queue = context.queue(QueueOptions::new().enable_fusion(true).profiling(true))?;
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/chain");
    let mul = context.load_spirv(shaders.join("mul.spv"))?;
    let sub = context.load_spirv(shaders.join("sub.spv"))?;

    let inputs: Vec<Vec<f32>> = (1..=4).map(|seed| random(seed, n)).collect();
    let expected = on_the_host(&inputs);
    let unfused = Chain::new(&context, &inputs, Promote::None)?;
    let fused = Chain::new(&context, &inputs, Promote::None)?;
    let promoted = Chain::new(&context, &inputs, Promote::Private)?;

    println!("\n                     dispatches  first run    GPU time   wall time   speed-up");
    let base = measure("unfused", &queue, || unfused.submit(&queue, &mul, &sub), None)?;
    measure("fused", &queue, || fused.submit_fused(&queue, &mul, &sub), Some(base))?;
    measure("fused and promoted", &queue, || promoted.submit_fused(&queue, &mul, &sub), Some(base))?;

    for (name, chain) in [("unfused", &unfused), ("fused", &fused), ("fused and promoted", &promoted)] {
        check(name, &chain.out.download()?, &expected)?;
    }
    println!("\nall {n} elements of all three results equal the host's, bit for bit");

    let done = promoted.submit_fused(&queue, &mul, &sub)?.remove(0);
    done.wait()?;
    if done.outcome() != Outcome::Fused {
        return Err(format!("the chain was not fused: {}", done.outcome()).into());
    }
    let report = done.report().ok_or("a completed list has a report")?;
    println!("\n{report}");
    Ok(())
}

/// The buffers of one run of the chain.
struct Chain {
    inputs: Vec<Buffer<f32>>,
    temporaries: Vec<Buffer<f32>>,
    out: Buffer<f32>,
    n: u32,
}

impl Chain {
    fn new(context: &Context, inputs: &[Vec<f32>], promote: Promote) -> Result<Chain, vkfuse::Error> {
        let n = inputs[0].len();
        let temporary = |name: &str| {
            let buffer = context.buffer::<f32>(n)?.named(name);
            Ok(match promote {
                Promote::Private => buffer.promote_private(),
                _ => buffer,
            })
        };
        Ok(Chain {
            inputs: inputs.iter().map(|data| context.buffer_from(data)).collect::<Result<_, _>>()?,
            temporaries: ["tmp1", "tmp2", "tmp3"]
                .into_iter()
                .map(temporary)
                .collect::<Result<_, vkfuse::Error>>()?,
            out: context.buffer::<f32>(n)?.named("out"),
            n: n as u32,
        })
    }

    /// Four submissions, in order. What depends on what follows from the buffers.
    fn submit(&self, queue: &Queue, mul: &Kernel, sub: &Kernel) -> Result<Vec<Event>, vkfuse::Error> {
        let binary = |kernel: &Kernel, x: &Buffer<f32>, y: &Buffer<f32>, z: &Buffer<f32>| {
            queue.submit(|h| {
                h.arg(0, x.read()).arg(1, y.read()).arg(2, z.write());
                h.push(&self.n).dispatch_items(kernel, [self.n, 1, 1]);
            })
        };
        let [in1, in2, in3, in4] = &self.inputs[..] else { unreachable!("four inputs") };
        let [tmp1, tmp2, tmp3] = &self.temporaries[..] else { unreachable!("three temporaries") };
        Ok(vec![
            binary(mul, in1, in2, tmp1)?,
            binary(sub, in1, in3, tmp2)?,
            binary(mul, tmp2, in4, tmp3)?,
            binary(sub, tmp1, tmp3, &self.out)?,
        ])
    }

    /// The same submissions in fusion mode: that is all there is to it.
    fn submit_fused(&self, queue: &Queue, mul: &Kernel, sub: &Kernel) -> Result<Vec<Event>, vkfuse::Error> {
        let done = queue.fuse(|queue| self.submit(queue, mul, sub).map(drop))?;
        Ok(vec![done])
    }
}

/// Runs something once cold and then repeatedly, prints a line of the table, and returns the median wall time.
fn measure(
    name: &str,
    queue: &Queue,
    run: impl Fn() -> Result<Vec<Event>, vkfuse::Error>,
    base: Option<Duration>,
) -> Result<Duration, Box<dyn Error>> {
    let timed = || -> Result<(Duration, Duration), vkfuse::Error> {
        let start = Instant::now();
        let events = run()?;
        queue.wait()?;
        let wall = start.elapsed();
        Ok((wall, events.iter().filter_map(Event::gpu_time).sum()))
    };
    let before = queue.context().stats();
    let (cold, _) = timed()?;
    let dispatches = (queue.context().stats() - before).dispatches;
    let times = (0..REPEATS).map(|_| timed()).collect::<Result<Vec<_>, _>>()?;
    let median = |mut of: Vec<Duration>| {
        of.sort();
        of[of.len() / 2]
    };
    let wall = median(times.iter().map(|time| time.0).collect());
    let gpu = median(times.iter().map(|time| time.1).collect());
    let speed_up = base.unwrap_or(wall).as_secs_f64() / wall.as_secs_f64();
    println!(
        "{name:<20} {dispatches:>10} {:>10.1} ms {:>8.3} ms {:>8.3} ms {speed_up:>9.2}x",
        milliseconds(cold),
        milliseconds(gpu),
        milliseconds(wall),
    );
    Ok(wall)
}

fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

/// The chain on the host, each operation rounded to f32.
fn on_the_host(inputs: &[Vec<f32>]) -> Vec<f32> {
    (0..inputs[0].len())
        .map(|i| {
            let tmp1 = inputs[0][i] * inputs[1][i];
            let tmp2 = inputs[0][i] - inputs[2][i];
            let tmp3 = tmp2 * inputs[3][i];
            tmp1 - tmp3
        })
        .collect()
}

fn check(name: &str, result: &[f32], expected: &[f32]) -> Result<(), String> {
    match result.iter().zip(expected).position(|(a, b)| a.to_bits() != b.to_bits()) {
        None => Ok(()),
        Some(at) => Err(format!("{name}: out[{at}] is {}, the host says {}", result[at], expected[at])),
    }
}

/// Numbers in [-1, 1), the same on every run.
fn random(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}
