// The chain of the quick start on a device of the program's own, in C++: four kernels, one dispatch.
// Build: c++ -std=c++17 quickstart.cpp $(pkg-config --cflags --libs vkfuse) -lvulkan. Run with the folder of mul.spv and sub.spv.
#include <cstdio>
#include <vkfuse.hpp>

constexpr uint32_t N = 1000003;

static int chain(const VkfuseRawDevice &device, const std::string &folder) {
    const vkfuse::Context context(device);
    const vkfuse::Queue queue = context.queue();
    const vkfuse::Kernel mul = context.kernel(folder + "/mul.spv"), sub = context.kernel(folder + "/sub.spv");
    std::vector<float> in[4];
    vkfuse::Buffer x[4], tmp[3], out = context.buffer(N * sizeof(float));
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < N; k++) in[i].push_back(static_cast<float>(k % 1000 * (2 * i + 3) % 1024) / 1024);
        x[i] = context.buffer(N * sizeof(float));
        x[i].upload(in[i]);
    }
    for (auto &buffer : tmp) buffer = context.scratch(N * sizeof(float));

    const auto list = [&] {
        queue.submit(mul, {x[0].read(0), x[1].read(1), tmp[0].write(2)}, N, N);
        queue.submit(sub, {x[0].read(0), x[2].read(1), tmp[1].write(2)}, N, N);
        queue.submit(mul, {tmp[1].read(0), x[3].read(1), tmp[2].write(2)}, N, N);
        queue.submit(sub, {tmp[0].read(0), tmp[2].read(1), out.write(2)}, N, N);
    };
    const vkfuse::Event done = queue.fuse(list);
    done.wait();
    const std::vector<float> got = out.download<float>(N);

    // The same list again, into another buffer: what is listed is kept, and run with that change.
    const vkfuse::Buffer other = context.buffer(N * sizeof(float));
    const vkfuse::List kept = queue.keep(list);
    for (int i = 0; i < 3; i++) kept.run_with(vkfuse::Changes().buffer(out, other)).wait();
    const bool alike = other.download<float>(N) == got;

    int wrong = 0;
    for (uint32_t k = 0; k < N; k++) {
        const volatile float m = in[0][k] * in[1][k], t = in[0][k] - in[2][k], p = t * in[3][k];
        wrong += got[k] != m - p;
    }
    std::printf("%u dispatch, %s, %d wrong elements\n", done.dispatches(), done.text().c_str(), wrong);
    return wrong != 0 || !alike || done.outcome() != VKFUSE_OUTCOME_FUSED;
}

int main(int argc, char **argv) {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo instance_info{};
    instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance_info.pApplicationInfo = &application;
    VkInstance instance;
    if (vkCreateInstance(&instance_info, nullptr, &instance) != VK_SUCCESS) return 1;
    uint32_t one = 1;
    VkPhysicalDevice physical;
    if (vkEnumeratePhysicalDevices(instance, &one, &physical) < 0) return 1;
    VkPhysicalDeviceVulkan13Features features13{};
    features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    features13.synchronization2 = VK_TRUE;
    VkPhysicalDeviceVulkan12Features features12{};
    features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features12.pNext = &features13;
    features12.timelineSemaphore = VK_TRUE;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, 0, 1, &priority};
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features12;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queues;
    VkDevice device;
    if (vkCreateDevice(physical, &info, nullptr, &device) != VK_SUCCESS) return 1;
    const VkfuseRawQueue use{};
    const VkfuseRawDevice raw{vkGetInstanceProcAddr, VK_API_VERSION_1_3, instance, physical, device, &info, &use, 1};
    const int result = chain(raw, argc > 1 ? argv[1] : ".");
    vkDestroyDevice(device, nullptr);
    vkDestroyInstance(instance, nullptr);
    return result;
}
