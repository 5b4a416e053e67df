//! Loader, instance, validation messages, list of devices.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use vulkano::{
    Validated, VulkanError, VulkanLibrary,
    device::physical::PhysicalDevice,
    instance::{
        Instance, InstanceCreateFlags, InstanceCreateInfo, InstanceExtensions,
        debug::{
            DebugUtilsMessageSeverity, DebugUtilsMessageType, DebugUtilsMessenger,
            DebugUtilsMessengerCallback, DebugUtilsMessengerCallbackData, DebugUtilsMessengerCreateInfo,
        },
    },
    library::LoadingError,
};

use crate::vk::{DeviceError, caps::DeviceInfo};

const VALIDATION_LAYER: &str = "VK_LAYER_KHRONOS_validation";

/// What the validation layer has said since a context was opened, about any context of the process.
#[derive(Debug, Clone, Default)]
pub(in crate::vk) struct Messages {
    count: Arc<AtomicU64>,
    before: u64,
    active: bool,
}

impl Messages {
    /// Errors and warnings so far.
    pub(in crate::vk) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed) - self.before
    }

    /// Whether the layer is on and listened to.
    pub(in crate::vk) fn active(&self) -> bool {
        self.active
    }

    fn restarted(&self) -> Messages {
        let before = self.count.load(Ordering::Relaxed);
        Messages { before, ..self.clone() }
    }
}

/// An instance with its listener.
#[derive(Debug)]
struct Shared {
    instance: Arc<Instance>,
    messages: Messages,
    _messenger: Option<DebugUtilsMessenger>,
}

/// The two instances of the process, without and with the validation layer, made when first asked for and never
/// destroyed. Loaders close a driver with its last instance, and some drivers do not survive being opened again and
/// again: NVIDIA's 580 series fails after some thirty times, or corrupts the heap when it happens on two threads.
static SHARED: Mutex<[Option<Shared>; 2]> = Mutex::new([None, None]);

/// The instance, with the validation layer where asked for and installed.
pub(in crate::vk) fn shared(validation: bool) -> Result<(Arc<Instance>, Messages), DeviceError> {
    let mut both = SHARED.lock();
    let slot = &mut both[usize::from(validation)];
    if slot.is_none() {
        *slot = Some(create(validation)?);
    }
    match slot {
        Some(shared) => Ok((shared.instance.clone(), shared.messages.restarted())),
        None => Err(DeviceError::NoDevice),
    }
}

/// Loads the Vulkan loader and makes an instance.
fn create(validation: bool) -> Result<Shared, DeviceError> {
    let library = VulkanLibrary::new().map_err(|e| match e {
        // There is one, and it fails: over a damaged manifest of a driver or a layer, for instance.
        LoadingError::VulkanError(e) => DeviceError::call("vkEnumerateInstanceExtensionProperties", &e),
        e => DeviceError::NoLoader { reason: e.to_string() },
    })?;
    let portable = library.supported_extensions().khr_portability_enumeration;
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
        tracing::warn!("validation was asked for, and {VALIDATION_LAYER} is not installed");
    }
    let instance = Instance::new(library, info).map_err(|e| match e {
        // What the loader answers where no driver is installed at all.
        Validated::Error(VulkanError::IncompatibleDriver) => DeviceError::NoDevice,
        other => DeviceError::call("vkCreateInstance", &other),
    })?;
    let mut messages = Messages { active: layer, ..Messages::default() };
    let messenger = if layer { Some(listen(&instance, &mut messages)?) } else { None };
    Ok(Shared { instance, messages, _messenger: messenger })
}

fn has_validation_layer(library: &VulkanLibrary) -> bool {
    library.layer_properties().is_ok_and(|mut layers| layers.any(|layer| layer.name() == VALIDATION_LAYER))
}

fn listen(instance: &Arc<Instance>, messages: &mut Messages) -> Result<DebugUtilsMessenger, DeviceError> {
    let counter = messages.count.clone();
    let heard = move |severity: DebugUtilsMessageSeverity,
                      kind: DebugUtilsMessageType,
                      data: DebugUtilsMessengerCallbackData<'_>| {
        let name = data.message_id_name.unwrap_or("");
        if outdated(data.message) {
            tracing::debug!(target: "vkfuse::validation", name, "{}", data.message);
            return;
        }
        // The loader reports on drivers it skipped as "general"; only what the layer checked counts.
        if kind.intersects(DebugUtilsMessageType::VALIDATION) {
            counter.fetch_add(1, Ordering::Relaxed);
            // A test that fails for it should show it.
            #[cfg(test)]
            println!("{name}: {}", data.message);
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
    DebugUtilsMessenger::new(instance.clone(), info)
        .map_err(|e| DeviceError::call("vkCreateDebugUtilsMessengerEXT", &e))
}

/// Whether a message only says that the layer is older than the driver: features and extensions that it has not
/// heard of.
fn outdated(message: &str) -> bool {
    message.contains("structure with unknown VkStructureType")
        || message.contains("is not supported by this layer")
}

/// The devices of an instance with their descriptions, in the loader's order.
pub(in crate::vk) fn devices(
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
