"""Run-time kernel fusion for Vulkan compute: fused, proven, or refused with a reason.

    import numpy as np
    import vkfuse

    context = vkfuse.Context()
    queue = context.queue()
    mul = context.load("shaders/chain/mul.spv")
    a, b = context.buffer(np.arange(1000, dtype=np.float32)), context.buffer(np.ones(1000, np.float32))
    product, square = context.scratch(1000, np.float32), context.zeros(1000, np.float32)
    with queue.fuse() as fused:
        queue.submit(mul, a.read(), b.read(), product.write(), push=1000, items=1000)
        queue.submit(mul, product.read(), product.read(), square.write(), push=1000, items=1000)
    print(fused.outcome, square.numpy())

Objects may be used from any thread. What waits or compiles lets other threads run meanwhile.
"""

from ._buffer import Access, Buffer, Promotion, View
from ._context import Context, devices
from ._kernel import Kernel
from ._layer import layer_folder
from ._native import (
    BufferError,
    BuildError,
    ClosedError,
    DeviceError,
    DeviceLostError,
    Error,
    FailedError,
    FusionError,
    InternalError,
    KernelError,
    MissingFeatureError,
    OutOfMemoryError,
    SubmitError,
    __version__,
)
from ._queue import Event, FusedList, Fusion, Queue
from ._report import Report

__all__ = [
    "Access",
    "Buffer",
    "BufferError",
    "BuildError",
    "ClosedError",
    "Context",
    "DeviceError",
    "DeviceLostError",
    "Error",
    "Event",
    "FailedError",
    "FusedList",
    "Fusion",
    "FusionError",
    "InternalError",
    "Kernel",
    "KernelError",
    "MissingFeatureError",
    "OutOfMemoryError",
    "Promotion",
    "Queue",
    "Report",
    "SubmitError",
    "View",
    "__version__",
    "devices",
    "layer_folder",
]
