//! `vkfuse plan`: on a device that only compiles, on a family of AMD's, for a device that is elsewhere.

mod workloads;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

fn vkfuse(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vkfuse"));
    command.current_dir(root()).env_remove("VKFUSE_SCHEDULE").args(args).output().expect("the command starts")
}

fn json(args: &[&str]) -> Value {
    let output = vkfuse(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

const SOFTMAX: &str = "examples/pipelines/softmax.toml";

/// Whether Mesa's RADV is installed.
fn has_radv() -> bool {
    let mut files = Path::new("/usr/share/vulkan/icd.d").read_dir().into_iter().flatten().flatten();
    let found = files.any(|file| file.file_name().to_string_lossy().starts_with("radeon_icd"));
    assert!(found || std::env::var_os("VKFUSE_REQUIRE_AMD").is_none(), "RADV is not installed");
    found
}

fn has_device() -> bool {
    let found = vkfuse(&["devices"]).status.success();
    assert!(found || std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device");
    found
}

#[test]
fn a_plan_is_what_would_run() {
    if !has_device() {
        return;
    }
    let planned = json(&["plan", SOFTMAX, "--no-cache", "--json"]);
    let ran = json(&["run", SOFTMAX, "--no-cache", "--json"]);
    assert_eq!(planned["list"]["outcome"], ran["outcome"]);
    for field in ["kernels", "schedule", "key", "barriers"] {
        assert_eq!(planned["list"]["groups"][0][field], ran["groups"][0][field], "{field}");
    }
    assert_eq!(planned["code"]["alone"].as_array().map(Vec::len), Some(4));
    assert_eq!(planned["code"]["fused"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_family_of_amd_says_what_its_code_takes() {
    if !has_radv() {
        return;
    }
    let planned = json(&["plan", SOFTMAX, "--device", "navi21", "--no-cache", "--json"]);
    let name = planned["device"].as_str().unwrap_or_default();
    assert!(name.contains("NAVI21"), "{name}");
    let fused = &planned["code"]["fused"][0];
    for figure in
        ["registers", "spills", "scratch_bytes", "shared_bytes", "subgroups_per_simd", "inverse_throughput"]
    {
        assert!(fused[figure].is_number(), "{figure}: {fused}");
    }
    let images =
        json(&["plan", "examples/pipelines/images.toml", "--device", "navi21", "--no-cache", "--json"]);
    assert!(images["code"]["fused"][0]["instructions"].is_number());
    let said = vkfuse(&["plan", SOFTMAX, "--device", "navi21", "--no-cache"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("inverse throughput"));
}

#[test]
fn the_cache_is_warmed_for_hardware_that_is_not_there() {
    if !has_radv() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a name");
    let warm = ["cache", "warm", SOFTMAX, "--device", "vega10", "--cache-dir", folder, "--json"];
    let (first, second) = (json(&warm), json(&warm));
    assert_eq!((&first["files"][0]["built"], &first["files"][0]["kept"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(second["files"][0]["stored"], 1);
}

#[test]
fn a_device_elsewhere_is_planned_for_by_its_limits() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("limits.json");
    std::fs::write(&file, vkfuse(&["devices", "--json"]).stdout).expect("a file");
    let file = file.to_str().expect("a name");
    for pipeline in [SOFTMAX, "examples/pipelines/chain.toml", "examples/pipelines/layouts.toml"] {
        let here = json(&["plan", pipeline, "--no-cache", "--json"]);
        let there = json(&["plan", pipeline, "--limits", file, "--json"]);
        assert_eq!(there["driver"], Value::Null);
        let groups = here["list"]["groups"].as_array().expect("groups");
        for (here, there) in groups.iter().zip(there["list"]["groups"].as_array().expect("groups")) {
            assert_eq!(here["schedule"], there["schedule"], "{pipeline}");
            assert_eq!(here["kernels"], there["kernels"], "{pipeline}");
        }
    }
}

#[test]
fn a_profile_has_vulkans_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("profile.json");
    let profile = r#"{ "capabilities": { "device": { "properties": {
        "VkPhysicalDeviceProperties": { "deviceName": "Somewhere", "deviceType": 2, "limits": {
            "maxComputeSharedMemorySize": 49152, "maxComputeWorkGroupSize": [1024, 1024, 64],
            "maxComputeWorkGroupInvocations": 1024, "maxPerStageDescriptorStorageBuffers": 64, "maxPerStageResources": 1000 } },
        "VkPhysicalDeviceDriverProperties": { "driverID": "VK_DRIVER_ID_NVIDIA_PROPRIETARY" },
        "VkPhysicalDeviceSubgroupProperties": { "subgroupSize": 32,
            "subgroupSupportedOperations": ["VK_SUBGROUP_FEATURE_BASIC_BIT", "VK_SUBGROUP_FEATURE_SHUFFLE_BIT"] } },
        "features": { "VkPhysicalDeviceVulkan13Features": { "computeFullSubgroups": true } } } } }"#;
    std::fs::write(&file, profile).expect("a file");
    let big = folder.path().join("softmax");
    let script = root().join("benches/workloads.sh");
    let mut script = Command::new("sh")
        .arg(script)
        .arg("16777216")
        .arg(&big)
        .env("columns", "256")
        .spawn()
        .expect("a shell");
    assert!(script.wait().expect("it ends").success());
    let pipeline = big.join("03-softmax.toml");
    let (pipeline, file) = (pipeline.to_str().expect("a name"), file.to_str().expect("a name"));
    let planned = json(&["plan", pipeline, "--limits", file, "--json"]);
    assert_eq!(planned["device"], "Somewhere");
    // What is known of NVIDIA's driver counts: work-groups of one sub-group each.
    let schedule = planned["list"]["groups"][0]["schedule"].as_str().unwrap_or_default().to_owned();
    assert!(schedule.contains("32 lanes"), "{schedule}");
    let apple = json(&["plan", pipeline, "--limits", "apple", "--json"]);
    let schedule = apple["list"]["groups"][0]["schedule"].as_str().unwrap_or_default().to_owned();
    assert!(!schedule.contains("lanes"), "{schedule}");
}

#[test]
fn a_file_that_says_nothing_of_a_device_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("nothing.json");
    std::fs::write(&file, "{}").expect("a file");
    let output = vkfuse(&["plan", SOFTMAX, "--limits", file.to_str().expect("a name")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("says nothing of a device's limits"));
    let output = vkfuse(&["plan", SOFTMAX, "--limits", SOFTMAX]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("it is not JSON, as `vkfuse devices --json` prints it"), "{said}");
}
