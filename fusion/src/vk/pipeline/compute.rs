//! SPIR-V words to a compute pipeline, with the driver's cache blob.
//!
//! Modules go to the driver directly: vulkano would parse each again, slower than everything else on the way, and
//! refuses valid ones that are newer than its grammar. What it would check (capabilities against features, limits) is
//! checked before: by `Caps::supports`, by spirv-val and here.
//!
//! How the driver's cache comes in is in `driver_cache`.

use std::{
    ffi::{CStr, CString},
    ptr,
    sync::Arc,
    time::Instant,
};

use ash::vk;
use smallvec::SmallVec;
use vulkano::{VulkanObject, device::Device};

use crate::jit::SetBinding;
use crate::vk::{
    BindingKind, DeviceError, DeviceLimits, Gpu,
    driver_cache::{self, DriverCache},
    gpu::unique_id,
    module::Module,
    sets::{SetBindings, SetShape, Writes, make_layout, make_template},
    statistics::Statistic,
    stats::Alive,
};

/// Set, binding and kind of each, sorted.
type Bindings = SmallVec<[(SetBinding, BindingKind); 8]>;

const SPIRV_MAGIC: u32 = 0x0723_0203;

/// What a pipeline is made from.
#[derive(Debug, Clone)]
pub(crate) struct PipelineSource<'a> {
    /// A module that spirv-val accepts, without specialization constants left.
    pub(crate) words: &'a [u32],
    pub(crate) entry: &'a CStr,
    /// In any order, none twice. May be more than the module uses, never fewer.
    pub(crate) bindings: &'a [(SetBinding, BindingKind)],
    /// Bytes of push constants; 0 for none. A multiple of 4.
    pub(crate) push_bytes: u32,
    /// Bytes of arguments behind the push constants, which are read through the last of `bindings`, a uniform buffer; 0 for none.
    pub(crate) push_buffer: u32,
    /// Whether the module does sub-group operations, and its work-groups have no more sub-groups than the device allows: then the sub-group size is pinned to the device's default where
    /// it could vary, so that fused and unfused code see the same one.
    pub(crate) subgroups: bool,
    /// Size of the sub-groups that the module rests on, all of them full: one that the device was found to give.
    pub(crate) lanes: Option<u32>,
    /// Whether the driver is asked about the code that it makes.
    pub(crate) statistics: bool,
    /// The driver's blob of an earlier build of the same words, from a cache. Checked; a wrong one is ignored.
    pub(crate) blob: Option<&'a [u8]>,
}

/// How a pipeline came to be.
#[derive(Debug, Clone, Default)]
pub(crate) struct PipelineOrigin {
    /// Microseconds spent in the driver.
    pub(crate) driver_us: u64,
    /// Whether the driver says that it found the pipeline in the blob; `None` where it does not say.
    pub(crate) from_blob: Option<bool>,
    /// Whether a blob was given, and was taken (its header fits this device and driver).
    pub(crate) blob_taken: bool,
    /// The blob to store, where it is worth storing: there was none, or it was not taken, or it did not hit. `None`
    /// from drivers that keep nothing in it.
    pub(crate) blob: Option<Vec<u8>>,
}

/// A compute pipeline. `Send + Sync`; destroyed when the last handle goes, which the submissions that use it hold too.
#[derive(Debug)]
pub(crate) struct Pipeline {
    id: u64,
    gpu: u64,
    handle: vk::Pipeline,
    layout: vk::PipelineLayout,
    /// By set number.
    sets: SmallVec<[SetLayout; 2]>,
    /// Sorted by set and binding.
    bindings: Bindings,
    push_bytes: u32,
    push_buffer: u32,
    pub(in crate::vk) statistics: Vec<Statistic>,
    device: Arc<Device>,
    _alive: Alive,
}

/// One set of a pipeline's layout.
#[derive(Debug)]
pub(in crate::vk) struct SetLayout {
    pub(in crate::vk) handle: vk::DescriptorSetLayout,
    /// Takes the buffers of its bindings, in order. Null where it has none.
    pub(in crate::vk) template: vk::DescriptorUpdateTemplate,
    /// Its part of the sorted bindings.
    pub(in crate::vk) first: usize,
    pub(in crate::vk) count: usize,
    /// Whether its bindings are pushed into the command buffer rather than written to a set.
    pub(in crate::vk) pushed: bool,
    /// What layout and template are of, where its sets may be written after they were bound.
    pub(in crate::vk) shape: Option<Arc<SetShape>>,
}

impl Pipeline {
    /// A number no other pipeline of this process ever has.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(in crate::vk) fn belongs_to(&self, gpu: u64) -> bool {
        self.gpu == gpu
    }

    pub(in crate::vk) fn handle(&self) -> vk::Pipeline {
        self.handle
    }

    pub(in crate::vk) fn layout(&self) -> vk::PipelineLayout {
        self.layout
    }

    pub(in crate::vk) fn sets(&self) -> &[SetLayout] {
        &self.sets
    }

    /// Whether all its sets may be written after they were bound.
    pub(in crate::vk) fn is_rewritable(&self) -> bool {
        self.sets.iter().all(|set| set.count == 0 || set.shape.is_some())
    }

    pub(in crate::vk) fn bindings(&self) -> &[(SetBinding, BindingKind)] {
        &self.bindings
    }

    /// The bindings that a dispatch gives memory to.
    pub(in crate::vk) fn given(&self) -> &[(SetBinding, BindingKind)] {
        &self.bindings[..self.bindings.len() - usize::from(self.push_buffer > 0)]
    }

    pub(in crate::vk) fn push_bytes(&self) -> u32 {
        self.push_bytes
    }

    /// How many bytes behind the push constants are read through the last binding.
    pub(in crate::vk) fn push_buffer(&self) -> Option<u32> {
        (self.push_buffer > 0).then_some(self.push_buffer)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let fns = &self.device.fns().v1_0;
        let device = self.device.handle();
        // SAFETY: submissions that use the pipeline hold an `Arc` of it until they are complete, so none is pending.
        unsafe { (fns.destroy_pipeline)(device, self.handle, ptr::null()) };
        // SAFETY: the same; the layout is this pipeline's own.
        unsafe { (fns.destroy_pipeline_layout)(device, self.layout, ptr::null()) };
        for set in self.sets.iter().filter(|set| set.shape.is_none()) {
            // SAFETY: the same; a null handle is allowed.
            unsafe {
                (self.device.fns().v1_1.destroy_descriptor_update_template)(
                    device,
                    set.template,
                    ptr::null(),
                );
            }
            // SAFETY: the same; descriptor sets made from it went with the submission's pool.
            unsafe { (fns.destroy_descriptor_set_layout)(device, set.handle, ptr::null()) };
        }
    }
}

impl Gpu {
    /// Has the driver compile a pipeline. May take long; takes no lock that submissions need.
    pub(crate) fn pipeline(
        &self,
        source: &PipelineSource<'_>,
    ) -> Result<(Arc<Pipeline>, PipelineOrigin), DeviceError> {
        if self.is_lost() {
            return Err(DeviceError::Lost);
        }
        let bindings = self.check_source(source)?;
        // From here on every handle sits in `made`, whose `Drop` destroys what there is if a later step fails.
        let mut made = Pipeline {
            id: unique_id(),
            gpu: self.0.id,
            handle: vk::Pipeline::null(),
            layout: vk::PipelineLayout::null(),
            sets: SmallVec::new(),
            bindings,
            push_bytes: source.push_bytes,
            push_buffer: source.push_buffer,
            statistics: Vec::new(),
            device: self.device().clone(),
            _alive: self.0.counters.live_pipelines.one_more(),
        };
        self.make_sets(&mut made)?;
        self.make_layout(&mut made)?;
        self.make_templates(&mut made)?;
        let origin = self.compile(&mut made, source)?;
        self.0.counters.pipeline();
        Ok((Arc::new(made), origin))
    }

    fn check_source(&self, source: &PipelineSource<'_>) -> Result<Bindings, DeviceError> {
        let limits = self.caps().limits();
        match source.words {
            [] => {
                return Err(DeviceError::NotSpirv { reason: "it is empty" });
            }
            [magic, ..] if *magic != SPIRV_MAGIC => {
                return Err(DeviceError::NotSpirv { reason: "its first word is not the magic number" });
            }
            [_, _, _, _, _, _, ..] => {}
            _ => {
                return Err(DeviceError::NotSpirv { reason: "it ends within its header" });
            }
        }
        over(
            "push constants",
            source.push_bytes.into(),
            limits.max_push_bytes.into(),
            "maxPushConstantsSize",
        )?;
        if !source.push_bytes.is_multiple_of(4) {
            let value = source.push_bytes.into();
            return Err(DeviceError::Misaligned { what: "push-constant size", value, align: 4 });
        }
        let mut bindings: Bindings = source.bindings.into();
        bindings.sort_unstable();
        if let Some(pair) = bindings.windows(2).find(|p| p[0].0 == p[1].0) {
            return Err(DeviceError::Binding { at: pair[0].0, problem: "is declared twice" });
        }
        if source.push_buffer > 0 {
            let (at, kind) = bindings.last().map_or_else(Default::default, |last| (last.0, Some(last.1)));
            if kind != Some(BindingKind::Uniform) {
                return Err(DeviceError::Binding { at, problem: "is no buffer of arguments" });
            }
            let (asked, limit) = (u64::from(source.push_buffer), limits.max_uniform_range);
            over("a buffer of arguments", asked, limit, "maxUniformBufferRange")?;
        }
        within(&bindings, limits)?;
        for elements in bindings.chunk_by(|a, b| a.0.whole() == b.0.whole()) {
            // They are the descriptors of one binding, which has one type.
            let expected = (0..).map(|element| (elements[0].0.element(element), elements[0].1));
            if let Some((found, _)) =
                elements.iter().zip(expected).find(|(found, expected)| *found != expected)
            {
                return Err(DeviceError::Binding { at: found.0, problem: "is no element of one array" });
            }
        }
        Ok(bindings)
    }

    fn make_sets(&self, made: &mut Pipeline) -> Result<(), DeviceError> {
        let gpu = &*self.0;
        let rewritable = gpu.rewritable.takes(&made.bindings);
        let sets = made.bindings.last().map_or(0, |b| b.0.set + 1);
        for set in 0..sets {
            let first = made.bindings.partition_point(|b| b.0.set < set);
            let count = made.bindings[first..].partition_point(|b| b.0.set == set);
            let bindings = arrays(&made.bindings[first..first + count]);
            if rewritable && count > 0 {
                let shape = gpu.shapes.of(gpu, bindings)?;
                let (handle, template, shape) = (shape.layout, shape.template, Some(shape));
                made.sets.push(SetLayout { handle, template, first, count, pushed: false, shape });
                continue;
            }
            let pushed = set == 0 && count > 0 && count <= gpu.push_descriptors as usize;
            let sort = if pushed {
                vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR
            } else {
                vk::DescriptorSetLayoutCreateFlags::empty()
            };
            let handle = make_layout(gpu, &bindings, sort)?;
            let template = vk::DescriptorUpdateTemplate::null();
            made.sets.push(SetLayout { handle, template, first, count, pushed, shape: None });
        }
        Ok(())
    }

    fn make_layout(&self, made: &mut Pipeline) -> Result<(), DeviceError> {
        let sets: SmallVec<[vk::DescriptorSetLayout; 4]> = made.sets.iter().map(|set| set.handle).collect();
        let range = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(made.push_bytes)];
        let ranges = if made.push_bytes > 0 { &range[..] } else { &[] };
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(ranges);
        // SAFETY: the device is alive, `info` and what it points to outlive the call, and the counts were checked
        // against the device's limits.
        let result = unsafe {
            (made.device.fns().v1_0.create_pipeline_layout)(
                made.device.handle(),
                &info,
                ptr::null(),
                &mut made.layout,
            )
        };
        self.0.ok("vkCreatePipelineLayout", result)
    }

    fn make_templates(&self, made: &mut Pipeline) -> Result<(), DeviceError> {
        let Pipeline { sets, bindings, layout, .. } = made;
        for set in sets.iter_mut().filter(|set| set.count > 0 && set.shape.is_none()) {
            let bindings = arrays(&bindings[set.first..set.first + set.count]);
            let writes = if set.pushed { Writes::Pushed(*layout) } else { Writes::Sets(set.handle) };
            set.template = make_template(&self.0, &bindings, writes)?;
        }
        Ok(())
    }

    fn compile(
        &self,
        made: &mut Pipeline,
        source: &PipelineSource<'_>,
    ) -> Result<PipelineOrigin, DeviceError> {
        let started = Instant::now();
        let taken = source.blob.filter(|blob| driver_cache::fits(self, blob));
        let module = Module::new(self, source.words)?;
        let cache = DriverCache::new(self, taken.unwrap_or(&[]))?;

        let size = source.lanes.or_else(|| self.pinned_subgroup_size(source));
        let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
            .required_subgroup_size(size.unwrap_or(0));
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module.handle)
            .name(source.entry);
        if size.is_some() {
            stage = stage.push_next(&mut required);
        }
        if source.lanes.is_some() {
            stage = stage.flags(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS);
        }
        let mut whole = vk::PipelineCreationFeedback::default();
        let mut stages = [vk::PipelineCreationFeedback::default()];
        let mut feedback = vk::PipelineCreationFeedbackCreateInfo::default()
            .pipeline_creation_feedback(&mut whole)
            .pipeline_stage_creation_feedbacks(&mut stages);
        let mut info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(made.layout);
        let device = self.device();
        let asks = source.statistics && self.tells_statistics();
        if asks {
            info = info.flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR);
        }
        if device.api_version() >= vulkano::Version::V1_3
            || device.enabled_extensions().ext_pipeline_creation_feedback
        {
            info = info.push_next(&mut feedback);
        }
        // SAFETY: device, cache, module and layout are alive; `info` and its chain outlive the call, and the
        // structures in the chain are those whose extension or version is on. The module is valid by the contract of
        // `PipelineSource`, its bindings and push constants are within the layout's by the same.
        let result = unsafe {
            (device.fns().v1_0.create_compute_pipelines)(
                device.handle(),
                cache.handle,
                1,
                &info,
                ptr::null(),
                &mut made.handle,
            )
        };
        if result != vk::Result::SUCCESS {
            let error = self.0.fail("vkCreateComputePipelines", result);
            return Err(match error {
                DeviceError::Call { result, .. } => DeviceError::Pipeline {
                    entry: CString::from(source.entry).to_string_lossy().into_owned(),
                    reason: result,
                },
                other => other,
            });
        }
        if asks {
            made.statistics = self.statistics(made.handle);
        }
        let valid = whole.flags.contains(vk::PipelineCreationFeedbackFlags::VALID);
        let hit = whole.flags.contains(vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT);
        let from_blob = valid.then_some(hit);
        let blob = if taken.is_some() && from_blob != Some(false) { None } else { cache.data(self) };
        Ok(PipelineOrigin {
            driver_us: started.elapsed().as_micros() as u64,
            from_blob,
            blob_taken: taken.is_some(),
            blob,
        })
    }

    fn pinned_subgroup_size(&self, source: &PipelineSource<'_>) -> Option<u32> {
        let device = self.device();
        let (least, most) = self.caps().info.subgroup_sizes;
        let stages = device.physical_device().properties().required_subgroup_size_stages;
        let can = device.enabled_features().subgroup_size_control
            && stages.is_some_and(|s| s.intersects(vulkano::shader::ShaderStages::COMPUTE));
        (source.subgroups && least < most && can).then_some(self.caps().info.subgroup_size)
    }
}

impl BindingKind {
    pub(in crate::vk) fn to_vk(self) -> vk::DescriptorType {
        match self {
            BindingKind::Storage => vk::DescriptorType::STORAGE_BUFFER,
            BindingKind::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
            BindingKind::StorageImage => vk::DescriptorType::STORAGE_IMAGE,
            BindingKind::SampledImage => vk::DescriptorType::SAMPLED_IMAGE,
            BindingKind::CombinedSampler => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
            BindingKind::Sampler => vk::DescriptorType::SAMPLER,
            BindingKind::UniformTexels => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
            BindingKind::StorageTexels => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
        }
    }
}

/// The bindings of a set, of its sorted elements.
fn arrays(elements: &[(SetBinding, BindingKind)]) -> SetBindings {
    let of_one = elements.chunk_by(|a, b| a.0.whole() == b.0.whole());
    of_one.map(|of_one| (of_one[0].0.binding, of_one[0].1, of_one.len() as u32)).collect()
}

/// Whether this many bindings are within a device's limits; sorted, and each element of an array counts.
pub(in crate::vk) fn within(
    bindings: &[(SetBinding, BindingKind)],
    limits: &DeviceLimits,
) -> Result<(), DeviceError> {
    use BindingKind::{
        CombinedSampler, SampledImage, Sampler, Storage, StorageImage, StorageTexels, Uniform, UniformTexels,
    };
    let kinds: [(&[BindingKind], _, _, _); 5] = [
        (
            &[Storage],
            "storage buffers of one kernel",
            limits.max_storage_bindings,
            "maxPerStageDescriptorStorageBuffers",
        ),
        (
            &[Uniform],
            "uniform buffers of one kernel",
            limits.max_uniform_bindings,
            "maxPerStageDescriptorUniformBuffers",
        ),
        (
            &[StorageImage, StorageTexels],
            "storage images and storage texel buffers of one kernel",
            limits.max_storage_images,
            "maxPerStageDescriptorStorageImages",
        ),
        (
            &[SampledImage, CombinedSampler, UniformTexels],
            "sampled images and uniform texel buffers of one kernel",
            limits.max_sampled_images,
            "maxPerStageDescriptorSampledImages",
        ),
        (
            &[Sampler, CombinedSampler],
            "samplers of one kernel",
            limits.max_samplers,
            "maxPerStageDescriptorSamplers",
        ),
    ];
    for (of, what, limit, name) in kinds {
        let count = bindings.iter().filter(|(_, kind)| of.contains(kind)).count();
        over(what, count as u64, limit.into(), name)?;
    }
    over(
        "bindings of one kernel",
        bindings.len() as u64,
        limits.max_bindings.into(),
        "maxPerStageResources",
    )?;
    let sets = bindings.last().map_or(0, |b| u64::from(b.0.set) + 1);
    over("descriptor sets of one kernel", sets, limits.max_sets.into(), "maxBoundDescriptorSets")
}

fn over(what: &'static str, asked: u64, limit: u64, name: &'static str) -> Result<(), DeviceError> {
    if asked > limit {
        return Err(DeviceError::OverLimit { what, asked, limit, name });
    }
    Ok(())
}
