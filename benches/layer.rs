//! What the layers cost a program: recording 1,000 dispatches into a command buffer and submitting it, without one, with the one that
//! captures, and with the one that fuses where there is nothing to fuse: while it looks, and once it looks away.
//!
//! `cargo bench --bench layer`. Each is a process of its own, for the loader loads layers once. They are run in turns, and the
//! medians of their least rounds are printed. Then the same without the loader on a device that does nothing.
#![allow(unsafe_code)] // Plain use of Vulkan on one device.

mod nothing;

use ash::vk;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const DISPATCHES: usize = 1000;
/// Rounds in all; those at first, in which the layer looks; those at the end.
const ROUNDS: usize = 120;
const FIRST: usize = 4;
const LAST: usize = 40;
const TURNS: usize = 5;

/// Set in a process that measures: `nothing`, or `loader`.
const MEASURES: &str = "VKFUSE_BENCH_MEASURES";

/// Microseconds to record, and from `vkQueueSubmit` to the end of the wait for it; the least of the first rounds, and of the last.
type Times = [f64; 4];

fn main() {
    if let Ok(how) = std::env::var(MEASURES) {
        let layer = std::env::var("VK_INSTANCE_LAYERS").ok();
        let (device, kind) = match how.as_str() {
            "nothing" => (nothing::device(layer.and_then(|layer| entry(&layer))), 0),
            _ => through_the_loader(),
        };
        println!("{}", measure(&device, kind).map(|time| time.to_string()).join(" "));
        return;
    }
    let own = std::env::current_exe().expect("this program");
    let library = own.parent().unwrap_or(Path::new("")).join("libvkfuse_layer.so");
    let folder = std::env::temp_dir().join(format!("vkfuse-bench-layer-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [("capture", vkfuse_layer::MANIFEST), ("fuse", vkfuse_layer::FUSE_MANIFEST)] {
        let text = text.replace("./libvkfuse_layer.so", &library.display().to_string());
        std::fs::write(folder.join(format!("{name}.json")), text).expect("it is written");
    }
    for how in ["loader", "nothing"] {
        print(how, &measured(&own, &folder, how));
    }
    let _ = std::fs::remove_dir_all(folder);
}

const LAYERS: [Option<&str>; 3] = [None, Some(vkfuse_layer::NAME), Some(vkfuse_layer::FUSE_NAME)];

fn entry(layer: &str) -> Option<nothing::Negotiate> {
    match layer {
        vkfuse_layer::NAME => Some(vkfuse_layer::vkNegotiateLoaderLayerInterfaceVersion),
        vkfuse_layer::FUSE_NAME => Some(vkfuse_layer::vkfuseNegotiateFuse),
        _ => None,
    }
}

/// Runs this program under each layer by turns.
fn measured(own: &Path, folder: &Path, how: &str) -> [Vec<Times>; 3] {
    let mut found = [Vec::new(), Vec::new(), Vec::new()];
    for turn in 0..LAYERS.len() * TURNS {
        let which = turn % LAYERS.len();
        let mut command = Command::new(own);
        command.env(MEASURES, how).env_remove("VK_INSTANCE_LAYERS");
        if let Some(layer) = LAYERS[which] {
            command.env("VK_ADD_LAYER_PATH", folder).env("VK_INSTANCE_LAYERS", layer);
            command.env(vkfuse_layer::FOLDER, folder.join("capture"));
        }
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let times: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let times = Times::try_from(times);
        found[which]
            .push(times.unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr))));
    }
    found
}

fn print(how: &str, found: &[Vec<Times>; 3]) {
    let of = |side: usize, which: usize| median(found[side].iter().map(|times| times[which]).collect());
    println!(
        "{how:<10} {DISPATCHES} dispatches, µs  without          capture            fuse, first             fuse"
    );
    for (which, what) in ["recording", "submission"].iter().enumerate() {
        let without = of(0, which + 2);
        let more = |with: f64| format!("{with:>8.1} {:+8.1} %", 100.0 * (with / without - 1.0));
        let fuse = [of(2, which), of(2, which + 2)].map(more);
        println!("{what:<25} {without:>8.1} {} {} {}", more(of(1, which + 2)), fuse[0], fuse[1]);
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A device of the loader's first driver, and a kind of memory that the host sees.
fn through_the_loader() -> (ash::Device, u32) {
    // SAFETY: plain use of Vulkan; the process ends behind it.
    unsafe {
        let entry = ash::Entry::load().expect("the loader");
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let instance = entry
            .create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None)
            .expect("an instance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let device = instance.create_device(physical, &info, None).expect("a device");
        let kinds = instance.get_physical_device_memory_properties(physical).memory_types;
        let visible = { kinds.iter() }
            .position(|kind| kind.property_flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE))
            .expect("memory that the host sees");
        // The functions of a library that is gone would not be there.
        std::mem::forget(entry);
        (device, visible as u32)
    }
}

fn measure(device: &ash::Device, kind: u32) -> Times {
    let bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../shaders/chain/mul.spv")).expect("a kernel");
    let word = |word: &[u8]| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
    let code: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
    // SAFETY: plain use of Vulkan; the process ends behind it.
    unsafe {
        let info = vk::BufferCreateInfo::default().size(1024).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
        let buffer = device.create_buffer(&info, None).unwrap();
        let needs = device.get_buffer_memory_requirements(buffer);
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size);
        let memory = device.allocate_memory(&info.memory_type_index(kind), None).unwrap();
        device.bind_buffer_memory(buffer, memory, 0).unwrap();
        let bindings = [0, 1, 2].map(|binding| {
            let one = vk::DescriptorSetLayoutBinding::default().binding(binding).descriptor_count(1);
            one.descriptor_type(vk::DescriptorType::STORAGE_BUFFER).stage_flags(vk::ShaderStageFlags::COMPUTE)
        });
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let sets = [device.create_descriptor_set_layout(&info, None).unwrap()];
        let ranges =
            [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 4 }];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&ranges);
        let layout = device.create_pipeline_layout(&info, None).unwrap();
        let module =
            device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&code), None).unwrap();
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
        let info =
            vk::ComputePipelineCreateInfo::default().stage(stage.module(module).name(c"main")).layout(layout);
        let pipeline = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).unwrap()[0];
        let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: 3 }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        let pool = device.create_descriptor_pool(&info, None).unwrap();
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&sets);
        let set = device.allocate_descriptor_sets(&info).unwrap();
        // The result lies over a part of the arguments, so that nothing is fused.
        let buffers =
            [0, 0, 256].map(|offset| vk::DescriptorBufferInfo { buffer, offset, range: vk::WHOLE_SIZE });
        let write = vk::WriteDescriptorSet::default().dst_set(set[0]).buffer_info(&buffers);
        device.update_descriptor_sets(&[write.descriptor_type(vk::DescriptorType::STORAGE_BUFFER)], &[]);
        let queue = device.get_device_queue(0, 0);
        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None).unwrap();
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let commands = device.allocate_command_buffers(&info).unwrap();
        let (mut records, mut submits) = (Vec::new(), Vec::new());
        let access = vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE;
        let barrier = [vk::MemoryBarrier::default().src_access_mask(access).dst_access_mask(access)];
        let compute = vk::PipelineStageFlags::COMPUTE_SHADER;
        for _ in 0..ROUNDS {
            device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).unwrap();
            let start = Instant::now();
            device.begin_command_buffer(commands[0], &vk::CommandBufferBeginInfo::default()).unwrap();
            for n in 0..DISPATCHES as u32 {
                let point = vk::PipelineBindPoint::COMPUTE;
                device.cmd_bind_pipeline(commands[0], point, pipeline);
                device.cmd_bind_descriptor_sets(commands[0], point, layout, 0, &set, &[]);
                let stages = vk::ShaderStageFlags::COMPUTE;
                device.cmd_push_constants(commands[0], layout, stages, 0, &(n % 64).to_ne_bytes());
                device.cmd_dispatch(commands[0], 1, 1, 1);
                let none = vk::DependencyFlags::empty();
                device.cmd_pipeline_barrier(commands[0], compute, compute, none, &barrier, &[], &[]);
            }
            device.end_command_buffer(commands[0]).unwrap();
            records.push(start.elapsed().as_secs_f64() * 1e6);
            let start = Instant::now();
            device
                .queue_submit(
                    queue,
                    &[vk::SubmitInfo::default().command_buffers(&commands)],
                    vk::Fence::null(),
                )
                .unwrap();
            device.queue_wait_idle(queue).unwrap();
            submits.push(start.elapsed().as_secs_f64() * 1e6);
        }
        let [first, last] = [0..FIRST, ROUNDS - LAST..ROUNDS];
        [(&records, &first), (&submits, &first), (&records, &last), (&submits, &last)]
            .map(|(times, rounds)| times[rounds.clone()].iter().copied().fold(f64::INFINITY, f64::min))
    }
}
