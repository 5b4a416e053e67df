"""The Vulkan layers that come with the wheel."""

from __future__ import annotations

from pathlib import Path


def layer_folder() -> Path:
    """The folder with the manifests of `VK_LAYER_VKFUSE_capture` and `VK_LAYER_VKFUSE_fuse`, for the loader's `VK_ADD_LAYER_PATH`.

    It is in the wheel; a package that was put together otherwise has none, which is a FileNotFoundError.
    """
    folder = Path(__file__).parent / "layer"
    if not (folder / "VkLayer_vkfuse_capture.json").exists():
        raise FileNotFoundError(f"the package has no layers in {folder}")
    return folder
