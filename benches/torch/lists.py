#!/usr/bin/env python3
"""Times the lists of `benches/workloads.sh` in PyTorch: eager, and compiled by `torch.compile`.

    python3 benches/torch/lists.py ELEMENTS [--columns 1024] [--device cuda] [--iters 50] [--only NAME ...]
                                   [--vkfuse PROGRAM --files FOLDER]

The sizes and the names of the rows are those of `workloads.sh ELEMENTS FOLDER`, inputs are `f32`, and a time is the median of GPU times
(CUDA events; on a processor, of the wall clock). With `--vkfuse`, `vkfuse bench` runs the file of the same name in between, and the same table
has its times: both then see the same clocks. Where PyTorch is missing this says so, and prints nothing.

What is kept of intermediate results is what the lists keep: the sum before the normalization is a result, nothing else is.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

try:
    import torch
except ImportError:
    torch = None


def lists(n, columns, device):
    """The lists by name: a function, and its arguments. Rows without a file are those that the lists' table has besides."""
    rows = (n + columns - 1) // columns
    side = math.isqrt(n)
    functional = torch.nn.functional

    def random(*shape):
        return torch.rand(*shape, device=device, dtype=torch.float32)

    def softmax(x):
        powers = torch.exp(x - x.amax(dim=1, keepdim=True))
        return powers / powers.sum(dim=1, keepdim=True)

    def softmax_bias(x, bias):
        return functional.softmax(x + bias, dim=1)

    def layer_norm(x, scale, shift):
        return functional.layer_norm(x, (columns,), scale, shift)

    def cross_entropy(x, label):
        return functional.cross_entropy(x, label, reduction="none")

    def residual_norm(x, y, w):
        h = x + y
        return h, h * torch.rsqrt(h.square().mean(dim=1, keepdim=True) + 1e-5) * w

    def rms_weight(x, w):
        return x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + 1e-5) * w

    def matmul_bias_gelu(a, b, bias):
        return functional.gelu(a @ b + bias, approximate="tanh")

    def swiglu(a, gate, up):
        return functional.silu(a @ gate) * (a @ up)

    def blur(x):
        padded = functional.pad(x[None, None], (1, 1, 1, 1), mode="replicate")
        return functional.avg_pool2d(padded, 3, stride=1)[0, 0]

    def gain_blur_gain(x):
        return 1.25 * blur(0.75 * x)

    def product_transpose_sum(x, y):
        return (0.75 * x).t() + y

    def rotary(x, cosine, sine):
        low, high = (0.125 * x).chunk(2, dim=1)
        return torch.cat([low * cosine - high * sine, high * cosine + low * sine], dim=1)

    def gather(x, y, index):
        return (x * y)[index]

    def product_reversed(x, y):
        return (x * y).flip(0)

    def upsample(x):
        return (0.75 * x).repeat_interleave(2, dim=0).repeat_interleave(2, dim=1)

    def concatenation(x, y):
        return 0.75 * torch.cat([torch.exp(x), torch.exp(y)])

    by_row, square, half = (rows, columns), (side, side), side // 2
    # A product of 4,096 x 4,096 x 256 has 16 M results; others as many as there are elements.
    inner = 256
    labels = torch.arange(rows, device=device) % columns
    yield "03-softmax", "softmax of rows", lambda x: functional.softmax(x, dim=1), [random(*by_row)]
    yield "04-layer-norm", "layer normalization", layer_norm, [random(*by_row), random(columns), random(columns)]
    yield "21-bias-softmax", "bias, softmax", softmax_bias, [random(*by_row), random(columns)]
    yield "22-cross-entropy", "cross-entropy of rows", cross_entropy, [random(*by_row), labels]
    yield "10-flat-softmax", "flat softmax", softmax, [random(*by_row)]
    yield "11-residual-norm", "add, RMS norm, weight; the sum is kept", residual_norm, [random(*by_row), random(*by_row), random(columns)]
    yield "09-rms-weight", "RMS norm, weight", rms_weight, [random(*by_row), random(columns)]
    yield "18-matmul-gelu", "matmul, bias, GELU", matmul_bias_gelu, [random(side, inner), random(inner, side), random(side)]
    yield "19-swiglu", "SwiGLU of two matmuls", swiglu, [random(side, inner), random(inner, side), random(inner, side)]
    yield "12-gain-blur-gain", "gain, blur, gain", gain_blur_gain, [random(*square)]
    yield "13-product-reversed", "product, reversal", product_reversed, [random(n), random(n)]
    yield "14-gain-transpose-sum", "gain, transposition, sum", product_transpose_sum, [random(*square), random(*square)]
    yield "15-gain-rotary", "scale, rotary pairs", rotary, [random(*by_row), random(columns // 2), random(columns // 2)]
    yield "20-product-gather", "gather of a product", gather, [random(n), random(n), torch.arange(n, device=device)]
    yield "16-gain-upsample", "scale, up-sampling", upsample, [random(half, half)]
    yield "17-halves", "concatenation, gain", concatenation, [random(n // 2), random(n // 2)]


def median_us(function, arguments, iters, device):
    """The median time of a call in microseconds, warm."""
    for _ in range(5):
        function(*arguments)
    times = []
    if device == "cuda":
        torch.cuda.synchronize()
        for _ in range(iters):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            function(*arguments)
            end.record()
            end.synchronize()
            times.append(1e3 * start.elapsed_time(end))
    else:
        for _ in range(iters):
            start = time.perf_counter()
            function(*arguments)
            times.append(1e6 * (time.perf_counter() - start))
    return statistics.median(times)


def vkfuse_us(program, file, iters):
    """GPU times of a file, in one command buffer as it is, and fused; nothing where there is none."""
    if not program or not os.path.exists(file):
        return None, None
    done = subprocess.run([program, "bench", file, "--iters", str(iters), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{file}: {done.stderr.strip()}", file=sys.stderr)
        return None, None
    times = json.loads(done.stdout)["time_us"]
    return times["recorded_gpu"], times["fused_gpu"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elements", type=int)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--device", choices=["cuda", "cpu"])
    parser.add_argument("--iters", type=int, default=50)
    parser.add_argument("--only", nargs="*", help="rows whose title contains one of these")
    parser.add_argument("--vkfuse", help="the program")
    parser.add_argument("--files", default=".", help="the folder that workloads.sh wrote")
    given = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed: nothing was timed (pip install torch)", file=sys.stderr)
        return 0
    device = given.device or ("cuda" if torch.cuda.is_available() else "cpu")
    # The lists do not round their inputs to fewer bits.
    torch.backends.cuda.matmul.allow_tf32 = False
    where = torch.cuda.get_device_name() if device == "cuda" else "processor"
    print(f"PyTorch {torch.__version__}, {where}, {given.elements} elements, rows of {given.columns}, medians of {given.iters}, us\n")
    titles = ["list", "eager", "torch.compile", "one command buffer", "vkfuse fused"]
    print("| " + " | ".join(titles) + " |")
    print("| " + " | ".join("---" for _ in titles) + " |")
    for file, title, function, arguments in lists(given.elements, given.columns, device):
        if given.only and not any(word in title for word in given.only):
            continue
        torch._dynamo.reset()
        eager = median_us(function, arguments, given.iters, device)
        compiled = median_us(torch.compile(function), arguments, given.iters, device)
        both = vkfuse_us(given.vkfuse, os.path.join(given.files, f"{file}.toml"), given.iters)
        row = [eager, compiled, *both]
        print(f"| {title} | " + " | ".join("-" if one is None else f"{one:.0f}" for one in row) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
