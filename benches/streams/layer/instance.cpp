// A Vulkan layer that records what a program submits for compute. Settings, from the environment:
//
//   CAPTURE_FOLDER          where the capture goes (default: `capture` in the current folder)
//   CAPTURE_CONTENTS        none; before (default): the bytes that a submission can touch, before it; both: after it as well
//   CAPTURE_MOST_BYTES      bytes of contents and modules in all (default: 2 GiB)
//   CAPTURE_CLAIM_INDEXING  1: claim that descriptor arrays can be indexed dynamically, and do not ask the driver for it
//   CAPTURE_DRIVER_ID       the VkDriverId that the program sees
//
// Contents need memory that the host can map; on llvmpipe all of it is. Taking contents waits for the queue at every submission, and descriptor
// sets are read when a dispatch is recorded, so sets that are updated after binding are recorded as they were.
#include "layer.h"

#include <algorithm>

namespace {

bool claims_indexing() {
  const char *value = getenv("CAPTURE_CLAIM_INDEXING");
  return value && *value == '1';
}

void claim_indexing(VkPhysicalDeviceFeatures *features) {
  if (claims_indexing())
    features->shaderUniformBufferArrayDynamicIndexing = features->shaderSampledImageArrayDynamicIndexing =
        features->shaderStorageBufferArrayDynamicIndexing = features->shaderStorageImageArrayDynamicIndexing = VK_TRUE;
}

// Takes back what was only claimed.
void keep_supported(VkPhysicalDevice physical, VkPhysicalDeviceFeatures *asked) {
  VkPhysicalDeviceFeatures supported;
  instance_of(physical).GetPhysicalDeviceFeatures(physical, &supported);
  auto *flag = reinterpret_cast<VkBool32 *>(asked);
  auto *has = reinterpret_cast<const VkBool32 *>(&supported);
  for (size_t i = 0; i < sizeof supported / sizeof *has; i++)
    flag[i] &= has[i];
}

template <class LinkInfo>
LinkInfo *layer_link(const void *chain, VkStructureType type) {
  auto *link = const_cast<LinkInfo *>(static_cast<const LinkInfo *>(chain));
  while (link && !(link->sType == type && link->function == VK_LAYER_LINK_INFO))
    link = const_cast<LinkInfo *>(static_cast<const LinkInfo *>(link->pNext));
  return link;
}

} // namespace

HOOK(VkResult, CreateInstance)(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator, VkInstance *instance) {
  auto *link = layer_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (!link)
    return VK_ERROR_INITIALIZATION_FAILED;
  auto get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  if (VkResult failure = create(info, allocator, instance))
    return failure;
  std::lock_guard lock(mutex);
  InstanceTable &table = instances[key(*instance)];
  table.instance = *instance;
  table.get = get;
#define LOAD(name)                                                                                                               \
  table.name = reinterpret_cast<PFN_vk##name>(get(*instance, "vk" #name));                                                       \
  if (!table.name)                                                                                                               \
    table.name = reinterpret_cast<PFN_vk##name>(get(*instance, "vk" #name "KHR"));
  INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
  auto *application = info->pApplicationInfo;
  Json event("instance");
  event.text("app", application && application->pApplicationName ? application->pApplicationName : "");
  event.text("engine", application && application->pEngineName ? application->pEngineName : "");
  recorder.write(event.object());
  return VK_SUCCESS;
}

HOOK(void, DestroyInstance)(VkInstance instance, const VkAllocationCallbacks *allocator) {
  recorder.flush();
  if (instance)
    instance_of(instance).DestroyInstance(instance, allocator);
}

HOOK(void, GetPhysicalDeviceFeatures)(VkPhysicalDevice physical, VkPhysicalDeviceFeatures *features) {
  instance_of(physical).GetPhysicalDeviceFeatures(physical, features);
  claim_indexing(features);
}

HOOK(void, GetPhysicalDeviceFeatures2)(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *features) {
  instance_of(physical).GetPhysicalDeviceFeatures2(physical, features);
  claim_indexing(&features->features);
}

HOOK(void, GetPhysicalDeviceProperties2)(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *properties) {
  instance_of(physical).GetPhysicalDeviceProperties2(physical, properties);
  const char *value = getenv("CAPTURE_DRIVER_ID");
  if (!value)
    return;
  auto id = static_cast<VkDriverId>(atoi(value));
  for (auto *link = static_cast<VkBaseOutStructure *>(properties->pNext); link; link = link->pNext) {
    if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
      reinterpret_cast<VkPhysicalDeviceDriverProperties *>(link)->driverID = id;
    if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES)
      reinterpret_cast<VkPhysicalDeviceVulkan12Properties *>(link)->driverID = id;
  }
}

HOOK(VkResult, CreateDevice)
(VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator, VkDevice *device) {
  auto *link = layer_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (!link)
    return VK_ERROR_INITIALIZATION_FAILED;
  auto get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  auto get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  if (claims_indexing()) {
    if (info->pEnabledFeatures)
      keep_supported(physical, const_cast<VkPhysicalDeviceFeatures *>(info->pEnabledFeatures));
    if (auto *more = find_in_chain<VkPhysicalDeviceFeatures2>(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2))
      keep_supported(physical, &const_cast<VkPhysicalDeviceFeatures2 *>(more)->features);
  }
  auto create = reinterpret_cast<PFN_vkCreateDevice>(get_instance(instance_of(physical).instance, "vkCreateDevice"));
  if (VkResult failure = create(physical, info, allocator, device))
    return failure;
  std::lock_guard lock(mutex);
  DeviceTable &table = devices[key(*device)];
  table.get = get;
#define LOAD(name)                                                                                                               \
  table.name = reinterpret_cast<PFN_vk##name>(get(*device, "vk" #name));                                                         \
  if (!table.name)                                                                                                               \
    table.name = reinterpret_cast<PFN_vk##name>(get(*device, "vk" #name "KHR"));
  DEVICE_FUNCTIONS(LOAD)
#undef LOAD
  std::vector<std::string> extensions;
  for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
    extensions.push_back('"' + std::string(info->ppEnabledExtensionNames[i]) + '"');
  recorder.write(Json("device").raw("extensions", json_array(extensions)).object());
  return VK_SUCCESS;
}

HOOK(void, DestroyDevice)(VkDevice device, const VkAllocationCallbacks *allocator) {
  recorder.flush();
  if (device)
    device_of(device).DestroyDevice(device, allocator);
}

// --- What the loader calls ---

namespace {

PFN_vkVoidFunction device_hook(const char *name) {
#define FIND(function)                                                                                                           \
  if (!strcmp(name, "vk" #function) || !strcmp(name, "vk" #function "KHR"))                                                      \
    return reinterpret_cast<PFN_vkVoidFunction>(capture_##function);
  DEVICE_FUNCTIONS(FIND)
  return nullptr;
}

PFN_vkVoidFunction instance_hook(const char *name) {
  INSTANCE_FUNCTIONS(FIND)
  FIND(CreateInstance)
  FIND(CreateDevice)
#undef FIND
  return nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice device, const char *name) {
  if (!strcmp(name, "vkGetDeviceProcAddr"))
    return reinterpret_cast<PFN_vkVoidFunction>(get_device_function);
  auto next = device_of(device).get(device, name);
  auto hook = device_hook(name);
  return next && hook ? hook : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance instance, const char *name) {
  if (!strcmp(name, "vkGetInstanceProcAddr"))
    return reinterpret_cast<PFN_vkVoidFunction>(get_instance_function);
  if (!strcmp(name, "vkGetDeviceProcAddr"))
    return reinterpret_cast<PFN_vkVoidFunction>(get_device_function);
  if (auto hook = instance_hook(name))
    return hook;
  if (!instance)
    return nullptr;
  auto next = instance_of(instance).get(instance, name);
  auto hook = device_hook(name);
  return next && hook ? hook : next;
}

} // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
  interface->loaderLayerInterfaceVersion = std::min(interface->loaderLayerInterfaceVersion, 2u);
  interface->pfnGetInstanceProcAddr = get_instance_function;
  interface->pfnGetDeviceProcAddr = get_device_function;
  interface->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
