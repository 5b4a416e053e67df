"""The code of the package's page and of its documentation runs."""

from __future__ import annotations

import subprocess
import sys

import pytest
import vkfuse
from conftest import ROOT


def blocks() -> list[str]:
    page = (ROOT / "fusion/python/README.md").read_text()
    found = [part.split("```")[0] for part in page.split("```python\n")[1:]]
    assert vkfuse.__doc__ is not None
    lines = [line.removeprefix("    ") for line in vkfuse.__doc__.splitlines() if line.startswith("    ")]
    return [*found, "\n".join(lines)]


@pytest.mark.parametrize("code", blocks())
def test_code_runs(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fused [")
