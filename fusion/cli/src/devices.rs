//! `vkfuse devices`: the Vulkan devices of this machine.

use crate::args::DevicesArgs;
use crate::report::json::FORMAT;
use crate::report::{Table, print_json};
use crate::session::driver;
use crate::stop::{Status, Stop};
use serde::Serialize;
use std::io::Write;
use vkfuse::module::validator;
use vkfuse::{Context, DeviceError, DeviceInfo, DeviceKind};

#[derive(Serialize)]
struct Devices {
    format: u32,
    /// The spirv-val that modules are validated by.
    validator: &'static str,
    devices: Vec<Device>,
}

#[derive(Serialize)]
struct Device {
    index: usize,
    name: String,
    kind: &'static str,
    driver: String,
    api_version: String,
    /// Whether lists can run, and be fused, here.
    usable: bool,
    /// Device features that are needed and not there.
    missing: Vec<&'static str>,
    memory_bytes: u64,
    /// `VkDriverId`.
    driver_id: u32,
    driver_info: String,
    limits: Limits,
    features: Features,
}

/// What plans depend on beside limits: with them, what `plan --limits` reads.
#[derive(Serialize)]
struct Features {
    int8: bool,
    int16: bool,
    float16: bool,
    /// `VkSubgroupFeatureFlagBits` of compute shaders, as far as plans use them.
    subgroup_operations: u32,
    full_subgroups: bool,
    uniform_subgroups: bool,
}

#[derive(Serialize)]
struct Limits {
    push_constant_bytes: u32,
    shared_memory_bytes: u32,
    work_group_size: [u32; 3],
    work_group_invocations: u32,
    work_group_count: [u32; 3],
    storage_buffer_bytes: u64,
    storage_buffer_offset_alignment: u64,
    /// Storage buffers that one dispatch binds; what stays inside of it needs no binding.
    storage_buffer_bindings: u32,
    uniform_buffer_bindings: u32,
    image_bindings: u32,
    /// Bindings of any kind.
    bindings: u32,
    subgroup_size: u32,
    least_subgroup_size: u32,
    /// Most sub-groups of a work-group whose pipeline asks for their size.
    max_subgroups: u32,
}

/// Prints the devices.
pub(crate) fn devices(args: &DevicesArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    let found = match Context::devices() {
        Ok(found) => found,
        Err(error) => {
            if args.json {
                print(&[], args.json, out)?;
            }
            return Err(Stop::opening(&error));
        }
    };
    print(&found, args.json, out)?;
    if found.is_empty() {
        return Err(Stop::opening(&DeviceError::NoDevice.into()));
    }
    Ok(Status::Success)
}

fn print(found: &[DeviceInfo], json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if json {
        let devices =
            Devices { format: FORMAT, validator: validator(), devices: found.iter().map(describe).collect() };
        return print_json(out, &devices);
    }
    let mut table = Table::new(&["device", "name", "kind", "driver", "Vulkan", "usable"]);
    for device in found.iter().map(describe) {
        let usable =
            if device.usable { "yes".to_owned() } else { format!("no: lacks {}", device.missing.join(", ")) };
        table.row([
            device.index.to_string(),
            device.name,
            device.kind.to_owned(),
            device.driver,
            device.api_version,
            usable,
        ]);
    }
    table.print(out)?;
    writeln!(out, "validator: {}", validator())
}

fn describe(device: &DeviceInfo) -> Device {
    let (major, minor, patch) = device.api_version;
    let (limits, profile) = (&device.limits, &device.profile);
    let [int8, int16, float16] = profile.small_scalars;
    Device {
        index: device.index,
        name: device.name.clone(),
        kind: match device.kind {
            DeviceKind::Discrete => "discrete",
            DeviceKind::Integrated => "integrated",
            DeviceKind::Virtual => "virtual",
            DeviceKind::Cpu => "cpu",
            _ => "other",
        },
        driver: driver(device),
        api_version: format!("{major}.{minor}.{patch}"),
        usable: device.missing.is_empty(),
        missing: device.missing.clone(),
        memory_bytes: device.device_memory,
        driver_id: profile.driver_id,
        driver_info: profile.driver_info.clone(),
        limits: Limits {
            push_constant_bytes: limits.max_push_bytes,
            shared_memory_bytes: limits.max_shared_bytes,
            work_group_size: limits.max_work_group_size,
            work_group_invocations: limits.max_work_group_invocations,
            work_group_count: limits.max_groups,
            storage_buffer_bytes: limits.max_storage_range,
            storage_buffer_offset_alignment: limits.storage_offset_align,
            storage_buffer_bindings: limits.max_storage_bindings.min(limits.max_bindings),
            uniform_buffer_bindings: limits.max_uniform_bindings.min(limits.max_bindings),
            image_bindings: limits.max_images,
            bindings: limits.max_bindings,
            subgroup_size: device.subgroup_size,
            least_subgroup_size: profile.least_subgroup,
            max_subgroups: profile.max_subgroups,
        },
        features: Features {
            int8,
            int16,
            float16,
            subgroup_operations: u32::from(profile.subgroup_basic) | u32::from(profile.subgroup_shuffle) << 4,
            full_subgroups: profile.full_subgroups,
            uniform_subgroups: profile.uniform_subgroups,
        },
    }
}
