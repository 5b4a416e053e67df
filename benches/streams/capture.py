"""Runs a program under the capture layer, which is compiled where it is needed."""

import json
import pathlib
import shutil
import subprocess

import programs

SOURCES = pathlib.Path(__file__).resolve().parent / "layer"
LAYER = "VK_LAYER_VKFUSE_capture"
TIME_LIMIT_S = 600


def build_layer(work):
    """Compiles the layer into the working folder, with the manifest that the loader looks for."""
    folder = work / "layer"
    library = folder / "libcapture.so"
    folder.mkdir(parents=True, exist_ok=True)
    newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
    if not library.exists() or library.stat().st_mtime < newest:
        programs.require("g++", "g++ libvulkan-dev")
        # Hidden names: the library lives in processes that have names of their own.
        command = [
            "g++",
            "-std=c++17",
            "-O1",
            "-fPIC",
            "-fvisibility=hidden",
            "-shared",
            "-o",
            library,
            *sorted(SOURCES.glob("*.cpp")),
        ]
        programs.call(command, work / "logs/layer.log", "compiling the layer (apt-get install g++ libvulkan-dev)")
    manifest = {
        "file_format_version": "1.2.0",
        "layer": {
            "name": LAYER,
            "type": "GLOBAL",
            "library_path": "./libcapture.so",
            "api_version": "1.3.239",
            "implementation_version": "1",
            "description": "records what a program submits for compute",
        },
    }
    (folder / "capture.json").write_text(json.dumps(manifest))
    return folder


def layer_environment(folder, target, **settings):
    """What makes the loader put the layer into a process, and the layer's own settings."""
    named = {f"CAPTURE_{name.upper()}": str(value) for name, value in settings.items()}
    return {"VK_LAYER_PATH": str(folder), "VK_INSTANCE_LAYERS": LAYER, "CAPTURE_FOLDER": str(target), **named}


def driver_environment(work, manifest):
    """Makes the loader see the driver of `manifest` only.

    The manifest goes to a data folder of its own, because programs that read `VK_DRIVER_FILES` themselves open the
    driver without layers.
    """
    if not manifest:
        return {}
    folder = work / "driver/vulkan/icd.d"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / manifest.name).symlink_to(manifest.resolve())
    return {"XDG_DATA_DIRS": str(work / "driver"), "XDG_DATA_HOME": str(work / "driver")}


def capture(program, work, driver):
    """Captures a program into `work/captures/NAME`; what an earlier attempt left there goes."""
    folder = build_layer(work)
    if program.node:
        programs.fetch_node(work)
    programs.make_model(program, work)
    target = work / "captures" / program.name
    shutil.rmtree(target, ignore_errors=True)
    extra = {**layer_environment(folder, target, contents="both"), **driver_environment(work, driver)}
    log = work / f"logs/{program.name}.log"
    try:
        programs.call(
            program.arguments(work, program.command),
            log,
            f"{program.name} (on a machine without a GPU it needs lavapipe: apt-get install mesa-vulkan-drivers)",
            env=programs.environment_for(program, extra),
            timeout=TIME_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise programs.Missing(f"{program.name} took longer than {TIME_LIMIT_S} s; its output is in {log}") from None
    if not list(target.glob("events.*.jsonl")):
        raise programs.Missing(
            f"{program.name} ended without a Vulkan instance: the layer recorded nothing; its output is in {log}"
        )
    return target
