//! Host and device agree on every random expression and program: bit for bit, and within Vulkan's bounds where an
//! expression's last step is a division, a root or transcendental.
//!
//! `VKFUSE_RANDOM_KERNELS=400,100,SEED cargo test -p vkfuse-random -- --nocapture` for seeds 1 to 5 is the long form.

use std::{io::Write as _, time::Instant};

use vkfuse::{CacheOptions, Context, ContextOptions, QueueOptions};
use vkfuse_random::{Inputs, OnDevice, PER_KERNEL, bounds, cases};

fn context() -> Option<Context> {
    let options = ContextOptions::from_env().validation_layer(true).cache(CacheOptions::default().no_disk());
    match Context::with(options) {
        Ok(context) => Some(context),
        Err(error) => {
            assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
            let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
            None
        }
    }
}

/// Corners first, then random words.
fn inputs() -> (Vec<u32>, Vec<i32>, Vec<f32>) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    let mut x = vec![0, 1, 2, 3, u32::MAX, 1 << 31, 7, 100];
    let mut y = vec![0, -1, i32::MIN, i32::MAX, 2, -7, 5, 31];
    let mut z = vec![0.0, 1.0, -1.0, 0.5, -2.5, 1e6, 16_777_216.0, -0.75];
    while x.len() < 48 {
        let small = x.len() % 2 == 0;
        x.push(if small { random() % 64 } else { random() });
        y.push(if small { (random() % 64) as i32 - 32 } else { random() as i32 });
        z.push((random() % 4000) as f32 / 8.0 - 250.0);
    }
    (x, y, z)
}

/// What is wrong with a result, if anything is.
fn differs(last: &str, device: [u32; 3], host: [u32; 3]) -> Option<String> {
    if last.is_empty() {
        return (device != host).then(|| format!("device {:#x}, host {:#x}", device[0], host[0]));
    }
    if device[1..] != host[1..] {
        return Some(format!("arguments of {last}: device {:x?}, host {:x?}", &device[1..], &host[1..]));
    }
    let [result, a, b] = device.map(f32::from_bits);
    let (low, high) = bounds::allowed(last, a, b).expect("a bound for every last step");
    let within = |result: f32| (low..=high).contains(&f64::from(result));
    let host = f32::from_bits(host[0]);
    (!within(result) || !within(host))
        .then(|| format!("{last} of {a} and {b}: device {result}, host {host}, allowed {low} to {high}"))
}

#[test]
fn host_and_device_agree() {
    let Some(context) = context() else { return };
    let queue = context.queue(QueueOptions::new()).expect("a queue");
    let (x, y, z) = inputs();
    let inputs = Inputs { x: &x, y: &y, z: &z };
    let on = OnDevice {
        x: context.buffer_from(&x).expect("a buffer"),
        y: context.buffer_from(&y).expect("a buffer"),
        z: context.buffer_from(&z).expect("a buffer"),
        out: context.buffer(x.len() * PER_KERNEL).expect("a buffer"),
    };
    let (start, mut exact, mut bounded, mut differing) = (Instant::now(), 0, 0, Vec::new());
    let mut counts = std::collections::BTreeMap::new();
    let mut distinct = std::collections::HashSet::new();
    for case in cases() {
        let names = case.functions;
        on.out.fill([0; 3]).expect("fills");
        (case.device)(&queue, &on, inputs.len()).unwrap_or_else(|error| panic!("{names:?}: {error}"));
        let (device, host) = (on.out.download().expect("downloads"), (case.host)(&inputs));
        bounded += names.iter().filter(|(_, last)| !last.is_empty()).count();
        exact += names.iter().filter(|(_, last)| last.is_empty()).count();
        for (k, (device, host)) in device.iter().zip(&host).enumerate() {
            let (item, function) = (k / PER_KERNEL, k % PER_KERNEL);
            let Some((name, last)) = names.get(function) else { continue };
            distinct.insert(host[0]);
            if let Some(how) = differs(last, *device, *host) {
                *counts.entry(*name).or_insert(0) += 1;
                differing.push(format!("{name} on x {}, y {}, z {}: {how}", x[item], y[item], z[item]));
            }
        }
    }
    println!(
        "{exact} functions to the bit and {bounded} within bounds, on {} inputs each, {} different results, {} differ, \
         {:.1} s, {}",
        x.len(),
        distinct.len(),
        differing.len(),
        start.elapsed().as_secs_f64(),
        context.device_info().name
    );
    assert!(
        differing.is_empty(),
        "differ by function: {counts:?}\n{:#?}",
        &differing[..differing.len().min(20)]
    );
    assert!(exact > 0 && bounded > 0 && distinct.len() > exact);
    assert_eq!(context.stats().validation_messages, 0);
}
