"""The layer of the wheel: its manifest names a library that is there."""

from __future__ import annotations

import json

import pytest
import vkfuse


def test_the_manifest_names_the_library() -> None:
    try:
        folder = vkfuse.layer_folder()
    except FileNotFoundError:
        pytest.skip("only the wheel has the layer")
    manifest = json.loads((folder / "VkLayer_vkfuse_capture.json").read_text())
    assert manifest["layer"]["name"] == "VK_LAYER_VKFUSE_capture"
    assert (folder / manifest["layer"]["library_path"]).exists()
