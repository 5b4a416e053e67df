//! The workloads of `examples` and `benches` on families of AMD's that Mesa's RADV compiles for: figures of fused code next to those of
//! its members, as a table that is committed (`BLESS=1` writes it).
//!
//! Only under `./x amd`, which sets `VKFUSE_REQUIRE_AMD`: it takes Debian's version of the driver, whose figures these are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::root;

/// A family, and of its largest card of that time, by AMD's data sheets, the SIMD units, their clock in GHz, and the memory's GB/s.
struct Family {
    name: &'static str,
    simds: f64,
    clock: f64,
    bandwidth: f64,
}

const FAMILIES: [Family; 4] = [
    Family { name: "polaris10", simds: 144.0, clock: 1.266, bandwidth: 256.0 },
    Family { name: "vega10", simds: 256.0, clock: 1.546, bandwidth: 484.0 },
    Family { name: "navi21", simds: 160.0, clock: 2.25, bandwidth: 512.0 },
    Family { name: "gfx1100", simds: 192.0, clock: 2.5, bandwidth: 960.0 },
];

/// Elements of the workloads of `benches`, and the length of their rows: enough for every schedule that needs many work-groups. Nothing runs, and no
/// buffer has memory.
const SIZES: [&str; 2] = ["16777216", "1024"];

/// Sizes that no work-group divides, so that fused code has the guards that its members have. The compiler takes what stands behind a guard to be
/// done by three quarters of the invocations; code without one looks slower by a third than what it is compared with.
const ODD_SIZES: [&str; 2] = ["16777215", "1000"];

/// The pipeline files of all workloads, those written by hand left out, in order.
fn workloads(folder: &Path, [elements, columns]: [&str; 2]) -> Vec<PathBuf> {
    let script = root().join("benches/workloads.sh");
    let mut shell = Command::new("sh");
    shell.arg(script).arg(elements).arg(folder).env("columns", columns);
    assert!(shell.status().expect("a shell").success());
    let files = |folder: &Path| {
        let found = folder.read_dir().expect("a folder").map(|file| file.expect("a file").path());
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut found: Vec<_> =
            found.filter(|path| name(path).ends_with(".toml") && !name(path).contains(".hand.")).collect();
        found.sort();
        found
    };
    let mut all = files(&root().join("examples/pipelines"));
    all.extend(files(folder));
    all
}

fn plan(file: &Path, family: &str, schedule: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vkfuse"));
    command.env("VKFUSE_SCHEDULE", schedule);
    let output = command.arg("plan").arg(file).args(["--device", family, "--no-cache", "--json"]).output();
    let output = output.expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} on {family}: {:?} {said}", file.display(), output.status);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A schedule under which the compiler's estimate compares fused code with its members: each invocation does one item, by one path, and a loop is as
/// many instructions as it was. The compiler counts both sides of a guarded tail, and eight rounds of a loop whatever a round is.
const ALIKE: &str = "items=1 vectors=off superword=1 unroll-by=1 block-coarsening=1";

/// Microseconds that a dispatch behind a barrier takes at least: an assumption, below what was measured on other vendors' devices.
const DISPATCH: f64 = 1.0;

/// How much of the least occupancy of its members has to be left where several items of an invocation side by side take fewer cycles.
const ENOUGH: f64 = 0.75;

/// What is compared of a list: each dispatch with the submissions that it does.
struct Row {
    text: String,
    /// In what it is worse.
    worse: Vec<String>,
}

fn figure(code: &Value, name: &str) -> f64 {
    code[name].as_f64().unwrap_or(f64::NAN)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// What a dispatch of a plan takes, for what one invocation of its members does.
struct Cycles {
    kernels: Value,
    /// By its members, each by itself.
    alone: f64,
    /// By itself.
    fused: f64,
}

/// Those of each dispatch of a plan.
fn cycles(planned: &Value) -> Vec<Cycles> {
    let (groups, alone) = (list(&planned["list"]["groups"]), list(&planned["code"]["alone"]));
    let codes = list(&planned["code"]["fused"]).into_iter();
    codes
        .map(|code| {
            let kernels = code["kernels"].clone();
            let group = groups.iter().find(|group| group["kernels"] == kernels).expect("its group");
            let items = figure(group, "items_per_invocation") * figure(group, "work_groups");
            let members = alone.iter().filter(|one| list(&kernels).contains(&one["kernels"][0]));
            let alone = members.map(|one| figure(one, "inverse_throughput")).sum();
            Cycles { kernels, alone, fused: figure(&code, "inverse_throughput") / items }
        })
        .collect()
}

/// Microseconds that recomputing saves on a family: bytes that need not pass through memory, and dispatches.
fn saved(planned: &Value, kernels: usize, family: &Family) -> f64 {
    let rewrites = list(&planned["list"]["rewrites"]);
    let bytes: f64 = rewrites.iter().filter_map(|one| one["again"]["saved"].as_f64()).sum();
    bytes / family.bandwidth / 1000.0 + DISPATCH * (kernels - 1) as f64
}

/// Invocations of the largest dispatch of a file.
fn invocations(file: &Path) -> f64 {
    let text = std::fs::read_to_string(file).expect("a file");
    let global = |line: &str| {
        let sizes = line.strip_prefix("global = [")?.split(']').next()?.split(',');
        sizes.map(|size| size.trim().parse::<f64>().ok()).product::<Option<f64>>()
    };
    text.lines().filter_map(global).fold(0.0, f64::max)
}

/// The rows of a list on a family; `odd` is the same list in sizes that no work-group divides.
fn rows(name: &str, family: &Family, (file, odd): (&Path, &Path)) -> Vec<Row> {
    let planned = plan(file, family.name, "");
    let alike = plan(odd, family.name, ALIKE);
    let alike_cycles = cycles(&alike);
    let (groups, alone) = (list(&planned["list"]["groups"]), list(&planned["code"]["alone"]));
    let again = list(&planned["list"]["rewrites"]).iter().any(|one| one["kind"] == "inline");
    let fused = list(&planned["code"]["fused"]);
    let dispatches = fused.iter().zip(cycles(&planned)).enumerate();
    let dispatches = dispatches.filter(|(_, (code, _))| list(&code["kernels"]).len() > 1);
    dispatches
        .map(|(number, (code, as_planned))| {
            let kernels = list(&code["kernels"]);
            let members: Vec<&Value> = alone.iter().filter(|one| kernels.contains(&one["kernels"][0])).collect();
            let group = groups.iter().find(|group| group["kernels"] == code["kernels"]).expect("its group");
            let most = |name: &str| members.iter().map(|one| figure(one, name)).fold(0.0, f64::max);
            let sum = |name: &str| members.iter().map(|one| figure(one, name)).sum::<f64>();
            let least = members.iter().map(|one| figure(one, "subgroups_per_simd")).fold(f64::MAX, f64::min);
            let own = |name: &str| figure(code, name);
            let Cycles { alone: all, fused: cycles, .. } = as_planned;
            let is_it = |one: &&Cycles| one.kernels == code["kernels"];
            let like = alike_cycles.iter().find(is_it).expect("the same dispatch in odd sizes");
            // The estimate is of waves of 64.
            let waves = invocations(odd) / 64.0;
            let slower = (like.fused - like.alone) * waves / family.simds / family.clock / 1000.0;
            let is_paid = again && slower <= saved(&alike, kernels.len(), family);
            let mut worse = Vec::new();
            for (what, is) in [
                ("spills", own("spills") > 0.0 && most("spills") == 0.0),
                ("scratch", own("scratch_bytes") > 0.0 && most("scratch_bytes") == 0.0),
                ("occupancy", own("subgroups_per_simd") < if cycles < all { ENOUGH * least } else { least }),
                ("inverse throughput", like.fused > like.alone && !is_paid),
            ] {
                if is {
                    worse.push(what.to_owned());
                }
            }
            let text = format!(
                "{:<10} {name:<20} {number:>2} {:>3} | {:>4} {:>4} | {:>3} {:>3} | {:>4} {:>4} | {:>3} {:>3} | {:>5} {:>5} | {:>5} {:>5} | {:>5} {:>7.1} | {}{}",
                family.name,
                kernels.len(),
                most("registers"),
                own("registers"),
                most("spills"),
                own("spills"),
                most("scratch_bytes"),
                own("scratch_bytes"),
                least,
                own("subgroups_per_simd"),
                sum("instructions"),
                own("instructions"),
                like.alone,
                like.fused,
                all,
                cycles,
                group["schedule"].as_str().unwrap_or_default(),
                if again { "; recomputes" } else { "" },
            );
            Row { text, worse }
        })
        .collect()
}

#[test]
fn workloads_are_compiled_no_worse_than_their_kernels() {
    if std::env::var_os("VKFUSE_REQUIRE_AMD").is_none() {
        return;
    }
    let [even, odd] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let files = workloads(even.path(), SIZES).into_iter().zip(workloads(odd.path(), ODD_SIZES));
    let files: Vec<(PathBuf, PathBuf)> = files.collect();
    let mut table = String::from(
        "# By Mesa's compiler, Debian's 22.3.6: members (the most registers, spills and scratch of one, the least occupancy, all instructions\n\
         # and cycles) and fused code. `d`: dispatch; `n`: submissions. Cycles are the compiler's inverse throughput for each item: *alike*, which\n\
         # compares, with one item per invocation, loops that are not unrolled and sizes that leave members' guards in both, and as planned, where\n\
         # it counts eight rounds of a loop whatever is in one, both sides of a tail, and three quarters of what a guard is before.\n\
         family     workload              d   n | registers |  spills |   scratch | occup.  | instructions | alike       | as planned    | schedule\n",
    );
    let mut worse = Vec::new();
    for family in &FAMILIES {
        for (file, odd) in &files {
            assert_eq!(file.file_name(), odd.file_name());
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            for row in rows(&name, family, (file, odd)) {
                let _ = writeln!(table, "{}", row.text);
                worse.extend(row.worse.iter().map(|what| format!("{what}: {}", row.text)));
            }
        }
    }
    let committed = root().join("fusion/cli/tests/plan/figures.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&committed, &table).expect("the table is written");
    }
    let known = std::fs::read_to_string(&committed).unwrap_or_default();
    println!("{table}");
    assert!(worse.is_empty(), "{}", worse.join("\n"));
    assert!(known == table, "the figures are others than those in {}", committed.display());
}
