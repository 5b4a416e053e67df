//! What a small submission costs: a measurement, not a test.
//!
//! `cargo test --release -p vkfuse --lib latency -- --ignored --nocapture`

use std::time::{Duration, Instant};

use super::*;
use crate::vk::Barrier;

#[test]
#[ignore = "prints times"]
fn latency_of_a_small_dispatch() {
    let gpu = Gpu::open(&GpuOptions::default()).unwrap();
    println!("{} ({})", gpu.caps().info.name, gpu.caps().info.driver_info);
    let pipeline = add_pipeline(&gpu);
    let (a, b) = (zeroed(&gpu, 1024), zeroed(&gpu, 1024));
    let queue = gpu.queue(0).unwrap();
    let commands =
        [Command::Barrier(Barrier::ComputeToCompute), Command::Dispatch(add(&pipeline, &a, &b, 1))];
    let (mut submits, mut rounds) = (Vec::new(), Vec::new());
    for _ in 0..2000 {
        let started = Instant::now();
        let point = queue.submit(&commands, &[], false).unwrap().point;
        submits.push(started.elapsed());
        gpu.wait(point, None).unwrap();
        rounds.push(started.elapsed());
    }
    println!("submit {:?}, submit to seen complete {:?}", median(submits), median(rounds));

    let started = Instant::now();
    for _ in 0..512 {
        queue.submit(&commands, &[], false).unwrap();
    }
    gpu.wait_idle().unwrap();
    println!("512 back to back: {:?} each", started.elapsed() / 512);

    let size = 256 << 20;
    let large = gpu.allocate(size, MemoryKind::Device).unwrap();
    let mut bytes = vec![1; size as usize];
    for round in ["first", "second"] {
        let started = Instant::now();
        let point = queue.upload(&large, 0, &bytes, &[]).unwrap();
        gpu.wait(point, None).unwrap();
        println!("{round} upload of 256 MiB: {:?}", started.elapsed());
        let started = Instant::now();
        queue.download(&large, 0, &mut bytes, &[point]).unwrap();
        println!("{round} download of 256 MiB: {:?}", started.elapsed());
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
