/* vkfuse for C++17: the handles of vkfuse.h as objects that are let go of at the end of their scope, and failures as exceptions. */
#ifndef VKFUSE_HPP
#define VKFUSE_HPP

#include "vkfuse.h"

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace vkfuse {

/* A call that failed. */
class Error : public std::runtime_error {
  public:
    explicit Error(VkfuseResult result) : std::runtime_error(vkfuse_last_error()), result(result) {}
    VkfuseResult result;
};

inline void check(VkfuseResult result) {
    if (result != VKFUSE_OK) throw Error(result);
}

/* A handle that is destroyed once. It can be moved, and not copied. */
template <typename H, void (*Destroy)(H)> class Handle {
  public:
    Handle() noexcept : handle{0} {}
    explicit Handle(H handle) noexcept : handle(handle) {}
    Handle(Handle &&other) noexcept : handle(std::exchange(other.handle, H{0})) {}
    Handle &operator=(Handle &&other) noexcept {
        std::swap(handle, other.handle);
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { Destroy(handle); }
    H get() const noexcept { return handle; }
    H *put() noexcept { return &handle; }

  protected:
    H handle;
};

using Kernel = Handle<VkfuseKernel, vkfuse_kernel_destroy>;

class Event : public Handle<VkfuseEvent, vkfuse_event_destroy> {
  public:
    void wait() const { check(vkfuse_event_wait(handle, UINT64_MAX)); }
    VkfuseOutcome outcome() const {
        VkfuseOutcome outcome;
        check(vkfuse_event_outcome(handle, &outcome));
        return outcome;
    }
    std::string text() const {
        char text[1024] = "";
        check(vkfuse_event_outcome_text(handle, text, sizeof text));
        return text;
    }
    uint32_t dispatches() const {
        uint32_t count;
        check(vkfuse_event_dispatches(handle, &count));
        return count;
    }
    /* What happened to the list, as JSON; empty for what is no completed list. */
    std::string report() const {
        size_t needed = 0;
        check(vkfuse_event_report_json(handle, nullptr, 0, &needed));
        std::string text(needed, '\0');
        check(vkfuse_event_report_json(handle, text.data(), text.size(), &needed));
        return text.substr(0, text.empty() ? 0 : text.size() - 1);
    }
    /* On the device; 0 where profiling is off. */
    uint64_t gpu_nanoseconds() const {
        uint64_t time;
        check(vkfuse_event_gpu_time(handle, &time));
        return time;
    }
    std::pair<VkSemaphore, uint64_t> semaphore() const {
        std::pair<VkSemaphore, uint64_t> at{};
        check(vkfuse_event_semaphore(handle, &at.first, &at.second));
        return at;
    }
};

class Buffer : public Handle<VkfuseBuffer, vkfuse_buffer_destroy> {
  public:
    template <typename T> void upload(const std::vector<T> &data) const {
        check(vkfuse_buffer_upload(handle, 0, data.data(), data.size() * sizeof(T)));
    }
    template <typename T> std::vector<T> download(size_t count) const {
        std::vector<T> data(count);
        check(vkfuse_buffer_download(handle, 0, data.data(), count * sizeof(T)));
        return data;
    }
    VkfuseArgument read(uint32_t binding) const { return argument(binding, VKFUSE_ACCESS_READ); }
    VkfuseArgument write(uint32_t binding) const { return argument(binding, VKFUSE_ACCESS_WRITE); }
    VkfuseArgument read_write(uint32_t binding) const { return argument(binding, VKFUSE_ACCESS_READ_WRITE); }
    void set_name(const char *name) const { check(vkfuse_buffer_set_name(handle, name)); }
    void set_promotion(VkfusePromotion promotion) const { check(vkfuse_buffer_set_promotion(handle, promotion)); }

  private:
    VkfuseArgument argument(uint32_t binding, VkfuseAccess access) const {
        VkfuseArgument argument{};
        argument.binding = binding;
        argument.buffer = handle;
        argument.access = access;
        return argument;
    }
};

class Recorded : public Handle<VkfuseRecorded, vkfuse_recorded_destroy> {
  public:
    uint32_t dispatches() const {
        uint32_t count;
        check(vkfuse_recorded_dispatches(handle, &count));
        return count;
    }
};

/* The buffers and push constants in which a list is to differ from another. */
class Changes {
  public:
    Changes &buffer(const Buffer &of, const Buffer &with) {
        of_.push_back(of.get());
        with_.push_back(with.get());
        return *this;
    }
    /* Gives a submission, by its place in the list from 0, other push constants: the whole block. */
    template <typename P> Changes &push(uint32_t submission, const P &block) {
        const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&block);
        blocks_.emplace_back(submission, std::vector<unsigned char>(bytes, bytes + sizeof block));
        return *this;
    }
    /* Calls `use` with the structure of vkfuse.h. */
    template <typename F> void with(F use) const {
        std::vector<VkfusePush> pushes;
        for (const auto &[submission, bytes] : blocks_)
            pushes.push_back({submission, bytes.data(), static_cast<uint32_t>(bytes.size())});
        const VkfuseChanges changes{of_.data(), with_.data(), static_cast<uint32_t>(of_.size()), pushes.data(),
                                    static_cast<uint32_t>(pushes.size())};
        use(&changes);
    }

  private:
    std::vector<VkfuseBuffer> of_, with_;
    std::vector<std::pair<uint32_t, std::vector<unsigned char>>> blocks_;
};

class List : public Handle<VkfuseList, vkfuse_list_destroy> {
  public:
    Event run() const {
        Event event;
        check(vkfuse_list_run(handle, event.put()));
        return event;
    }
    Recorded record(const VkfuseRecording &into) const {
        Recorded recorded;
        check(vkfuse_list_record(handle, &into, recorded.put()));
        return recorded;
    }
    /* A list with these changes, to be run again and again. */
    List rebind(const Changes &changes) const {
        List other;
        changes.with([&](const VkfuseChanges *given) { check(vkfuse_list_rebind(handle, given, other.put())); });
        return other;
    }
    /* Runs it once with these changes, for less than a list of its own costs. */
    Event run_with(const Changes &changes) const {
        Event event;
        changes.with([&](const VkfuseChanges *given) { check(vkfuse_list_run_with(handle, given, event.put())); });
        return event;
    }
};

class Queue : public Handle<VkfuseQueue, vkfuse_queue_destroy> {
  public:
    /* Runs a kernel with `items` invocations, rounded up to whole work-groups; `push` is its whole block of push constants. */
    template <typename P>
    void submit(const Kernel &kernel, std::initializer_list<VkfuseArgument> arguments, const P &push,
                uint32_t items) const {
        VkfuseSubmission submission{};
        submission.kernel = kernel.get();
        submission.arguments = arguments.begin();
        submission.argument_count = static_cast<uint32_t>(arguments.size());
        submission.push = &push;
        submission.push_size = sizeof push;
        submission.size[0] = items;
        submission.size[1] = submission.size[2] = 1;
        submission.is_items = 1;
        check(vkfuse_queue_submit(handle, &submission, nullptr));
    }
    /* Runs `record` in fusion mode, and completes the list; what it throws cancels. */
    template <typename F> Event fuse(F record, const VkfuseFusionProperties *properties = nullptr) const {
        Event event;
        fusing(record);
        check(vkfuse_queue_complete_fusion(handle, properties, event.put()));
        return event;
    }
    /* Runs `record` in fusion mode, and keeps the list without running it. */
    template <typename F> List keep(F record, const VkfuseFusionProperties *properties = nullptr) const {
        List list;
        fusing(record);
        check(vkfuse_queue_keep_unrun(handle, properties, list.put()));
        return list;
    }
    void wait() const { check(vkfuse_queue_wait(handle)); }
    void wait_semaphore(const VkfuseRawSemaphore &semaphore) const {
        check(vkfuse_queue_wait_semaphore(handle, &semaphore));
    }
    void signal_semaphore(const VkfuseRawSemaphore &semaphore) const {
        check(vkfuse_queue_signal_semaphore(handle, &semaphore));
    }

  private:
    template <typename F> void fusing(F &record) const {
        check(vkfuse_queue_start_fusion(handle));
        try {
            record();
        } catch (...) {
            vkfuse_queue_cancel_fusion(handle);
            throw;
        }
    }
};

class Context : public Handle<VkfuseContext, vkfuse_context_destroy> {
  public:
    Context() { check(vkfuse_context_create(nullptr, put())); }
    explicit Context(const VkfuseContextOptions &options) { check(vkfuse_context_create(&options, put())); }
    explicit Context(const VkfuseRawDevice &device, const VkfuseContextOptions *options = nullptr) {
        check(vkfuse_context_from_raw(&device, options, put()));
    }
    Kernel kernel(const std::string &path) const {
        Kernel kernel;
        check(vkfuse_kernel_from_file(handle, path.c_str(), kernel.put()));
        return kernel;
    }
    Buffer buffer(uint64_t size) const {
        Buffer buffer;
        check(vkfuse_buffer_create(handle, size, buffer.put()));
        return buffer;
    }
    Buffer scratch(uint64_t size) const {
        Buffer buffer;
        check(vkfuse_buffer_scratch(handle, size, buffer.put()));
        return buffer;
    }
    Buffer import(const VkfuseRawBuffer &raw) const {
        Buffer buffer;
        check(vkfuse_buffer_import(handle, &raw, buffer.put()));
        return buffer;
    }
    Queue queue() const {
        Queue queue;
        check(vkfuse_queue_create(handle, queue.put()));
        return queue;
    }
    void wait() const { check(vkfuse_context_wait(handle)); }
};

} // namespace vkfuse

#endif
