"""The quick start's chain in Python: four kernels over numpy arrays, one dispatch, the same bits.

python examples/python/quickstart.py [ELEMENTS]
"""

import sys
from pathlib import Path

import numpy as np

import vkfuse

SHADERS = Path(__file__).parents[2] / "shaders/chain"


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_003
    context = vkfuse.Context()
    queue = context.queue()
    mul, sub = context.load(SHADERS / "mul.spv"), context.load(SHADERS / "sub.spv")

    x = [(np.arange(n) * k % 1024 / 1024).astype(np.float32) for k in (3, 5, 7, 11)]
    a, b, c, d = (context.buffer(one) for one in x)
    tmp1, tmp2, tmp3 = (context.scratch(n, np.float32, name=name) for name in ("tmp1", "tmp2", "tmp3"))
    out = context.zeros(n, np.float32, name="out")

    with queue.fuse(keep=True) as fused:
        queue.submit(mul, a.read(), b.read(), tmp1.write(), push=n, items=n)
        queue.submit(sub, a.read(), c.read(), tmp2.write(), push=n, items=n)
        queue.submit(mul, tmp2.read(), d.read(), tmp3.write(), push=n, items=n)
        queue.submit(sub, tmp1.read(), tmp3.read(), out.write(), push=n, items=n)

    host = x[0] * x[1] - (x[0] - x[2]) * x[3]
    right = bool(np.array_equal(out.numpy().view(np.uint32), host.view(np.uint32)))
    print(f"{fused.dispatches} dispatch, {fused.outcome}, all right: {right}")
    for name, buffer in fused.report["buffers"].items():
        print(f"{name}: asked {buffer['asked']}, got {buffer['got']}")

    # Once more, with other numbers: nothing is planned or compiled.
    a.upload(x[3])
    fused.list.run().wait()
    host = x[3] * x[1] - (x[3] - x[2]) * x[3]
    right &= bool(np.array_equal(out.numpy().view(np.uint32), host.view(np.uint32)))
    if fused.dispatches != 1 or not right:
        sys.exit("wrong results")


if __name__ == "__main__":
    main()
