"""Queues, events, fusion mode and kept lists."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np

from . import _native
from ._buffer import Buffer, View
from ._kernel import Kernel
from ._report import Report

Size: TypeAlias = int | tuple[int, ...]


class _Argument(NamedTuple):
    set: int
    binding: int
    buffer: _native.Buffer
    offset: int
    bytes: int
    access: str
    promotion: str | None
    constant: bool
    kind: str
    itemsize: int


class _Properties(NamedTuple):
    force: bool
    rewrites: bool
    barriers: bool
    trust: bool
    contract: bool
    background: bool
    verify: bool
    autotune: bool


class Event:
    """Whether work is complete, and what became of it."""

    def __init__(self, native: _native.Event, names: list[str]) -> None:
        self._native = native
        self._names = names

    @overload
    def wait(self, timeout: None = None) -> None: ...
    @overload
    def wait(self, timeout: float) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool | None:
        """Waits until the work is complete, or for at most `timeout` seconds: then it returns whether the work is complete. Other threads
        run meanwhile, and Ctrl-C ends the wait. Waiting for work in a list that is still open cancels the list: it runs unfused."""
        complete = self._native.wait(timeout)
        return None if timeout is None else complete

    @property
    def is_complete(self) -> bool:
        """Whether the work is complete, or failed. What is listed stays listed."""
        return self._native.is_complete

    @property
    def outcome(self) -> str:
        """What became of it: `fused`, `split`, `unfused`, `refused: …`, `cancelled by …`, `pending`, `failed`."""
        return self._native.outcome

    @property
    def gpu_time(self) -> float | None:
        """Seconds on the device, of the whole list if it is in one: once it is complete, and where profiling is on."""
        return self._native.gpu_time

    @property
    def report(self) -> Report | None:
        """What happened to the list that it is in; nothing while it is listed, and for work outside fusion mode."""
        fields = self._native.report_json()
        picture = self._native.report_svg(self._names)
        if fields is None or picture is None:
            return None
        return Report(json.loads(fields), picture)

    def __repr__(self) -> str:
        return f"<vkfuse.Event, {self.outcome}>"


class FusedList:
    """A list that was kept, to be run again without being recorded again. It keeps its buffers alive."""

    def __init__(self, native: _native.List, kernels: list[Kernel]) -> None:
        self._native = native
        self._kernels = kernels

    def __len__(self) -> int:
        return self._native.submissions

    def run(self, on: Queue | None = None) -> Event:
        """Runs it again, on the queue it was recorded on or on another. In fusion mode its submissions join that queue's list."""
        native = self._native.run(None if on is None else on._native)
        return Event(native, [kernel.name for kernel in self._kernels])

    def rebind(
        self, buffers: Mapping[Buffer, Buffer] | None = None, push: Mapping[int, object] | None = None
    ) -> FusedList:
        """A list that has other buffers in the places of some, and other push constants of some submissions, by their places from 0."""
        return FusedList(self._native.rebind(*self._changes(buffers, push)), self._kernels)

    def run_with(
        self, buffers: Mapping[Buffer, Buffer] | None = None, push: Mapping[int, object] | None = None
    ) -> Event:
        """Runs it once as `rebind` would make it, on the queue it was recorded on, for less than a list of its own costs."""
        native = self._native.run_with(*self._changes(buffers, push))
        return Event(native, [kernel.name for kernel in self._kernels])

    def _changes(
        self, buffers: Mapping[Buffer, Buffer] | None, push: Mapping[int, object] | None
    ) -> tuple[list[tuple[_native.Buffer, _native.Buffer]], list[tuple[int, bytes]]]:
        for old, new in (buffers or {}).items():
            if old.dtype != new.dtype:
                raise _native.FusionError(f"a buffer of {new.dtype} cannot be in the place of one of {old.dtype}; see `Buffer.cast`")
        pairs = [(old._native, new._native) for old, new in (buffers or {}).items()]
        given = []
        for place, values in (push or {}).items():
            if not 0 <= place < len(self._kernels):
                raise _native.FusionError(f"the list has no submission {place}")
            given.append((place, self._kernels[place]._packed(values, [])))
        return pairs, given

    def close(self) -> None:
        """Lets go of it now."""
        self._native.close()

    def __repr__(self) -> str:
        return f"<vkfuse.FusedList of {', '.join(kernel.name for kernel in self._kernels)}>"


class Fusion:
    """A list that is being recorded, and what became of it. `with queue.fuse() as fused:` records; at the end the list runs, as as few
    kernels as can be shown to give the same results. An exception inside cancels: what was listed runs unfused."""

    def __init__(self, queue: Queue, properties: _Properties, keep: bool) -> None:
        self._queue = queue
        self._properties = properties
        self._keep = keep
        self._event: Event | None = None
        self._list: FusedList | None = None
        self._missing = "it has not begun: `with queue.fuse() as fused:` records it"

    def __enter__(self) -> Fusion:
        self._queue._start()
        self._missing = "it is being recorded: what becomes of it is known behind the `with` block"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        kernels = self._queue._end()
        native = self._queue._native
        if kind is not None:
            self._missing = f"{kind.__name__} in the `with` block cancelled it: what was listed ran unfused"
            native.cancel()
            return
        self._missing = "it could not be completed, as the exception of the `with` block says"
        names = [kernel.name for kernel in kernels]
        if self._keep:
            event, kept = native.complete_and_keep(self._properties)
            self._list = FusedList(kept, kernels)
        else:
            event = native.complete(self._properties)
        self._event = Event(event, names)

    @property
    def event(self) -> Event:
        """The event of the whole list."""
        if self._event is None:
            raise _native.FusionError(f"there is no outcome of this list: {self._missing}")
        return self._event

    @property
    def list(self) -> FusedList:
        """The list, if it was to be kept."""
        if self._list is None:
            raise _native.FusionError("the list was not kept; use `queue.fuse(keep=True)`")
        return self._list

    def wait(self) -> None:
        """Waits until the list has run."""
        self.event.wait()

    @property
    def outcome(self) -> str:
        """What became of it: see `Event.outcome`."""
        return self.event.outcome

    @property
    def report(self) -> Report:
        """What happened to it."""
        report = self.event.report
        if report is None:
            raise _native.FusionError(f"there is no report on a list that is {self.outcome}")
        return report

    @property
    def dispatches(self) -> int:
        """How many dispatches ran it."""
        return int(self.report["dispatches"])

    def __repr__(self) -> str:
        return f"<vkfuse.Fusion, {'recording' if self._event is None else self.outcome}>"

    def _repr_html_(self) -> str | None:
        report = None if self._event is None else self._event.report
        return None if report is None else report._repr_html_()


class Queue:
    """Where work is submitted. Submissions of all queues of a context are ordered by the buffers that they use."""

    def __init__(self, native: _native.Queue) -> None:
        self._native = native
        self._listed: list[Kernel] | None = None

    def submit(
        self,
        kernel: Kernel,
        *arguments: Buffer | View,
        items: Size | None = None,
        groups: Size | None = None,
        push: object = None,
        at: Mapping[int | tuple[int, int], Buffer | View] | None = None,
        spec: Mapping[int | str, object] | None = None,
        after: Iterable[Event] = (),
    ) -> Event:
        """Submits one dispatch, or lists it in fusion mode.

        `arguments` are for the bindings 0, 1, … of set 0, and `at` has others, by binding or (set, binding). Elements have the type that
        the kernel has there, or are `uint8`, which may be anything: see `Buffer.cast`. `items` are rounded up to
        whole work-groups, or `groups` says how many of these there are; each up to three numbers, and with a
        zero among them nothing is done. `push` are the push constants: bytes,
        an array of the types of the kernel's block, or numbers in the order of the block, which has their types; those of vectors may be
        tuples. `spec` has specialization constants, by number or
        name; of a number that the kernel does not declare the value is ignored, with a warning, which the report notes. `after` are events to come after, besides what the buffers say."""
        if (items is None) == (groups is None):
            raise TypeError("either `items` or `groups` says how large a submission is")
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"a submission begins with its kernel, which `Context.load`, `spirv` or `wgsl` makes, and not with {type(kernel).__name__}"
            )
        size = _three(groups if items is None else items)
        if 0 in size:
            warnings.warn(f"nothing is done: `{'groups' if items is None else 'items'}` has a zero", stacklevel=2)
        constants = kernel._given(spec)
        bound = [_argument((0, number), argument) for number, argument in enumerate(arguments)]
        bound += [_argument(place, argument) for place, argument in (at or {}).items()]
        kernel._check_bound(bound, constants)
        native = self._native.submit(
            kernel._native,
            bound,
            kernel._packed(push, constants),
            size,
            items is not None,
            constants,
            [event._native for event in after],
        )
        if self._listed is not None:
            self._listed.append(kernel)
            return Event(native, [one.name for one in self._listed])
        return Event(native, [kernel.name])

    def fuse(
        self,
        *,
        keep: bool = False,
        force: bool = False,
        rewrites: bool = True,
        barriers: bool = True,
        trust: bool = False,
        contract: bool = False,
        background: bool = False,
        verify: bool = False,
        autotune: bool = True,
    ) -> Fusion:
        """A list to record: `with queue.fuse() as fused:`.

        `keep` keeps it, to be run again (`fused.list`). `force` makes it an error if it does not become one kernel. Without `rewrites`
        every kernel runs in its own order. `trust` takes your word for what cannot be proven, and the report lists it; without
        `barriers` it leaves those out, too. With `contract` the driver may contract float operations across kernels. `background` runs
        unfused while code is being built. `verify` compares fused and unfused on the device the first time. Without
        `autotune` nothing is measured where the planner does not know how the list is fastest."""
        properties = _Properties(force, rewrites, barriers, trust, contract, background, verify, autotune)
        return Fusion(self, properties, keep)

    @property
    def is_fusing(self) -> bool:
        """Whether submissions are being listed."""
        return self._native.is_fusing

    def wait(self) -> None:
        """Waits for everything submitted to it. In fusion mode that cancels: the list runs unfused."""
        self._native.wait()

    def close(self) -> None:
        """Lets go of it now. A list that is being recorded runs first."""
        self._native.close()

    def __repr__(self) -> str:
        return f"<vkfuse.Queue{'' if self._listed is None else ', in fusion mode'}>"

    def _start(self) -> None:
        if self._listed is not None and self.is_fusing:
            names = ", ".join(f"`{kernel.name}`" for kernel in self._listed[:3])
            held = f"its list has {len(self._listed)} submissions, first of {names}" if names else "its list is empty so far"
            raise _native.FusionError(
                f"the queue is in fusion mode already, and {held}: leave the `with queue.fuse()` block that began it, or use another queue"
            )
        self._native.start()
        self._listed = []

    def _end(self) -> list[Kernel]:
        listed, self._listed = self._listed, None
        return listed or []


def _three(size: Any) -> list[int]:
    sizes = list(size) if isinstance(size, (tuple, list)) else [size]
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{size!r} are not one to three numbers")
    numbers = [int(one) for one in sizes]
    if not all(0 <= number < 1 << 32 for number in numbers):
        raise OverflowError(f"{size!r}: sizes are from 0 to {(1 << 32) - 1}")
    return numbers + [1] * (3 - len(sizes))


def _binding(place: object) -> tuple[int, int]:
    """Set and binding."""
    both = place if isinstance(place, tuple) else (0, place)
    numbers = [int(one) for one in both if isinstance(one, (int, np.integer)) and 0 <= int(one) < 1 << 32]
    if len(both) != 2 or len(numbers) != 2:
        raise TypeError(f"{place!r} is no place for an argument: it is a binding, such as 0, or (set, binding), such as (1, 0)")
    return numbers[0], numbers[1]


def _argument(place: int | tuple[int, int], given: Buffer | View) -> _Argument:
    view = given.view() if isinstance(given, Buffer) else given
    if not isinstance(view, View):
        raise TypeError(f"an argument is a buffer or a part of one, and not {type(given).__name__}; `Context.buffer` makes one of an array")
    set_, binding = _binding(place)
    width = view.buffer.dtype.itemsize
    return _Argument(
        set_,
        binding,
        view.buffer._native,
        view.start * width,
        view.size * width,
        view.access,
        view.promotion,
        view.is_constant,
        view.buffer.dtype.kind,
        width,
    )
