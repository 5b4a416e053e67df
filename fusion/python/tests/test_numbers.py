"""Arrays, parts of them, push constants and specialization constants are what numpy says they are."""

from __future__ import annotations

import numpy as np
import pytest
import vkfuse
from conftest import SHADERS

ADD = """struct Push {{ by: {ty} }}
@group(0) @binding(0) var<storage, read_write> x: array<{ty}>;
@group(0) @binding(1) var<uniform> push: Push;
override times: u32;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  if (id.x < arrayLength(&x)) {{ for (var i = 0u; i < times; i++) {{ x[id.x] += push.by; }} }}
}}"""


@pytest.mark.parametrize(("ty", "dtype"), [("u32", np.uint32), ("i32", np.int32), ("f32", np.float32)])
def test_arrays_keep_their_shape_and_type(
    context: vkfuse.Context, queue: vkfuse.Queue, ty: str, dtype: type[np.generic]
) -> None:
    kernel = context.wgsl(ADD.format(ty=ty), name=f"add_{ty}")
    array = np.arange(3 * 5 * 7).reshape(3, 5, 7).astype(dtype)
    x, by = context.buffer(array), context.buffer(np.array([2], dtype))
    queue.submit(kernel, x, by.read(), items=array.size, spec={"times": 3})
    assert x.numpy().shape == (3, 5, 7) and x.dtype == dtype and x.nbytes == array.nbytes and len(x) == 3
    assert np.array_equal(np.asarray(x), array + 6)
    number = next(iter(kernel.constants))
    assert kernel.constants[number] == ("times", np.dtype(np.uint32))
    queue.submit(kernel, x, by.constant(), items=array.size, spec={number: np.uint32(2)})
    assert np.array_equal(x.numpy(), array + 10)
    assert kernel.local_size == (64, 1, 1)
    assert [(one[0], one[1]) for one in kernel.bindings] == [(0, 0), (0, 1)]


def test_arrays_that_are_not_contiguous(context: vkfuse.Context) -> None:
    array = np.arange(24, dtype=np.uint16).reshape(4, 6)
    for given in (array.T, array[:, ::-1], array[1:3, 2:5], np.asfortranarray(array)):
        assert np.array_equal(context.buffer(given).numpy(), given)
    x = context.buffer(array)
    x.upload(7)
    assert (x.numpy() == 7).all()
    x[3:9].upload(np.arange(6))
    assert np.array_equal(x.numpy().reshape(-1)[:10], [7, 7, 7, 0, 1, 2, 3, 4, 5, 7])
    assert np.array_equal(x[3:9][1:3].numpy(), [1, 2])


def test_parts_of_buffers(context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel) -> None:
    x = context.buffer(np.arange(1024, dtype=np.float32))
    out = context.zeros(1024)
    queue.submit(mul, x[256:512].read(), x[512:768].read(), out[:256].write(), push=256, items=256)
    host = np.arange(256, 512, dtype=np.float32) * np.arange(512, 768, dtype=np.float32)
    assert np.array_equal(out.numpy()[:256], host) and not out.numpy()[256:].any()
    with pytest.raises(ValueError, match="step"):
        x[::2]
    with pytest.raises(TypeError):
        x[3]  # type: ignore[index]
    with pytest.raises(vkfuse.SubmitError):
        queue.submit(mul, x[10:10].read(), x.read(), out.write(), push=1, items=1)


def test_push_constants(context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel) -> None:
    one = context.buffer(np.ones(64, np.float32))
    for push in (10, (10,), [np.int64(10)], np.uint32(10), np.array([10], np.uint32), b"\x0a\0\0\0", [[10]], np.array(10)):
        out = context.zeros(64)
        queue.submit(mul, one.read(), one.read(), out.write(), push=push, items=64)
        assert out.numpy().sum() == 10
    out = context.zeros(64)
    for wrong, error in (
        ((1, 2), vkfuse.SubmitError),
        (None, vkfuse.SubmitError),
        (b"\0", vkfuse.SubmitError),
        (-1, OverflowError),
        (1 << 32, OverflowError),
        (1.5, TypeError),
        ("ab", TypeError),
        ({"n": 1}, TypeError),
        (np.array([10.0]), vkfuse.SubmitError),
        (np.array([10.0], np.float32), vkfuse.SubmitError),
        (np.array([10], np.uint64), vkfuse.SubmitError),
    ):
        with pytest.raises(error):
            queue.submit(mul, one.read(), one.read(), out.write(), push=wrong, items=64)
    assert not out.numpy().any()


def test_push_constants_are_compared_with_the_block(
    context: vkfuse.Context, queue: vkfuse.Queue
) -> None:
    kernel = context.load(SHADERS / "access/increment.spv")
    x = context.zeros(64)
    named = "uint32, float32"
    for wrong, error, said in (
        (np.array([64, 2.0]), vkfuse.SubmitError, f"16 bytes of float64; .*`increment` has 8: {named}"),
        (np.array([64, 2], np.uint32), vkfuse.SubmitError, f"8 bytes of uint32; .* has 8: {named}"),
        ((64,), vkfuse.SubmitError, rf"takes 2 push constants \({named}\), and was given 1"),
        ({"n": 64, "a": 2.0}, TypeError, rf"in the order of the block of kernel `increment` \({named}\)"),
        ((2.0, 64), TypeError, r"byte 0 of the push constants of kernel `increment` is uint32: 2\.0 is no integer"),
        ((-1, 2.0), OverflowError, "byte 0 of .* is uint32: -1 is no uint32"),
        ((64, "two"), TypeError, "byte 4 of .* is float32: 'two' is no number"),
    ):
        with pytest.raises(error, match=said):
            queue.submit(kernel, x, push=wrong, items=64)
    with pytest.raises(TypeError, match="and not ndarray; `Context.buffer` makes one of an array"):
        queue.submit(kernel, np.zeros(64, np.float32), push=(64, 2.0), items=64)  # type: ignore[arg-type]
    block = np.array((64, 2.0), np.dtype([("n", np.uint32), ("step", np.float32)]))
    for right in (block, block[()], ((64,), 2.0), np.frombuffer(block.tobytes(), np.uint8)):
        x.upload(0.0)
        queue.submit(kernel, x, push=right, items=64).wait()
        assert (x.numpy() == 2).all()


def test_specialization_constants_that_are_wrong(context: vkfuse.Context, queue: vkfuse.Queue) -> None:
    kernel = context.wgsl(ADD.format(ty="u32"))
    x, by = context.zeros(4, np.uint32), context.zeros(1, np.uint32)
    for wrong, error in (
        ({"no": 1}, vkfuse.KernelError),
        ({-1: 1}, vkfuse.KernelError),
        ({1 << 32: 1}, vkfuse.KernelError),
        ({99: "many"}, TypeError),
        ({"times": -1}, OverflowError),
        ({"times": 1.0}, TypeError),
        ({"times": "many"}, TypeError),
    ):
        with pytest.raises(error):
            queue.submit(kernel, x, by.read(), items=4, spec=wrong)  # type: ignore[arg-type]


def test_shapes_and_types_that_are_none(context: vkfuse.Context) -> None:
    for shape, error in (
        (0, vkfuse.DeviceError),
        (-1, ValueError),
        (4.5, TypeError),
        ((4, 4.0), TypeError),
        ((1 << 40, 1 << 40), vkfuse.DeviceError),
        (1 << 62, vkfuse.DeviceError),
        (1 << 50, vkfuse.DeviceError),
    ):
        with pytest.raises(error):
            context.zeros(shape)  # type: ignore[arg-type]
    with pytest.raises(vkfuse.DeviceError, match="1125899906842624 elements of float32 are 4503599627370496 bytes: .*limit"):
        context.zeros(1 << 50)
    with pytest.raises(TypeError):
        context.zeros(4, object)
    with pytest.raises(ValueError):
        context.zeros(4).upload([1, 2, 3])
    with pytest.raises(ValueError):
        context.zeros(4)[1:3].upload([1, 2, 3])
    with pytest.raises(ValueError, match="promotion"):
        context.zeros(4, promotion="elsewhere")  # type: ignore[arg-type]


def test_modules_that_are_none(context: vkfuse.Context) -> None:
    for code in (b"", b"\0" * 64, b"\x03\x02\x23\x07" * 64, (SHADERS / "chain/mul.spv").read_bytes()[:100]):
        with pytest.raises(vkfuse.KernelError):
            context.spirv(code)
    with pytest.raises(TypeError, match="`load` takes a path"):
        context.spirv(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="uint32, and not int64"):
        context.spirv(np.zeros(16, np.int64))
    for given in (b"code", bytearray(4), np.zeros(4, np.uint32)):
        with pytest.raises(TypeError, match="`load` takes a path.*`spirv` takes the bytes"):
            context.load(given)  # type: ignore[arg-type]
    with pytest.raises(vkfuse.KernelError, match="given text: `wgsl` takes WGSL; GLSL is compiled"):
        context.load("@compute @workgroup_size(64) fn main() {}")
    with pytest.raises(vkfuse.KernelError, match="is GLSL, and `wgsl` takes WGSL"):
        context.wgsl("#version 450\nvoid main() {}")
    with pytest.raises(vkfuse.KernelError, match="kernel.wgsl is a path: `load`"):
        context.wgsl("kernel.wgsl")
    with pytest.raises(vkfuse.KernelError, match="line 1"):
        context.wgsl("fn main( {")
    with pytest.raises(vkfuse.KernelError, match="nowhere"):
        context.load("/nowhere/kernel.spv")
    with pytest.raises(vkfuse.KernelError, match="no compute entry point `other`"):
        context.load(SHADERS / "chain/mul.spv", entry="other")
    words = np.fromfile(SHADERS / "chain/mul.spv", np.uint32)
    assert context.spirv(words, name="words", entry="main").name == "words"
