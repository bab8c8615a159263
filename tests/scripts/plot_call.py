"""Calls scripts/plot.py for its tests.

SPDX-License-Identifier: MIT
"""

import contextlib
import io
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
matplotlib.use("Agg")

from plotting.command import main  # noqa: E402


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def plot(*arguments):
    """Runs the script's main in this process, which is much faster than a new interpreter."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as end:  # a bad command line
            status = end.code
    return Done(status, out.getvalue(), errors.getvalue())
