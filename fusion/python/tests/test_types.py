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


class Tensor:
    """An array of another library's: all that it has is the protocol."""

    def __init__(self, array: npt.NDArray[Any], device: int = 1) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


def test_arrays_of_other_libraries_come_and_go_by_dlpack(context: vkfuse.Context) -> None:
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    buffer = context.buffer(Tensor(data), name="x")
    assert (buffer.shape, buffer.dtype) == ((3, 4), np.float32)
    back = np.from_dlpack(buffer)
    assert back.tolist() == data.tolist()
    with pytest.raises(TypeError, match="Tensor is not in the host's memory"):
        context.buffer(Tensor(data, device=2))
    with pytest.raises(BufferError):
        buffer.__dlpack__(copy=False)


def test_everything_is_one_short_line(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    x = context.zeros((2, 8), name="x")
    with queue.fuse(keep=True) as fused:
        assert repr(queue) == "<vkfuse.Queue, in fusion mode>"
        assert repr(fused) == "<vkfuse.Fusion, recording>"
        queue.submit(mul, x.read(), x.read(), x.write(), push=16, items=16)
    fused.wait()
    assert repr(x) == "<vkfuse.Buffer x float32[2, 8]>"
    assert repr(x.read()) == "<vkfuse.View x float32, read>"
    assert repr(x[4:6].constant()) == "<vkfuse.View x float32[4:6], constant>"
    assert repr(queue) == "<vkfuse.Queue>"
    assert repr(fused.list) == "<vkfuse.FusedList of mul>"
    assert repr(fused.report).startswith("<vkfuse.Report, ")
    for one in (context, mul, fused, fused.event):
        assert len(repr(one)) < 100 and repr(one).startswith("<vkfuse.")
