"""ncnn_net.py FOLDER {cnn,former} [--half]: runs a small net twice with ncnn's Vulkan back end.

Writes the net, with random weights, into the folder first.
"""

import hashlib
import sys

import ncnn
import numpy as np

folder, kind, half = sys.argv[1], sys.argv[2], "--half" in sys.argv
random = np.random.default_rng(3)
layers, weights = [], bytearray()


def put(values, flagged=False):
    """Appends weights; those of matrices begin with a flag that says they are f32."""
    if flagged:
        weights.extend(np.uint32(0).tobytes())
    weights.extend(np.asarray(values, np.float32).tobytes())


def values(*shape):
    return random.standard_normal(shape) / np.sqrt(shape[-1])


def layer(type_, name, inputs, outputs, parameters=None):
    """A line of the .param file; parameters by ncnn's number."""
    given = " ".join(f"{number}={value}" for number, value in (parameters or {}).items())
    layers.append((type_, name, inputs.split(), outputs.split(), given))


def convolution(name, source, target, channels_in, channels, kernel=3, pad=1, activation=0):
    size = channels * channels_in * kernel * kernel
    layer("Convolution", name, source, target, {0: channels, 1: kernel, 3: 1, 4: pad, 5: 1, 6: size, 9: activation})
    put(values(channels, channels_in * kernel * kernel), flagged=True)
    put(values(channels))


def depthwise(name, source, target, channels, activation=0):
    layer(
        "ConvolutionDepthWise",
        name,
        source,
        target,
        {0: channels, 1: 3, 4: 1, 5: 1, 6: channels * 9, 7: channels, 9: activation},
    )
    put(values(channels, 9), flagged=True)
    put(values(channels))


def dense(name, source, target, inputs, outputs):
    layer("InnerProduct", name, source, target, {0: outputs, 1: 1, 2: inputs * outputs, 9: 0})
    put(values(outputs, inputs), flagged=True)
    put(values(outputs))


def convolutional_net():
    layer("Input", "in", "", "x", {0: 32, 1: 32, 2: 8})
    convolution("c0", "x", "a", 8, 32)
    layer("BatchNorm", "bn", "a", "a1", {0: 32})
    for part in (np.ones(32), values(32), np.ones(32), values(32)):
        put(part)
    layer("ReLU", "r0", "a1", "b")
    layer("Split", "s0", "b", "b0 b1")
    depthwise("d0", "b0", "c", 32)
    layer("ReLU", "r1", "c", "d")
    convolution("p0", "d", "e", 32, 32, 1, 0)
    layer("BinaryOp", "add", "e b1", "f", {0: 0})
    layer("GELU", "g", "f", "g")
    layer("Swish", "sw", "g", "g1")
    layer("Sigmoid", "sg", "g1", "g2")
    layer("BinaryOp", "mul", "g2", "g3", {0: 2, 1: 1, 2: 0.5})
    layer("Pooling", "pl", "g3", "h", {0: 0, 1: 2, 2: 2})
    convolution("p1", "h", "i", 32, 64, 1, 0, 1)
    depthwise("d1", "i", "j", 64, 1)
    layer("Interp", "up", "j", "k", {0: 2, 1: 2.0, 2: 2.0})
    layer("Pooling", "gp", "k", "l", {0: 1, 4: 1})
    dense("fc", "l", "m", 64, 16)
    layer("Softmax", "sm", "m", "out", {0: 0, 1: 1})
    return random.standard_normal((8, 32, 32))


def transformer_block():
    width, tokens, heads = 64, 24, 4
    layer("Input", "in", "", "x", {0: width, 1: tokens})
    layer("Split", "s0", "x", "x0 x1")
    layer("LayerNorm", "n0", "x0", "a", {0: width, 1: 1e-5, 2: 1})
    put(np.ones(width))
    put(values(width))
    layer("MultiHeadAttention", "at", "a", "b", {0: width, 1: heads, 2: width * width})
    for _ in range(4):
        put(values(width, width), flagged=True)
        put(values(width))
    layer("BinaryOp", "ad", "b x1", "c", {0: 0})
    layer("Split", "s1", "c", "c0 c1")
    layer("LayerNorm", "n1", "c0", "d", {0: width, 1: 1e-5, 2: 1})
    put(np.ones(width))
    put(values(width))
    dense("f0", "d", "e", width, 4 * width)
    layer("GELU", "ge", "e", "f")
    dense("f1", "f", "g", 4 * width, width)
    layer("BinaryOp", "ad2", "g c1", "h", {0: 0})
    layer("RMSNorm", "rn", "h", "i", {0: width, 1: 1e-5, 2: 1})
    put(np.ones(width))
    layer("Softmax", "sm", "i", "out", {0: 1, 1: 1})
    return random.standard_normal((tokens, width))


sample = convolutional_net() if kind == "cnn" else transformer_block()
# A `Mat` of an array does not keep it alive.
sample = sample.astype(np.float32)
blobs = {name for _, _, _, outputs, _ in layers for name in outputs}
lines = ["7767517", f"{len(layers)} {len(blobs)}"]
for type_, name, inputs, outputs, parameters in layers:
    lines.append(" ".join([type_, name, str(len(inputs)), str(len(outputs)), *inputs, *outputs, parameters]))
stem = f"{folder}/ncnn-{kind}"
open(stem + ".param", "w").write("\n".join(lines) + "\n")
open(stem + ".bin", "wb").write(weights)

net = ncnn.Net()
net.opt.use_vulkan_compute = True
net.opt.num_threads = 1
for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic"):
    setattr(net.opt, option, half)
for option in ("use_bf16_packed", "use_bf16_storage", "use_int8_packed", "use_int8_storage", "use_int8_arithmetic"):
    setattr(net.opt, option, False)
if net.load_param(stem + ".param") or net.load_model(stem + ".bin"):
    sys.exit("ncnn does not load the net")
for _ in range(2):
    extractor = net.create_extractor()
    extractor.input("x", ncnn.Mat(sample).clone())
    failed, out = extractor.extract("out")
    if failed:
        sys.exit("ncnn does not run the net")
    out = np.array(out)
    print(out.shape, out.ravel()[:4], hashlib.sha256(out.tobytes()).hexdigest()[:16])
