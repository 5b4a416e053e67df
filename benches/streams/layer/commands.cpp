// Records commands, submissions and waits.
#include "layer.h"

#include <algorithm>

// --- Command buffers ---

HOOK(VkResult, AllocateCommandBuffers)(VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *allocated) {
  VkResult result = device_of(device).AllocateCommandBuffers(device, info, allocated);
  std::lock_guard lock(mutex);
  for (uint32_t i = 0; result == VK_SUCCESS && i < info->commandBufferCount; i++)
    names.renew('c', allocated[i]);
  return result;
}

HOOK(VkResult, BeginCommandBuffer)(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info) {
  std::lock_guard lock(mutex);
  command_buffers[commands] = {};
  recorder.write(Json("begin").number("cb", names.of('c', commands)).number("flags", info->flags).object());
  return device_of(commands).BeginCommandBuffer(commands, info);
}

HOOK(void, CmdBindPipeline)(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  device_of(commands).CmdBindPipeline(commands, point, pipeline);
  std::lock_guard lock(mutex);
  if (point == VK_PIPELINE_BIND_POINT_COMPUTE)
    command_buffers[commands].pipeline = pipeline;
}

HOOK(void, CmdBindDescriptorSets)
(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t first, uint32_t count, const VkDescriptorSet *bound,
 uint32_t offset_count, const uint32_t *offsets) {
  device_of(commands).CmdBindDescriptorSets(commands, point, layout, first, count, bound, offset_count, offsets);
  if (point != VK_PIPELINE_BIND_POINT_COMPUTE)
    return;
  std::lock_guard lock(mutex);
  const uint32_t *end = offsets + offset_count;
  for (uint32_t i = 0; i < count; i++) {
    BoundSet &target = command_buffers[commands].sets[first + i];
    target = {bound[i], {}, {}};
    for (auto &[number, binding] : set_layouts[sets[bound[i]].layout])
      for (uint32_t k = 0; is_dynamic(binding.descriptorType) && k < binding.descriptorCount && offsets != end; k++)
        target.dynamic_offsets.push_back(*offsets++);
  }
}

HOOK(void, CmdPushConstants)
(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset, uint32_t size, const void *values) {
  device_of(commands).CmdPushConstants(commands, layout, stages, offset, size, values);
  std::lock_guard lock(mutex);
  auto &push = command_buffers[commands].push;
  push.resize(std::max<size_t>(push.size(), offset + size));
  memcpy(&push[offset], values, size);
}

// Adds the members that describe a range of a buffer: the buffer's name, and the memory and bytes behind it.
static Json &place(Json &event, CommandBuffer &commands, VkBuffer handle, VkDeviceSize offset, VkDeviceSize size) {
  Buffer &buffer = buffers[handle];
  if (size == VK_WHOLE_SIZE)
    size = buffer.size - offset;
  VkDeviceSize start = buffer.offset + offset;
  if (buffer.memory)
    commands.touched.push_back({buffer.memory, start, start + size});
  event.number("buf", names.of('b', handle)).number("off", offset).number("len", size);
  return event.number("mem", buffer.memory ? names.of('m', buffer.memory) : 0).number("moff", start);
}

static Json command(const char *name, VkCommandBuffer commands) { return std::move(Json(name).number("cb", names.of('c', commands))); }

static std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return json_array(std::vector{std::to_string(x), std::to_string(y), std::to_string(z)});
}

static void record_dispatch(VkCommandBuffer handle, Json event) {
  CommandBuffer &commands = command_buffers[handle];
  std::vector<std::string> arguments;
  for (auto &[number, bound] : commands.sets) {
    auto offset = bound.dynamic_offsets.begin();
    for (auto &[at, descriptor] : bound.set ? sets[bound.set].descriptors : bound.pushed) {
      VkDeviceSize dynamic = is_dynamic(descriptor.type) && offset != bound.dynamic_offsets.end() ? *offset++ : 0;
      Json argument;
      argument.number("set", number).number("b", at.first).number("el", at.second).number("t", descriptor.type);
      if (is_buffer(descriptor.type) && descriptor.buffer.buffer)
        place(argument, commands, descriptor.buffer.buffer, descriptor.buffer.offset + dynamic, descriptor.buffer.range);
      arguments.push_back(argument.object());
    }
  }
  event.number("pipe", names.of('p', commands.pipeline));
  event.hex("push", commands.push.data(), commands.push.size());
  recorder.write(event.raw("args", json_array(arguments)).object());
}

HOOK(void, CmdDispatch)(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  device_of(commands).CmdDispatch(commands, x, y, z);
  std::lock_guard lock(mutex);
  record_dispatch(commands, command("dispatch", commands).raw("groups", triple(x, y, z)));
}

HOOK(void, CmdDispatchBase)(VkCommandBuffer commands, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x, uint32_t y, uint32_t z) {
  device_of(commands).CmdDispatchBase(commands, bx, by, bz, x, y, z);
  std::lock_guard lock(mutex);
  record_dispatch(commands, command("dispatch", commands).raw("base", triple(bx, by, bz)).raw("groups", triple(x, y, z)));
}

HOOK(void, CmdDispatchIndirect)(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset) {
  device_of(commands).CmdDispatchIndirect(commands, buffer, offset);
  std::lock_guard lock(mutex);
  record_dispatch(commands, command("indirect", commands));
}

static void record_copy(VkCommandBuffer handle, VkBuffer source, VkBuffer target, VkDeviceSize from, VkDeviceSize to, VkDeviceSize size) {
  std::lock_guard lock(mutex);
  CommandBuffer &commands = command_buffers[handle];
  Json read, written;
  place(read, commands, source, from, size);
  place(written, commands, target, to, size);
  recorder.write(command("copy", handle).raw("src", read.object()).raw("dst", written.object()).object());
}

HOOK(void, CmdCopyBuffer)(VkCommandBuffer commands, VkBuffer source, VkBuffer target, uint32_t count, const VkBufferCopy *regions) {
  device_of(commands).CmdCopyBuffer(commands, source, target, count, regions);
  for (auto *r = regions; r != regions + count; r++)
    record_copy(commands, source, target, r->srcOffset, r->dstOffset, r->size);
}

HOOK(void, CmdCopyBuffer2)(VkCommandBuffer commands, const VkCopyBufferInfo2 *info) {
  device_of(commands).CmdCopyBuffer2(commands, info);
  for (auto *r = info->pRegions; r != info->pRegions + info->regionCount; r++)
    record_copy(commands, info->srcBuffer, info->dstBuffer, r->srcOffset, r->dstOffset, r->size);
}

HOOK(void, CmdFillBuffer)(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size, uint32_t value) {
  device_of(commands).CmdFillBuffer(commands, buffer, offset, size, value);
  std::lock_guard lock(mutex);
  Json event = command("fill", commands);
  recorder.write(place(event, command_buffers[commands], buffer, offset, size).number("value", value).object());
}

HOOK(void, CmdUpdateBuffer)(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size, const void *data) {
  device_of(commands).CmdUpdateBuffer(commands, buffer, offset, size, data);
  std::lock_guard lock(mutex);
  Json event = command("update", commands);
  recorder.write(place(event, command_buffers[commands], buffer, offset, size).hex("data", data, size).object());
}

// Commands that are recorded by their place in the stream alone, without arguments.
#define MARK(name, event, parameters, arguments)                                                                                 \
  HOOK(void, name) parameters {                                                                                                  \
    device_of(commands).name arguments;                                                                                          \
    std::lock_guard lock(mutex);                                                                                                 \
    recorder.write(command(event, commands).object());                                                                           \
  }
MARK(CmdCopyBufferToImage, "image copy",
     (VkCommandBuffer commands, VkBuffer a, VkImage b, VkImageLayout l, uint32_t n, const VkBufferImageCopy *r), (commands, a, b, l, n, r))
MARK(CmdCopyImageToBuffer, "image copy",
     (VkCommandBuffer commands, VkImage a, VkImageLayout l, VkBuffer b, uint32_t n, const VkBufferImageCopy *r), (commands, a, l, b, n, r))
MARK(CmdCopyImage, "image copy",
     (VkCommandBuffer commands, VkImage a, VkImageLayout l, VkImage b, VkImageLayout m, uint32_t n, const VkImageCopy *r),
     (commands, a, l, b, m, n, r))
MARK(CmdExecuteCommands, "secondary commands", (VkCommandBuffer commands, uint32_t n, const VkCommandBuffer *s), (commands, n, s))
MARK(CmdBeginRenderPass, "render pass", (VkCommandBuffer commands, const VkRenderPassBeginInfo *i, VkSubpassContents s), (commands, i, s))
MARK(CmdPipelineBarrier, "barrier",
     (VkCommandBuffer commands, VkPipelineStageFlags a, VkPipelineStageFlags b, VkDependencyFlags f, uint32_t n, const VkMemoryBarrier *m,
      uint32_t nb, const VkBufferMemoryBarrier *mb, uint32_t ni, const VkImageMemoryBarrier *mi),
     (commands, a, b, f, n, m, nb, mb, ni, mi))
MARK(CmdPipelineBarrier2, "barrier", (VkCommandBuffer commands, const VkDependencyInfo *i), (commands, i))

// --- Submissions and waits ---

// The bytes that the command buffers can touch, as they are now.
static void record_contents(const char *when, const std::vector<VkCommandBuffer> &submitted) {
  std::map<VkDeviceMemory, std::vector<std::pair<VkDeviceSize, VkDeviceSize>>> touched;
  for (VkCommandBuffer commands : submitted)
    for (Range &range : command_buffers[commands].touched)
      touched[range.memory].push_back({range.start, range.end});
  std::vector<std::string> ranges;
  for (auto &[handle, spans] : touched) {
    auto found = memories.find(handle);
    if (found == memories.end() || !found->second.mapped)
      continue;
    std::sort(spans.begin(), spans.end());
    for (size_t i = 0; i < spans.size();) {
      auto [start, end] = spans[i++];
      for (; i < spans.size() && spans[i].first < end; i++)
        end = std::max(end, spans[i].second);
      end = std::min(end, found->second.size);
      if (start >= end)
        continue;
      std::string blob = recorder.store("blobs", found->second.mapped + start, end - start, "");
      ranges.push_back(
          json_array(std::vector{std::to_string(names.of('m', handle)), std::to_string(start), std::to_string(end - start), '"' + blob + '"'}));
    }
  }
  recorder.write(Json("snap").text("when", when).raw("ranges", json_array(ranges)).object());
}

template <class Submit>
static VkResult record_submission(VkQueue queue, const std::vector<VkCommandBuffer> &submitted, Submit submit) {
  std::lock_guard lock(mutex);
  if (recorder.contents() != Contents::none) {
    device_of(queue).QueueWaitIdle(queue);
    record_contents("pre", submitted);
  }
  std::vector<std::string> numbers;
  for (VkCommandBuffer commands : submitted)
    numbers.push_back(std::to_string(names.of('c', commands)));
  recorder.write(Json("submit").number("queue", names.of('q', queue)).raw("cbs", json_array(numbers)).object());
  VkResult result = submit();
  if (recorder.contents() == Contents::both) {
    device_of(queue).QueueWaitIdle(queue);
    record_contents("post", submitted);
  }
  recorder.flush();
  return result;
}

HOOK(VkResult, QueueSubmit)(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
  std::vector<VkCommandBuffer> submitted;
  for (auto *info = infos; info != infos + count; info++)
    submitted.insert(submitted.end(), info->pCommandBuffers, info->pCommandBuffers + info->commandBufferCount);
  return record_submission(queue, submitted, [&] { return device_of(queue).QueueSubmit(queue, count, infos, fence); });
}

HOOK(VkResult, QueueSubmit2)(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence) {
  std::vector<VkCommandBuffer> submitted;
  for (auto *info = infos; info != infos + count; info++)
    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
      submitted.push_back(info->pCommandBufferInfos[i].commandBuffer);
  return record_submission(queue, submitted, [&] { return device_of(queue).QueueSubmit2(queue, count, infos, fence); });
}

#define WAIT(name, how, parameters, arguments, handle)                                                                           \
  HOOK(VkResult, name) parameters {                                                                                              \
    VkResult result = device_of(handle).name arguments;                                                                          \
    std::lock_guard lock(mutex);                                                                                                 \
    recorder.write(Json("wait").text("how", how).raw("result", std::to_string(result)).object());                                \
    return result;                                                                                                               \
  }
WAIT(WaitForFences, "fence", (VkDevice d, uint32_t n, const VkFence *f, VkBool32 all, uint64_t t), (d, n, f, all, t), d)
WAIT(GetFenceStatus, "fencestatus", (VkDevice d, VkFence f), (d, f), d)
WAIT(WaitSemaphores, "semaphore", (VkDevice d, const VkSemaphoreWaitInfo *i, uint64_t t), (d, i, t), d)
WAIT(SignalSemaphore, "hostsignal", (VkDevice d, const VkSemaphoreSignalInfo *i), (d, i), d)
WAIT(QueueWaitIdle, "queue", (VkQueue q), (q), q)
WAIT(DeviceWaitIdle, "device", (VkDevice d), (d), d)
