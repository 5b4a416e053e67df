//! The cold path in a new process: how long until the fused kernel can be submitted, by what the disk has.
//!
//! Starts itself again and again. `built` has an empty store and builds everything, `from disk` finds what an earlier
//! process left. With the feature `remote`, and a store named by `VKFUSE_CACHE_REMOTE`, `remote` has an empty store of its own
//! and finds everything there; `compared` trusts no one, so it builds all the same and compares. The first run of these puts
//! there what is missing, unless `VKFUSE_CACHE_REMOTE_READ_ONLY` is set.
//!
//! Prints medians in milliseconds: device creation; two kernels (load, validate, normalise, analyse); eight buffers and their
//! contents; from `start_fusion` to submitted, and the parts of that which planning, the JIT, and the driver take; last, from the
//! start of `main` to the first result on the host.

mod workloads;

use std::{path::Path, process::Command, time::Instant};

use vkfuse::{CacheOptions, Context, ContextOptions, QueueOptions};
use workloads::Chain;

const RUNS: usize = 15;

const PARTS: [&str; 8] = ["device", "kernels", "buffers", "list", "plan", "jit", "driver", "result"];

/// Where the remote store is, and whose signatures are believed.
const REMOTE: [&str; 2] = ["VKFUSE_CACHE_REMOTE", "VKFUSE_CACHE_TRUST"];

/// What the processes of a row find.
struct Row {
    name: &'static str,
    /// Their own store stays from one to the next.
    keeps: bool,
    /// Variables that they do not get.
    without: &'static [&'static str],
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--child") {
        return child(Path::new(arguments.get(at + 1).expect("a folder")));
    }
    let folder = std::env::temp_dir().join(format!("vkfuse-cold-path-{}", std::process::id()));
    println!("{:>10} {}", "", PARTS.map(|part| format!("{part:>9}")).join(""));
    let mut rows = vec![
        Row { name: "built", keeps: false, without: &REMOTE },
        Row { name: "from disk", keeps: true, without: &REMOTE },
    ];
    if std::env::var_os(REMOTE[0]).is_some() {
        rows.push(Row { name: "remote", keeps: false, without: &[] });
        rows.push(Row { name: "compared", keeps: false, without: &REMOTE[1..] });
    }
    for Row { name, keeps, without } in rows {
        let _ = std::fs::remove_dir_all(&folder);
        let mut runs = Vec::new();
        for run in 0..=RUNS {
            if !keeps {
                let _ = std::fs::remove_dir_all(&folder);
            }
            let times = start(&folder, without);
            // The first fills what is kept.
            if run > 0 {
                runs.push(times);
            }
        }
        let median = |part: usize| {
            let mut times: Vec<f64> = runs.iter().map(|run| run[part]).collect();
            times.sort_by(f64::total_cmp);
            times[RUNS / 2]
        };
        let medians: Vec<String> = (0..PARTS.len()).map(|part| format!("{:>9.2}", median(part))).collect();
        println!("{name:>10} {}", medians.join(""));
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// The times of one new process, in milliseconds.
fn start(folder: &Path, without: &[&str]) -> Vec<f64> {
    let program = std::env::current_exe().expect("a path");
    let mut command = Command::new(program);
    for variable in without {
        command.env_remove(variable);
    }
    let output = command.arg("--child").arg(folder).output().expect("a process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let times: Vec<f64> = text.split_whitespace().map(|time| time.parse().expect("a number")).collect();
    assert_eq!(times.len(), PARTS.len());
    times
}

fn child(folder: &Path) {
    let start = Instant::now();
    let options = ContextOptions::from_env().cache(CacheOptions::new().directory(folder));
    let context = Context::with_options(options).expect("a Vulkan device");
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
    let device = start.elapsed();
    let both = Chain::kernels(&context);
    let kernels = start.elapsed();
    let chain = Chain::of(both, &context, &queue, 1 << 10, true);
    let buffers = start.elapsed();
    let event = chain.submit_fused();
    let list = start.elapsed();
    let report = event.report().expect("the list was completed");
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let driver = report.driver_us + report.steps.iter().map(|step| step.load_us).sum::<f64>();
    event.wait().expect("the run");
    let result = start.elapsed();
    println!(
        "{} {} {} {} {} {} {} {}",
        ms(device),
        ms(kernels - device),
        ms(buffers - kernels),
        ms(list - buffers),
        report.plan_us / 1e3,
        report.jit_us / 1e3,
        driver / 1e3,
        ms(result)
    );
}
