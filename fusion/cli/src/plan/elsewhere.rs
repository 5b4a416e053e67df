//! A device that is elsewhere, by a file about it.
//!
//! Three kinds of file are read by one table of names: what `vkfuse devices --json` prints, and reports and profiles of vulkan.gpuinfo.org,
//! which have Vulkan's names wherever they keep them.

use crate::args::PlanArgs;
use crate::pipeline::Pipeline;
use crate::pipeline::check::Checked;
use crate::pipeline::list::submissions;
use crate::session;
use crate::stop::Stop;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use vkfuse::device::DeviceProfile;
use vkfuse::{BufferId, PlannedList, Tuning, ash};

/// Plans the list for the device, and writes its code where that is asked for. Also says which device it is.
pub(super) fn plan(
    args: &PlanArgs,
    limits: &Path,
    pipeline: &Pipeline,
    checked: &Checked,
) -> Result<(String, PlannedList), Stop> {
    let (device, mut profile) = read(limits, args.device.device.as_deref())?;
    profile.robust = args.device.robust || pipeline.fusion.robust;
    let names = pipeline.buffers.iter().enumerate();
    let names = names.map(|(index, buffer)| (BufferId(index as u64), Arc::from(buffer.name.as_str())));
    let options = session::fuse_options(pipeline, args.device.policy);
    let tuning = Tuning::new();
    let list = submissions(pipeline, &checked.submits);
    let planned = PlannedList::elsewhere(&list, &options, &profile.planning(&tuning), names.collect());
    let (planned, code) = planned.map_err(|error| Stop::running(&error))?;
    if let Some(folder) = &args.dump_spirv {
        for (step, words) in planned.report.steps.iter().zip(&code) {
            let name = blake3::Hash::from_bytes(step.key).to_hex()[..16].to_owned();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            std::fs::create_dir_all(folder)?;
            std::fs::write(folder.join(format!("{name}.spv")), bytes)?;
        }
    }
    Ok((device, planned))
}

/// The name and the profile of a device: `apple`, or what a file says of the device that is meant, if it is about several.
fn read(path: &Path, device: Option<&str>) -> Result<(String, DeviceProfile), Stop> {
    if path.as_os_str() == "apple" {
        return Ok(("Apple silicon, through MoltenVK".to_owned(), DeviceProfile::apple()));
    }
    let wrong = |what: String| Stop::wrong(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| {
        wrong(format!("{error}; expected a file that `vkfuse devices --json` wrote, a profile of vulkan.gpuinfo.org, or `apple`"))
    })?;
    let file: Value = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("it is not JSON, as `vkfuse devices --json` prints it: {error}")))?;
    let about = match file.get("devices").and_then(Value::as_array) {
        None => &file,
        Some(all) => {
            let is_meant = |(index, one): (usize, &Value)| match device {
                None => true,
                Some(wanted) => {
                    wanted.parse() == Ok(index)
                        || one["name"]
                            .as_str()
                            .is_some_and(|name| name.to_lowercase().contains(&wanted.to_lowercase()))
                }
            };
            let found = all.iter().enumerate().find(|one| is_meant(*one)).map(|(_, one)| one);
            found.ok_or_else(|| wrong(format!("it has no device {}", device.unwrap_or_default())))?
        }
    };
    profile(about).map_err(wrong)
}

/// Reads what is there of a device; what is not is the least that Vulkan has.
fn profile(about: &Value) -> Result<(String, DeviceProfile), String> {
    let mut profile = DeviceProfile::default();
    let DeviceProfile { limits, subgroup_size, least_subgroup, max_subgroups, .. } = &mut profile;
    let mut found = 0;
    let numbers: [(&mut u32, &[&str]); 10] = [
        (&mut limits.max_push_bytes, &["push_constant_bytes", "maxPushConstantsSize"]),
        (&mut limits.max_shared_bytes, &["shared_memory_bytes", "maxComputeSharedMemorySize"]),
        (
            &mut limits.max_work_group_invocations,
            &["work_group_invocations", "maxComputeWorkGroupInvocations"],
        ),
        (
            &mut limits.max_storage_bindings,
            &["storage_buffer_bindings", "maxPerStageDescriptorStorageBuffers"],
        ),
        (
            &mut limits.max_uniform_bindings,
            &["uniform_buffer_bindings", "maxPerStageDescriptorUniformBuffers"],
        ),
        (&mut limits.max_images, &["image_bindings", "maxPerStageDescriptorStorageImages"]),
        (&mut limits.max_bindings, &["bindings", "maxPerStageResources"]),
        (subgroup_size, &["subgroup_size", "subgroupSize"]),
        (least_subgroup, &["least_subgroup_size", "minSubgroupSize"]),
        (max_subgroups, &["max_subgroups", "maxComputeWorkgroupSubgroups"]),
    ];
    for (field, names) in numbers {
        if let Some(number) = find(about, names).and_then(number) {
            (*field, found) = (u32::try_from(number).unwrap_or(u32::MAX), found + 1);
        }
    }
    let triples: [(&mut [u32; 3], &[&str]); 2] = [
        (&mut profile.limits.max_work_group_size, &["work_group_size", "maxComputeWorkGroupSize"]),
        (&mut profile.limits.max_groups, &["work_group_count", "maxComputeWorkGroupCount"]),
    ];
    for (field, names) in triples {
        let given = find(about, names).and_then(Value::as_array).filter(|given| given.len() == 3);
        for (axis, number) in field.iter_mut().zip(given.into_iter().flatten().map(number)) {
            *axis = number.and_then(|number| number.try_into().ok()).unwrap_or(*axis);
        }
    }
    let [int8, int16, float16] = &mut profile.small_scalars;
    let switches: [(&mut bool, &[&str]); 5] = [
        (int8, &["int8", "shaderInt8"]),
        (int16, &["int16", "shaderInt16"]),
        (float16, &["float16", "shaderFloat16"]),
        (&mut profile.full_subgroups, &["full_subgroups", "computeFullSubgroups"]),
        (&mut profile.uniform_subgroups, &["uniform_subgroups", "shaderSubgroupUniformControlFlow"]),
    ];
    for (field, names) in switches {
        *field = find(about, names).is_some_and(is_on);
    }
    let operations = find(about, &["subgroup_operations", "subgroupSupportedOperations"]);
    profile.subgroup_basic = operations.is_some_and(|all| has_bit(all, 1, "BASIC"));
    profile.subgroup_shuffle = operations.is_some_and(|all| has_bit(all, 16, "SHUFFLE"));
    profile.is_cpu = match find(about, &["kind", "deviceType"]) {
        Some(Value::String(text)) => text.to_lowercase().ends_with("cpu"),
        Some(kind) => number(kind) == Some(4),
        None => false,
    };
    profile.driver_id = find(about, &["driver_id", "driverID"]).and_then(driver_id).unwrap_or(0);
    let text = |names: &[&str]| find(about, names).and_then(Value::as_str).map(str::to_owned);
    profile.driver_info = text(&["driver_info", "driverInfo"]).unwrap_or_default();
    if found == 0 {
        return Err("it says nothing of a device's limits".to_owned());
    }
    Ok((text(&["name", "deviceName"]).unwrap_or_else(|| "a device".to_owned()), profile))
}

/// The first value of one of these names, wherever it is.
fn find<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            let own = names.iter().find_map(|name| fields.get(*name)).filter(|own| !own.is_object());
            own.or_else(|| fields.values().find_map(|inner| find(inner, names)))
        }
        // Lists of names with values, as reports have them.
        Value::Array(all) => {
            let named = |one: &&Value| one["name"].as_str().is_some_and(|name| names.contains(&name));
            let own =
                all.iter().find(named).and_then(|one| one.get("value").or_else(|| one.get("supported")));
            own.or_else(|| all.iter().find_map(|inner| find(inner, names)))
        }
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        other => other.as_u64(),
    }
}

fn is_on(value: &Value) -> bool {
    match value {
        Value::Bool(on) => *on,
        Value::String(text) => text == "true",
        other => other.as_u64() == Some(1),
    }
}

/// Whether a flag is among those given as a number, or by their names.
fn has_bit(flags: &Value, bit: u64, name: &str) -> bool {
    match flags {
        Value::Array(names) => {
            let is = |one: &Value| {
                one.as_str().is_some_and(|one| one.trim_end_matches("_BIT").ends_with(&format!("_{name}")))
            };
            names.iter().any(is)
        }
        other => number(other).is_some_and(|flags| flags & bit != 0),
    }
}

/// A driver by its number, or by its name in Vulkan.
fn driver_id(value: &Value) -> Option<u32> {
    let Some(text) = value.as_str().filter(|text| text.parse::<u32>().is_err()) else {
        return number(value).and_then(|id| id.try_into().ok());
    };
    let name = text.trim_start_matches("VK_DRIVER_ID_").trim_end_matches("_KHR");
    (1..64).find(|id| format!("{:?}", ash::vk::DriverId::from_raw(*id)) == name).map(|id| id as u32)
}
