//! Loader, instance, validation messages, list of devices.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use vulkano::{
    VulkanLibrary,
    device::physical::PhysicalDevice,
    instance::{
        Instance, InstanceCreateFlags, InstanceCreateInfo, InstanceExtensions,
        debug::{
            DebugUtilsMessageSeverity, DebugUtilsMessageType, DebugUtilsMessenger,
            DebugUtilsMessengerCallback, DebugUtilsMessengerCreateInfo,
        },
    },
};

use super::{DeviceError, caps::DeviceInfo};

const VALIDATION_LAYER: &str = "VK_LAYER_KHRONOS_validation";

/// What the validation layer has said, and the registration that makes it say it here.
#[derive(Debug, Default)]
pub(super) struct Messages {
    count: Arc<AtomicU64>,
    messenger: Option<DebugUtilsMessenger>,
}

impl Messages {
    /// Errors and warnings so far.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The counter itself.
    #[cfg(test)]
    pub(super) fn counter(&self) -> Arc<AtomicU64> {
        self.count.clone()
    }

    /// Whether the layer is on and listened to.
    pub(super) fn active(&self) -> bool {
        self.messenger.is_some()
    }
}

/// Loads the Vulkan loader and makes an instance, with the validation layer where asked for and installed.
pub(super) fn create(validation: bool) -> Result<(Arc<Instance>, Messages), DeviceError> {
    let library = VulkanLibrary::new().map_err(|e| DeviceError::NoLoader {
        reason: e.to_string(),
    })?;
    let available = *library.supported_extensions();
    let portable = available.khr_portability_enumeration;
    let mut info = InstanceCreateInfo {
        flags: if portable {
            InstanceCreateFlags::ENUMERATE_PORTABILITY
        } else {
            InstanceCreateFlags::empty()
        },
        engine_name: Some("vkfuse".to_owned()),
        enabled_extensions: InstanceExtensions {
            khr_portability_enumeration: portable,
            ..InstanceExtensions::empty()
        },
        ..InstanceCreateInfo::default()
    };
    let layer = validation && has_validation_layer(&library);
    if layer {
        info.enabled_layers.push(VALIDATION_LAYER.to_owned());
        info.enabled_extensions.ext_debug_utils = true;
    } else if validation {
        tracing::warn!(
            "validation was asked for, and the layer {VALIDATION_LAYER} is not installed"
        );
    }
    let instance = Instance::new(library, info).map_err(|e| match e {
        // What the loader answers where no driver is installed at all.
        vulkano::Validated::Error(vulkano::VulkanError::IncompatibleDriver) => {
            DeviceError::NoDevice
        }
        other => DeviceError::call("vkCreateInstance", &other),
    })?;
    let messages = if layer {
        listen(&instance)?
    } else {
        Messages::default()
    };
    Ok((instance, messages))
}

fn has_validation_layer(library: &VulkanLibrary) -> bool {
    library
        .layer_properties()
        .is_ok_and(|mut layers| layers.any(|layer| layer.name() == VALIDATION_LAYER))
}

fn listen(instance: &Arc<Instance>) -> Result<Messages, DeviceError> {
    let count = Arc::new(AtomicU64::new(0));
    let counter = count.clone();
    let heard =
        move |severity: DebugUtilsMessageSeverity,
              kind: DebugUtilsMessageType,
              data: vulkano::instance::debug::DebugUtilsMessengerCallbackData<'_>| {
            let name = data.message_id_name.unwrap_or("");
            // The loader reports on drivers it skipped as "general"; only what the layer checked counts.
            if kind.intersects(DebugUtilsMessageType::VALIDATION) {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            if severity.intersects(DebugUtilsMessageSeverity::ERROR) {
                tracing::error!(target: "vkfuse::validation", name, "{}", data.message);
            } else {
                tracing::warn!(target: "vkfuse::validation", name, "{}", data.message);
            }
        };
    // SAFETY: the closure counts and logs; it makes no Vulkan call.
    let callback = unsafe { DebugUtilsMessengerCallback::new(heard) };
    let info = DebugUtilsMessengerCreateInfo {
        message_severity: DebugUtilsMessageSeverity::ERROR | DebugUtilsMessageSeverity::WARNING,
        message_type: DebugUtilsMessageType::GENERAL
            | DebugUtilsMessageType::VALIDATION
            | DebugUtilsMessageType::PERFORMANCE,
        ..DebugUtilsMessengerCreateInfo::user_callback(callback)
    };
    let messenger = DebugUtilsMessenger::new(instance.clone(), info)
        .map_err(|e| DeviceError::call("vkCreateDebugUtilsMessengerEXT", &e))?;
    Ok(Messages {
        count,
        messenger: Some(messenger),
    })
}

/// The devices of an instance with their descriptions, in the loader's order.
pub(super) fn devices(
    instance: &Arc<Instance>,
) -> Result<Vec<(Arc<PhysicalDevice>, DeviceInfo)>, DeviceError> {
    let found = instance
        .enumerate_physical_devices()
        .map_err(|e| DeviceError::call("vkEnumeratePhysicalDevices", &e))?;
    Ok(found
        .enumerate()
        .map(|(index, device)| {
            let info = DeviceInfo::of(&device, index);
            (device, info)
        })
        .collect())
}
