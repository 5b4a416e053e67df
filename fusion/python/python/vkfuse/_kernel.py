"""Kernels, and numbers as the bytes that they take."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _native

_CLASSES = {"i": "int", "u": "uint", "f": "float"}


class _Bound(Protocol):
    @property
    def set(self) -> int: ...
    @property
    def binding(self) -> int: ...


class Kernel:
    """One compute entry point of a module, as `Context.load`, `spirv` and `wgsl` make it."""

    def __init__(self, native: _native.Kernel) -> None:
        self._native = native
        self._layouts: dict[tuple[tuple[int, int], ...], list[tuple[int, int, str]]] = {}
        self._used: dict[tuple[tuple[int, int], ...], frozenset[tuple[int, int]]] = {}

    @property
    def name(self) -> str:
        """The name that its module was loaded under."""
        return self._native.name

    @property
    def entry(self) -> str:
        """The name of the entry point."""
        return self._native.entry

    @property
    def constants(self) -> dict[int, tuple[str | None, np.dtype[Any]]]:
        """Its specialization constants, with names and types, by number."""
        return {number: (name, np.dtype(ty)) for number, name, ty, _ in self._native.constants}

    @property
    def local_size(self) -> tuple[int, int, int]:
        """The work-group size, with the constants at their defaults, or 0 where they have none."""
        x, y, z = self._native.interface(self._required())[0]
        return x, y, z

    @property
    def bindings(self) -> list[tuple[int, int, str | None, bool, bool]]:
        """Its buffers: set, binding, name, whether it may read, whether it may write."""
        return self._native.interface(self._required())[1]

    def __repr__(self) -> str:
        return f"<vkfuse.Kernel {self.name}>"

    def _required(self) -> list[tuple[int, int]]:
        """The constants that have no default, as 0."""
        return [(number, 0) for number, _, _, default in self._native.constants if default is None]

    def _given(self, spec: Mapping[int | str, object] | None) -> list[tuple[int, int]]:
        """Values of specialization constants, by number or name, as numbers and bits. As in Vulkan, a number that the kernel does not
        declare is no mistake: the engine ignores its value, and notes that. A name has to be one of the kernel's."""
        if not spec:
            return []
        known = self._native.constants
        given = []
        for key, value in spec.items():
            found = [one for one in known if key in (one[0], one[1])]
            if not found and isinstance(key, (int, np.integer)) and 0 <= key < 1 << 32:
                given.append((int(key), _bits(_scalar(value, np.asarray(value).dtype))))
                continue
            if len(found) != 1:
                raise _native.KernelError(f"kernel `{self.name}` has no specialization constant {key!r}")
            number, _, ty, _ = found[0]
            given.append((number, _bits(_scalar(value, np.dtype(ty)))))
        return given

    def _warn_of_unused(self, bound: Sequence[_Bound], constants: list[tuple[int, int]]) -> None:
        """Says which arguments the kernel does not use: Vulkan accepts them, and they may be mistaken."""
        key = tuple(constants)
        if key not in self._used:
            bindings = self._native.interface(constants)[1]
            self._used[key] = frozenset((set_, binding) for set_, binding, *_ in bindings)
        for one in bound:
            if (one.set, one.binding) not in self._used[key]:
                text = f"kernel `{self.name}` does not use binding {one.binding} of set {one.set}"
                warnings.warn(text, stacklevel=3)

    def _packed(self, push: object, constants: list[tuple[int, int]]) -> bytes:
        """Push constants as bytes: as they are, or scalars in the order and with the types of the kernel's block."""
        if push is None:
            return b""
        if isinstance(push, (bytes, bytearray, memoryview)):
            return bytes(push)
        if isinstance(push, (np.ndarray, np.generic)):
            return push.tobytes()
        values = push if isinstance(push, Sequence) else (push,)
        key = tuple(constants)
        if key not in self._layouts:
            self._layouts[key] = self._native.interface(constants)[2]
        layout = self._layouts[key]
        if len(values) != len(layout):
            raise _native.SubmitError(
                f"kernel `{self.name}` takes {len(layout)} push constants, and was given {len(values)}"
            )
        packed = bytearray()
        for (offset, size, kind), value in zip(layout, values, strict=True):
            packed.extend(bytes(offset - len(packed)))
            packed.extend(_scalar(value, np.dtype(f"{_CLASSES[kind]}{8 * size}")).tobytes())
        return bytes(packed)


def _bits(scalar: npt.NDArray[Any]) -> int:
    return int.from_bytes(scalar.tobytes()[:8], "little")


def _scalar(value: object, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A number of this type; an error if it is none of them. Floats are rounded."""
    given = np.asarray(value)
    if given.shape != () or given.dtype.kind not in "biuf":
        raise TypeError(f"{value!r} is no number")
    if dtype.kind == "b":
        return np.asarray(bool(given))
    if dtype.kind in "iu":
        if given.dtype.kind == "f":
            raise TypeError(f"{value!r} is no integer")
        limits = np.iinfo(dtype)
        if not limits.min <= int(given) <= limits.max:
            raise OverflowError(f"{value!r} is no {dtype}")
        return np.asarray(int(given), dtype)
    return given.astype(dtype)
