"""Reads a capture: what the layer wrote down, as runs of steps between two waits of the host."""

import collections
import dataclasses
import json
import typing

RECORDED = (
    "dispatch",
    "copy",
    "fill",
    "barrier",
    "indirect",
    "update",
    "image copy",
    "secondary commands",
    "render pass",
)
# Polling a fence or signalling a semaphore from the host is no wait.
POLLS = ("hostsignal", "fencestatus")


class Unsupported(Exception):
    """A run that a pipeline file cannot express."""


class Span(typing.NamedTuple):
    """Bytes `start..end` of a memory object."""

    memory: int
    start: int
    end: int

    def overlaps(self, other):
        return self.memory == other.memory and self.start < other.end and other.start < self.end


@dataclasses.dataclass(eq=False)
class Access:
    """A binding of a dispatch, or a side of a copy.

    `epoch` is the submission before which the host last wrote into the span, within its run.
    """

    slot: str
    span: Span
    reads: bool
    writes: bool
    to_buffer_end: bool = False
    epoch: int = 0


@dataclasses.dataclass(eq=False)
class Step:
    """A dispatch, copy or fill, with the submission that it was a part of."""

    kind: str
    event: dict
    submission: int
    accesses: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Run:
    """Steps between two waits of the host, and what ended them."""

    steps: list
    barriers: int
    ended: str

    @property
    def dispatches(self):
        return sum(step.kind == "dispatch" for step in self.steps)

    @property
    def submissions(self):
        return sorted({step.submission for step in self.steps})

    @property
    def accesses(self):
        return [access for step in self.steps for access in step.accesses]


class Capture:
    """A capture folder: pipelines, runs, and the bytes before and after each submission."""

    def __init__(self, folder):
        files = sorted(folder.glob("events.*.jsonl"), key=lambda file: file.stat().st_size)
        if not files:
            raise FileNotFoundError(f"{folder} is no capture: it has no events.*.jsonl")
        self.folder = folder
        self.pipelines = {}
        self.names = {}
        self.buffer_sizes = {}
        self.runs = []
        self.before = {}
        self.after = {}
        self._blobs = {}
        self._read(files[-1])

    def _read(self, file):
        recorded = collections.defaultdict(list)
        before = []
        # Either (event, submission), or the reason why a run ends there.
        stream = []
        submission = 0
        for line in open(file):
            try:
                event = json.loads(line)
            except ValueError:
                continue  # The last line of a process that was killed.
            kind = event["e"]
            if kind == "pipeline":
                self.pipelines[event["id"]] = event
            elif kind == "name":
                self.names[event["pipe"]] = event["name"]
            elif kind == "buffer":
                self.buffer_sizes[event["id"]] = event["size"]
            elif kind == "begin":
                recorded[event["cb"]] = []
            elif kind in RECORDED:
                recorded[event["cb"]].append(event)
            elif kind == "snap":
                if event["when"] == "pre":
                    before = event["ranges"]
                else:
                    self.after[submission - 1] = event["ranges"]
            elif kind == "submit":
                self.before[submission] = before
                parts = [part for buffer in event["cbs"] for part in recorded[buffer]]
                stream += [(part, submission) for part in parts]
                work = [part for part in parts if part["e"] != "barrier"]
                if work and work[-1]["e"] == "copy":
                    stream.append(work[-1])
                submission += 1
            elif kind == "wait" and event["how"] not in POLLS and event["result"] == 0:
                stream.append("wait for " + event["how"])
        self._cut(stream)

    def _cut(self, stream):
        """Divides what was submitted into runs: at waits, read-backs, and what a pipeline file has no step for."""
        current = []

        def end(why):
            if current:
                steps = [Step(e["e"], e, s) for e, s in current if e["e"] != "barrier"]
                self.runs.append(Run(steps, len(current) - len(steps), why))
                current.clear()

        for at, entry in enumerate(stream):
            if isinstance(entry, str):
                end(entry)
            elif isinstance(entry, dict):
                # A copy at the end of a submission into bytes that no later step reads: the host reads them.
                later = (e[0] for e in stream[at + 1 :] if isinstance(e, tuple))
                target = memory_span(entry["dst"])
                if not any(target.overlaps(span) for event in later for span in spans_read(event)):
                    end("read-back")
            elif entry[0]["e"] in ("dispatch", "copy", "fill", "barrier") and not any(entry[0].get("base", ())):
                current.append(entry)
            else:
                end(entry[0]["e"])
        end("end of the program")

    def blob(self, name):
        if name not in self._blobs:
            self._blobs[name] = (self.folder / "blobs" / name).read_bytes()
        return self._blobs[name]

    def module(self, step):
        """The path of the SPIR-V module of a dispatch, as the program created it."""
        return self.folder / "spv" / (self.pipelines[step.event["pipe"]]["module"] + ".spv")

    def name(self, step):
        """What the program calls the pipeline, else the start of its module's hash."""
        if step.kind != "dispatch":
            return step.kind
        pipeline = step.event["pipe"]
        return self.names.get(pipeline, self.pipelines[pipeline]["module"][:8])

    def bytes_before(self, span, submissions):
        """What a span held before the first of the submissions: for each byte the first snapshot that has it."""
        result = bytearray(span.end - span.start)
        missing = [(span.start, span.end)]
        for submission in submissions:
            for memory, start, length, blob in self.before.get(submission) or []:
                if memory != span.memory:
                    continue
                for low, high in missing:
                    low, high = max(low, start), min(high, start + length)
                    if low < high:
                        result[low - span.start : high - span.start] = self.blob(blob)[low - start : high - start]
                missing = without(missing, start, start + length)
        return bytes(result)

    def bytes_after(self, span, submissions):
        """What a span held after the last of the submissions: for each byte the last snapshot that has it."""
        result = bytearray(self.bytes_before(span, submissions))
        for submission in submissions:
            for memory, start, length, blob in self.after.get(submission) or []:
                low, high = max(span.start, start), min(span.end, start + length)
                if memory == span.memory and low < high:
                    result[low - span.start : high - span.start] = self.blob(blob)[low - start : high - start]
        return bytes(result)

    def host_writes(self, span, submission, earlier):
        """Whether the host wrote into the span before `submission`, after the submissions of `earlier`."""
        seen = [entry for s in earlier for entry in self.after.get(s) or [] if entry[0] == span.memory]
        for memory, start, length, blob in self.before.get(submission) or []:
            low, high = max(span.start, start), min(span.end, start + length)
            if memory != span.memory or low >= high:
                continue
            now = self.blob(blob)[low - start : high - start]
            then = bytearray(now)
            for _, at, size, old in seen:
                a, b = max(low, at), min(high, at + size)
                if a < b:
                    then[a - low : b - low] = self.blob(old)[a - at : b - at]
            if bytes(then) != now:
                return True
        return False


def memory_span(place):
    """The bytes of a buffer range as the layer writes it."""
    return Span(place["mem"], place["moff"], place["moff"] + place["len"])


def spans_read(event):
    """What a recorded event may read."""
    if event["e"] == "copy":
        return [memory_span(event["src"])]
    return [memory_span(place) for place in event.get("args", ()) if place.get("buf")]


def without(spans, low, high):
    """A list of (start, end) less the bytes `low..high`."""
    left = []
    for start, end in spans:
        if high <= start or low >= end:
            left.append((start, end))
            continue
        if start < low:
            left.append((start, low))
        if high < end:
            left.append((high, end))
    return left


def merged(spans):
    """The union of (start, end) pairs, as few and in order."""
    result = []
    for start, end in sorted(spans):
        if result and start < result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return [tuple(span) for span in result]
