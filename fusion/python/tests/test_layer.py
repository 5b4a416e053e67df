"""The layers of the wheel: their manifests name a library that is there."""

from __future__ import annotations

import json

import pytest
import vkfuse


def test_the_manifests_name_the_library() -> None:
    try:
        folder = vkfuse.layer_folder()
    except FileNotFoundError:
        pytest.skip("only the wheel has the layers")
    for name in ("capture", "fuse"):
        manifest = json.loads((folder / f"VkLayer_vkfuse_{name}.json").read_text())
        assert manifest["layer"]["name"] == f"VK_LAYER_VKFUSE_{name}"
        assert (folder / manifest["layer"]["library_path"]).exists()
