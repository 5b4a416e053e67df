#!/usr/bin/env python3
"""What fusion makes of the submissions of real programs.

    benches/streams/streams.py --vkfuse target/debug/vkfuse [PROGRAM ...]

Fetches the programs by their registries' clients (pip, npm) into a folder outside of the repository, runs each under a
Vulkan layer that records what it submits, converts the recordings into pipeline files, runs these with `vkfuse run`,
and prints what became of the dispatches and why boundaries stay, by count. What a program computed is compared bit for
bit with what the same list computes in `vkfuse`. Every part is kept in the folder and not done again.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

import capture
import events
import lists
import programs
import results


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], epilog="Programs: " + ", ".join(p.name for p in programs.PROGRAMS)
    )
    parser.add_argument("program", nargs="*", metavar="PROGRAM", help="what to capture and run (default: all)")
    parser.add_argument(
        "--vkfuse",
        action="append",
        metavar="COMMAND",
        help="the command to run lists with (default: vkfuse); given twice, the first is the one to compare with",
    )
    parser.add_argument(
        "--work",
        type=pathlib.Path,
        metavar="FOLDER",
        help="where everything is kept (default: vkfuse-streams in the temporary folder)",
    )
    parser.add_argument(
        "--captures",
        type=pathlib.Path,
        metavar="FOLDER",
        help="captures that exist, one folder for each program; nothing is fetched or captured",
    )
    parser.add_argument(
        "--driver",
        type=pathlib.Path,
        metavar="MANIFEST",
        help="the manifest of the Vulkan driver to capture and run with",
    )
    parser.add_argument(
        "--not-llvmpipe",
        action="store_true",
        help="hide from vkfuse that the driver is llvmpipe, whose limit on loops keeps lists apart",
    )
    parser.add_argument(
        "--pairs",
        action="store_true",
        help="run each writer and its reader that stay apart as a list of their own, for the cause of that alone",
    )
    parser.add_argument("--again", action="store_true", help="capture and convert again what is there")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the reports here")
    parser.add_argument("--list", action="store_true", help="print the programs and end")
    given = parser.parse_args()
    if given.list:
        for program in programs.PROGRAMS:
            print(f"{program.name:18} {program.about}")
        sys.exit()
    given.vkfuse = [command_of(parser, path) for path in given.vkfuse or ["vkfuse"]]
    if len(given.vkfuse) > 2:
        parser.error("--vkfuse can be given once or twice")
    given.work = (given.work or pathlib.Path(tempfile.gettempdir()) / "vkfuse-streams").resolve()
    repository = pathlib.Path(__file__).resolve().parents[2]
    if repository in given.work.parents:
        parser.error(f"--work {given.work} is inside of the repository, where nothing of the programs belongs")
    if given.driver and not given.driver.is_file():
        parser.error(f"--driver {given.driver} is no file")
    return given, parser


def command_of(parser, path):
    """The full path of a command, since lists are run from elsewhere."""
    found = shutil.which(path)
    if not found:
        parser.error(
            f"{path} is no command; build it with `cargo build --bin vkfuse`, then --vkfuse target/debug/vkfuse"
        )
    return str(pathlib.Path(found).resolve())


def chosen(given, parser):
    """The captures to look at: programs of the table, or what a folder has."""
    known = {program.name: program for program in programs.PROGRAMS}
    if given.captures:
        known = {
            folder.name: None for folder in sorted(given.captures.iterdir()) if list(folder.glob("events.*.jsonl"))
        }
    unknown = [name for name in given.program if name not in known]
    if unknown or not known:
        parser.error(f"no such program: {', '.join(unknown)}; there are {', '.join(known) or 'none'}")
    return {name: known[name] for name in given.program or known}


def enter_environment(work, captures_exist):
    """Goes on in the virtual environment, which has blake3, and the programs where they are captured."""
    programs.fetch_python(work, ("blake3",) if captures_exist else tuple(programs.PYTHON_PACKAGES))
    python = programs.python_of(work)
    if pathlib.Path(sys.prefix).resolve() != (work / "python").resolve():
        sys.stdout.flush()
        os.execv(python, [str(python), *sys.argv])


def run_environment(given):
    """The environment of `vkfuse`."""
    # Of a list in doubt the first runs measure both ways; the table is about what is planned.
    environment = dict(os.environ, VKFUSE_AUTOTUNE="0")
    if given.driver:
        environment["VK_DRIVER_FILES"] = environment["VK_ICD_FILENAMES"] = str(given.driver.resolve())
    if given.not_llvmpipe:
        # 3 is VK_DRIVER_ID_MESA_RADV; the code runs on llvmpipe all the same.
        layer = capture.build_layer(given.work)
        environment |= capture.layer_environment(layer, given.work / "captures/none", driver_id=3, contents="none")
    return environment


def prepare(given, selected):
    """Captures and converts what is not there yet; returns the folder of the lists."""
    from blake3 import blake3

    folder = given.work / "lists"
    for name, program in selected.items():
        source = (given.captures or given.work / "captures") / name
        if program and (given.again or not list(source.glob("events.*.jsonl"))):
            print(f"capturing {name}: {program.about}", file=sys.stderr)
            capture.capture(program, given.work, given.driver)
        target = folder / name
        if given.again or not (target / "skipped.json").exists():
            print(f"converting {name}", file=sys.stderr)
            shutil.rmtree(target, ignore_errors=True)
            inspector = lists.Inspector(given.vkfuse[-1], target / "modules")
            for reason, dispatches in lists.convert(
                events.Capture(source.resolve()), inspector, target, blake3
            ).items():
                print(f"{name}: {dispatches} dispatches are in no list: {reason}", file=sys.stderr)
    return folder


def run_all(given, vkfuse, selected, folder, environment):
    """Runs all lists with one binary."""
    outcomes = []
    for name in selected:
        print(f"running {name} with {vkfuse}", file=sys.stderr)
        outcomes += results.run_program(vkfuse, folder / name, given.work / "cache", environment)
    return outcomes


def main():
    given, parser = arguments()
    selected = chosen(given, parser)
    given.work.mkdir(parents=True, exist_ok=True)
    try:
        enter_environment(given.work, bool(given.captures))
        folder = prepare(given, selected)
        environment = run_environment(given)
    except (programs.Missing, FileNotFoundError) as missing:
        sys.exit(f"streams.py: {missing}")
    runs = [run_all(given, vkfuse, selected, folder, environment) for vkfuse in given.vkfuse]
    results.print_table(runs[-1], runs[0] if len(runs) == 2 else None)
    results.print_boundaries(runs[-1])
    if given.pairs:
        pairs = results.Pairs(given.vkfuse[-1], given.work / "cache", environment)
        results.print_handovers(results.handover_causes(runs[-1], folder, pairs))
    if given.json:
        given.json.write_text(json.dumps([[vars(outcome) for outcome in run] for run in runs], indent=1))
    if any(outcome.wrong for run in runs for outcome in run):
        sys.exit(1)


if __name__ == "__main__":
    main()
