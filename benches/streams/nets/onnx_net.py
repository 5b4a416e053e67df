"""onnx_net.py FOLDER {cnn,former}: runs a small model twice with ONNX Runtime's WebGPU provider.

Writes the model, with random weights, into the folder first.
"""

import hashlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

folder, kind = sys.argv[1:3]
random = np.random.default_rng(5)
nodes, constants = [], []


def constant(name, value):
    constants.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def weights(name, *shape):
    return constant(name, (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))


def node(operator, inputs, output, **attributes):
    nodes.append(helper.make_node(operator, inputs, [output], **attributes))
    return output


def dense(source, name, inputs, outputs):
    """A product with weights, and a bias."""
    product = node("MatMul", [source, weights(name + "_w", inputs, outputs)], name + "_product")
    return node("Add", [product, weights(name + "_b", outputs)], name)


def norm(source, name, width):
    gain, bias = constant(name + "_g", np.ones(width, np.float32)), weights(name + "_b", width)
    return node("LayerNormalization", [source, gain, bias], name, epsilon=1e-5)


def attention(source, name, width, tokens, heads):
    normed, parts = norm(source, name + "n", width), {}
    for part in "qkv":
        flat = dense(normed, name + part, width, width)
        shape = constant(name + part + "_shape", np.array([1, tokens, heads, width // heads], np.int64))
        split = node("Reshape", [flat, shape], name + part + "_split")
        parts[part] = node("Transpose", [split], name + part + "_t", perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])
    scores = node("MatMul", [parts["q"], parts["k"]], name + "scores")
    scaled = node("Mul", [scores, constant(name + "scale", np.float32(0.25))], name + "scaled")
    probabilities = node("Softmax", [scaled], name + "softmax", axis=-1)
    mixed = node(
        "Transpose", [node("MatMul", [probabilities, parts["v"]], name + "mixed")], name + "mixed_t", perm=[0, 2, 1, 3]
    )
    joined = node(
        "Reshape", [mixed, constant(name + "joined_shape", np.array([1, tokens, width], np.int64))], name + "joined"
    )
    return node("Add", [dense(joined, name + "o", width, width), source], name + "residual")


def gelu(source, name):
    """GELU as a subgraph of elementary operators, as exporters emit it."""
    scaled = node("Div", [source, constant(name + "root", np.float32(2**0.5))], name + "scaled")
    one_more = node(
        "Add", [node("Erf", [scaled], name + "erf"), constant(name + "one", np.float32(1))], name + "one_more"
    )
    return node(
        "Mul", [node("Mul", [source, one_more], name + "product"), constant(name + "half", np.float32(0.5))], name
    )


def transformer():
    width, tokens, heads, x = 64, 24, 4, "x"
    for number in range(2):
        name = f"l{number}_"
        x = attention(x, name, width, tokens, heads)
        wide = dense(norm(x, name + "n2", width), name + "up", width, 4 * width)
        x = node("Add", [dense(gelu(wide, name + "gelu"), name + "down", 4 * width, width), x], name + "residual2")
    node("Softmax", [x], "out", axis=-1)
    return (1, tokens, width)


def convolutional():
    x, channels_in = "x", 8
    for number, channels in enumerate((16, 16, 32)):
        name = f"c{number}_"
        y = node(
            "Conv",
            [x, weights(name + "w", channels, channels_in, 3, 3), weights(name + "b", channels)],
            name + "conv",
            pads=[1] * 4,
        )
        y = node("Mul", [y, node("Sigmoid", [y], name + "sigmoid")], name + "silu")
        kernels = [weights(name + "dw", channels, 1, 3, 3), weights(name + "db", channels)]
        y = node("Conv", [y, *kernels], name + "depthwise", pads=[1] * 4, group=channels)
        y = node("HardSigmoid", [y], name + "hard")
        y = node("Mul", [y, constant(name + "k", np.float32(1.7))], name + "scaled")
        bounds = [constant(name + "low", np.float32(0)), constant(name + "high", np.float32(6))]
        y = node("Clip", [y, *bounds], name + "clipped")
        shortcut = node("Conv", [x, weights(name + "s", channels, channels_in, 1, 1)], name + "shortcut")
        x = node("Add", [y, shortcut], name + "sum")
        channels_in = channels
    pooled = node("MaxPool", [x], "pooled", kernel_shape=[2, 2], strides=[2, 2])
    node("Softmax", [node("GlobalAveragePool", [pooled], "average")], "out", axis=1)
    return (1, 8, 24, 24)


shape = transformer() if kind == "former" else convolutional()
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
outputs = [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)]
model = helper.make_model(
    helper.make_graph(nodes, "net", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 17)]
)
model.ir_version = 9
file = f"{folder}/ort-{kind}.onnx"
onnx.save(model, file)

provider = ("WebGpuExecutionProvider", {"dawnBackendType": "Vulkan", "validationMode": "disabled"})
session = onnxruntime.InferenceSession(file, providers=[provider])
sample = random.standard_normal(shape).astype(np.float32)
for _ in range(2):
    out = session.run(None, {"x": sample})[0]
    print(out.ravel()[:4], hashlib.blake2s(out.tobytes()).hexdigest())
