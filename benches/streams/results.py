"""Runs lists with a `vkfuse`, and sums up what came out."""

import collections
import dataclasses
import hashlib
import json
import re
import subprocess
import sys

TIME_LIMIT_S = 600
COLUMNS = [
    "program",
    "list",
    "dispatches",
    "after fusion",
    "fused",
    "in groups that hand data on",
    "handovers inside a group",
    "application's bytes",
    "as compiled",
]


@dataclasses.dataclass
class Outcome:
    """What one binary made of one list."""

    program: str
    name: str
    description: dict
    report: dict
    error: str = ""
    # The list with the modules as the program compiled them, where the strict form does not have the program's bits.
    as_compiled: dict = dataclasses.field(default_factory=dict)

    @property
    def dispatches(self):
        return self.description["kinds"].count("dispatch")

    @property
    def groups(self):
        return [group["kernels"] for group in self.report.get("groups", [])]

    @property
    def dispatches_after(self):
        """Groups with a dispatch in them; copies and fills alone are no dispatches."""
        return sum(any(self.is_dispatch(step) for step in group) for group in self.groups)

    def is_dispatch(self, step):
        return self.description["kinds"][step] == "dispatch"

    @property
    def kept_together(self):
        """Handovers inside of a group."""
        group_of = {step: number for number, group in enumerate(self.groups) for step in group}
        return [h for h in self.description["handovers"] if h[0] in group_of and group_of[h[0]] == group_of.get(h[1])]

    @property
    def handing_on(self):
        """All dispatches of groups in which data is handed on."""
        inside = {step for writer, reader, _ in self.kept_together for step in (writer, reader)}
        return [s for group in self.groups if inside & set(group) for s in group if self.is_dispatch(s)]

    @property
    def fused(self):
        return [step for group in self.groups if len(group) > 1 for step in group if self.is_dispatch(step)]

    def same_bytes(self, report):
        """How many buffers have the application's bytes, and of how many: promoted ones cannot be compared."""
        outputs = report.get("outputs", {})
        compared = {n: h for n, h in self.description["expected"].items() if outputs.get(n, {}).get("blake3")}
        return sum(outputs[n]["blake3"] == h for n, h in compared.items()), len(compared)

    @property
    def application_bytes(self):
        return self.same_bytes(self.report)

    @property
    def application_bytes_as_compiled(self):
        return self.same_bytes(self.as_compiled) if self.as_compiled else self.application_bytes

    @property
    def wrong(self):
        """Buffers in which the fused run differs from the unfused one."""
        return [name for name, output in self.report.get("outputs", {}).items() if output["equal"] is False]


def run_list(vkfuse, file, cache, environment, *options):
    """The report of `vkfuse run`, or why there is none."""
    command = ["nice", "-n", "10", vkfuse, "run", file, "--json", "--cache-dir", cache, *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, env=environment)
    except subprocess.TimeoutExpired:
        return {}, f"no end after {TIME_LIMIT_S} s"
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        # Some programs read past what they bind, where the buffer goes on: an error, unless such accesses are defined.
        if "that are passed of buffer" in done.stderr and "--robust" not in options:
            return run_list(vkfuse, file, cache, environment, *options, "--robust")
        return {}, done.stderr.strip()[-200:] or f"exit status {done.returncode}"


def run_program(vkfuse, folder, cache, environment):
    """Runs every list of a program."""
    for file in sorted(folder.glob("r*.toml")):
        description = json.loads(file.with_suffix(".json").read_text())
        report, error = run_list(vkfuse, file, cache, environment)
        outcome = Outcome(folder.name, file.stem, description, report, error)
        same, compared = outcome.application_bytes
        if same < compared:
            outcome.as_compiled = run_as_compiled(vkfuse, file, cache, environment)
        yield outcome


def run_as_compiled(vkfuse, file, cache, environment):
    """The report of the list without promotions and with arithmetic left to the driver, as the program leaves it."""
    lines = [line for line in file.read_text().splitlines() if not line.startswith("promote = ")]
    changed = file.with_name(f"as-compiled-{file.name}")
    changed.write_text("\n".join(lines + ["", "[fusion]", 'float = "contract"', ""]))
    return run_list(vkfuse, changed, cache, environment, "--mode", "fused")[0]


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def print_table(outcomes, before=None):
    """One row for each list, with an earlier binary's numbers first where there is one, and one for each program.

    The last two columns count the buffers that have the application's bytes: in the strict form, and, where that
    differs, with `float = "contract"`.
    """
    old = {(o.program, o.name): o for o in before or []}
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + " --- |" * len(COLUMNS))
    by_program = collections.defaultdict(list)
    for outcome in outcomes:
        by_program[outcome.program].append(outcome)
    for program, rows in by_program.items():
        for row in rows:
            print_row(program, row.name, [row], [old[program, row.name]] if (program, row.name) in old else [])
        if len(rows) > 1:
            print_row(program, "**all**", rows, [old[program, r.name] for r in rows if (program, r.name) in old])
    print()


def print_row(program, name, rows, before):
    errors = [row.error for row in rows if row.error]
    if errors:
        print(f"| {program} | {name} | {sum(r.dispatches for r in rows)} | no report: {errors[0]} |")
        return

    def both(measure):
        return (measure(before) + " → " if before else "") + measure(rows)

    dispatches = sum(row.dispatches for row in rows)
    strict = [row.application_bytes for row in rows]
    compiled = [row.application_bytes_as_compiled for row in rows]
    wrong = [name for row in rows for name in row.wrong]
    cells = [
        str(dispatches),
        both(lambda r: str(sum(o.dispatches_after for o in r))),
        both(lambda r: percent(sum(len(o.fused) for o in r), dispatches)),
        both(lambda r: percent(sum(len(o.handing_on) for o in r), dispatches)),
        both(lambda r: f"{sum(len(o.kept_together) for o in r)} of {sum(len(o.description['handovers']) for o in r)}"),
        of_all(strict) + (f"; **fused differs: {', '.join(wrong)}**" if wrong else ""),
        of_all(compiled),
    ]
    print(f"| {program} | {name} | " + " | ".join(cells) + " |")


def of_all(counts):
    return f"{sum(same for same, _ in counts)} of {sum(compared for _, compared in counts)}"


def print_boundaries(outcomes):
    """The reasons that reports give for boundaries between groups, by count."""
    causes = collections.Counter()
    for outcome in outcomes:
        for split in outcome.report.get("splits", []):
            causes[general(split["reason"]), general(split.get("tried") or "")] += 1
    print("| boundaries | reason | what else was tried |")
    print("| --- | --- | --- |")
    for (reason, tried), count in causes.most_common():
        print(f"| {count} | {reason} | {tried} |")
    print()


def general(text):
    """A reason without the numbers of one list."""
    text = re.sub(r"\[[\d, ]+\]", "[…]", text)
    return re.sub(r"(submission|buffer|kernel|binding) \d+", r"\1 N", re.sub(r"\d+ (rows|items|places)", r"N \1", text))


class Pairs:
    """Runs a writer and its reader as a list of their own, once for each distinct pair."""

    def __init__(self, vkfuse, cache, environment):
        self.vkfuse, self.cache, self.environment = vkfuse, cache, environment
        self.known = {}

    def cause(self, file):
        """Why the pair stays apart, or `None` where it fuses."""
        key = self._shape(file.read_text())
        if key not in self.known:
            report, error = run_list(self.vkfuse, file, self.cache, self.environment)
            if error:
                self.known[key] = ("no report: " + error, "")
            elif len(report["groups"]) == 1:
                self.known[key] = None
            else:
                split = report["splits"][0]
                self.known[key] = (general(split["reason"]), general(split.get("tried") or ""))
        return self.known[key]

    @staticmethod
    def _shape(text):
        """The text with buffers renamed by order, and without what differs between equal pairs."""
        names = {}
        for name in re.findall(r"\[buffers\.(\w+)\]", text):
            names[name] = f"n{len(names)}"
        text = re.sub(r"\bb\d+\b", lambda m: names.get(m.group(), m.group()), text)
        kept = [line for line in text.splitlines() if not line.startswith(("name =", "init ="))]
        return hashlib.sha1("\n".join(kept).encode()).hexdigest()


def handover_causes(outcomes, lists, pairs):
    """For each handover that crosses a boundary: its cause, when the two steps are a list of their own."""
    for outcome in outcomes:
        print(f"pairs of {outcome.program} {outcome.name}", file=sys.stderr)
        inside = {tuple(h[:2]) for h in outcome.kept_together}
        done = set(outcome.handing_on)
        for writer, reader, file in outcome.description["handovers"]:
            if (writer, reader) not in inside:
                cause = pairs.cause(lists / outcome.program / "pairs" / file)
                apart = {s for s in (writer, reader) if s not in done and outcome.is_dispatch(s)}
                yield outcome, writer, reader, cause or ("the pair fuses; the list around it keeps it apart", ""), apart


def print_handovers(found):
    """Handovers that cross a boundary, by cause, and the dispatches that take part in one and hand nothing on yet."""
    count, dispatches, examples = (
        collections.Counter(),
        collections.defaultdict(set),
        collections.defaultdict(collections.Counter),
    )
    for outcome, writer, reader, cause, apart in found:
        count[cause] += 1
        dispatches[cause] |= {(outcome.program, outcome.name, step) for step in apart}
        names = outcome.description["steps"]
        examples[cause][f"{names[writer]} → {names[reader]}"] += 1
    print("| handovers | dispatches | cause, of the two as a list of their own | what else was tried | most frequent |")
    print("| --- | --- | --- | --- | --- |")
    for cause, number in count.most_common():
        frequent = ", ".join(f"{name} ({times})" for name, times in examples[cause].most_common(3))
        print(f"| {number} | {len(dispatches[cause])} | {cause[0]} | {cause[1]} | {frequent} |")
    print()
