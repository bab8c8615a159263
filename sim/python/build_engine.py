"""Builds the extension module with CMake when setuptools builds the package (pyproject.toml).

RETRYSIM_BUILD_DIR names a build tree to use instead of one of its own.

SPDX-License-Identifier: MIT
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = ["CMAKE_BUILD_TYPE=Release", "RETRYSIM_PYTHON=ON", "RETRYSIM_TESTS=OFF",
            "RETRYSIM_BENCHMARKS=OFF", "RETRYSIM_MPI=OFF", f"PYTHON_EXECUTABLE={sys.executable}"]


class BuildPy(build_py):
    """The modules in Python, and beside them the engine."""

    def run(self):
        super().run()
        tree = Path(os.environ.get("RETRYSIM_BUILD_DIR") or
                    Path(self.get_finalized_command("build").build_temp).resolve() / "engine")
        if not (tree / "CMakeCache.txt").is_file():
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            subprocess.run(["cmake", "-S", ROOT, "-B", tree, *generator,
                            *(f"-D{setting}" for setting in SETTINGS)], check=True)
        subprocess.run(["cmake", "--build", tree, "--target", "retrysim_python",
                        "--parallel", str(os.cpu_count() or 1)], check=True)
        (engine,) = (tree / "python" / "retrysim").glob("_engine*.so")
        shutil.copy2(engine, Path(self.build_lib) / "retrysim")


class BdistWheel(bdist_wheel):
    """For this system and this Python: the engine is machine code, though none of setuptools'
    extension modules."""

    def initialize_options(self):
        super().initialize_options()
        self.distribution.has_ext_modules = lambda: True
