//! The workloads of `examples` and `benches` on families of AMD's that Mesa's RADV compiles for: figures of fused code next to those of
//! its members, as a table that is committed (`BLESS=1` writes it).
//!
//! Only under `./x amd`, which sets `VKFUSE_REQUIRE_AMD`: it takes Debian's version of the driver, whose figures these are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::root;

const FAMILIES: [&str; 4] = ["polaris10", "vega10", "navi21", "gfx1100"];

/// Elements of the workloads of `benches`: enough for every schedule that needs many work-groups. Nothing runs, and no buffer has memory.
const ELEMENTS: &str = "16777216";

/// The pipeline files of all workloads, those written by hand left out, in order.
fn workloads(folder: &Path) -> Vec<PathBuf> {
    let script = root().join("benches/workloads.sh");
    let status = Command::new("sh").arg(script).arg(ELEMENTS).arg(folder).status().expect("a shell");
    assert!(status.success());
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

/// How much more than all its members code may take by that estimate, for numbers of items that are computed and floats that are hidden from
/// the compiler, where none of it is computed anew: the planner goes by memory, which the estimate knows little about.
const ADDED: f64 = 1.25;

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

/// The cycles of each dispatch of a plan for what one invocation of its members does, with the submissions that it runs.
fn cycles(planned: &Value) -> Vec<(Value, f64)> {
    let groups = list(&planned["list"]["groups"]);
    let codes = list(&planned["code"]["fused"]).into_iter();
    codes
        .map(|code| {
            let group = groups.iter().find(|group| group["kernels"] == code["kernels"]).expect("its group");
            let items = figure(group, "items_per_invocation") * figure(group, "work_groups");
            (code["kernels"].clone(), figure(&code, "inverse_throughput") / items)
        })
        .collect()
}

fn rows(name: &str, family: &str, file: &Path) -> Vec<Row> {
    let planned = plan(file, family, "");
    let plain = cycles(&plan(file, family, ALIKE));
    let (groups, alone) = (list(&planned["list"]["groups"]), list(&planned["code"]["alone"]));
    let again = list(&planned["list"]["rewrites"]).iter().any(|one| one["kind"] == "inline");
    let fused = list(&planned["code"]["fused"]);
    let dispatches = fused.iter().zip(cycles(&planned)).enumerate();
    let dispatches = dispatches.filter(|(_, (code, _))| list(&code["kernels"]).len() > 1);
    dispatches
        .map(|(number, (code, (_, cycles)))| {
            let kernels = list(&code["kernels"]);
            let members: Vec<&Value> = alone.iter().filter(|one| kernels.contains(&one["kernels"][0])).collect();
            let group = groups.iter().find(|group| group["kernels"] == code["kernels"]).expect("its group");
            let most = |name: &str| members.iter().map(|one| figure(one, name)).fold(0.0, f64::max);
            let sum = |name: &str| members.iter().map(|one| figure(one, name)).sum::<f64>();
            let least = members.iter().map(|one| figure(one, "subgroups_per_simd")).fold(f64::MAX, f64::min);
            let own = |name: &str| figure(code, name);
            let plain = plain.iter().find(|(of, _)| *of == code["kernels"]).map_or(f64::NAN, |(_, cycles)| *cycles);
            let all = sum("inverse_throughput");
            let mut worse = Vec::new();
            for (what, is) in [
                ("spills", own("spills") > 0.0 && most("spills") == 0.0),
                ("scratch", own("scratch_bytes") > 0.0 && most("scratch_bytes") == 0.0),
                ("occupancy", own("subgroups_per_simd") < if cycles < all { ENOUGH * least } else { least }),
                ("inverse throughput", cycles > all && (plain.is_nan() || plain > ADDED * all) && !again),
            ] {
                if is {
                    worse.push(what.to_owned());
                }
            }
            let text = format!(
                "{family:<10} {name:<20} {number:>2} {:>3} | {:>4} {:>4} | {:>3} {:>3} | {:>4} {:>4} | {:>3} {:>3} | {:>5} {:>5} | {:>5} {:>7.1} {:>7.1} | {}{}",
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
                all,
                cycles,
                plain,
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
    let folder = tempfile::tempdir().expect("a folder");
    let workloads = workloads(folder.path());
    let mut table = String::from(
        "# By Mesa's compiler, Debian's 22.3.6: members (the most registers, spills and scratch of one, the least occupancy, all instructions\n\
         # and cycles), fused code, and the cycles of fused code without coarsening and unrolling. `d`: dispatch; `n`: submissions.\n\
         family     workload              d   n | registers |  spills |   scratch | occup.  | instructions | inverse throughput      | schedule\n",
    );
    let mut worse = Vec::new();
    for family in FAMILIES {
        for file in &workloads {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            for row in rows(&name, family, file) {
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
