"""Captured runs as pipeline files.

A buffer of the file is a connected piece of the memory that the steps of the run bind. Ranges that reach to the end of
their buffer (`VK_WHOLE_SIZE` and the like) are cut to what the next reader binds. A piece is `promote = "auto"` where
the capture shows that it is a temporary: no byte is read before it is written, each value is read, and nothing reads it
after the run.
"""

import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import struct
import subprocess

from events import Access, Run, Span, Unsupported, memory_span, merged, spans_read, without

TYPES = {4: "f32", 2: "u16", 1: "u8"}
FEWEST_DISPATCHES = 2


class Inspector:
    """What `vkfuse inspect` says of modules, asked once for each."""

    def __init__(self, vkfuse, folder):
        self.vkfuse = vkfuse
        self.folder = folder
        self.known = {}

    def entry(self, capture, step):
        """The module path to use, and the facts of the entry point of a dispatch."""
        pipeline = capture.pipelines[step.event["pipe"]]
        key = (pipeline["module"], pipeline["entry"], json.dumps(pipeline["spec"]))
        if key not in self.known:
            self.known[key] = self._ask(capture.module(step), pipeline)
        return self.known[key]

    def _ask(self, module, pipeline):
        facts, error = self._inspect(module)
        if facts is None and pipeline["spec"]:
            # An array whose length is a specialization constant is accepted only with the pipeline's values as
            # defaults.
            module = self._with_defaults(module, pipeline["spec"])
            facts, error = self._inspect(module)
        if facts is None:
            raise Unsupported(f"vkfuse inspect refuses {module.name}: {error}")
        return module, next(entry for entry in facts["entries"] if entry["entry"] == pipeline["entry"])

    def _inspect(self, module):
        done = subprocess.run([self.vkfuse, "inspect", module, "--json"], capture_output=True, text=True)
        return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.strip()[-300:])

    def _with_defaults(self, module, spec):
        values = " ".join(f"{i}:{int.from_bytes(bytes.fromhex(raw), 'little')}" for i, raw in spec.items())
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / f"{module.stem}.{hashlib.sha1(values.encode()).hexdigest()[:8]}.spv"
        subprocess.run(["spirv-opt", f"--set-spec-const-default-value={values}", module, "-o", target], check=True)
        return target


def accesses(capture, inspector, step):
    """The accesses of a step, in the order in which the file names them."""
    event = step.event
    if step.kind == "copy":
        return [
            Access("from", memory_span(event["src"]), True, False),
            Access("to", memory_span(event["dst"]), False, True),
        ]
    if step.kind == "fill":
        return [Access("fill", memory_span(event), False, True)]
    _, facts = inspector.entry(capture, step)
    used = {binding["slot"]: binding for binding in facts["bindings"]}
    result = []
    for place in event["args"]:
        binding = used.get(f"{place['set']}.{place['b']}")
        if binding is None:
            continue
        if place.get("el"):
            raise Unsupported("an array of descriptors")
        if not place.get("buf"):
            raise Unsupported(f"a {binding['kind']} binding")
        to_end = place["off"] + place["len"] == capture.buffer_sizes.get(place["buf"])
        result.append(Access(binding["slot"], memory_span(place), binding["reads"], binding["writes"], to_end))
    return result


def trim(steps):
    """Cuts accesses that reach to the end of their buffer to the range that another step binds there."""
    for at, step in enumerate(steps):
        for access in step.accesses:
            if not access.to_buffer_end:
                continue
            for other in (a for s in steps[at + 1 :] + steps[:at][::-1] for a in s.accesses):
                same_start = other.span[:2] == access.span[:2]
                if same_start and other.span.end < access.span.end and not other.to_buffer_end:
                    access.span = Span(access.span.memory, access.span.start, other.span.end)
                    break


def cut_at_host_writes(capture, runs):
    """Runs in which no step writes bytes that the host writes as well between two submissions.

    What is only read is a version of the bytes for each epoch, and becomes a buffer for each. Where a step writes them,
    the run is cut before the submission, since its list would have to hand bytes from one buffer to another.
    """
    queue, result = list(runs), []
    while queue:
        run = queue.pop(0)
        mark_epochs(capture, run)
        conflict = first_conflict(run)
        if conflict is None:
            result.append(run)
            continue
        first = [step for step in run.steps if step.submission < conflict]
        rest = [step for step in run.steps if step.submission >= conflict]
        queue[:0] = [Run(first, run.barriers, "a write of the host"), Run(rest, 0, run.ended)]
    return result


def mark_epochs(capture, run):
    """Gives each access its epoch."""
    latest = dict.fromkeys((access.span for access in run.accesses), 0)
    earlier = []
    for submission in run.submissions:
        for span in latest if earlier else ():
            if capture.host_writes(span, submission, earlier):
                latest[span] = submission
        for step in run.steps:
            for access in step.accesses if step.submission == submission else ():
                access.epoch = latest[access.span]
        earlier.append(submission)


def first_conflict(run):
    """The first submission whose epoch splits bytes that a step of the run writes."""
    found = [
        max(written.epoch, other.epoch)
        for written in run.accesses
        if written.writes
        for other in run.accesses
        if written.epoch != other.epoch and written.span.overlaps(other.span)
    ]
    return min(found, default=None)


@dataclasses.dataclass
class Buffer:
    """A piece of memory as a buffer of the file."""

    name: str
    span: Span
    epoch: int
    contents: pathlib.Path
    granularity: int = 4
    promote: bool = False


class ListFile:
    """A run with its buffers, ready to be written as a pipeline file, whole or in part."""

    def __init__(self, capture, inspector, run, folder, name):
        self.capture, self.inspector, self.run, self.folder, self.name = capture, inspector, run, folder, name
        pieces = collections.defaultdict(list)
        for access in run.accesses:
            pieces[access.span.memory, access.epoch].append(access.span[1:])
        self.buffers = []
        for (memory, epoch), spans in pieces.items():
            for start, end in merged(spans):
                span = Span(memory, start, end)
                contents = capture.bytes_before(span, [s for s in run.submissions if s >= epoch])
                self.buffers.append(Buffer(f"b{len(self.buffers)}", span, epoch, self._store(contents)))
        self.place = {}
        for access in run.accesses:
            buffer = next(b for b in self.buffers if b.epoch == access.epoch and b.span.overlaps(access.span))
            self.place[access] = buffer
            start, end, size = (at - buffer.span.start for at in (access.span.start, access.span.end, buffer.span.end))
            while any(number % buffer.granularity for number in (start, end, size)):
                buffer.granularity //= 2

    def _store(self, data):
        target = self.folder / "contents" / (hashlib.sha1(data).hexdigest()[:16] + ".bin")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.write_bytes(data)
        return target

    def mark_temporaries(self):
        """Marks the buffers whose contents are seen dead."""
        everything = [step for run in self.capture.runs for step in run.steps]
        later = everything[everything.index(self.run.steps[-1]) + 1 :]
        for buffer in self.buffers:
            buffer.promote = self._is_temporary(buffer) and dead_after(buffer.span, later)

    def _is_temporary(self, buffer):
        unwritten, unread, written = [buffer.span[1:]], [], False
        for step in self.run.steps:
            mine = [access for access in step.accesses if self.place[access] is buffer]
            for access in mine:
                if access.reads:
                    if any(max(low, access.span.start) < min(high, access.span.end) for low, high in unwritten):
                        return False
                    unread = without(unread, *access.span[1:])
            for access in mine:
                if access.writes:
                    written = True
                    unwritten = without(unwritten, *access.span[1:])
                    unread = without(unread, *access.span[1:]) + [access.span[1:]]
        return written and not unread

    def expected(self):
        """The application's bytes of each buffer that a step writes."""
        written = {self.place[a].name for a in self.run.accesses if a.writes}
        submissions = self.run.submissions
        return {b.name: self.capture.bytes_after(b.span, submissions) for b in self.buffers if b.name in written}

    def handovers(self):
        """Pairs (i, j): step j reads bytes that step i wrote last."""
        last, pairs = collections.defaultdict(list), set()
        for at, step in enumerate(self.run.steps):
            for access in step.accesses:
                for start, end, writer in last[self.place[access].name] if access.reads else ():
                    if start < access.span.end and access.span.start < end and writer != at:
                        pairs.add((writer, at))
            for access in step.accesses:
                if access.writes:
                    name = self.place[access].name
                    kept = [
                        (a, b, w) for start, end, w in last[name] for a, b in without([(start, end)], *access.span[1:])
                    ]
                    last[name] = kept + [(*access.span[1:], at)]
        return sorted(pairs)

    def text(self, steps=None, folder=None):
        """The pipeline file, of all steps or of those with the given numbers.

        Paths in it are relative to `folder`, by default the list's.
        """
        folder = folder or self.folder
        chosen = [step for at, step in enumerate(self.run.steps) if steps is None or at in steps]
        names = self._kernel_names(chosen)
        lines = ["format = 1", f'name = "{self.name}"', ""]
        for (module, entry, subgroup), name in names.items():
            lines += [f"[kernels.{name}]", f'path = "{os.path.relpath(module, folder)}"', f'entry = "{entry}"']
            lines += [f"subgroup_size = {subgroup}"] if subgroup else []
            lines.append("")
        bound = {self.place[access].name for step in chosen for access in step.accesses}
        for buffer in self.buffers:
            if buffer.name in bound:
                length = (buffer.span.end - buffer.span.start) // buffer.granularity
                lines += [f"[buffers.{buffer.name}]", f'type = "{TYPES[buffer.granularity]}"', f"len = {length}"]
                lines.append(f'init = {{ file = "{os.path.relpath(buffer.contents, folder)}" }}')
                lines += ['promote = "auto"', ""] if buffer.promote else [""]
        for step in chosen:
            lines += ["[[submit]]", *self._step(step, names), ""]
        return "\n".join(lines)

    def _kernel_names(self, steps):
        names = {}
        for step in steps:
            if step.kind == "dispatch":
                key = self._kernel(step)
                name = "k_" + "".join(c if c.isalnum() else "_" for c in self.capture.name(step))
                while key not in names and name in names.values():
                    name += "_"
                names.setdefault(key, name)
        return names

    def _kernel(self, step):
        pipeline = self.capture.pipelines[step.event["pipe"]]
        module, _ = self.inspector.entry(self.capture, step)
        return module, pipeline["entry"], pipeline["subgroup"]

    def _range(self, access):
        buffer = self.place[access]
        start, length = access.span.start - buffer.span.start, access.span.end - access.span.start
        return f'buffer = "{buffer.name}", offset = {start // buffer.granularity}, len = {length // buffer.granularity}'

    def _step(self, step, names):
        if step.kind == "copy":
            source, target = step.accesses
            return [f"copy = {{ from = {{ {self._range(source)} }}, to = {{ {self._range(target)} }} }}"]
        if step.kind == "fill":
            access = step.accesses[0]
            word = step.event["value"]
            if self.place[access].granularity != 4 and word:
                raise Unsupported("a fill of a buffer that is not one of words")
            value = struct.unpack("<f", struct.pack("<I", word))[0]
            return [f"fill = {{ {self._range(access)}, value = {value!r} }}"]
        pipeline = self.capture.pipelines[step.event["pipe"]]
        _, facts = self.inspector.entry(self.capture, step)
        spec = specialization(pipeline["spec"], facts)
        lines = [f'kernel = "{names[self._kernel(step)]}"', f"groups = {step.event['groups']}"]
        lines += [f"spec = {{ {spec} }}"] if spec else []
        lines += [f'push = {{ hex = "{step.event["push"]}" }}'] if step.event["push"] and facts["push"] else []
        lines.append("[submit.args]")
        # Elements are named by what they are compared as.
        return lines + [f'"{access.slot}" = {{ {self._range(access)}, cast = true }}' for access in step.accesses]


def specialization(values, facts):
    """Specialization constants as the file names them."""
    types = {str(constant["id"]): constant["type"] for constant in facts["spec_constants"]}
    parts = []
    for number, raw in sorted(values.items(), key=lambda item: int(item[0])):
        kind, data = types.get(number), bytes.fromhex(raw)
        if kind is None:
            continue
        if kind == "bool":
            value = "true" if any(data) else "false"
        elif kind in ("f32", "f64"):
            value = repr(struct.unpack("<f" if kind == "f32" else "<d", data)[0])
        else:
            value = int.from_bytes(data, "little", signed=kind.startswith("i"))
        parts.append(f"{number} = {{ {kind} = {value} }}")
    return ", ".join(parts)


def dead_after(span, steps):
    """Whether none of the steps reads a byte of the span before one of them has written it."""
    left = [span[1:]]
    for step in steps:
        # A step of a run that no file expresses has no accesses: whatever it binds counts as read.
        read = [a.span for a in step.accesses if a.reads] if step.accesses else spans_read(step.event)
        for other in read:
            if other.memory == span.memory and any(max(low, other.start) < min(high, other.end) for low, high in left):
                return False
        for access in step.accesses:
            if access.span.memory == span.memory and access.writes and not access.reads:
                left = without(left, *access.span[1:])
    return True


def convert(capture, inspector, folder, blake3):
    """Writes the lists of a capture and their descriptions; returns what was left out, with reasons."""
    folder.mkdir(parents=True, exist_ok=True)
    usable, skipped = [], collections.Counter()
    for run in capture.runs:
        try:
            for step in run.steps:
                step.accesses = accesses(capture, inspector, step)
            trim(run.steps)
            usable.append(run)
        except Unsupported as reason:
            skipped[str(reason)] += run.dispatches
    seen = set()
    runs = cut_at_host_writes(capture, usable)
    for number, run in enumerate(runs):
        if run.dispatches < FEWEST_DISPATCHES:
            continue
        try:
            file = ListFile(capture, inspector, run, folder, f"{capture.folder.name} r{number:03}")
            file.mark_temporaries()
            text = file.text()
        except Unsupported as reason:
            skipped[str(reason)] += run.dispatches
            continue
        shape = "\n".join(line for line in text.splitlines() if not line.startswith(("name =", "init =")))
        if shape in seen:
            continue
        seen.add(shape)
        write(file, text, folder / f"r{number:03}", blake3)
    (folder / "skipped.json").write_text(json.dumps(skipped, indent=1))
    return skipped


def write(file, text, stem, blake3):
    """Writes a list, its description, the application's bytes, and each pair of a writer and its reader as a list."""
    pathlib.Path(f"{stem}.toml").write_text(text)
    after = stem.parent / "after"
    after.mkdir(exist_ok=True)
    expected = {}
    for name, data in file.expected().items():
        expected[name] = blake3(data).hexdigest()
        (after / expected[name]).write_bytes(data)
    pairs = stem.parent / "pairs"
    pairs.mkdir(exist_ok=True)
    handovers = []
    for pair in file.handovers():
        target = pairs / f"{stem.name}.{pair[0]}-{pair[1]}.toml"
        target.write_text(file.text(pair, pairs))
        handovers.append([*pair, target.name])
    description = {
        "steps": [file.capture.name(step) for step in file.run.steps],
        "kinds": [step.kind for step in file.run.steps],
        "submissions": len(file.run.submissions),
        "barriers": file.run.barriers,
        "ended": file.run.ended,
        "expected": expected,
        "handovers": handovers,
    }
    pathlib.Path(f"{stem}.json").write_text(json.dumps(description, indent=1))
