"""Arrays of another type than a kernel's are an error that names both."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import vkfuse

N = 256


def submit(queue: vkfuse.Queue, kernel: vkfuse.Kernel, x: vkfuse.Buffer) -> None:
    queue.submit(kernel, x, x, x, push=1, items=1).wait()


@pytest.mark.parametrize(
    "dtype",
    [np.float64, np.float16, np.complex64, np.complex128, np.bool_, np.int32, np.uint32, np.int64, np.int8, "S4", ">f4", "M8[s]"],
)
def test_arrays_of_another_type_are_an_error(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel, dtype: npt.DTypeLike
) -> None:
    x = context.zeros(N, dtype, name="prices")
    with pytest.raises(vkfuse.SubmitError, match="(?s)`mul`.*binding 0.*f32.*`prices`.*cast"):
        submit(queue, mul, x)
    with queue.fuse():
        with pytest.raises(vkfuse.SubmitError):
            submit(queue, mul, x)


def test_arrays_of_its_type_and_bytes_are_right(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    data: npt.NDArray[Any] = np.arange(N, dtype=np.float64)
    for array in (data.astype(np.float32), data.view(np.float32), data.view(np.uint8)):
        submit(queue, mul, context.buffer(array))
    submit(queue, mul, context.buffer(data).cast(np.float32))
    bits = context.buffer(np.array([0x3F800000], np.uint32))
    assert bits.cast(np.float32).numpy().tolist() == [1.0]
    assert (context.buffer(data).cast(np.uint8).shape, bits.cast(np.float64).size) == ((8 * N,), 0)
    # Structures are known by their size alone.
    submit(queue, mul, context.zeros(N, np.dtype([("x", np.float32), ("y", np.float32)])))


def test_a_list_is_not_rebound_to_another_type(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    x, y = context.zeros(N, np.float32), context.zeros(N, np.int32)
    with queue.fuse(keep=True) as fused:
        queue.submit(mul, x, x, x, push=1, items=1)
    with pytest.raises(vkfuse.FusionError, match="int32.*float32"):
        fused.list.rebind({x: y})
    fused.list.rebind({x: y.cast(np.float32)}).run().wait()
