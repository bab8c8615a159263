"""Builds the extension module with CMake when setuptools builds the package (pyproject.toml).

RETRYSIM_BUILD_DIR names a build tree to use instead of one of its own.

SPDX-License-Identifier: MIT
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info
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
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
        subprocess.run(["cmake", "--build", tree, "--target", "retrysim_python",
                        "--parallel", jobs], check=True)
        (engine,) = (tree / "python" / "retrysim").glob("_engine*.so")
        shutil.copy2(engine, Path(self.build_lib) / "retrysim")
        # Of the headers that the engine was compiled from, where Debian has them.
        licences = subprocess.run([ROOT / "scripts" / "licences", "pybind11-dev"],
                                  capture_output=True, check=False)
        if licences.returncode == 0:
            (Path(self.build_lib) / "retrysim" / "LICENSES.txt").write_bytes(licences.stdout)


class EggInfo(egg_info):
    """The README without links to pages that are not in the package: only the words stay."""

    def run(self):
        metadata = self.distribution.metadata
        metadata.long_description = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1",
                                           metadata.long_description)
        super().run()


class BdistWheel(bdist_wheel):
    """For this system and this Python: the engine is machine code, though none of setuptools'
    extension modules."""

    def initialize_options(self):
        super().initialize_options()
        self.distribution.has_ext_modules = lambda: True
