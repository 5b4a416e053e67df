//! What all programs of a process share: a device, its layouts and its pipelines.

use ash::vk;
use std::sync::Mutex;

pub(crate) struct World {
    _entry: ash::Entry,
    instance: ash::Instance,
    pub(crate) device: ash::Device,
    pub(crate) push: ash::khr::push_descriptor::Device,
    pub(crate) labels: ash::ext::debug_utils::Device,
    pub(crate) queue: Mutex<vk::Queue>,
    pub(crate) kind: u32,
    pub(crate) family: u32,
    set_layouts: Vec<Vec<vk::DescriptorSetLayout>>,
    layouts: Vec<vk::PipelineLayout>,
    pub(crate) template: vk::DescriptorUpdateTemplate,
    /// By kernel, way and constant; the last are those that start from a base.
    pipelines: Vec<(Kernel, Way, usize, vk::Pipeline)>,
}

/// How descriptors are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Sets,
    Dynamic,
    Pushed,
    /// One in a set, and two in another.
    Split,
    /// The second is of a uniform buffer.
    Uniform,
}

pub(crate) const WAYS: [Way; 5] = [Way::Sets, Way::Dynamic, Way::Pushed, Way::Split, Way::Uniform];

/// Kernels of `shaders/layer/words.comp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kernel {
    Map,
    Step,
    Full,
    Even,
    Floats,
    Next,
    Pick,
    Put,
    Sum,
    Rows,
    Both,
    Turn,
    Uniform,
    Split,
}

use Kernel::{Both, Even, Floats, Full, Map, Next, Pick, Put, Rows, Split, Step, Sum, Turn, Uniform};

/// Those with three storage buffers in one set.
pub(crate) const PLAIN: [Kernel; 12] =
    [Map, Step, Full, Even, Floats, Next, Pick, Put, Sum, Rows, Both, Turn];

/// Variants of a pipeline: two constants, and one that may start from a base.
pub(crate) const VARIANTS: usize = 3;
pub(crate) const BASE: usize = 2;

impl Kernel {
    /// Whether each invocation stores only where it loads.
    pub(crate) fn is_elementwise(self) -> bool {
        matches!(self, Map | Step | Full | Even | Floats | Split)
    }

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn ways(self) -> &'static [Way] {
        match self {
            Split => &[Way::Split],
            Uniform => &[Way::Uniform],
            _ => &[Way::Sets, Way::Dynamic, Way::Pushed],
        }
    }
}

impl Way {
    /// The kinds of the three descriptors.
    pub(crate) fn kinds(self) -> [vk::DescriptorType; 3] {
        let storage = vk::DescriptorType::STORAGE_BUFFER;
        match self {
            Way::Dynamic => [vk::DescriptorType::STORAGE_BUFFER_DYNAMIC; 3],
            Way::Uniform => [storage, vk::DescriptorType::UNIFORM_BUFFER, storage],
            _ => [storage; 3],
        }
    }

    /// Set and binding of each.
    pub(crate) fn places(self) -> [(usize, u32); 3] {
        match self {
            Way::Split => [(0, 0), (1, 0), (1, 1)],
            _ => [(0, 0), (0, 1), (0, 2)],
        }
    }
}

fn words(name: &str) -> Vec<u32> {
    let path = format!("{}/../../shaders/layer/words.{name}.spv", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).expect("a kernel");
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

impl World {
    pub(crate) fn new(is_robust: bool) -> World {
        let entry = unsafe { ash::Entry::load().expect("the loader") };
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let extensions = [ash::ext::debug_utils::NAME.as_ptr()];
        let info = vk::InstanceCreateInfo::default().application_info(&app);
        let info = info.enabled_extension_names(&extensions);
        let instance = unsafe { entry.create_instance(&info, None).expect("an instance") };
        let physical = unsafe { instance.enumerate_physical_devices().expect("devices")[0] };
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let family = families.iter().position(|one| one.queue_flags.contains(vk::QueueFlags::COMPUTE));
        let family = family.expect("a queue that computes") as u32;
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
        let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(is_robust);
        let mut newer = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let mut newest = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
        let extensions = [ash::khr::push_descriptor::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_features(&features);
        let info = info.enabled_extension_names(&extensions).push_next(&mut newer).push_next(&mut newest);
        let device = unsafe { instance.create_device(physical, &info, None).expect("a device") };
        let kinds = unsafe { instance.get_physical_device_memory_properties(physical).memory_types };
        let needed = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let kind = kinds.iter().position(|kind| kind.property_flags.contains(needed)).expect("memory") as u32;
        let set_layouts: Vec<Vec<_>> = WAYS.iter().map(|way| set_layouts(&device, *way)).collect();
        let layouts: Vec<_> = set_layouts.iter().map(|sets| layout(&device, sets)).collect();
        let template = template(&device, set_layouts[0][0]);
        let mut world = World {
            push: ash::khr::push_descriptor::Device::new(&instance, &device),
            labels: ash::ext::debug_utils::Device::new(&instance, &device),
            queue: Mutex::new(unsafe { device.get_device_queue(family, 0) }),
            _entry: entry,
            instance,
            device,
            kind,
            family,
            set_layouts,
            layouts,
            template,
            pipelines: Vec::new(),
        };
        for kernel in PLAIN.into_iter().chain([Uniform, Split]) {
            let code = words(&kernel.name());
            let info = vk::ShaderModuleCreateInfo::default().code(&code);
            let module = unsafe { world.device.create_shader_module(&info, None).expect("a module") };
            for (way, variant) in
                kernel.ways().iter().flat_map(|way| (0..VARIANTS).map(|variant| (*way, variant)))
            {
                let made = world.pipeline_of(module, way, variant);
                world.pipelines.push((kernel, way, variant, made));
            }
            unsafe { world.device.destroy_shader_module(module, None) };
        }
        world
    }

    fn pipeline_of(&self, module: vk::ShaderModule, way: Way, variant: usize) -> vk::Pipeline {
        let value = [3u32, 10, 3][variant].to_ne_bytes();
        let entries = [vk::SpecializationMapEntry { constant_id: 0, offset: 0, size: 4 }];
        let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&value);
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
        let stage = stage.module(module).name(c"main").specialization_info(&constants);
        let flags = match variant {
            BASE => vk::PipelineCreateFlags::DISPATCH_BASE,
            _ => vk::PipelineCreateFlags::empty(),
        };
        let info =
            [vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.layout(way)).flags(flags)];
        let none = vk::PipelineCache::null();
        unsafe { self.device.create_compute_pipelines(none, &info, None).expect("a pipeline")[0] }
    }

    pub(crate) fn pipeline(&self, kernel: Kernel, way: Way, variant: usize) -> vk::Pipeline {
        let is_it =
            |one: &&(Kernel, Way, usize, vk::Pipeline)| (one.0, one.1, one.2) == (kernel, way, variant);
        self.pipelines.iter().find(is_it).expect("a pipeline").3
    }

    /// A pipeline of the caller's own.
    pub(crate) fn another(&self, kernel: Kernel, way: Way, variant: usize) -> vk::Pipeline {
        let code = words(&kernel.name());
        let info = vk::ShaderModuleCreateInfo::default().code(&code);
        let module = unsafe { self.device.create_shader_module(&info, None).expect("a module") };
        let made = self.pipeline_of(module, way, variant);
        unsafe { self.device.destroy_shader_module(module, None) };
        made
    }

    pub(crate) fn layout(&self, way: Way) -> vk::PipelineLayout {
        self.layouts[way as usize]
    }

    pub(crate) fn sets(&self, way: Way) -> &[vk::DescriptorSetLayout] {
        &self.set_layouts[way as usize]
    }
}

fn set_layouts(device: &ash::Device, way: Way) -> Vec<vk::DescriptorSetLayout> {
    let flags = match way {
        Way::Pushed => vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR,
        _ => vk::DescriptorSetLayoutCreateFlags::empty(),
    };
    let places = way.places();
    let of_set = |set: usize| {
        let own = places.iter().zip(way.kinds()).filter(|((of, _), _)| *of == set);
        let bindings: Vec<_> = own
            .map(|((_, binding), kind)| {
                let one = vk::DescriptorSetLayoutBinding::default().binding(*binding).descriptor_count(1);
                one.descriptor_type(kind).stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).flags(flags);
        unsafe { device.create_descriptor_set_layout(&info, None).expect("a layout") }
    };
    (0..=places[2].0).map(of_set).collect()
}

fn layout(device: &ash::Device, sets: &[vk::DescriptorSetLayout]) -> vk::PipelineLayout {
    let ranges = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 8 }];
    let info = vk::PipelineLayoutCreateInfo::default().set_layouts(sets).push_constant_ranges(&ranges);
    unsafe { device.create_pipeline_layout(&info, None).expect("a layout") }
}

/// Of three storage buffers one after another.
fn template(device: &ash::Device, layout: vk::DescriptorSetLayout) -> vk::DescriptorUpdateTemplate {
    let entries = [0, 1, 2].map(|binding: u32| vk::DescriptorUpdateTemplateEntry {
        dst_binding: binding,
        dst_array_element: 0,
        descriptor_count: 1,
        descriptor_type: vk::DescriptorType::STORAGE_BUFFER,
        offset: binding as usize * size_of::<vk::DescriptorBufferInfo>(),
        stride: size_of::<vk::DescriptorBufferInfo>(),
    });
    let info = vk::DescriptorUpdateTemplateCreateInfo::default().descriptor_update_entries(&entries);
    let info =
        info.template_type(vk::DescriptorUpdateTemplateType::DESCRIPTOR_SET).descriptor_set_layout(layout);
    unsafe { device.create_descriptor_update_template(&info, None).expect("a template") }
}

impl Drop for World {
    fn drop(&mut self) {
        unsafe {
            self.device.device_wait_idle().expect("it is idle");
            self.device.destroy_descriptor_update_template(self.template, None);
            self.pipelines.iter().for_each(|one| self.device.destroy_pipeline(one.3, None));
            self.layouts.iter().for_each(|one| self.device.destroy_pipeline_layout(*one, None));
            for layout in self.set_layouts.iter().flatten() {
                self.device.destroy_descriptor_set_layout(*layout, None);
            }
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
