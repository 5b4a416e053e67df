// What the parts of the layer share: the functions of the next layer, and what is known of the program's objects.
#pragma once
#define VK_NO_PROTOTYPES
#include "recorder.h"

#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <vector>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

inline std::recursive_mutex mutex;
inline Recorder recorder;
inline Names names;

// --- The next layer's or the driver's functions, by dispatch key ---

#define INSTANCE_FUNCTIONS(X)                                                                                                    \
  X(DestroyInstance) X(GetPhysicalDeviceFeatures) X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceProperties2)

#define DEVICE_FUNCTIONS(X)                                                                                                      \
  X(DestroyDevice) X(QueueWaitIdle) X(DeviceWaitIdle) X(QueueSubmit) X(QueueSubmit2)                                             \
  X(WaitForFences) X(GetFenceStatus) X(WaitSemaphores) X(SignalSemaphore)                                                        \
  X(AllocateMemory) X(FreeMemory) X(MapMemory) X(UnmapMemory)                                                                    \
  X(CreateBuffer) X(BindBufferMemory) X(BindBufferMemory2) X(CreateShaderModule) X(CreateComputePipelines)                       \
  X(CreateDescriptorSetLayout) X(CreatePipelineLayout) X(AllocateDescriptorSets) X(UpdateDescriptorSets)                         \
  X(CreateDescriptorUpdateTemplate) X(UpdateDescriptorSetWithTemplate)                                                           \
  X(CmdPushDescriptorSetKHR) X(CmdPushDescriptorSetWithTemplateKHR)                                                              \
  X(AllocateCommandBuffers) X(BeginCommandBuffer) X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants)                \
  X(CmdDispatch) X(CmdDispatchBase) X(CmdDispatchIndirect) X(CmdCopyBuffer) X(CmdCopyBuffer2) X(CmdFillBuffer)                   \
  X(CmdUpdateBuffer) X(CmdCopyBufferToImage) X(CmdCopyImageToBuffer) X(CmdCopyImage) X(CmdExecuteCommands)                       \
  X(CmdBeginRenderPass) X(CmdPipelineBarrier) X(CmdPipelineBarrier2) X(SetDebugUtilsObjectNameEXT)

#define MEMBER(name) PFN_vk##name name;
struct InstanceTable {
  VkInstance instance;
  PFN_vkGetInstanceProcAddr get;
  INSTANCE_FUNCTIONS(MEMBER)
};
struct DeviceTable {
  PFN_vkGetDeviceProcAddr get;
  DEVICE_FUNCTIONS(MEMBER)
};
#undef MEMBER

inline std::unordered_map<void *, InstanceTable> instances;
inline std::unordered_map<void *, DeviceTable> devices;

// Dispatchable handles begin with a pointer that is the same for an instance or a device and all that belongs to it.
inline void *key(void *handle) { return *static_cast<void **>(handle); }

inline InstanceTable &instance_of(void *handle) {
  std::lock_guard lock(mutex);
  return instances[key(handle)];
}

inline DeviceTable &device_of(void *handle) {
  std::lock_guard lock(mutex);
  return devices[key(handle)];
}

// --- What is known of the program's objects ---

struct Descriptor {
  VkDescriptorType type = VK_DESCRIPTOR_TYPE_MAX_ENUM;
  VkDescriptorBufferInfo buffer = {};
};
using Binding = std::pair<uint32_t, uint32_t>; // binding and array element
using Descriptors = std::map<Binding, Descriptor>;
using SetLayout = std::map<uint32_t, VkDescriptorSetLayoutBinding>;

struct Set {
  VkDescriptorSetLayout layout = {};
  Descriptors descriptors;
};
struct Buffer {
  VkDeviceSize size = 0;
  VkDeviceMemory memory = {};
  VkDeviceSize offset = 0;
};
struct Memory {
  VkDeviceSize size = 0;
  char *mapped = nullptr;
};
struct Template {
  std::vector<VkDescriptorUpdateTemplateEntry> entries;
};
struct Range {
  VkDeviceMemory memory;
  VkDeviceSize start, end;
};
struct BoundSet {
  VkDescriptorSet set = {};   // Null for one that was pushed.
  Descriptors pushed;
  std::vector<uint32_t> dynamic_offsets;
};
struct CommandBuffer {
  VkPipeline pipeline = {};
  std::map<uint32_t, BoundSet> sets;
  std::vector<unsigned char> push;
  std::vector<Range> touched;
};

inline std::unordered_map<VkDescriptorSetLayout, SetLayout> set_layouts;
inline std::unordered_map<VkPipelineLayout, std::vector<VkDescriptorSetLayout>> pipeline_layouts;
inline std::unordered_map<VkDescriptorSet, Set> sets;
inline std::unordered_map<VkDescriptorUpdateTemplate, Template> templates;
inline std::unordered_map<VkBuffer, Buffer> buffers;
inline std::unordered_map<VkDeviceMemory, Memory> memories;
inline std::unordered_map<VkShaderModule, std::string> modules;
inline std::unordered_map<VkCommandBuffer, CommandBuffer> command_buffers;

inline bool is_buffer(VkDescriptorType type) {
  return type >= VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER && type <= VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

inline bool is_dynamic(VkDescriptorType type) {
  return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

template <class Structure>
const Structure *find_in_chain(const void *chain, VkStructureType type) {
  for (auto *link = static_cast<const VkBaseInStructure *>(chain); link; link = link->pNext)
    if (link->sType == type)
      return reinterpret_cast<const Structure *>(link);
  return nullptr;
}

// --- The layer's own functions, `capture_CmdDispatch` for `vkCmdDispatch` ---

#define HOOK(result, name) VKAPI_ATTR result VKAPI_CALL capture_##name

#define DECLARE(name) std::remove_pointer_t<PFN_vk##name> capture_##name;
INSTANCE_FUNCTIONS(DECLARE)
DEVICE_FUNCTIONS(DECLARE)
DECLARE(CreateInstance)
DECLARE(CreateDevice)
#undef DECLARE
