// Follows the program's memory, buffers, pipelines and descriptor sets.
#include "layer.h"

// --- Memory and buffers ---

// Memory stays mapped for as long as it lives, so that contents can be read at any submission; the program gets pointers into that mapping.
HOOK(VkResult, AllocateMemory)
(VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *allocator, VkDeviceMemory *memory) {
  if (VkResult failure = device_of(device).AllocateMemory(device, info, allocator, memory))
    return failure;
  std::lock_guard lock(mutex);
  void *mapped = nullptr;
  if (recorder.contents() != Contents::none && device_of(device).MapMemory(device, *memory, 0, VK_WHOLE_SIZE, 0, &mapped))
    mapped = nullptr;
  names.renew('m', *memory);
  memories[*memory] = {info->allocationSize, static_cast<char *>(mapped)};
  return VK_SUCCESS;
}

HOOK(void, FreeMemory)(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks *allocator) {
  {
    std::lock_guard lock(mutex);
    memories.erase(memory);
  }
  device_of(device).FreeMemory(device, memory, allocator);
}

HOOK(VkResult, MapMemory)
(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkMemoryMapFlags flags, void **data) {
  {
    std::lock_guard lock(mutex);
    if (char *mapped = memories[memory].mapped) {
      *data = mapped + offset;
      return VK_SUCCESS;
    }
  }
  return device_of(device).MapMemory(device, memory, offset, size, flags, data);
}

HOOK(void, UnmapMemory)(VkDevice device, VkDeviceMemory memory) {
  {
    std::lock_guard lock(mutex);
    if (memories[memory].mapped)
      return;
  }
  device_of(device).UnmapMemory(device, memory);
}

HOOK(VkResult, CreateBuffer)
(VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *allocator, VkBuffer *buffer) {
  VkResult result = device_of(device).CreateBuffer(device, info, allocator, buffer);
  std::lock_guard lock(mutex);
  if (result == VK_SUCCESS) {
    buffers[*buffer] = {info->size};
    recorder.write(Json("buffer").number("id", names.renew('b', *buffer)).number("size", info->size).object());
  }
  return result;
}

static void bind(VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
  std::lock_guard lock(mutex);
  buffers[buffer].memory = memory;
  buffers[buffer].offset = offset;
}

HOOK(VkResult, BindBufferMemory)(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
  bind(buffer, memory, offset);
  return device_of(device).BindBufferMemory(device, buffer, memory, offset);
}

HOOK(VkResult, BindBufferMemory2)(VkDevice device, uint32_t count, const VkBindBufferMemoryInfo *info) {
  for (uint32_t i = 0; i < count; i++)
    bind(info[i].buffer, info[i].memory, info[i].memoryOffset);
  return device_of(device).BindBufferMemory2(device, count, info);
}

// --- Modules and pipelines ---

HOOK(VkResult, CreateShaderModule)
(VkDevice device, const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *allocator, VkShaderModule *module) {
  VkResult result = device_of(device).CreateShaderModule(device, info, allocator, module);
  std::lock_guard lock(mutex);
  if (result == VK_SUCCESS)
    modules[*module] = recorder.store("spv", info->pCode, info->codeSize, ".spv");
  return result;
}

HOOK(VkResult, CreateComputePipelines)
(VkDevice device, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *allocator,
 VkPipeline *pipelines) {
  VkResult result = device_of(device).CreateComputePipelines(device, cache, count, infos, allocator, pipelines);
  if (result < 0)
    return result;
  std::lock_guard lock(mutex);
  for (uint32_t i = 0; i < count; i++) {
    auto &stage = infos[i].stage;
    auto *inlined = find_in_chain<VkShaderModuleCreateInfo>(stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    auto *subgroup = find_in_chain<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
        stage.pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    Json constants;
    if (auto *spec = stage.pSpecializationInfo)
      for (uint32_t k = 0; k < spec->mapEntryCount; k++) {
        auto &entry = spec->pMapEntries[k];
        constants.hex(std::to_string(entry.constantID).c_str(), static_cast<const char *>(spec->pData) + entry.offset, entry.size);
      }
    Json event("pipeline");
    event.number("id", names.renew('p', pipelines[i]));
    event.text("module", stage.module  ? modules[stage.module]
                         : inlined     ? recorder.store("spv", inlined->pCode, inlined->codeSize, ".spv")
                                       : "");
    event.text("entry", stage.pName);
    event.number("subgroup", subgroup ? subgroup->requiredSubgroupSize : 0);
    event.raw("spec", constants.object());
    recorder.write(event.object());
  }
  return result;
}

HOOK(VkResult, SetDebugUtilsObjectNameEXT)(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info) {
  auto next = device_of(device).SetDebugUtilsObjectNameEXT;
  std::lock_guard lock(mutex);
  if (info->objectType == VK_OBJECT_TYPE_PIPELINE && info->pObjectName)
    recorder.write(
        Json("name").number("pipe", names.of('p', reinterpret_cast<VkPipeline>(info->objectHandle))).text("name", info->pObjectName).object());
  return next ? next(device, info) : VK_SUCCESS;
}

// --- Descriptors ---

HOOK(VkResult, CreateDescriptorSetLayout)
(VkDevice device, const VkDescriptorSetLayoutCreateInfo *info, const VkAllocationCallbacks *allocator, VkDescriptorSetLayout *layout) {
  VkResult result = device_of(device).CreateDescriptorSetLayout(device, info, allocator, layout);
  std::lock_guard lock(mutex);
  if (result == VK_SUCCESS) {
    SetLayout &known = set_layouts[*layout];
    known.clear();
    for (uint32_t i = 0; i < info->bindingCount; i++)
      known[info->pBindings[i].binding] = info->pBindings[i];
  }
  return result;
}

HOOK(VkResult, CreatePipelineLayout)
(VkDevice device, const VkPipelineLayoutCreateInfo *info, const VkAllocationCallbacks *allocator, VkPipelineLayout *layout) {
  VkResult result = device_of(device).CreatePipelineLayout(device, info, allocator, layout);
  std::lock_guard lock(mutex);
  if (result == VK_SUCCESS)
    pipeline_layouts[*layout].assign(info->pSetLayouts, info->pSetLayouts + info->setLayoutCount);
  return result;
}

HOOK(VkResult, AllocateDescriptorSets)(VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *allocated) {
  VkResult result = device_of(device).AllocateDescriptorSets(device, info, allocated);
  std::lock_guard lock(mutex);
  for (uint32_t i = 0; result == VK_SUCCESS && i < info->descriptorSetCount; i++)
    sets[allocated[i]] = {info->pSetLayouts[i], {}};
  return result;
}

// The descriptor after `at`: updates run over into the next binding.
static Binding next_descriptor(const SetLayout &layout, Binding at) {
  auto binding = layout.find(at.first);
  if (binding != layout.end() && at.second + 1 < binding->second.descriptorCount)
    return {at.first, at.second + 1};
  auto next = layout.upper_bound(at.first);
  return next == layout.end() ? Binding(at.first, at.second + 1) : Binding(next->first, 0);
}

static void write_descriptors(Descriptors &target, const SetLayout &layout, const VkWriteDescriptorSet &write) {
  Binding at(write.dstBinding, write.dstArrayElement);
  for (uint32_t i = 0; i < write.descriptorCount; i++, at = next_descriptor(layout, at))
    target[at] = {write.descriptorType, is_buffer(write.descriptorType) ? write.pBufferInfo[i] : VkDescriptorBufferInfo{}};
}

static void write_descriptors(Descriptors &target, const SetLayout &layout, const Template &update, const void *data) {
  for (auto &entry : update.entries) {
    Binding at(entry.dstBinding, entry.dstArrayElement);
    for (uint32_t i = 0; i < entry.descriptorCount; i++, at = next_descriptor(layout, at)) {
      auto *source = static_cast<const char *>(data) + entry.offset + i * entry.stride;
      target[at] = {entry.descriptorType, is_buffer(entry.descriptorType) ? *reinterpret_cast<const VkDescriptorBufferInfo *>(source)
                                                                          : VkDescriptorBufferInfo{}};
    }
  }
}

HOOK(void, UpdateDescriptorSets)
(VkDevice device, uint32_t writes, const VkWriteDescriptorSet *write, uint32_t copies, const VkCopyDescriptorSet *copy) {
  device_of(device).UpdateDescriptorSets(device, writes, write, copies, copy);
  std::lock_guard lock(mutex);
  for (uint32_t i = 0; i < writes; i++) {
    Set &set = sets[write[i].dstSet];
    write_descriptors(set.descriptors, set_layouts[set.layout], write[i]);
  }
  for (uint32_t i = 0; i < copies; i++)
    for (uint32_t k = 0; k < copy[i].descriptorCount; k++) {
      Descriptor source = sets[copy[i].srcSet].descriptors[{copy[i].srcBinding, copy[i].srcArrayElement + k}];
      sets[copy[i].dstSet].descriptors[{copy[i].dstBinding, copy[i].dstArrayElement + k}] = source;
    }
}

HOOK(VkResult, CreateDescriptorUpdateTemplate)
(VkDevice device, const VkDescriptorUpdateTemplateCreateInfo *info, const VkAllocationCallbacks *allocator,
 VkDescriptorUpdateTemplate *made) {
  VkResult result = device_of(device).CreateDescriptorUpdateTemplate(device, info, allocator, made);
  std::lock_guard lock(mutex);
  if (result == VK_SUCCESS)
    templates[*made].entries.assign(info->pDescriptorUpdateEntries, info->pDescriptorUpdateEntries + info->descriptorUpdateEntryCount);
  return result;
}

HOOK(void, UpdateDescriptorSetWithTemplate)
(VkDevice device, VkDescriptorSet set, VkDescriptorUpdateTemplate update, const void *data) {
  device_of(device).UpdateDescriptorSetWithTemplate(device, set, update, data);
  std::lock_guard lock(mutex);
  write_descriptors(sets[set].descriptors, set_layouts[sets[set].layout], templates[update], data);
}

static const SetLayout &pushed_layout(VkPipelineLayout layout, uint32_t set) {
  static const SetLayout none;
  auto &layouts = pipeline_layouts[layout];
  return set < layouts.size() ? set_layouts[layouts[set]] : none;
}

static Descriptors &pushed_set(VkCommandBuffer commands, uint32_t set) {
  BoundSet &bound = command_buffers[commands].sets[set];
  bound.set = {};
  bound.dynamic_offsets.clear();
  return bound.pushed;
}

HOOK(void, CmdPushDescriptorSetKHR)
(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t set, uint32_t count,
 const VkWriteDescriptorSet *writes) {
  device_of(commands).CmdPushDescriptorSetKHR(commands, point, layout, set, count, writes);
  std::lock_guard lock(mutex);
  for (uint32_t i = 0; point == VK_PIPELINE_BIND_POINT_COMPUTE && i < count; i++)
    write_descriptors(pushed_set(commands, set), pushed_layout(layout, set), writes[i]);
}

HOOK(void, CmdPushDescriptorSetWithTemplateKHR)
(VkCommandBuffer commands, VkDescriptorUpdateTemplate update, VkPipelineLayout layout, uint32_t set, const void *data) {
  device_of(commands).CmdPushDescriptorSetWithTemplateKHR(commands, update, layout, set, data);
  std::lock_guard lock(mutex);
  write_descriptors(pushed_set(commands, set), pushed_layout(layout, set), templates[update], data);
}
