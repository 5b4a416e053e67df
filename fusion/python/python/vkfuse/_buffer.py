"""Buffers: arrays on the device, and parts of them with what a kernel does there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native

Access: TypeAlias = Literal["read", "write", "read_write"]
Promotion: TypeAlias = Literal["none", "private", "local", "auto"]


@dataclass(frozen=True)
class View:
    """Some elements of a buffer, with what a kernel does there. What a kernel really reads and writes is found in its code: one that
    writes through a view that only reads is an error."""

    buffer: Buffer
    start: int
    """The first element, of the flat array."""
    size: int
    """How many there are."""
    access: Access = "read_write"
    promotion: Promotion | None = None
    is_constant: bool = False

    def read(self) -> View:
        """The same, only read."""
        return replace(self, access="read")

    def write(self) -> View:
        """The same, written."""
        return replace(self, access="write")

    def read_write(self) -> View:
        """The same, read and written."""
        return replace(self, access="read_write")

    def constant(self) -> View:
        """The same, only read, and nothing writes it before the submission, or the list that it is in, has run: what it holds then
        counts as numbers when the list is planned, as push constants do."""
        return replace(self, access="read", is_constant=True)

    def promote(self, promotion: Promotion | None = "auto") -> View:
        """The same, with a promotion of its own instead of the buffer's."""
        return replace(self, promotion=promotion)

    def __getitem__(self, part: slice) -> View:
        start, size = _range(part, self.size)
        return replace(self, start=self.start + start, size=size)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        place = "" if self.size == self.buffer.size else f"[{self.start}:{self.start + self.size}]"
        access = "constant" if self.is_constant else self.access
        return f"<vkfuse.View {self.buffer._label()}{self.buffer.dtype}{place}, {access}>"

    def numpy(self) -> npt.NDArray[Any]:
        """Copies it to the host. Work that writes it is waited for; a list that does is cancelled first."""
        out = np.empty(self.size, self.buffer.dtype)
        self.buffer._native.download(self.start * self.buffer.dtype.itemsize, _bytes(out))
        return out

    def upload(self, array: npt.ArrayLike) -> None:
        """Copies as many elements from the host. Work that uses them is waited for; a list that does is cancelled first."""
        data = np.ascontiguousarray(_fitting(array, self.buffer.dtype))
        if data.size != self.size:
            raise ValueError(f"{data.size} elements for {self.size}")
        self.buffer._native.upload(self.start * self.buffer.dtype.itemsize, _bytes(data))


class Buffer:
    """An array on the device, as `Context.buffer`, `zeros` and `scratch` make it. It lives until the last thing that uses it is gone."""

    def __init__(self, native: _native.Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._native = native
        self.shape = shape
        self.dtype = dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return self._native.nbytes

    @property
    def name(self) -> str:
        """The name in messages and reports."""
        return self._native.name

    @name.setter
    def name(self, name: str) -> None:
        self._native.set_name(name)

    def promote(self, promotion: Promotion | None = "auto") -> Buffer:
        """Says whether and how fused kernels may keep the contents to themselves: `private` in registers, `local` in shared memory,
        `auto` as the planner likes. What could not be shown to be right is not done, and the report says why. Returns the buffer."""
        self._native.set_promotion(promotion)
        return self

    def cast(self, dtype: npt.DTypeLike) -> Buffer:
        """The same memory as a flat array of another type, which is what a kernel's elements are compared with. Nothing is converted.

        Submitting is an error where a kernel has elements of another type: floats and integers, or numbers of another size. Integers with
        and without sign are one, numbers may be a vector's or a structure's, and `uint8` may be anything. An array on the host
        is converted by `array.astype(np.float32)`, and reinterpreted by `array.view(np.float32)`."""
        kind = _usable(dtype)
        if self.nbytes % kind.itemsize != 0:
            raise ValueError(f"{self.nbytes} bytes are no whole number of {kind}, which has {kind.itemsize}")
        return Buffer(self._native, (self.nbytes // kind.itemsize,), kind)

    def view(self) -> View:
        """All elements, read and written."""
        return View(self, 0, self.size)

    def read(self) -> View:
        """All elements, only read."""
        return View(self, 0, self.size, "read")

    def write(self) -> View:
        """All elements, written."""
        return View(self, 0, self.size, "write")

    def read_write(self) -> View:
        """All elements, read and written."""
        return View(self, 0, self.size, "read_write")

    def constant(self) -> View:
        """All elements, only read, of contents that stay as they are: see `View.constant`."""
        return self.view().constant()

    def __getitem__(self, part: slice) -> View:
        """Elements of the flat array, from one to another, without a step."""
        return self.view()[part]

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def numpy(self) -> npt.NDArray[Any]:
        """Copies it to the host. Work that writes it is waited for; a list that does is cancelled first.

        Raises `BufferError` if it holds nothing that may be read, because a fused kernel kept its contents to itself."""
        out = np.empty(self.shape, self.dtype)
        self._native.download(0, _bytes(out))
        return out

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("what is on the device cannot be an array without a copy")
        out = self.numpy()
        return out if dtype is None else out.astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A copy on the host for other libraries: `torch.from_dlpack(buffer)`."""
        if copy is False:
            raise BufferError("what is on the device cannot be handed over without a copy")
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("a buffer is handed over in the host's memory")
        return self.numpy().__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host: what is handed over is a copy there."""
        return (1, 0)

    def upload(self, array: npt.ArrayLike) -> None:
        """Copies all elements from the host, as `View.upload`. The array has the buffer's shape, or can be broadcast to it."""
        given = _fitting(array, self.dtype)
        try:
            data = np.ascontiguousarray(np.broadcast_to(given, self.shape))
        except ValueError:
            raise ValueError(f"an array of shape {given.shape} does not fit a buffer of shape {self.shape}") from None
        self._native.upload(0, _bytes(data))

    def close(self) -> None:
        """Lets go of it now; its memory lives on as long as work or lists use it."""
        self._native.close()

    def __repr__(self) -> str:
        return f"<vkfuse.Buffer {self._label()}{self.dtype}{list(self.shape)}>"

    def _label(self) -> str:
        """The name with a space behind it; nothing if it has none, or is closed."""
        try:
            return f"{self.name} " if self.name else ""
        except _native.ClosedError:
            return "(closed) "


def _bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The bytes of a contiguous array, in place."""
    return array.reshape(-1).view(np.uint8)


def _usable(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """A type of elements that have bytes as a kernel could use them."""
    kind = np.dtype(dtype)
    if kind.hasobject or kind.itemsize == 0 or kind.kind == "U":
        raise TypeError(
            f"elements of type {kind} have no bytes that a kernel could use: `array.astype(np.float32)`, for example, converts"
        )
    if not kind.isnative:
        raise TypeError(
            f"elements of type {kind.str} have another byte order than the device: `array.astype('{kind.str[1:]}')` converts"
        )
    return kind


_ORDER = "biufc"
"""Kinds of numbers: each holds those before it."""


def _fitting(array: npt.ArrayLike, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array converted to a type of the same kind, or a wider one. Signs are no matter."""
    given = np.asarray(array)
    ranks = [_ORDER.replace("u", "i").find("i" if one.kind == "u" else one.kind) for one in (given.dtype, dtype)]
    if -1 not in ranks and ranks[0] > ranks[1] and given.size > 0:
        raise TypeError(f"{given.dtype} does not fit into {dtype}: `array.astype(np.{dtype})` converts all the same")
    # From what was given, so that numpy sees integers that are out of range.
    return np.asarray(array, dtype)


def _range(part: object, size: int) -> tuple[int, int]:
    if not isinstance(part, slice):
        raise TypeError(f"a part of a buffer is a slice, and not {type(part).__name__}")
    start, stop, step = part.indices(size)
    if step != 1:
        raise ValueError("a part of a buffer has no step")
    return start, max(stop - start, 0)
