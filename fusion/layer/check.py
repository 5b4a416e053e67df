#!/usr/bin/env python3
"""Programs from registries under the layers: check.py VKFUSE WORK

Fetches ncnn (PyPI), llama.cpp's Vulkan back end (npm) and, where Debian's Chromium has brought SwiftShader along, ONNX Runtime's WebGPU
provider (PyPI) into WORK with the registries' clients, runs each on a tiny net with random weights alone, under `vkfuse capture` and under `vkfuse fuse`, and fails unless what they print is the same, the capture has the expected
counts, the lists that are run leave the bytes that the program left, and the fusing layer has done what is expected. Nets and their
sources are those of benches/streams. Then Debian's programs that are not for compute, vulkaninfo and vkcube: they do what they do without
layers, and the validation layer finds nothing, above and below.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

NETS = pathlib.Path(__file__).resolve().parents[2] / "benches/streams/nets"
PYTHON = ["ncnn==1.0.20261020", "numpy==2.4.6", "gguf==0.19.0"]
# Dawn needs shaderSampledImageArrayDynamicIndexing and shaderStorageImageArrayDynamicIndexing, which lavapipe 22.3 has not.
SWIFTSHADER = pathlib.Path("/usr/lib/chromium/vk_swiftshader_icd.json")
ONNX = ["onnxruntime-webgpu==1.27.0", "onnx==1.23.2"]
# Without the binaries for other machines, which are hundreds of megabytes.
NODE = ["node-llama-cpp@3.22.1", "@node-llama-cpp/linux-x64-vulkan@3.22.1"]
SECONDS = 300
FRAMES = 60


def call(command, log, **options):
    """Runs a command to its end, with what it says on the standard error in a file, and returns what it prints."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as errors:
        done = subprocess.run(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=errors, text=True, timeout=SECONDS, **options
        )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{log.read_text()[-4000:]}")
    return done.stdout


def environment(**more):
    """ncnn opens a driver that is named in the environment past the loader and its layers."""
    kept = {name: value for name, value in os.environ.items() if name not in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")}
    return {**kept, **more}


def fetch(work):
    """The packages, and the models that programs load."""
    python = work / "python/bin/python"
    if not python.exists():
        call([sys.executable, "-m", "venv", work / "python"], work / "logs/venv.log")
    packages = [*PYTHON, *(ONNX if SWIFTSHADER.exists() else [])]
    call([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], work / "logs/pip.log")
    node = work / "node"
    node.mkdir(parents=True, exist_ok=True)
    shutil.copy(NETS / "llama.mjs", node)
    if not (node / "node_modules/@node-llama-cpp/linux-x64-vulkan").exists():
        install = ["npm", "install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", *NODE]
        call(install, work / "logs/npm.log", cwd=node)
    (work / "models").mkdir(exist_ok=True)
    model = work / "models/llama-f16.gguf"
    if not model.exists():
        call([python, NETS / "llama_model.py", model, "f16"], work / "logs/model.log")
    return python, node, model


def check(name, command, vkfuse, work, variables, counts, runs, fused=None):
    """One program. Lists of at most `runs` dispatches run on the device, and are compared with what it left; with `fused`, the report
    has to come to no more dispatches than that."""
    logs, folder = work / "logs", work / "captures" / name
    shutil.rmtree(folder, ignore_errors=True)
    given = environment(**variables)
    alone = call(command, logs / f"{name}.alone.log", env=given)
    capture = [vkfuse, "capture", "--contents", "both", "--to", folder, "--"]
    captured = call([*capture, *command], logs / f"{name}.captured.log", env=given)
    if alone != captured or not alone.strip():
        sys.exit(f"{name} prints under the layer\n{captured}and alone\n{alone}")
    written = json.loads(call([vkfuse, "capture", "to-lists", folder, "--json"], logs / f"{name}.lists.log", env=given))
    found = {key: written[key] for key in ("submissions", "dispatches")}
    found |= {"lists": len(written["lists"]), "skipped": len(written["skipped"])}
    if found != counts:
        sys.exit(f"{name}: {found}, and {counts} were expected: {json.dumps(written['skipped'][:4])}")
    compared = sum(compare(one, vkfuse, logs / f"{name}.run.log", given) for one in written["lists"] if one["dispatches"] <= runs)
    if not compared:
        sys.exit(f"{name}: no buffer was compared")
    if fused is not None:
        command = [vkfuse, "capture", "report", folder, "--no-cache", "--json"]
        report = json.loads(call(command, logs / f"{name}.report.log", env=given))
        if report["failed"] or report["steps"] < counts["dispatches"] or report["dispatches"] > fused:
            sys.exit(f"{name}: {report['steps']} steps, {report['dispatches']} dispatches; {report['failed']}")
        found["fused"] = report["dispatches"]
    print(f"{name}: prints the same; {found}; {compared} buffers as the program left them", flush=True)


def fuses(name, command, vkfuse, work, variables, replaced, dispatches):
    """One program under the fusing layer, which builds before it submits, in a cache of its own and again from that; and once as programs
    run it. At least `replaced` command buffers are replaced, and their dispatches become at most `dispatches` of what they were."""
    logs, cache = work / "logs", work / "fuse-cache" / name
    shutil.rmtree(cache, ignore_errors=True)
    alone = call(command, logs / f"{name}.alone.log", env=environment(**variables))
    given = environment(**variables, VKFUSE_CACHE_DIR=str(cache))
    for number, how in enumerate([["--wait"], ["--wait"], []]):
        log = logs / f"{name}.fused.{number}.log"
        fused = call([vkfuse, "fuse", "--report", *how, "--", *command], log, env=given)
        if alone != fused or not alone.strip():
            sys.exit(f"{name} prints under the fusing layer\n{fused}and alone\n{alone}")
        said = re.search(r"vkfuse: (\d+) of \d+ command buffers replaced, (\d+) dispatches as (\d+);", log.read_text())
        if not said:
            sys.exit(f"{name}: no report of the fusing layer\n{log.read_text()[-4000:]}")
        found, before, after = map(int, said.groups())
        if how and (found < replaced or after > before * dispatches):
            sys.exit(f"{name}: {said.group()}\n{log.read_text()[-4000:]}")
        print(f"{name} {' '.join(how)}: prints the same; {said.group()}", flush=True)


def others(vkfuse, work):
    """Programs that are not for compute."""
    folder, logs = work / "layers", work / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    libraries = (vkfuse.parent / part / "libvkfuse_layer.so" for part in ("deps", "."))
    library = next(path for path in libraries if path.exists())
    for manifest in pathlib.Path(__file__).parent.glob("VkLayer_vkfuse_*.json"):
        text = manifest.read_text().replace("./libvkfuse_layer.so", str(library))
        (folder / manifest.name).write_text(text)
    # All are known to the loader in each run; what is active differs.
    known = environment(VK_ADD_LAYER_PATH=str(folder), VKFUSE_LAYER="report", VKFUSE_CAPTURE=str(work / "captures/vkcube"))
    alone = call(["vulkaninfo"], logs / "vulkaninfo.alone.log", env=known)
    cube = ["xvfb-run", "-a", "vkcube", "--c", FRAMES]
    drawn = call(cube, logs / "vkcube.alone.log", env=known)
    validation = "VK_LAYER_KHRONOS_validation"
    for which in ("capture", "fuse"):
        layer = f"VK_LAYER_VKFUSE_{which}"
        said = call(["vulkaninfo"], logs / f"vulkaninfo.{which}.log", env={**known, "VK_INSTANCE_LAYERS": layer})
        if said != alone:
            sys.exit(f"vulkaninfo says something else under {layer}\n{said}")
        for order, layers in (("alone", [layer]), ("below", [validation, layer]), ("above", [layer, validation])):
            shutil.rmtree(work / "captures/vkcube", ignore_errors=True)
            log = logs / f"vkcube.{which}.{order}.log"
            said = call(cube, log, env={**known, "VK_INSTANCE_LAYERS": ":".join(layers)})
            # Messages of the validation layer go to the standard output.
            if said != drawn:
                sys.exit(f"vkcube under {layers} says\n{said}\nand alone\n{drawn}")
            if which == "fuse":
                report = log.read_text()
                # One command buffer for each frame, and one before.
                if f"vkfuse: 0 of {FRAMES + 1} command buffers replaced" not in report:
                    sys.exit(f"vkcube under {layers}: {report}")
            else:
                written = [vkfuse, "capture", "to-lists", work / "captures/vkcube", "--json"]
                found = json.loads(call(written, logs / "vkcube.lists.log"))
                # The one before holds a barrier.
                if found["submissions"] != FRAMES or found["dispatches"]:
                    sys.exit(f"vkcube under {layers}: {found['submissions']} submissions, {found['dispatches']} dispatches")
    print(f"vulkaninfo and vkcube: the same under both layers, {FRAMES} frames, nothing found by validation", flush=True)


def compare(one, vkfuse, log, given):
    """Runs a list, and returns how many buffers are as the program left them; all others are an error, but those that stay inside."""
    compared = 0
    outputs = json.loads(call([vkfuse, "run", one["file"], "--no-cache", "--json"], log, env=given))["outputs"]
    for buffer, left in one["after"].items():
        output = outputs[buffer]
        if output["equal"] is False:
            sys.exit(f"{one['file']}: {buffer} differs between the fused and the unfused run")
        if output["blake3"] not in (None, left):
            sys.exit(f"{one['file']}: {buffer} is not what the program left: {output}")
        compared += output["blake3"] is not None
    return compared


def main():
    # Counts and shares of dispatches are those that are reached: a change that lets a program fuse less fails.
    vkfuse, work = (pathlib.Path(given).resolve() for given in sys.argv[1:3])
    others(vkfuse, work)
    python, node, model = fetch(work)
    ncnn = [python, NETS / "ncnn_net.py", work / "models"]
    counts = dict(submissions=2, dispatches=54, lists=1, skipped=0)
    check("ncnn-cnn", [*ncnn, "cnn"], vkfuse, work, {}, counts, 40, fused=18)
    counts = dict(submissions=2, dispatches=74, lists=1, skipped=0)
    check("ncnn-transformer", [*ncnn, "former"], vkfuse, work, {}, counts, 40, fused=30)
    fuses("ncnn-cnn", [*ncnn, "cnn"], vkfuse, work, {}, 2, 0.41)
    fuses("ncnn-transformer", [*ncnn, "former"], vkfuse, work, {}, 2, 0.41)
    llama = ["node", node / "llama.mjs", model, "3"]
    variables = {"GGML_VK_DEBUG_MARKERS": "1", "GGML_VK_VISIBLE_DEVICES": "0"}
    counts = dict(submissions=47, dispatches=178, lists=14, skipped=0)
    check("llama", llama, vkfuse, work, variables, counts, 5)
    fuses("llama", llama, vkfuse, work, variables, 4, 0.765)
    if not SWIFTSHADER.exists():
        print(f"SKIPPED: ONNX Runtime, for {SWIFTSHADER} is not there (Debian's chromium)")
        return
    onnx = [python, NETS / "onnx_net.py", work / "models"]
    variables = {"VK_DRIVER_FILES": str(SWIFTSHADER), "VK_ICD_FILENAMES": str(SWIFTSHADER)}
    counts = dict(submissions=15, dispatches=61, lists=12, skipped=0)
    check("onnx-cnn", [*onnx, "cnn"], vkfuse, work, variables, counts, 20, fused=39)
    fuses("onnx-cnn", [*onnx, "cnn"], vkfuse, work, variables, 4, 0.7)
    fuses("onnx-transformer", [*onnx, "former"], vkfuse, work, variables, 6, 0.81)


main()
