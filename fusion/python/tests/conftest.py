"""One context with the validation layer for all tests; what it says is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import vkfuse

ROOT = Path(__file__).parents[3]
SHADERS = ROOT / "shaders"


@pytest.fixture(scope="session")
def context() -> Iterator[vkfuse.Context]:
    try:
        context = vkfuse.Context(validation=True)
    except vkfuse.DeviceError as error:
        if os.environ.get("VKFUSE_REQUIRE_DEVICE"):
            raise
        pytest.skip(f"no device: {error}")
    yield context
    messages = context.stats()["validation_messages"]
    context.close()
    assert messages == 0


@pytest.fixture
def queue(context: vkfuse.Context) -> vkfuse.Queue:
    return context.queue(profiling=True)


@pytest.fixture(scope="session")
def mul(context: vkfuse.Context) -> vkfuse.Kernel:
    return context.load(SHADERS / "chain/mul.spv")


@pytest.fixture(scope="session")
def sub(context: vkfuse.Context) -> vkfuse.Kernel:
    return context.load(SHADERS / "chain/sub.spv")
