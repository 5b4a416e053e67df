"""Arrays of another type than a kernel's are an error that names both."""

from __future__ import annotations

import warnings
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
    [np.float64, np.float16, np.complex64, np.complex128, np.bool_, np.int32, np.uint32, np.int64, np.int8, "S4", "M8[s]"],
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


def test_elements_that_no_device_has_are_an_error(context: vkfuse.Context) -> None:
    for array, hint in (
        (np.zeros(4, ">f4"), r"byte order.*`array.astype\('f4'\)`"),
        (np.array(["a", "b"]), "<U1.*array.astype"),
        (np.array([None]), "object"),
    ):
        with pytest.raises(TypeError, match=hint):
            context.buffer(array)
        with pytest.raises(TypeError, match=hint):
            context.zeros(4, np.uint8).cast(array.dtype)


def test_what_is_uploaded_keeps_its_kind(context: vkfuse.Context) -> None:
    numbers = context.zeros(4, np.uint32)
    for lossy in (np.full(4, 1.7), [1.0, 2.0, 3.0, 4.0], 1j):
        with pytest.raises(TypeError, match="does not fit into uint32: `array.astype"):
            numbers.upload(lossy)
    with pytest.raises(TypeError, match="does not fit"):
        numbers[1:3].upload(np.ones(2))
    for array in (np.arange(4), np.arange(4, dtype=np.uint8), [0, 1, 2, 3]):
        numbers.upload(array)
        assert numbers.numpy().tolist() == [0, 1, 2, 3]
    floats = context.zeros(4)
    for fitting in (np.arange(4), np.arange(4.0), np.arange(4, dtype=np.float16)):
        floats.upload(fitting)
        assert floats.numpy().tolist() == [0, 1, 2, 3]


def test_arrays_of_its_type_and_bytes_are_right(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    data: npt.NDArray[Any] = np.arange(N, dtype=np.float64)
    for array in (data.astype(np.float32), data.view(np.float32), data.view(np.uint8)):
        submit(queue, mul, context.buffer(array))
    submit(queue, mul, context.buffer(data).cast(np.float32))
    bits = context.buffer(np.array([0x3F800000], np.uint32))
    assert bits.cast(np.float32).numpy().tolist() == [1.0]
    assert context.buffer(data).cast(np.uint8).shape == (8 * N,)
    with pytest.raises(ValueError, match="4 bytes are no whole number of float64, which has 8"):
        bits.cast(np.float64)
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
    assert buffer.shape == (3, 4)
    assert buffer.dtype == np.float32
    back = np.from_dlpack(buffer)
    assert back.tolist() == data.tolist()
    with pytest.raises(TypeError, match="Tensor is not in the host's memory"):
        context.buffer(Tensor(data, device=2))
    with pytest.raises(BufferError):
        buffer.__dlpack__(copy=False)


def test_sizes_and_shapes_are_named(context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel) -> None:
    x = context.zeros(N)
    for size in (-3, (1, -1), 1 << 32):
        with pytest.raises(OverflowError, match="from 0 to 4294967295"):
            queue.submit(mul, x, x, x, push=1, groups=size)
    for array in (np.ones(7, np.float32), np.ones((2, 3), np.float32)):
        with pytest.raises(ValueError, match=r"an array of shape \(.*\) does not fit a buffer of shape \(256,\)"):
            x.upload(array)


def test_what_a_kernel_does_not_use_is_a_warning(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    x = context.zeros(N)
    with pytest.warns(UserWarning, match="kernel `mul` does not use binding 3 of set 0"):
        queue.submit(mul, x, x, x, x, push=1, items=1).wait()
    with pytest.warns(UserWarning, match=r"`mul` only reads binding 0 \(`X`\), and was given it by `write`"):
        queue.submit(mul, x.write(), x.read(), x, push=1, items=1).wait()


def test_arguments_that_are_missing_or_misplaced_are_named(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    x, numbers = context.zeros(N), context.zeros(N, np.uint32)
    with pytest.raises(vkfuse.SubmitError, match=r"`mul` takes 3 buffers, and 2 were given: none for binding 2 \(`Z`\)"):
        queue.submit(mul, x, numbers, push=1, items=1)
    for place in ("0", (0,), (0, 1, 2), -1, 1.5, (0, "1")):
        with pytest.raises(TypeError, match="no place for an argument"):
            queue.submit(mul, at={place: x}, push=1, items=1)  # type: ignore[dict-item]
    queue.submit(mul, at={0: x, (0, 1): x, np.int64(2): x}, push=1, items=1).wait()  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="begins with its kernel.* not with bytes"):
        queue.submit(b"kernel", x, x, x, push=1, items=1)  # type: ignore[arg-type]
    other = vkfuse.Context(context.device, cache=False)
    with pytest.raises(vkfuse.SubmitError, match="passed for binding 0, belongs to another context"):
        queue.submit(mul, other.zeros(N), x, x, push=1, items=1)
    other.close()


def test_parts_that_overlap_are_a_warning_where_one_is_written(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    x, z = context.zeros(N), context.zeros(N)
    with pytest.warns(UserWarning, match=r"writes binding 2 \(`Z`\), and .* at binding 0 of set 0 overlap"):
        queue.submit(mul, x[:128], z, x[64:192], push=64, items=64).wait()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        queue.submit(mul, x[:128], x[64:192], z, push=64, items=64).wait()
        queue.submit(mul, x[:64], x[:64], x[64:128], push=64, items=64).wait()
        queue.submit(mul, x, x, x, push=64, items=64).wait()


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
