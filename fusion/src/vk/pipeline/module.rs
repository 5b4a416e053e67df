//! A SPIR-V module in the driver's hands.

use std::ptr;

use ash::vk;
use vulkano::{VulkanObject, device::Device};

use crate::vk::{DeviceError, Gpu};

/// A shader module, for as long as a pipeline is made from it.
pub(in crate::vk) struct Module<'a> {
    pub(in crate::vk) handle: vk::ShaderModule,
    device: &'a Device,
}

impl<'a> Module<'a> {
    /// Hands the words to the driver.
    pub(in crate::vk) fn new(gpu: &'a Gpu, words: &[u32]) -> Result<Module<'a>, DeviceError> {
        let device: &Device = gpu.device();
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        let mut handle = vk::ShaderModule::null();
        // SAFETY: the device is alive and `info` and the words outlive the call; the words are a valid module by the
        // contract of `PipelineSource`.
        let result = unsafe {
            (device.fns().v1_0.create_shader_module)(device.handle(), &info, ptr::null(), &mut handle)
        };
        gpu.0.ok("vkCreateShaderModule", result)?;
        Ok(Module { handle, device })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        let fns = &self.device.fns().v1_0;
        // SAFETY: pipelines do not need their module once they are made, and no one else has the handle.
        unsafe { (fns.destroy_shader_module)(self.device.handle(), self.handle, ptr::null()) };
    }
}
