"""The programs whose submissions are captured, and how their packages are fetched."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

NETS = pathlib.Path(__file__).resolve().parent / "nets"
# By the name of the module that each brings.
PYTHON_PACKAGES = {
    "blake3": "blake3",
    "gguf": "gguf",
    "ncnn": "ncnn",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime-webgpu",
}
NODE_PACKAGES = ["node-llama-cpp"]


class Missing(Exception):
    """Something that has to be installed first; the message says what and how."""


@dataclasses.dataclass(frozen=True)
class Program:
    """One capture: a command line and what it needs around it.

    `{work}` and `{nets}` in the command stand for the working folder and for the folder of the networks' sources.
    """

    name: str
    about: str
    command: tuple
    environment: dict = dataclasses.field(default_factory=dict)
    model: tuple = ()
    node: bool = False

    def arguments(self, work, command):
        """`command` with the folders filled in; `python` is that of the virtual environment."""
        filled = [part.format(work=work, nets=NETS) for part in command]
        return [str(python_of(work))] + filled[1:] if filled[0] == "python" else filled


def llama(name, weights, about, **environment):
    """llama.cpp's Vulkan back end through node-llama-cpp, on a tiny model with random weights."""
    model = f"{{work}}/models/llama-{weights}.gguf"
    return Program(
        name,
        about,
        ("node", "{work}/node/llama.mjs", model, "3"),
        {"GGML_VK_DEBUG_MARKERS": "1", "GGML_VK_VISIBLE_DEVICES": "0", **environment},
        ("python", "{nets}/llama_model.py", model, weights),
        node=True,
    )


def ncnn(name, net, half, about):
    """ncnn's Vulkan back end on a small net with random weights."""
    return Program(name, about, ("python", "{nets}/ncnn_net.py", "{work}/models", net) + (("--half",) if half else ()))


def onnx(name, net, about):
    """ONNX Runtime's WebGPU provider: Dawn on Vulkan.

    Dawn asks for dynamic indexing of descriptor arrays, which llvmpipe lacks and compute shaders do not use; the layer
    claims it.
    """
    return Program(name, about, ("python", "{nets}/onnx_net.py", "{work}/models", net), {"CAPTURE_CLAIM_INDEXING": "1"})


PROGRAMS = [
    llama("llama-f16-nofuse", "f16", "llama.cpp, f16 weights, its own fusions off", GGML_VK_DISABLE_FUSION="1"),
    llama("llama-f16", "f16", "llama.cpp, f16 weights, with its own fusions"),
    llama("llama-f16-fa", "f16", "llama.cpp, f16 weights, flash attention", FLASH_ATTENTION="1"),
    llama("llama-q8_0", "q8_0", "llama.cpp, weights of 8 bits"),
    llama("llama-q4_0", "q4_0", "llama.cpp, weights of 4 bits"),
    ncnn("ncnn-cnn-f32", "cnn", False, "ncnn, small convolutional net, f32"),
    ncnn("ncnn-cnn-f16", "cnn", True, "ncnn, small convolutional net, f16"),
    ncnn("ncnn-former-f32", "former", False, "ncnn, transformer block, f32"),
    ncnn("ncnn-former-f16", "former", True, "ncnn, transformer block, f16"),
    onnx("ort-former", "former", "ONNX Runtime WebGPU, two transformer blocks"),
    onnx("ort-cnn", "cnn", "ONNX Runtime WebGPU, small convolutional net"),
]


def python_of(work):
    """The interpreter of the virtual environment in the working folder."""
    return work / "python/bin/python"


def call(command, log, what, **options):
    """Runs a command with its output in a file; a failure names the file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as out:
        done = subprocess.run(["nice", "-n", "10", *map(str, command)], stdout=out, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise Missing(f"{what} failed with exit status {done.returncode}; its output is in {log}")


def require(tool, packages):
    """Refuses early, with what to install, where a command is missing."""
    if not shutil.which(tool):
        raise Missing(f"`{tool}` is not installed: apt-get install {packages}")


def fetch_python(work, modules=tuple(PYTHON_PACKAGES)):
    """A virtual environment with the packages of these modules, made by pip."""
    python = python_of(work)
    log = work / "logs/python.log"
    if not python.exists():
        call(
            [sys.executable, "-m", "venv", work / "python"],
            log,
            "making a virtual environment (apt-get install python3-venv)",
        )
    missing = [module for module in modules if import_error(python, module)]
    if missing:
        packages = [PYTHON_PACKAGES[module] for module in missing]
        call([python, "-m", "pip", "install", "-q", *packages], log, "pip install " + " ".join(packages))
    for module in missing:
        error = import_error(python, module)
        if "libomp" in error:
            raise Missing(f"{module} needs the OpenMP runtime of LLVM: apt-get install libomp5")
        if error:
            raise Missing(f"{module} is installed in {work / 'python'} and cannot be imported: {error}")


def import_error(python, module):
    """Why a module cannot be imported, in a line, or nothing."""
    done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or ["no message"])[-1] if done.returncode else ""


def fetch_node(work):
    """node-llama-cpp with its prebuilt llama.cpp, by npm; no script of a package runs."""
    require("node", "nodejs npm")
    require("npm", "nodejs npm")
    folder = work / "node"
    folder.mkdir(parents=True, exist_ok=True)
    # Node resolves packages beside the file that imports them.
    shutil.copy(NETS / "llama.mjs", folder)
    if not (folder / "node_modules/node-llama-cpp").exists():
        command = ["npm", "install", "--ignore-scripts", *NODE_PACKAGES]
        call(command, work / "logs/npm.log", " ".join(command), cwd=folder)


def make_model(program, work):
    """Writes the weights that the program loads, where it does not write them itself."""
    (work / "models").mkdir(parents=True, exist_ok=True)
    if program.model:
        target = pathlib.Path(program.model[2].format(work=work))
        if not target.exists():
            call(program.arguments(work, program.model), work / f"logs/{program.name}.model.log", f"writing {target}")


def environment_for(program, extra):
    """The environment of a captured run.

    `VK_DRIVER_FILES` is removed: ncnn opens a driver named there past the loader and its layers.
    """
    inherited = {k: v for k, v in os.environ.items() if k not in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")}
    return {**inherited, **program.environment, **extra}
