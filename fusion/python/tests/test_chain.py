"""Fused, unfused and numpy give the same bits; reports say what happened."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import numpy.typing as npt
import pytest
import vkfuse
from conftest import ROOT, SHADERS

N = 10_007
Floats = npt.NDArray[np.float32]


class Chain:
    """The quick start's chain, with buffers of its own."""

    def __init__(self, context: vkfuse.Context, promotion: vkfuse.Promotion | None = None) -> None:
        random = np.random.default_rng(7)
        self.inputs: list[Floats] = [random.random(N, np.float32) for _ in range(4)]
        self.buffers = [context.buffer(one) for one in self.inputs]
        names = ("tmp1", "tmp2", "tmp3")
        self.temporaries = [context.zeros(N, name=name, promotion=promotion) for name in names]
        self.out = context.zeros(N, name="out")

    def submit(self, queue: vkfuse.Queue, mul: vkfuse.Kernel, sub: vkfuse.Kernel) -> None:
        (a, b, c, d), (t1, t2, t3) = self.buffers, self.temporaries
        for kernel, x, y, z in ((mul, a, b, t1), (sub, a, c, t2), (mul, t2, d, t3), (sub, t1, t3, self.out)):
            queue.submit(kernel, x.read(), y.read(), z.write(), push=N, items=N)

    def host(self) -> Floats:
        a, b, c, d = self.inputs
        return a * b - (a - c) * d


def same(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def test_fused_unfused_and_numpy_have_the_same_bits(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel, sub: vkfuse.Kernel
) -> None:
    unfused, fused = Chain(context), Chain(context, "private")
    before = context.stats()["dispatches"]
    unfused.submit(queue, mul, sub)
    queue.wait()
    assert context.stats()["dispatches"] - before == 4
    before = context.stats()["dispatches"]
    with queue.fuse() as list_:
        assert queue.is_fusing
        fused.submit(queue, mul, sub)
    list_.wait()
    assert context.stats()["dispatches"] - before == 1
    assert (list_.outcome, list_.dispatches) == ("fused", 1)
    assert not queue.is_fusing
    assert same(unfused.out.numpy(), unfused.host())
    assert same(fused.out.numpy(), fused.host())
    assert list_.event.is_complete and list_.event.gpu_time is not None
    with pytest.raises(vkfuse.BufferError, match="tmp1"):
        fused.temporaries[0].numpy()


def test_reports_are_dicts_and_pictures(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel, sub: vkfuse.Kernel
) -> None:
    chain = Chain(context, "private")
    with queue.fuse() as fused:
        chain.submit(queue, mul, sub)
    fused.wait()
    report = fused.report
    assert report["outcome"] == "fused" and report["format"] == 1
    assert [group["kernels"] for group in report["groups"]] == [[0, 1, 2, 3]]
    granted = {"asked": "private", "got": "private", "reason": None, "explained_at": None}
    assert report["buffers"]["tmp1"] == granted
    assert not report["splits"] and report["time_us"]["jit"] >= 0
    assert json.loads(json.dumps(report)) == report
    picture = report._repr_svg_()
    assert xml.fromstring(picture).tag.endswith("svg")
    for word in ("mul", "sub", "tmp1", "in registers"):
        assert word in picture
    assert picture in report._repr_html_() and fused._repr_html_() == report._repr_html_()


def test_the_report_has_the_fields_of_the_command(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel, sub: vkfuse.Kernel
) -> None:
    with queue.fuse() as fused:
        Chain(context).submit(queue, mul, sub)
    text = (ROOT / "docs/command.md").read_text() + (ROOT / "docs/doors.md").read_text()
    for field in (*fused.report, *fused.report["groups"][0]):
        assert f"`{field}`" in text or f'"{field}"' in text, field


def test_a_split_names_the_accesses_and_where_it_is_explained(
    context: vkfuse.Context, queue: vkfuse.Queue
) -> None:
    text = """@group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      let n = arrayLength(&y);
      if (id.x < n) { for (var i = 0u; i < 40u; i++) { y[id.x] += x[(id.x * 7u + i * 977u) % n]; } }
    }"""
    kernel = context.wgsl(text, name="gather")
    x = np.arange(4096, dtype=np.uint32)
    a, b, c = context.buffer(x), context.zeros(4096, np.uint32, name="b"), context.zeros(4096, np.uint32)
    with queue.fuse() as fused:
        queue.submit(kernel, a.read(), b, items=4096)
        queue.submit(kernel, b.read(), c, items=4096)
    assert fused.dispatches == 2
    (split,) = fused.report["splits"]
    assert split["after"] == 0 and split["buffer"] == "b"
    assert "submission 0" in split["detail"] and "submission 1" in split["detail"]
    assert split["explained_at"].startswith("docs/reasons.md#")
    gathered = np.zeros_like(x)
    for i in range(40):
        gathered += x[(np.arange(4096) * 7 + i * 977) % 4096]
    again = np.zeros_like(x)
    for i in range(40):
        again += gathered[(np.arange(4096) * 7 + i * 977) % 4096]
    assert same(c.numpy(), again)


def test_kept_lists_run_again_with_other_buffers_and_scalars(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel, sub: vkfuse.Kernel
) -> None:
    chain = Chain(context, "private")
    with queue.fuse(keep=True) as fused:
        chain.submit(queue, mul, sub)
    assert len(fused.list) == 4
    chain.out.upload(0)
    event = fused.list.run()
    event.wait()
    assert event.outcome == "fused" and same(chain.out.numpy(), chain.host())
    other = context.zeros(N)
    elsewhere = fused.list.rebind({chain.out: other}, {3: 100})
    elsewhere.run(context.queue()).wait()
    assert same(other.numpy()[:100], chain.host()[:100]) and not other.numpy()[100:].any()
    once = context.zeros(N)
    for _ in range(3):
        once.upload(0)
        event = fused.list.run_with({chain.out: once}, {3: 100})
        event.wait()
        assert event.outcome == "fused"
        assert same(once.numpy()[:100], chain.host()[:100]) and not once.numpy()[100:].any()
    for wrong in [fused.list.rebind, fused.list.run_with]:
        with pytest.raises(vkfuse.FusionError):
            wrong(push={4: 1})
    with pytest.raises(vkfuse.FusionError):
        fused.list.rebind({chain.out: context.zeros(5)})
    with pytest.raises(vkfuse.FusionError):
        fused.list.rebind(push={4: 1})


def test_what_observes_a_list_cancels_it(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel, sub: vkfuse.Kernel
) -> None:
    chain = Chain(context)
    with queue.fuse() as fused:
        chain.submit(queue, mul, sub)
        assert same(chain.out.numpy(), chain.host())
    assert fused.outcome == "cancelled by a host read"
    with pytest.raises(ZeroDivisionError), queue.fuse() as left:
        chain.submit(queue, mul, sub)
        _ = 1 // 0
    assert not queue.is_fusing
    with pytest.raises(vkfuse.FusionError, match="ZeroDivisionError in the `with` block cancelled it: .* ran unfused"):
        left.outcome
    assert same(chain.out.numpy(), chain.host())
    with pytest.raises(vkfuse.FusionError, match="it has not begun: `with queue.fuse"):
        queue.fuse().outcome
    with queue.fuse() as open_, pytest.raises(vkfuse.FusionError, match="it is being recorded"):
        open_.outcome
    with pytest.raises(vkfuse.FusionError, match="already"), queue.fuse(), queue.fuse():
        pass
    assert not queue.is_fusing


def test_the_example_runs(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/python/quickstart.py"), "100003"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "1 dispatch, fused, all right: True"
    assert (SHADERS / "chain/mul.spv").exists()


def test_submissions_without_work_groups_do_nothing(
    context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel
) -> None:
    x, y = context.buffer(np.arange(64, dtype=np.float32)), context.zeros(64)
    for size in (0, (4, 0, 1), (0, 0, 0)):
        with pytest.warns(UserWarning, match="nothing is done: `groups` has a zero"):
            queue.submit(mul, x, x, y, push=64, groups=size).wait()
        with pytest.warns(UserWarning, match="nothing is done: `items` has a zero"):
            queue.submit(mul, x, x, y, push=64, items=size).wait()
    assert not y.numpy().any()
    with pytest.warns(UserWarning, match="nothing is done"), queue.fuse() as list_:
        queue.submit(mul, x, x, y, push=64, items=64)
        queue.submit(mul, y, y, x, push=64, groups=0)
        queue.submit(mul, y, y, y, push=64, items=64)
    list_.wait()
    assert (list_.outcome, list_.dispatches) == ("fused", 1)
    assert same(y.numpy(), np.arange(64, dtype=np.float32) ** 4)
