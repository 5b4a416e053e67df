// The chain of the quick start on a device of the program's own: four kernels, one dispatch, recorded into the program's command
// buffer. Build: cc quickstart.c $(pkg-config --cflags --libs vkfuse) -lvulkan. Run with the folder of mul.spv and sub.spv.
#include <stdio.h>
#include <stdlib.h>
#include <vkfuse.h>

enum { N = 1000003 };
static void vk(VkResult result) { if (result) { fprintf(stderr, "Vulkan: %d\n", result); exit(1); } }
static void ok(VkfuseResult result) { if (result) { fprintf(stderr, "vkfuse: %s\n", vkfuse_last_error()); exit(1); } }

static float in[4][N], out[N];

static VkfuseKernel kernel(VkfuseContext context, const char *folder, const char *name) {
    char path[4096];
    VkfuseKernel made;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ok(vkfuse_kernel_from_file(context, path, &made));
    return made;
}

static void submit(VkfuseQueue queue, VkfuseKernel kernel, VkfuseBuffer x, VkfuseBuffer y, VkfuseBuffer z) {
    const VkfuseArgument arguments[] = {{.binding = 0, .buffer = x, .access = VKFUSE_ACCESS_READ},
        {.binding = 1, .buffer = y, .access = VKFUSE_ACCESS_READ}, {.binding = 2, .buffer = z, .access = VKFUSE_ACCESS_WRITE}};
    const uint32_t n = N;
    const VkfuseSubmission submission = {.kernel = kernel, .arguments = arguments, .argument_count = 3,
        .push = &n, .push_size = sizeof n, .size = {N, 1, 1}, .is_items = 1};
    ok(vkfuse_queue_submit(queue, &submission, NULL));
}

int main(int argc, char **argv) {
    VkInstance instance; VkPhysicalDevice physical; VkDevice device; VkQueue own; VkCommandPool pool; VkCommandBuffer commands;
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    vk(vkCreateInstance(&(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application}, NULL, &instance));
    uint32_t one = 1;
    if (vkEnumeratePhysicalDevices(instance, &one, &physical) < 0) return 1;
    VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .synchronization2 = 1};
    VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &features13, .timelineSemaphore = 1};
    const VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &(float){1}};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features12, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues};
    vk(vkCreateDevice(physical, &info, NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &own);

    const VkfuseRawDevice raw = {.get_instance_proc_addr = vkGetInstanceProcAddr, .api_version = VK_API_VERSION_1_3, .instance = instance,
        .physical_device = physical, .device = device, .create_info = &info, .queues = &(VkfuseRawQueue){0}, .queue_count = 1};
    VkfuseContext context; VkfuseQueue queue; VkfuseList list; VkfuseRecorded recorded; VkfuseBuffer b[8]; // in1..4, tmp1..3, out
    ok(vkfuse_context_from_raw(&raw, NULL, &context));
    ok(vkfuse_queue_create(context, &queue));
    for (int i = 0; i < 8; i++) ok((i >= 4 && i < 7 ? vkfuse_buffer_scratch : vkfuse_buffer_create)(context, sizeof out, &b[i]));
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < N; k++) in[i][k] = (float)(k % 1000 * (2 * i + 3) % 1024) / 1024;
        ok(vkfuse_buffer_upload(b[i], 0, in[i], sizeof in[i]));
    }
    const VkfuseKernel mul = kernel(context, argc > 1 ? argv[1] : ".", "mul.spv"), sub = kernel(context, argc > 1 ? argv[1] : ".", "sub.spv");
    ok(vkfuse_queue_start_fusion(queue));
    submit(queue, mul, b[0], b[1], b[4]);
    submit(queue, sub, b[0], b[2], b[5]);
    submit(queue, mul, b[5], b[3], b[6]);
    submit(queue, sub, b[4], b[6], b[7]);
    ok(vkfuse_queue_keep_unrun(queue, NULL, &list));

    vk(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO}, NULL, &pool));
    vk(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1}, &commands));
    vk(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO}));
    const VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    const VkAccessFlags2 all = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
    ok(vkfuse_list_record(list, &(VkfuseRecording){commands, stages, all, stages, all}, &recorded));
    vk(vkEndCommandBuffer(commands));
    vk(vkQueueSubmit(own, 1, &(VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands}, VK_NULL_HANDLE));
    vk(vkQueueWaitIdle(own));

    uint32_t dispatches; int wrong = 0; ok(vkfuse_recorded_dispatches(recorded, &dispatches));
    ok(vkfuse_buffer_download(b[7], 0, out, sizeof out));
    for (int k = 0; k < N; k++) { const volatile float m = in[0][k] * in[1][k], t = in[0][k] - in[2][k], p = t * in[3][k]; wrong += out[k] != m - p; }
    printf("%u dispatch, %d wrong elements\n", dispatches, wrong);
    vkfuse_recorded_destroy(recorded); vkfuse_list_destroy(list); vkfuse_kernel_destroy(mul); vkfuse_kernel_destroy(sub);
    for (int i = 0; i < 8; i++) vkfuse_buffer_destroy(b[i]);
    vkfuse_queue_destroy(queue); vkfuse_context_destroy(context);
    vkDestroyCommandPool(device, pool, NULL); vkDestroyDevice(device, NULL); vkDestroyInstance(instance, NULL);
    return wrong != 0 || dispatches != 1;
}
