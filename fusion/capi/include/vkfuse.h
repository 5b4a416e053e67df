/* vkfuse: run-time kernel fusion for Vulkan compute.
 *
 * Made from fusion/capi/src by cbindgen; do not edit.
 *
 * Handles are numbers: one that is null, destroyed or of another kind is an error. Objects may be destroyed in any order.
 * Every call that can fail returns a VkfuseResult, VKFUSE_OK or a failure, and leaves a message (vkfuse_last_error) for the
 * calling thread. Every function may be called from any thread at any time, except where Vulkan itself requires external
 * synchronization of handles that the program passed in. Arrays and texts are copied before the call returns.
 *
 * VkfusePromotion and VkfuseAccess are passed as uint32_t.
 */

#ifndef VKFUSE_H
#define VKFUSE_H

#include <stdint.h>
#include <stddef.h>
#include <vulkan/vulkan.h>

/**
 * What became of a call. Other values than these may come with later versions: whatever is not 0 is a failure.
 */
typedef enum VkfuseResult {
  /**
   * It did what it says.
   */
  VKFUSE_OK = 0,
  /**
   * A pointer that may not be null is, or one is not aligned.
   */
  VKFUSE_NULL_POINTER = 1,
  /**
   * A handle that is null, destroyed, or not of this kind.
   */
  VKFUSE_INVALID_HANDLE = 2,
  /**
   * A value that is none of those allowed.
   */
  VKFUSE_INVALID_ARGUMENT = 3,
  /**
   * The loader, the device, its driver or one of its limits.
   */
  VKFUSE_DEVICE = 4,
  /**
   * The device was made without something that is needed; the message names it.
   */
  VKFUSE_MISSING_FEATURE = 5,
  /**
   * The device is lost: nothing works any more, and a new context is needed.
   */
  VKFUSE_DEVICE_LOST = 6,
  /**
   * No memory is left.
   */
  VKFUSE_OUT_OF_MEMORY = 7,
  /**
   * A module that cannot be used.
   */
  VKFUSE_KERNEL = 8,
  /**
   * A submission that does not fit its kernel or the device.
   */
  VKFUSE_SUBMIT = 9,
  /**
   * A use of a buffer that is not possible.
   */
  VKFUSE_BUFFER = 10,
  /**
   * A call that the queue's fusion mode does not allow.
   */
  VKFUSE_FUSION = 11,
  /**
   * Code could not be made.
   */
  VKFUSE_BUILD = 12,
  /**
   * The work that was waited for had failed.
   */
  VKFUSE_FAILED = 13,
  /**
   * The time ran out first.
   */
  VKFUSE_TIMEOUT = 14,
  /**
   * A defect of vkfuse.
   */
  VKFUSE_INTERNAL = 15,
} VkfuseResult;

/**
 * What became of a submission or of a list.
 */
typedef enum VkfuseOutcome {
  /**
   * It is in a list that has not run.
   */
  VKFUSE_OUTCOME_PENDING = 0,
  /**
   * It was submitted outside fusion mode.
   */
  VKFUSE_OUTCOME_UNFUSED = 1,
  /**
   * The whole list became one kernel.
   */
  VKFUSE_OUTCOME_FUSED = 2,
  /**
   * The list became several kernels, at least one of them fused.
   */
  VKFUSE_OUTCOME_SPLIT = 3,
  /**
   * Fusion mode ended before the list was completed; it ran unfused.
   */
  VKFUSE_OUTCOME_CANCELLED = 4,
  /**
   * Nothing of it could be fused; it ran unfused.
   */
  VKFUSE_OUTCOME_REFUSED = 5,
  /**
   * It ran unfused because its code is being built.
   */
  VKFUSE_OUTCOME_BUILDING = 6,
  /**
   * It did not run.
   */
  VKFUSE_OUTCOME_FAILED = 7,
} VkfuseOutcome;

/**
 * Whether and how a fused kernel may keep a buffer's contents to itself.
 */
typedef enum VkfusePromotion {
  /**
   * It stays in memory.
   */
  VKFUSE_PROMOTION_NONE = 0,
  /**
   * In registers.
   */
  VKFUSE_PROMOTION_PRIVATE = 1,
  /**
   * In shared memory.
   */
  VKFUSE_PROMOTION_LOCAL = 2,
  /**
   * As the planner likes.
   */
  VKFUSE_PROMOTION_AUTO = 3,
} VkfusePromotion;

/**
 * What a kernel does with a buffer.
 */
typedef enum VkfuseAccess {
  /**
   * It only reads.
   */
  VKFUSE_ACCESS_READ = 0,
  /**
   * It writes.
   */
  VKFUSE_ACCESS_WRITE = 1,
  /**
   * It does both.
   */
  VKFUSE_ACCESS_READ_WRITE = 2,
} VkfuseAccess;

/**
 * How a context is made. All zero are the defaults.
 */
typedef struct VkfuseContextOptions {
  /**
   * A part of the name of the device to use; null for the one that `VKFUSE_DEVICE` names, or else the fastest. Not used
   * with a device of the program's own.
   */
  const char *device;
  /**
   * Whether to keep code on disk from one process to the next: 0 as the environment says, 1 not.
   */
  uint32_t no_disk;
  /**
   * Whether to take GPU times of every submission.
   */
  uint32_t profiling;
  /**
   * Whether to switch the validation layer on. Not used with a device of the program's own.
   */
  uint32_t validation_layer;
  /**
   * Whether accesses outside of the range that is bound are defined, as with Vulkan's feature `robustBufferAccess2`: they read zeros and
   * write nothing, fused and unfused. It costs time, and kernels that may leave their ranges fuse less. A device of vkfuse's own gets the
   * feature, or there is no context. Of a device of the program's it is a statement: it was made with the feature.
   */
  uint32_t robust_buffer_access;
  /**
   * Whether what runs outside of lists, and in lists that are cancelled, leaves float operations to the driver as the module has
   * them, which may contract and reassociate. Otherwise they are rounded one by one, as in a fused list.
   */
  uint32_t contract;
} VkfuseContextOptions;

/**
 * A device with everything that belongs to it.
 */
typedef struct VkfuseContext {
  /**
   * 0 is null.
   */
  uint64_t id;
} VkfuseContext;

/**
 * `vkGetInstanceProcAddr`.
 */
typedef PFN_vkVoidFunction (*VkfuseGetInstanceProcAddr)(VkInstance instance, const char *name);

/**
 * Locks or unlocks a queue.
 */
typedef void (*VkfuseLockFunction)(void *user);

/**
 * A queue that vkfuse may use.
 *
 * Vulkan forbids that two threads use a queue at the same time. Either the program does not use it while a call of vkfuse may
 * submit, or it uses it under a lock: `lock` and `unlock` are called around each submission, from any thread that
 * calls vkfuse. Both are null, or neither.
 */
typedef struct VkfuseRawQueue {
  /**
   * The queue's family.
   */
  uint32_t family;
  /**
   * Its number in the family.
   */
  uint32_t index;
  /**
   * Takes the lock.
   */
  VkfuseLockFunction lock;
  /**
   * Gives it back.
   */
  VkfuseLockFunction unlock;
  /**
   * What both are called with.
   */
  void *user;
} VkfuseRawQueue;

/**
 * A device of the program's own.
 */
typedef struct VkfuseRawDevice {
  /**
   * The loader's function.
   */
  VkfuseGetInstanceProcAddr get_instance_proc_addr;
  /**
   * `VkApplicationInfo::apiVersion` that the instance was made with.
   */
  uint32_t api_version;
  /**
   * The instance.
   */
  VkInstance instance;
  /**
   * The physical device.
   */
  VkPhysicalDevice physical_device;
  /**
   * The device.
   */
  VkDevice device;
  /**
   * What the device was made with, its chain of features included. It is not kept.
   */
  const VkDeviceCreateInfo *create_info;
  /**
   * The queues to use.
   */
  const struct VkfuseRawQueue *queues;
  /**
   * How many there are; at least 1.
   */
  uint32_t queue_count;
} VkfuseRawDevice;

/**
 * One entry point of a module.
 */
typedef struct VkfuseKernel {
  /**
   * 0 is null.
   */
  uint64_t id;
} VkfuseKernel;

/**
 * Bytes on the device.
 */
typedef struct VkfuseBuffer {
  /**
   * 0 is null.
   */
  uint64_t id;
} VkfuseBuffer;

/**
 * A part of a buffer of the program's own. It needs the usages `STORAGE_BUFFER`, `TRANSFER_SRC` and `TRANSFER_DST`, and lives
 * until the buffers made from it, and the work on them, are gone.
 */
typedef struct VkfuseRawBuffer {
  /**
   * The buffer.
   */
  VkBuffer buffer;
  /**
   * `VkBufferCreateInfo::usage` that it was made with.
   */
  VkBufferUsageFlags usage;
  /**
   * Where the part starts, in bytes.
   */
  uint64_t offset;
  /**
   * How many bytes it has.
   */
  uint64_t size;
  /**
   * The memory that the buffer is bound to, where other buffers given to vkfuse may be bound to the same bytes; or null.
   */
  VkDeviceMemory memory;
  /**
   * The offset in that.
   */
  uint64_t memory_offset;
} VkfuseRawBuffer;

/**
 * Where work is submitted.
 */
typedef struct VkfuseQueue {
  /**
   * 0 is null.
   */
  uint64_t id;
} VkfuseQueue;

/**
 * A buffer, or a part of one, for a binding.
 */
typedef struct VkfuseArgument {
  /**
   * Descriptor set.
   */
  uint32_t set;
  /**
   * Binding.
   */
  uint32_t binding;
  /**
   * The buffer.
   */
  struct VkfuseBuffer buffer;
  /**
   * Where the part starts, in bytes.
   */
  uint64_t offset;
  /**
   * How many bytes it has; 0 for all from `offset` on.
   */
  uint64_t size;
  /**
   * A `VkfuseAccess`.
   */
  uint32_t access;
} VkfuseArgument;

/**
 * Whether work is complete, and what became of it.
 */
typedef struct VkfuseEvent {
  /**
   * 0 is null.
   */
  uint64_t id;
} VkfuseEvent;

/**
 * The value of a specialization constant.
 */
typedef struct VkfuseConstant {
  /**
   * Its `constant_id` (`SpecId`). What a kernel does not declare is ignored.
   */
  uint32_t id;
  /**
   * The bits of the value, of the constant's type, in the low bits: 0 or 1 of a boolean, of a float those in memory.
   */
  uint64_t bits;
} VkfuseConstant;

/**
 * One dispatch.
 */
typedef struct VkfuseSubmission {
  /**
   * The kernel.
   */
  struct VkfuseKernel kernel;
  /**
   * Its arguments.
   */
  const struct VkfuseArgument *arguments;
  /**
   * How many there are.
   */
  uint32_t argument_count;
  /**
   * Its push constants: the whole block.
   */
  const void *push;
  /**
   * Bytes of it.
   */
  uint32_t push_size;
  /**
   * Work-groups, or items if `is_items` is not 0. With a zero among them nothing is done.
   */
  uint32_t size[3];
  /**
   * Whether `size` counts items, which are rounded up to whole work-groups.
   */
  uint32_t is_items;
  /**
   * Events that it comes after, besides what its buffers say.
   */
  const struct VkfuseEvent *after;
  /**
   * How many there are.
   */
  uint32_t after_count;
  /**
   * Values of specialization constants; all others keep their defaults.
   */
  const struct VkfuseConstant *constants;
  /**
   * How many there are.
   */
  uint32_t constant_count;
} VkfuseSubmission;

/**
 * How a list may be fused. All zero are the defaults.
 */
typedef struct VkfuseFusionProperties {
  /**
   * Makes it an error if the list does not become one kernel; it runs unfused then.
   */
  uint32_t force;
  /**
   * Runs every kernel in its own order.
   */
  uint32_t no_rewrites;
  /**
   * Runs unfused while code is being built.
   */
  uint32_t build_in_background;
  /**
   * Compares fused and unfused on the device where fused code is used first.
   */
  uint32_t verify_first_run;
  /**
   * Measures nothing where the planner does not know how the list is fastest.
   */
  uint32_t no_autotune;
  /**
   * Leaves float operations to the driver as the modules have them: it may contract and reassociate them, also across
   * kernels, so that bits may differ from an unfused run. Otherwise they are rounded one by one.
   */
  uint32_t contract;
  /**
   * Takes the program's word that accesses which cannot be compared do not conflict. The report lists them (`trusted`).
   */
  uint32_t trust;
} VkfuseFusionProperties;

/**
 * A list that was kept, to be run again or recorded.
 */
typedef struct VkfuseList {
  /**
   * 0 is null.
   */
  uint64_t id;
} VkfuseList;

/**
 * A semaphore of the program's own. Its signal is pending, or comes later for timelines, where it is waited for.
 */
typedef struct VkfuseRawSemaphore {
  /**
   * The semaphore.
   */
  VkSemaphore semaphore;
  /**
   * Of a timeline semaphore.
   */
  uint64_t value;
  /**
   * Whether it is one.
   */
  uint32_t is_timeline;
} VkfuseRawSemaphore;

/**
 * Other push constants of a submission.
 */
typedef struct VkfusePush {
  /**
   * The submission, by its place in the list, from 0.
   */
  uint32_t submission;
  /**
   * The whole block.
   */
  const void *bytes;
  /**
   * How many bytes it has.
   */
  uint32_t size;
} VkfusePush;

/**
 * The buffers and push constants in which a list is to differ from another.
 */
typedef struct VkfuseChanges {
  /**
   * Buffers of the list.
   */
  const struct VkfuseBuffer *of;
  /**
   * Each takes the place of the one of `of` at the same place.
   */
  const struct VkfuseBuffer *with;
  /**
   * How many there are of both.
   */
  uint32_t buffer_count;
  /**
   * Other push constants.
   */
  const struct VkfusePush *pushes;
  /**
   * How many of them.
   */
  uint32_t push_count;
} VkfuseChanges;

/**
 * Where a list is recorded to.
 *
 * The command buffer is being recorded, outside of a render pass, and is for queues that can compute. What comes before and
 * after the list is stated here, and a barrier is recorded for it; or both masks are 0, and the program records its own barrier: a
 * list reads and writes in the compute stage, with the accesses `SHADER_READ`, `SHADER_WRITE` and `UNIFORM_READ`. Afterwards compute
 * pipeline, descriptor sets and push constants are to be bound again.
 */
typedef struct VkfuseRecording {
  /**
   * The command buffer.
   */
  VkCommandBuffer command_buffer;
  /**
   * Stages of what comes before.
   */
  VkPipelineStageFlags2 before_stages;
  /**
   * And its accesses.
   */
  VkAccessFlags2 before_accesses;
  /**
   * Stages of what comes after.
   */
  VkPipelineStageFlags2 after_stages;
  /**
   * And its accesses.
   */
  VkAccessFlags2 after_accesses;
} VkfuseRecording;

/**
 * What a list left in a command buffer of the program's.
 */
typedef struct VkfuseRecorded {
  /**
   * 0 is null.
   */
  uint64_t id;
} VkfuseRecorded;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What the latest call of this thread that failed says, in English; never null. Valid until the next call that fails.
 */
const char *vkfuse_last_error(void);

/**
 * The version of the library: major, minor and patch, each below 1000, as one number (1.2.3 is 1002003). A library works for
 * a program that was compiled with a header of the same major version, and of the same minor version while the major one is 0.
 */
uint32_t vkfuse_version(void);

/**
 * Makes a context with a device of its own. `options` may be null.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_context_create(const struct VkfuseContextOptions *given,
                                        struct VkfuseContext *context);

/**
 * Makes a context over a device of the program's own. Nothing of it is ever destroyed by vkfuse. Instance and device have to
 * live until the context, and every object made with it, is destroyed. `options` may be null.
 *
 * * The pointers are null or to what the header says; the handles in them are null or valid; and what `VkfuseRawDevice` says.
 */
enum VkfuseResult vkfuse_context_from_raw(const struct VkfuseRawDevice *device,
                                          const struct VkfuseContextOptions *given,
                                          struct VkfuseContext *context);

/**
 * Lets go of a context. It lives on until every object made with it is destroyed. Null is allowed.
 */
void vkfuse_context_destroy(struct VkfuseContext context);

/**
 * Waits for everything on every queue. Ends every list that is being recorded.
 */
enum VkfuseResult vkfuse_context_wait(struct VkfuseContext context);

/**
 * Writes the device's name to `name`, cut to `size` bytes with the zero at its end.
 *
 * * The pointer is null or to as many bytes.
 */
enum VkfuseResult vkfuse_context_device_name(struct VkfuseContext context, char *name, uintptr_t size);

/**
 * Takes the words of a SPIR-V module with exactly one compute entry point. `name` is for messages, and may be null.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_kernel_from_spirv(struct VkfuseContext context,
                                           const char *name,
                                           const uint32_t *words,
                                           uintptr_t word_count,
                                           struct VkfuseKernel *kernel);

/**
 * Loads a SPIR-V file with exactly one compute entry point.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_kernel_from_file(struct VkfuseContext context,
                                          const char *path,
                                          struct VkfuseKernel *kernel);

/**
 * Compiles WGSL text with exactly one compute entry point. `name` is for messages, and may be null. A library that was built
 * without WGSL returns `VKFUSE_KERNEL`.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_kernel_from_wgsl(struct VkfuseContext context,
                                          const char *name,
                                          const char *source,
                                          struct VkfuseKernel *kernel);

/**
 * Lets go of a kernel. Null is allowed.
 */
void vkfuse_kernel_destroy(struct VkfuseKernel kernel);

/**
 * Makes a buffer of this many bytes, all zero.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_buffer_create(struct VkfuseContext context,
                                       uint64_t size,
                                       struct VkfuseBuffer *buffer);

/**
 * Makes a buffer for what only lives between kernels: promoted wherever that is possible, and without device memory until
 * something needs it.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_buffer_scratch(struct VkfuseContext context,
                                        uint64_t size,
                                        struct VkfuseBuffer *buffer);

/**
 * Makes a buffer over a part of one of the program's own. Its contents are taken as they are.
 *
 * * The pointers are null or to what the header says; the handles are null or valid; and what `VkfuseRawBuffer` says.
 */
enum VkfuseResult vkfuse_buffer_import(struct VkfuseContext context,
                                       const struct VkfuseRawBuffer *raw,
                                       struct VkfuseBuffer *buffer);

/**
 * Copies bytes from the host into a buffer, from an offset on. Work that uses them is waited for; a list with them ends.
 *
 * * The pointer is null or to as many bytes.
 */
enum VkfuseResult vkfuse_buffer_upload(struct VkfuseBuffer buffer,
                                       uint64_t offset,
                                       const void *data,
                                       uint64_t size);

/**
 * Copies bytes of a buffer to the host, from an offset on. Work that writes them is waited for; a list that does ends.
 *
 * * The pointer is null or to as many bytes.
 */
enum VkfuseResult vkfuse_buffer_download(struct VkfuseBuffer buffer,
                                         uint64_t offset,
                                         void *data,
                                         uint64_t size);

/**
 * Gives a buffer a name for messages and reports.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_buffer_set_name(struct VkfuseBuffer buffer, const char *name);

/**
 * Says whether and how fused kernels may keep the contents to themselves: a `VkfusePromotion`.
 */
enum VkfuseResult vkfuse_buffer_set_promotion(struct VkfuseBuffer buffer, uint32_t promotion);

/**
 * Lets go of a buffer. Its memory lives on as long as work or lists use it. Null is allowed.
 */
void vkfuse_buffer_destroy(struct VkfuseBuffer buffer);

/**
 * Makes a queue that can enter fusion mode.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_queue_create(struct VkfuseContext context, struct VkfuseQueue *queue);

/**
 * Lets go of a queue. A list that is being recorded runs first. Null is allowed.
 */
void vkfuse_queue_destroy(struct VkfuseQueue queue);

/**
 * Waits for everything submitted to the queue. In fusion mode that cancels.
 */
enum VkfuseResult vkfuse_queue_wait(struct VkfuseQueue queue);

/**
 * Submits a dispatch, or lists it in fusion mode. `event` may be null.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_queue_submit(struct VkfuseQueue queue,
                                      const struct VkfuseSubmission *submission,
                                      struct VkfuseEvent *event);

/**
 * Enters fusion mode: from now on submissions are listed, until the list is completed, kept or cancelled. A program that gives up
 * in between, after a submission that failed, say, calls `vkfuse_queue_cancel_fusion`.
 */
enum VkfuseResult vkfuse_queue_start_fusion(struct VkfuseQueue queue);

/**
 * Ends fusion mode: the list runs as as few kernels as can be shown to give the same results. `properties` and `event` may be
 * null.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_queue_complete_fusion(struct VkfuseQueue queue,
                                               const struct VkfuseFusionProperties *given,
                                               struct VkfuseEvent *event);

/**
 * As `vkfuse_queue_complete_fusion`, and keeps the list, to be run again or recorded.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_queue_complete_and_keep(struct VkfuseQueue queue,
                                                 const struct VkfuseFusionProperties *given,
                                                 struct VkfuseEvent *event,
                                                 struct VkfuseList *list);

/**
 * Ends fusion mode and keeps the list. Nothing of it runs.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_queue_keep_unrun(struct VkfuseQueue queue,
                                          const struct VkfuseFusionProperties *given,
                                          struct VkfuseList *list);

/**
 * Ends fusion mode: the list runs unfused.
 */
enum VkfuseResult vkfuse_queue_cancel_fusion(struct VkfuseQueue queue);

/**
 * What the queue runs from now on starts after a semaphore of the program's.
 *
 * * The pointer is null or to what the header says, and the handle is null or valid.
 */
enum VkfuseResult vkfuse_queue_wait_semaphore(struct VkfuseQueue queue,
                                              const struct VkfuseRawSemaphore *semaphore);

/**
 * Signals a semaphore of the program's when everything that the queue was asked to run is complete. A list that is being
 * recorded ends first.
 *
 * * The pointer is null or to what the header says, and the handle is null or valid.
 */
enum VkfuseResult vkfuse_queue_signal_semaphore(struct VkfuseQueue queue,
                                                const struct VkfuseRawSemaphore *semaphore);

/**
 * Waits until the work is complete, or for this many nanoseconds: `VKFUSE_TIMEOUT` if it is not complete then. `UINT64_MAX` is
 * for ever. A list that is being recorded is cancelled.
 */
enum VkfuseResult vkfuse_event_wait(struct VkfuseEvent event,
                                    uint64_t timeout_ns);

/**
 * What became of the work. Observes nothing.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_event_outcome(struct VkfuseEvent event, enum VkfuseOutcome *outcome);

/**
 * What became of the work, in words, with the reason where it was refused: cut to `size` bytes with the zero at its end.
 *
 * * The pointer is null or to as many bytes.
 */
enum VkfuseResult vkfuse_event_outcome_text(struct VkfuseEvent event,
                                            char *text,
                                            uintptr_t size);

/**
 * How many dispatches a completed list became; 0 for what is no completed list.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_event_dispatches(struct VkfuseEvent event, uint32_t *dispatches);

/**
 * What happened to a completed list, as JSON with the fields of `vkfuse run --json`. `needed` is set to its bytes, with the zero at
 * its end, or to 0 for what is no completed list. Nothing is written to `text` if that is more than `size`: so call it first
 * with null and 0.
 *
 * * The pointers are null or to as many bytes, and to what the header says.
 */
enum VkfuseResult vkfuse_event_report_json(struct VkfuseEvent event,
                                           char *text,
                                           uintptr_t size,
                                           uintptr_t *needed);

/**
 * Nanoseconds that the work took on the device, of the whole list if it is in one. 0 before it is complete, and where profiling
 * is off (`VkfuseContextOptions`).
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_event_gpu_time(struct VkfuseEvent event,
                                        uint64_t *nanoseconds);

/**
 * A timeline semaphore of the context's and the value that it has once the work is complete, for the program's own submissions
 * to wait for. It lives as long as the context. Both are 0 where there is no work on the device.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_event_semaphore(struct VkfuseEvent event,
                                         VkSemaphore *semaphore,
                                         uint64_t *value);

/**
 * Lets go of an event. Null is allowed.
 */
void vkfuse_event_destroy(struct VkfuseEvent event);

/**
 * Runs the list again. `event` may be null.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_list_run(struct VkfuseList list, struct VkfuseEvent *event);

/**
 * Makes a list with other buffers and other push constants, to be run again and again.
 *
 * * The pointers are null or to what the header says, and so are those in `changes`.
 */
enum VkfuseResult vkfuse_list_rebind(struct VkfuseList list,
                                     const struct VkfuseChanges *changes,
                                     struct VkfuseList *other);

/**
 * Runs the list once with other buffers and other push constants, for less than a list of their own costs. `event` may be null.
 *
 * * The pointers are null or to what the header says, and so are those in `changes`.
 */
enum VkfuseResult vkfuse_list_run_with(struct VkfuseList list,
                                       const struct VkfuseChanges *changes,
                                       struct VkfuseEvent *event);

/**
 * Records the list into a command buffer of the program's. `recorded` keeps alive what the commands use: it is destroyed when no
 * execution of them is pending any more.
 *
 * * The pointers are null or to what the header says, and the handle is null or valid.
 */
enum VkfuseResult vkfuse_list_record(struct VkfuseList list,
                                     const struct VkfuseRecording *into,
                                     struct VkfuseRecorded *recorded);

/**
 * Work of vkfuse that was pending on the list's buffers as it was recorded: timeline semaphores with values, which the submission
 * that executes the list waits for. Writes at most `*count` of them, and to `*count` how many there are.
 *
 * * The pointers are null or to what the header says.
 */
enum VkfuseResult vkfuse_recorded_waits(struct VkfuseRecorded recorded,
                                        VkSemaphore *semaphores,
                                        uint64_t *values,
                                        uint32_t *count);

/**
 * How many dispatches were recorded.
 *
 * * The pointer is null or to what the header says.
 */
enum VkfuseResult vkfuse_recorded_dispatches(struct VkfuseRecorded recorded, uint32_t *dispatches);

/**
 * Lets go of what the commands use. None of their executions may be pending. Null is allowed.
 */
void vkfuse_recorded_destroy(struct VkfuseRecorded recorded);

/**
 * Lets go of a list. Null is allowed.
 */
void vkfuse_list_destroy(struct VkfuseList list);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VKFUSE_H */
