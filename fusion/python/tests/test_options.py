"""Options of contexts, and values of constants that a kernel has not, are Vulkan's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import vkfuse

KERNEL = """@group(0) @binding(0) var<storage, read> x: array<{ty}>;
@group(0) @binding(1) var<storage, read_write> z: array<{ty}>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  let i = id.x;
  {body}
}}"""


@pytest.fixture
def opened(context: vkfuse.Context) -> Callable[..., vkfuse.Context]:
    """Further contexts, where there is a device at all."""

    def open_(*, robust: bool = False, contract: bool = False) -> vkfuse.Context:
        return vkfuse.Context(context.device, cache=False, validation=True, robust=robust, contract=contract)

    return open_


@pytest.mark.parametrize(("length", "dispatches"), [(256, 1), (250, 2)])
def test_with_robust_access_what_is_outside_is_zero_and_not_written(
    opened: Callable[..., vkfuse.Context], length: int, dispatches: int
) -> None:
    with opened(robust=True) as context:
        queue = context.queue()
        more = context.wgsl(KERNEL.format(ty="u32", body="z[i] = x[i] + 1u;"))
        first, between = np.arange(1000, 1256, dtype=np.uint32), np.arange(5000, 5256, dtype=np.uint32)
        x, t, z = context.buffer(first), context.buffer(between), context.zeros(256, np.uint32)
        with queue.fuse() as fused:
            queue.submit(more, x.read(), t[:length].write(), items=256)
            queue.submit(more, t[:length].read(), z.write(), items=256)
        # What may lie outside is not handed on in a register.
        assert fused.dispatches == dispatches
        between[:length] = first[:length] + 1
        assert np.array_equal(t.numpy(), between)
        assert np.array_equal(z.numpy(), np.where(np.arange(256) < length, first + 2, 1))
        assert context.stats()["validation_messages"] == 0


def test_floats_are_rounded_one_by_one_or_left_to_the_driver(opened: Callable[..., vkfuse.Context]) -> None:
    found: list[tuple[bool, npt.NDArray[np.float32]]] = []
    for contract in (False, True):
        with opened(contract=contract) as context:
            queue = context.queue()
            kernel = context.wgsl(KERNEL.format(ty="f32", body="let y = x[i] + 1.0e8; z[i] = y - 1.0e8;"))
            x, z = context.buffer(np.full(256, 0.25, np.float32)), context.zeros(256)
            queue.submit(kernel, x.read(), z.write(), items=256)
            found.append((contract, z.numpy()))
            # A list says it for itself.
            for in_list in (False, True):
                with queue.fuse(contract=in_list):
                    queue.submit(kernel, x.read(), z.write(), items=256)
                found.append((in_list, z.numpy()))
            is_llvmpipe = "llvmpipe" in context.device
    for contract, array in found:
        if not contract:
            assert (array == 0).all()
        elif is_llvmpipe:
            # Its compiler recovers the small number, unless float controls forbid that.
            assert (array == 0.25).all()


def test_a_constant_that_the_kernel_has_not_is_ignored_and_noted(
    context: vkfuse.Context, queue: vkfuse.Queue
) -> None:
    text = KERNEL.format(ty="u32", body="z[i] = x[i] * times;")
    kernel = context.wgsl(f"@id(3) override times: u32 = 1u;\n{text}")
    x = np.arange(64, dtype=np.uint32)
    given, out = context.buffer(x), context.zeros(64, np.uint32)
    for value in (1, True, -1.5, np.uint64(1 << 63)):
        out.upload(0)
        with pytest.warns(UserWarning, match="no specialization constant 99: its value is ignored"):
            queue.submit(kernel, given.read(), out.write(), items=64, spec={3: 2, 99: value})
        assert np.array_equal(out.numpy(), 2 * x)
    with pytest.warns(UserWarning, match="constant 99"), queue.fuse() as fused:
        queue.submit(kernel, given.read(), out.write(), items=64, spec={3: 5, 99: 1})
    fused.wait()
    assert np.array_equal(out.numpy(), 5 * x)
    (note,) = fused.report["notes"]
    assert "specialization constant 99" in note and "does not declare" in note


def test_constants_are_named_where_one_is_misspelt(context: vkfuse.Context, queue: vkfuse.Queue) -> None:
    text = KERNEL.format(ty="u32", body="z[i] = x[i] * times + more;")
    kernel = context.wgsl(f"@id(3) override times: u32 = 1u;\n@id(7) override more: u32 = 0u;\n{text}")
    x, z = context.zeros(64, np.uint32), context.zeros(64, np.uint32)
    with pytest.raises(vkfuse.KernelError, match="no specialization constant 'mroe'; it has 7 .*3 "):
        queue.submit(kernel, x.read(), z.write(), items=64, spec={"mroe": 1})


def test_what_may_be_a_mistake_in_a_list_is_noted(context: vkfuse.Context, queue: vkfuse.Queue) -> None:
    kernel = context.wgsl(KERNEL.format(ty="u32", body="z[i] = x[i] + 1u;"), name="more")
    x, z = context.zeros(256, np.uint32, name="x"), context.zeros(256, np.uint32, name="z")
    with queue.fuse() as fused:
        queue.submit(kernel, x.read(), z.write(), items=256)
        queue.submit(kernel, x.read(), z.write(), items=256)
    fused.wait()
    assert fused.report["notes"] == [
        "submission 1 `more` writes over all that submission 0 `more` has written to buffer `z`, and nothing has read it"
    ]
    with queue.fuse() as fused:
        queue.submit(kernel, x.read(), z.write(), items=256)
    fused.wait()
    assert fused.report["notes"] == []
    # Submitted to another queue.
    with queue.fuse() as fused:
        context.queue().submit(kernel, x.read(), z.write(), items=256)
    (note,) = fused.report["notes"]
    assert note.startswith("nothing was submitted to this queue")


def test_a_cache_folder_that_cannot_be_made_is_a_warning(context: vkfuse.Context, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cache folder .*none cannot be made"):
        vkfuse.Context(context.device, cache_dir=tmp_path / "file" / "none").close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vkfuse.Context(context.device, cache_dir=tmp_path / "some" / "folder").close()
