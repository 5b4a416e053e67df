//! The driver's own cache of compiled code, as a blob per pipeline.
//!
//! Each pipeline has a driver cache object of its own for as long as it is made. So a blob can be stored beside the
//! SPIR-V it belongs to, and a damaged one spoils nothing but itself.

use std::ptr;

use ash::vk;
use vulkano::{VulkanObject, device::Device};

use crate::vk::{DeviceError, Gpu};

/// Length of the header that every driver's blob starts with: `VkPipelineCacheHeaderVersionOne`.
const BLOB_HEADER: usize = 32;

/// Whether a blob starts with the header this device and driver write. Drivers should check that themselves, and
/// some do not.
pub(in crate::vk) fn fits(gpu: &Gpu, blob: &[u8]) -> bool {
    let properties = gpu.device().physical_device().properties();
    let word = |at: usize| blob.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    blob.len() > BLOB_HEADER
        && word(0) == Some(BLOB_HEADER as u32)
        && word(4) == Some(vk::PipelineCacheHeaderVersion::ONE.as_raw() as u32)
        && word(8) == Some(properties.vendor_id)
        && word(12) == Some(properties.device_id)
        && blob[16..BLOB_HEADER] == properties.pipeline_cache_uuid
}

/// A driver cache, for as long as one pipeline is made.
pub(in crate::vk) struct DriverCache<'a> {
    pub(in crate::vk) handle: vk::PipelineCache,
    device: &'a Device,
}

impl<'a> DriverCache<'a> {
    /// Makes one, empty or from a blob that [`fits`].
    pub(in crate::vk) fn new(gpu: &'a Gpu, data: &[u8]) -> Result<DriverCache<'a>, DeviceError> {
        let device: &Device = gpu.device();
        let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
        let mut handle = vk::PipelineCache::null();
        // SAFETY: the device is alive, `info` and the data outlive the call, and the data is empty or was made by
        // this very driver (its header was compared).
        let result = unsafe {
            (device.fns().v1_0.create_pipeline_cache)(device.handle(), &info, ptr::null(), &mut handle)
        };
        gpu.0.ok("vkCreatePipelineCache", result)?;
        Ok(DriverCache { handle, device })
    }

    /// The driver's data, or nothing where it is no more than a header, has one that [`fits`] would not take back,
    /// or cannot be had: it is only a cache.
    pub(in crate::vk) fn data(&self, gpu: &Gpu) -> Option<Vec<u8>> {
        let get = self.device.fns().v1_0.get_pipeline_cache_data;
        let mut size = 0;
        // SAFETY: device and cache are alive; a null pointer asks for the size only.
        let result = unsafe { get(self.device.handle(), self.handle, &mut size, ptr::null_mut()) };
        gpu.0.ok("vkGetPipelineCacheData", result).ok()?;
        if size <= BLOB_HEADER {
            return None;
        }
        let mut data = vec![0_u8; size];
        // SAFETY: `data` is `size` bytes long, which the driver is given.
        let result = unsafe { get(self.device.handle(), self.handle, &mut size, data.as_mut_ptr().cast()) };
        gpu.0.ok("vkGetPipelineCacheData", result).ok()?;
        data.truncate(size);
        fits(gpu, &data).then_some(data)
    }
}

impl Drop for DriverCache<'_> {
    fn drop(&mut self) {
        let fns = &self.device.fns().v1_0;
        // SAFETY: no one else has the handle, and the pipeline made with it does not need it.
        unsafe { (fns.destroy_pipeline_cache)(self.device.handle(), self.handle, ptr::null()) };
    }
}
