"""Kernels, and numbers as the bytes that they take."""

from __future__ import annotations

import difflib
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
    @property
    def buffer(self) -> _native.Buffer: ...
    @property
    def offset(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def access(self) -> str: ...


_Bindings = dict[tuple[int, int], tuple[str | None, bool]]
"""Names of bindings, and whether they may be written, by set and binding."""


class Kernel:
    """One compute entry point of a module, as `Context.load`, `spirv` and `wgsl` make it."""

    def __init__(self, native: _native.Kernel) -> None:
        self._native = native
        self._layouts: dict[tuple[tuple[int, int], ...], list[tuple[int, int, str]]] = {}
        self._used: dict[tuple[tuple[int, int], ...], _Bindings] = {}

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
                text = f"kernel `{self.name}` has no specialization constant {key}: its value is ignored{_nearest(key, known)}"
                warnings.warn(text, stacklevel=3)
                continue
            if len(found) != 1:
                raise _native.KernelError(
                    f"kernel `{self.name}` has no specialization constant {key!r}{_nearest(key, known)}"
                )
            number, _, ty, _ = found[0]
            given.append((number, _bits(_scalar(value, np.dtype(ty)))))
        return given

    def _check_bound(self, bound: Sequence[_Bound], constants: list[tuple[int, int]]) -> None:
        """Raises where a binding has no argument, and warns of arguments that the kernel does not use, or that share some bytes with
        one that is written: Vulkan accepts these, and they may be mistaken."""
        key = tuple(constants)
        if key not in self._used:
            bindings = self._native.interface(constants)[1]
            self._used[key] = {(set_, binding): (name, writes) for set_, binding, name, _, writes in bindings}
        used = self._used[key]
        given = {(one.set, one.binding): one for one in bound}
        for place, (name, _) in used.items():
            if place not in given:
                raise _native.SubmitError(
                    f"kernel `{self.name}` takes {len(used)} buffers, and {len(bound)} were given: none for {_place(place, name)}"
                )
        for place in given:
            if place not in used:
                text = f"kernel `{self.name}` does not use binding {place[1]} of set {place[0]}"
                warnings.warn(text, stacklevel=3)
        for place, one in given.items():
            if place in used and not used[place][1] and one.access == "write":
                text = f"kernel `{self.name}` only reads {_place(place, used[place][0])}, and was given it by `write`: `read` says so"
                warnings.warn(text, stacklevel=3)
            for other_place, other in given.items():
                if one.buffer is other.buffer and used.get(place, (None, False))[1] and _overlap_in_part(one, other):
                    text = (
                        f"kernel `{self.name}` writes {_place(place, used[place][0])}, and the part of the buffer there and that at "
                        f"binding {other_place[1]} of set {other_place[0]} overlap"
                    )
                    warnings.warn(text, stacklevel=3)

    def _packed(self, push: object, constants: list[tuple[int, int]]) -> bytes:
        """Push constants as bytes: as they are, an array that has the types of the kernel's block, or scalars in the order of the block, the
        components of vectors and arrays in sequences of their own or not."""
        if push is None:
            return b""
        if isinstance(push, (bytes, bytearray, memoryview)):
            return bytes(push)
        key = tuple(constants)
        if key not in self._layouts:
            self._layouts[key] = self._native.interface(constants)[2]
        layout = self._layouts[key]
        types = [np.dtype(f"{_CLASSES[kind]}{8 * size}") for _, size, kind in layout]
        named = ", ".join(str(dtype) for dtype in types)
        if isinstance(push, Mapping):
            raise TypeError(f"`push` takes numbers in the order of the block of kernel `{self.name}` ({named}), and no names")
        if isinstance(push, (np.ndarray, np.void)) and (push.shape != () or push.dtype.kind == "V"):
            end = max((offset + size for offset, size, _ in layout), default=0)
            if not (end <= push.nbytes < end + 16 and all(_has_at(push.dtype, *member) for member in layout)):
                raise _native.SubmitError(
                    f"`push` has {push.nbytes} bytes of {push.dtype}; the block of kernel `{self.name}` has {end}: {named}"
                )
            return push.tobytes()
        values = _flat(push)
        if len(values) != len(layout):
            raise _native.SubmitError(
                f"kernel `{self.name}` takes {len(layout)} push constants ({named}), and was given {len(values)}"
            )
        packed = bytearray()
        for (offset, _, _), dtype, value in zip(layout, types, values, strict=True):
            packed.extend(bytes(offset - len(packed)))
            try:
                packed.extend(_scalar(value, dtype).tobytes())
            except (TypeError, OverflowError) as wrong:
                where = f"byte {offset} of the push constants of kernel `{self.name}` is {dtype}"
                raise type(wrong)(f"{where}: {wrong}") from None
        return bytes(packed)


def _place(place: tuple[int, int], name: str | None) -> str:
    where = f"binding {place[1]}" if place[0] == 0 else f"binding {place[1]} of set {place[0]}"
    return f"{where} (`{name}`)" if name else where


def _nearest(key: object, known: Sequence[tuple[int, str | None, str, Any]]) -> str:
    """The constants that a kernel has, as the end of a sentence: the nearest first, by name or by number."""
    if not known:
        return "; it has none"

    def distance(one: tuple[int, str | None, str, Any]) -> float:
        if isinstance(key, (int, np.integer)):
            return abs(one[0] - int(key))
        return -difflib.SequenceMatcher(None, str(key), one[1] or "").ratio()

    words = [f"{number} (`{name}`)" if name else str(number) for number, name, _, _ in sorted(known, key=distance)]
    return f"; it has {', '.join(words)}"


def _overlap_in_part(one: _Bound, other: _Bound) -> bool:
    """Whether two parts of a buffer have bytes in common, and are not the same."""
    is_same = (one.offset, one.bytes) == (other.offset, other.bytes)
    return not is_same and one.offset < other.offset + other.bytes and other.offset < one.offset + one.bytes


def _has_at(dtype: np.dtype[Any], offset: int, size: int, kind: str) -> bool:
    """Whether an array of these elements has a number of this kind at an offset. Bytes and structures may have anything."""
    if dtype.kind == "V" or dtype == np.uint8:
        return True
    is_float = dtype.kind == "f"
    return dtype.kind in "iuf" and is_float == (kind == "f") and dtype.itemsize == size and offset % size == 0


def _flat(value: object) -> list[object]:
    """The numbers of sequences in sequences."""
    if isinstance(value, np.ndarray) and value.shape != ():
        return list(value.reshape(-1))
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [number for one in value for number in _flat(one)]
    return [value]


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
