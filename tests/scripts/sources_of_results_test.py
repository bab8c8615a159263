#!/usr/bin/python3
"""The hash of the sources that decide results: of what they say and where they are in the project,
not of where the project is.

SPDX-License-Identifier: MIT
"""

import pathlib
import re
import shutil
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
        """Each part below the searches, and none that only asks or shows. A row of metrics is made
        by `estimate`, figures for verdicts by `explain`, which asks `prediction`."""
        globbed = re.search(r"set\(sources_of_results[^)]*\)", SCRIPT.read_text())[0]
        for part in ("kernel", "retry", "flow", "measure", "scenario", "estimate", "model",
                     "prediction", "explain"):
            self.assertIn(f"sim/{part}/*.?pp", globbed)
        self.assertIn("include/retrysim/*.hpp", globbed)
        for part in ("cli", "report", "experiment"):
            self.assertNotIn(f"sim/{part}/", globbed)

    def test_a_changed_line(self):
        """In the project itself, with the very patterns of the script."""
        patterns = re.search(r"set\(sources_of_results[^)]*\)", SCRIPT.read_text())[0]
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            shutil.copytree(ROOT / "include", project / "include")
            shutil.copytree(ROOT / "sim", project / "sim")
            script = project / "list.cmake"
            script.write_text(f"{patterns}\n"
                              f"list(TRANSFORM sources_of_results PREPEND {project}/)\n"
                              f"file(GLOB_RECURSE FILES RELATIVE {project}"
                              " ${sources_of_results})\nlist(SORT FILES)\n"
                              f"set(ROOT {project})\nset(OUTPUT {project}/output.cpp)\n"
                              f"include({SCRIPT})\n")

            def hash_with(name=None, more=""):
                if name:
                    path = project / "sim" / name
                    before = path.read_text()
                    path.write_text(before + more)
                subprocess.run(["cmake", "-P", script], check=True, cwd=project)
                if name:
                    path.write_text(before)
                return (project / "output.cpp").read_text()

            whole = hash_with()
            for name in ("model/run/world.cpp", "kernel/functions.hpp", "retry/presets.cpp",
                         "scenario/resolve/services.cpp", "measure/metrics/metrics.cpp",
                         "estimate/summary.cpp", "prediction/facts/service_load.cpp"):
                self.assertNotEqual(hash_with(name, "\n// changed\n"), whole, name)
            for name in ("cli/run.cpp", "report/run/text.cpp", "experiment/tip.cpp",
                         "execution/store.cpp"):
                self.assertEqual(hash_with(name, "\n// changed\n"), whole, name)
            self.assertEqual(hash_with(), whole)


if __name__ == "__main__":
    unittest.main()
