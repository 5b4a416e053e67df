"""Contexts: a device with everything that belongs to it."""

from __future__ import annotations

import atexit
import operator
import os
import warnings
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _native
from ._buffer import Buffer, Promotion, _usable
from ._kernel import Kernel
from ._queue import Queue

_open: weakref.WeakSet[Context] = weakref.WeakSet()


class _HandsOver(Protocol):
    """An array of another library's."""

    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class Context:
    """A device with everything that belongs to it.

    `device` is a part of its name; without it the device is the one that the environment names (`VKFUSE_DEVICE`), or else the
    fastest. `cache` keeps code on disk and in memory, in `cache_dir` if that is given. `profiling` takes the time on the device of every
    submission. `validation` switches the Khronos validation layer on, if it is installed.

    With `robust`, accesses outside of the part of a buffer that is passed are defined, as with Vulkan's feature `robustBufferAccess2`: they
    read zeros and write nothing, fused and unfused. It costs time, kernels that may leave their buffers fuse less, and a device
    without the feature is `MissingFeatureError`. With `contract` the driver may contract float operations in what runs outside of lists, and in lists
    that are cancelled; a list says it for itself (`Queue.fuse`). Otherwise they are rounded one by one, as in a fused list."""

    def __init__(
        self,
        device: str | None = None,
        *,
        cache: bool = True,
        cache_dir: str | os.PathLike[str] | None = None,
        profiling: bool = False,
        validation: bool = False,
        robust: bool = False,
        contract: bool = False,
    ) -> None:
        self._native = _native.Context(device, cache, cache_dir, profiling, validation, robust, contract)
        _open.add(self)
        if cache and cache_dir is not None and not os.path.isdir(cache_dir):
            warnings.warn(f"the cache folder {os.fspath(cache_dir)} cannot be made: nothing is kept on disk", stacklevel=2)

    @property
    def device(self) -> str:
        """The device's name."""
        return self._native.device

    @property
    def driver(self) -> str:
        """The driver's name and version."""
        return self._native.driver

    def queue(self, *, profiling: bool = False) -> Queue:
        """A queue, which can enter fusion mode. `profiling` takes the time on the device of its submissions."""
        return Queue(self._native.queue(profiling))

    def load(self, path: str | os.PathLike[str], *, entry: str | None = None) -> Kernel:
        """A kernel of a file: WGSL text if it ends in `.wgsl`, else SPIR-V. `entry` is the entry point, where there are several."""
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(
                f"`load` takes a path, and not {type(path).__name__}: `spirv` takes the bytes or words of a module, and `wgsl` text"
            )
        is_text = isinstance(path, str) and any(sign in path for sign in "\n{")
        path = Path(path)
        try:
            if path.suffix == ".wgsl":
                return self.wgsl(path.read_text(encoding="utf-8"), name=path.stem, entry=entry)
            return self.spirv(path.read_bytes(), name=path.stem, entry=entry)
        except OSError as error:
            if is_text:
                raise _native.KernelError(
                    "`load` takes a path, and was given text: `wgsl` takes WGSL; GLSL is compiled before, e.g. with "
                    "`glslangValidator -V`, and `spirv` takes its bytes"
                ) from None
            raise _native.KernelError(f"cannot read the kernel file {path}: {error.strerror}") from error

    def spirv(self, code: bytes | npt.NDArray[np.uint32], *, name: str = "kernel", entry: str | None = None) -> Kernel:
        """A kernel of a SPIR-V module: its bytes, or its words. `name` is for messages."""
        if not isinstance(code, (bytes, bytearray, memoryview, np.ndarray)):
            raise TypeError(f"a module is bytes or words, and not {type(code).__name__}; `load` takes a path")
        if isinstance(code, np.ndarray) and (code.dtype.kind not in "iu" or code.dtype.itemsize not in (1, 4)):
            raise TypeError(f"the words of a module are uint32, and not {code.dtype}")
        return Kernel(self._native.spirv(name, bytes(code), entry))

    def wgsl(self, text: str, *, name: str = "kernel", entry: str | None = None) -> Kernel:
        """A kernel of WGSL text. `name` is for messages."""
        if text.lstrip().startswith("#version"):
            raise _native.KernelError(
                f"module `{name}` is GLSL, and `wgsl` takes WGSL: compile it, e.g. with `glslangValidator -V --target-env vulkan1.2`"
            )
        if text.endswith((".wgsl", ".spv")) and "\n" not in text:
            raise _native.KernelError(f"`wgsl` takes text, and {text} is a path: `load` takes it")
        return Kernel(self._native.wgsl(name, text, entry))

    def buffer(
        self, array: npt.ArrayLike | _HandsOver, *, name: str | None = None, promotion: Promotion | None = None
    ) -> Buffer:
        """A buffer with the contents, the shape and the type of an array, or of what another library hands over by DLPack in the
        host's memory, such as a tensor of PyTorch's."""
        data = _on_the_host(array)
        buffer = self.zeros(data.shape, data.dtype, name=name, promotion=promotion)
        buffer.upload(data)
        return buffer

    def zeros(
        self,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike = np.float32,
        *,
        name: str | None = None,
        promotion: Promotion | None = None,
    ) -> Buffer:
        """A buffer of zeros."""
        return self._made(shape, dtype, name, promotion, scratch=False)

    def scratch(
        self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32, *, name: str | None = None
    ) -> Buffer:
        """A buffer for what only lives between kernels: promoted wherever that is possible, and without device memory until something
        needs it."""
        return self._made(shape, dtype, name, None, scratch=True)

    def _made(
        self,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike,
        name: str | None,
        promotion: Promotion | None,
        scratch: bool,
    ) -> Buffer:
        lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
        shape = tuple(operator.index(length) for length in lengths)
        kind = _usable(dtype)
        if any(length < 0 for length in shape):
            raise ValueError(f"{shape} is no shape")
        bytes_ = kind.itemsize
        for length in shape:
            bytes_ *= length
        if bytes_ >= 1 << 63:
            raise _native.DeviceError(f"{bytes_} bytes are too many")
        try:
            native = self._native.buffer(bytes_, scratch)
        except _native.OutOfMemoryError:
            raise
        except _native.DeviceError as error:
            elements = " x ".join(str(length) for length in shape)
            raise type(error)(f"{elements} elements of {kind} are {bytes_} bytes: {error}") from None
        buffer = Buffer(native, shape, kind)
        if name is not None:
            buffer.name = name
        if promotion is not None:
            buffer.promote(promotion)
        return buffer

    def wait(self) -> None:
        """Waits for everything on every queue. Ends every list that is being recorded."""
        self._native.wait()

    def stats(self) -> dict[str, int]:
        """Counts of what was done since the context was made."""
        return self._native.stats()

    def close(self) -> None:
        """Waits for everything, and lets go. What was made with the context cannot be used afterwards: that is `ClosedError`."""
        self._native.close()

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<vkfuse.Context, closed>" if self._native.is_closed else f"<vkfuse.Context on {self.device}>"


def _on_the_host(array: Any) -> npt.NDArray[Any]:
    if hasattr(array, "__dlpack__") and not isinstance(array, (np.ndarray, np.generic)):
        if array.__dlpack_device__()[0] != 1:
            raise TypeError(f"{type(array).__name__} is not in the host's memory: copy it there first")
        return np.from_dlpack(array)
    return np.asarray(array)


def devices() -> list[dict[str, Any]]:
    """The devices of this machine: `index`, `name`, `driver`, `kind`, and the features that each lacks (`missing`)."""
    return _native.devices()


def _wait_for_builds() -> None:
    """A process that ends would take the driver away from under the threads that build."""
    for context in list(_open):
        try:
            context._native.wait_for_builds()
        except _native.Error:
            pass


atexit.register(_wait_for_builds)
