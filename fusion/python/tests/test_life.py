"""Wrong arguments are exceptions and never the end of the process; closing, forking, waiting, threads."""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time

import numpy as np
import pytest
import vkfuse
from vkfuse import _native

SLOW = """@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var v = x[id.x];
  for (var i = 0u; i < 2000000u; i++) { v = v * 1664525u + 1013904223u; }
  x[id.x] = v;
}"""


def test_exceptions_are_by_subject() -> None:
    for one in (
        vkfuse.DeviceError,
        vkfuse.KernelError,
        vkfuse.SubmitError,
        vkfuse.BufferError,
        vkfuse.FusionError,
        vkfuse.BuildError,
        vkfuse.FailedError,
        vkfuse.ClosedError,
        vkfuse.InternalError,
    ):
        assert issubclass(one, vkfuse.Error) and one.__doc__
    for one in (vkfuse.MissingFeatureError, vkfuse.DeviceLostError, vkfuse.OutOfMemoryError):
        assert issubclass(one, vkfuse.DeviceError)


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(vkfuse.DeviceError, match="no such thing"):
        vkfuse.Context("no such thing")
    assert all(isinstance(one["name"], str) for one in vkfuse.devices())


def test_wrong_calls(context: vkfuse.Context, queue: vkfuse.Queue, mul: vkfuse.Kernel) -> None:
    x, y = context.zeros(64), context.zeros(64)
    with pytest.raises(TypeError):
        queue.submit(mul, x, x, y, push=64)
    with pytest.raises(TypeError):
        queue.submit(mul, x, x, y, push=64, items=1, groups=1)
    with pytest.raises(TypeError):
        queue.submit(mul, x, x, 5, push=64, items=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        queue.submit(mul, x, x, y, push=64, items=(1, 2, 3, 4))
    with pytest.raises(OverflowError):
        queue.submit(mul, x, x, y, push=64, items=-1)
    with pytest.raises(vkfuse.SubmitError, match="binding"):
        queue.submit(mul, x, y, push=64, items=64)
    with pytest.raises(vkfuse.SubmitError):
        queue.submit(mul, x, x, y.read(), push=64, items=64)
    other = vkfuse.Context(validation=True)
    with pytest.raises(vkfuse.Error):
        queue.submit(mul, x, x, other.zeros(64), push=64, items=64)
    other.close()


def test_wild_arguments_of_the_native_half(context: vkfuse.Context, mul: vkfuse.Kernel) -> None:
    """Calls of everything with anything: an exception or a result, and the process goes on."""
    dice = random.Random(11)
    native = context._native
    queue = native.queue(False)
    buffer = native.buffer(256, False)
    things: list[object] = [
        None, 0, 1, -1, 3, 1 << 40, 1 << 64, 1.5, float("nan"), float("inf"), "", "x", "private", "read", b"", b"\0" * 4,
        b"\0" * 64, [], [1, 1, 1], [(0, 1)], (), {}, True, False, np.zeros(4, np.uint8), np.zeros(0, np.uint8), np.zeros((2, 3))[::2],
        np.zeros(64, np.uint8)[::3], np.frombuffer(b"12345678", np.uint8), object(), native, queue, buffer, mul._native,
    ]  # fmt: skip
    kinds = (_native.Context, _native.Queue, _native.Buffer, _native.Kernel, _native.Event, _native.List)
    counts = [0, 0]
    for _ in range(4000):
        target = dice.choice([thing for thing in things if isinstance(thing, kinds)])
        # These would be the end of what the others need, or of the test's patience.
        names = [name for name in dir(target) if not name.startswith("_") and name not in ("close", "device")]
        try:
            call = getattr(target, dice.choice(names))
            result = call(*(dice.choice(things) for _ in range(dice.randrange(9)))) if callable(call) else call
        except (TypeError, ValueError, OverflowError, AttributeError, BufferError, MemoryError, vkfuse.Error) as error:
            assert not isinstance(error, vkfuse.InternalError), error
            counts[1] += 1
        else:
            counts[0] += 1
            if isinstance(result, kinds) and len(things) < 60:
                things.append(result)
    assert counts[0] > 100 and counts[1] > 1000, counts
    queue.wait()


def test_use_after_close(mul: vkfuse.Kernel) -> None:
    context = vkfuse.Context(validation=True)
    queue, x = context.queue(), context.zeros(64, np.uint32)
    with pytest.raises(vkfuse.Error):
        queue.submit(mul, x, x, x, push=64, items=64)
    kernel = context.wgsl(SLOW)
    event = queue.submit(kernel, x, items=64)
    x.close()
    x.close()
    with pytest.raises(vkfuse.ClosedError, match="this buffer was closed"):
        x.numpy()
    # What was submitted keeps its memory.
    event.wait()
    y = context.zeros(64, np.uint32)
    assert context.stats()["validation_messages"] == 0
    context.close()
    context.close()
    assert repr(context) == "<vkfuse.Context, closed>"
    for call in (
        y.numpy, queue.wait, event.wait, context.wait, lambda: context.zeros(4), lambda: y.upload(1), context.stats,
        lambda: queue.submit(kernel, y, items=64), lambda: queue.fuse().__enter__(), lambda: kernel.name,
    ):  # fmt: skip
        with pytest.raises(vkfuse.ClosedError, match="context that was closed|context was closed"):
            call()


def test_objects_go_in_any_order(mul: vkfuse.Kernel) -> None:
    with vkfuse.Context(validation=True) as context:
        queue = context.queue()
        x = context.buffer(np.arange(64, dtype=np.uint32))
        event = queue.submit(context.wgsl(SLOW), x, items=64)
        del queue
        gc.collect()
        event.wait()
        del event, x
        gc.collect()


def test_a_forked_process_cannot_use_it(context: vkfuse.Context) -> None:
    x = context.zeros(64)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            x.numpy()
        except vkfuse.ClosedError as error:
            status = 0 if "forked" in str(error) else 2
        del x
        gc.collect()
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_other_threads_run_while_one_waits(context: vkfuse.Context, queue: vkfuse.Queue) -> None:
    kernel = context.wgsl(SLOW, name="slow")
    x = context.zeros(4096, np.uint32)
    # Built, so that only the device is waited for; as often as takes it a while.
    queue.submit(kernel, x, items=64).wait()
    begun = time.perf_counter()
    queue.submit(kernel, x, items=4096).wait()
    times = 1 + min(1000, int(0.2 / (time.perf_counter() - begun)))
    count = 0
    done = False

    def counts() -> None:
        nonlocal count
        while not done:
            count += 1
            # Releases the interpreter lock for the thread that returns from waiting.
            time.sleep(0)

    thread = threading.Thread(target=counts)
    interval = sys.getswitchinterval()
    # A thread keeps the interpreter lock until it releases it.
    sys.setswitchinterval(1000)
    try:
        for _ in range(times):
            event = queue.submit(kernel, x, items=4096)
        assert event.wait(0.0) is False
        thread.start()
        before = count
        event.wait()
        after = count
    finally:
        done = True
        sys.setswitchinterval(interval)
        thread.join()
    assert event.is_complete and after > before + 100


def test_several_threads(context: vkfuse.Context, mul: vkfuse.Kernel) -> None:
    wrong: list[object] = []

    def works(seed: int) -> None:
        try:
            queue = context.queue()
            host = np.random.default_rng(seed).random(1000, np.float32)
            x, y, out = context.buffer(host), context.scratch(1000), context.zeros(1000)
            for _ in range(10):
                with queue.fuse() as fused:
                    queue.submit(mul, x.read(), x.read(), y.write(), push=1000, items=1000)
                    queue.submit(mul, y.read(), x.read(), out.write(), push=1000, items=1000)
                if fused.outcome != "fused" or out.numpy().tobytes() != (host * host * host).tobytes():
                    wrong.append(fused.outcome)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=works, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
