//! What the driver says of the code that it made of a pipeline: registers, spills, shared memory, under the driver's own names.

use std::{ffi::c_char, ptr};

use ash::vk;
use vulkano::VulkanObject;

use crate::vk::{Gpu, pipeline::compute::Pipeline};

/// One number that the driver gives of a pipeline's code: its name for it, such as `Register Count`, and the number.
pub(crate) type Statistic = (String, f64);

impl Gpu {
    /// Whether pipelines can be asked.
    pub(in crate::vk) fn tells_statistics(&self) -> bool {
        let device = self.device();
        device.enabled_features().pipeline_executable_info
            && device.enabled_extensions().khr_pipeline_executable_properties
    }

    /// What the driver says of a pipeline that was made with `CAPTURE_STATISTICS`, of all its executables; nothing where it
    /// does not answer.
    pub(in crate::vk) fn statistics(&self, pipeline: vk::Pipeline) -> Vec<Statistic> {
        let device = self.device();
        let fns = &device.fns().khr_pipeline_executable_properties;
        let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        let mut count = 0;
        // SAFETY: the extension and its feature are on (`tells_statistics`); device and pipeline are alive; null asks for the number.
        let result = unsafe {
            (fns.get_pipeline_executable_properties_khr)(device.handle(), &info, &mut count, ptr::null_mut())
        };
        if result != vk::Result::SUCCESS {
            return Vec::new();
        }
        (0..count).flat_map(|index| self.of_executable(pipeline, index)).collect()
    }

    fn of_executable(&self, pipeline: vk::Pipeline, index: u32) -> Vec<Statistic> {
        let device = self.device();
        let get = device.fns().khr_pipeline_executable_properties.get_pipeline_executable_statistics_khr;
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(index);
        let mut count = 0;
        // SAFETY: as above; the pipeline was made with `CAPTURE_STATISTICS`, and has an executable of this number.
        let result = unsafe { get(device.handle(), &info, &mut count, ptr::null_mut()) };
        if result != vk::Result::SUCCESS {
            return Vec::new();
        }
        let mut found = vec![vk::PipelineExecutableStatisticKHR::default(); count as usize];
        // SAFETY: the same; there is room for `count` of them.
        let result = unsafe { get(device.handle(), &info, &mut count, found.as_mut_ptr()) };
        if result != vk::Result::SUCCESS {
            return Vec::new();
        }
        found.truncate(count as usize);
        found.iter().filter_map(|one| Some((text(&one.name), value(one)?))).collect()
    }
}

fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn value(one: &vk::PipelineExecutableStatisticKHR<'_>) -> Option<f64> {
    use vk::PipelineExecutableStatisticFormatKHR as Format;
    match one.format {
        // SAFETY: the format says which member of the union the driver has written.
        Format::BOOL32 => Some(f64::from(unsafe { one.value.b32 })),
        // SAFETY: the same.
        Format::INT64 => Some(unsafe { one.value.i64 } as f64),
        // SAFETY: the same.
        Format::UINT64 => Some(unsafe { one.value.u64 } as f64),
        // SAFETY: the same.
        Format::FLOAT64 => Some(unsafe { one.value.f64 }),
        _ => None,
    }
}

impl Pipeline {
    /// What the driver says of its code, if it was asked when the pipeline was made.
    pub(crate) fn statistics(&self) -> &[Statistic] {
        &self.statistics
    }
}
