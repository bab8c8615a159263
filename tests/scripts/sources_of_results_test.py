#!/usr/bin/python3
"""The hash of the sources that decide results: of what they say and where they are in the project,
not of where the project is.

SPDX-License-Identifier: MIT
"""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "cmake" / "sources_of_results.cmake"


def hash_of(files):
    """Of a project with these files, somewhere."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (pathlib.Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (pathlib.Path(folder) / name).write_text(text)
        output = pathlib.Path(folder) / "output.cpp"
        subprocess.run(["cmake", f"-DROOT={folder}", f"-DOUTPUT={output}",
                        f"-DFILES={';'.join(sorted(files))}", "-P", SCRIPT], check=True)
        return re.search(r'kSourcesOfResults = "([0-9a-f]{32})"', output.read_text())[1]


class SourcesOfResults(unittest.TestCase):
    FILES = {"sim/model/a.cpp": "int a = 1;\n", "sim/retry/b.hpp": "int b;\n"}

    def test_the_same_sources_elsewhere(self):
        self.assertEqual(hash_of(self.FILES), hash_of(self.FILES))

    def test_other_sources(self):
        hashes = {hash_of(self.FILES),
                  hash_of(self.FILES | {"sim/model/a.cpp": "int a = 2;\n"}),
                  hash_of(self.FILES | {"sim/model/c.cpp": ""}),
                  hash_of({"sim/model/z.cpp": "int a = 1;\n", "sim/retry/b.hpp": "int b;\n"})}
        self.assertEqual(len(hashes), 4)

    def test_the_parts_that_decide(self):
        """Each part below the searches, and none that only asks or shows."""
        text = (ROOT / "CMakeLists.txt").read_text()
        globbed = re.search(r"GLOB_RECURSE sources_of_results[^)]*\)", text)[0]
        for part in ("kernel", "retry", "measure", "scenario", "model", "explain"):
            self.assertIn(f"sim/{part}/*.?pp", globbed)
        self.assertIn("include/retrysim/*.hpp", globbed)
        for part in ("cli", "report", "experiment", "estimate"):
            self.assertNotIn(f"sim/{part}/", globbed)


if __name__ == "__main__":
    unittest.main()
