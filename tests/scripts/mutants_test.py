#!/usr/bin/python3
"""Tests of scripts/mutants: does it find the faults that a C++ text can have, and only those; do
they compile, do what they say behind the switch and nothing without it; is its report right?

SPDX-License-Identifier: MIT
"""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from mutating import equivalents

try:
    from mutating import faults, runs
except ImportError:  # python3-clang-14 is installed for scripts/mutants only
    faults = runs = None

EQUIVALENT = ROOT / "tests/mutants/equivalent.txt"
CODE = """// The first line is a comment.
#include <algorithm>
#include <compare>
#include <string>
#include <vector>

struct Moment {
  long ns = 5;
  friend constexpr auto operator<=>(Moment, Moment) = default;
};
template <int n>
int times(int x) { return n * x; }
constexpr int kLimit = 4 + 3;
static_assert(kLimit > 6);

bool earlier(Moment a, Moment b) { return a < b; }
int capped(int x) { return std::min(x, kLimit); }
int labelled(int x) {
  switch (x) {
    case 3: return times<7>(x);
    default: return 0;
  }
}
bool both(bool a, bool b) {
  return a &&
         b;
}
std::string joined(const std::string& a) { return a + "b"; }
int counted(const std::vector<int>& all) {
  int sum = 0;
  for (const int one : all)
    if (one != 9) sum += one;
    else sum -= 2;
  return sum;
}
void doubled(int& x) {
  x *= 2;  // Not a fault: a statement with a comment /* in it.
}
"""
MAIN = """
#include <cstdio>
#include <cstdlib>
bool retrysim_mutants::look(int n) { return n == std::atoi(std::getenv("RETRYSIM_MUTANT")); }
int main() {
  int x = 8;
  doubled(x);
  std::printf("%d %d %d %d %d %d %d %d\\n", earlier({5}, {5}), capped(5), capped(9), labelled(3),
              labelled(4), both(true, false), counted({1, 9, 4}), x);
}
"""


@unittest.skipUnless(runs, "python3-clang-14 is not installed")
class Listing(unittest.TestCase):
    def test_either_line_of_catch2_lists_its_tests(self):
        answers = {"2.13.10": "--list-test-names-only", "3.7.1": "--list-tests --verbosity quiet"}
        for version, listing in answers.items():
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder) / "test_part"
                program.write_text(f"""#!/bin/sh
case "$*" in
  --libidentify) echo "version:        {version}" ;;
  "~[slow] {listing}") printf 'one\\ntwo, three\\n\\n' && exit 2 ;;
  *) exit 255 ;;
esac
""")
                program.chmod(0o755)
                self.assertEqual(runs.names_of_tests(program), ["one", "two, three"])


@unittest.skipUnless(faults, "python3-clang-14 is not installed")
class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="retrysim-mutants-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = str(self.folder / "code.cpp")
        pathlib.Path(self.file).write_text(CODE)
        (self.folder / "mutants.hpp").write_text(runs.SWITCH_HEADER)
        self.part = faults.Part(self.file, ["-std=c++20", f"-I{self.folder}"], {self.file: CODE})
        self.found = self.part.faults()

    def shown(self, line_start):
        return {faults.shown(fault, CODE)[1] for fault in self.found
                if faults.shown(fault, CODE)[0].startswith(line_start)}

    def test_which(self):
        self.assertEqual(self.shown("bool earlier"),
                         {"bool earlier(Moment a, Moment b) { return a <= b; }"})
        self.assertEqual(self.shown("int capped"),
                         {"int capped(int x) { return std::max(x, kLimit); }"})
        self.assertEqual(self.shown("return a &&"), {"return a || b;"})
        self.assertEqual(self.shown("int sum"), {"int sum = 1;"})
        self.assertEqual(self.shown("if (one != 9)"), {
            "if (one == 9) sum += one;", "if (!(one != 9)) sum += one;",
            "if (one != 8) sum += one;",
            "if (one != 10) sum += one;", "if (one != 9) sum -= one;", "if (one != 9) {}"})
        self.assertEqual(self.shown("default:"), {"default: return 1;"})
        self.assertEqual(self.shown("x *= 2"), {
            "{} // Not a fault: a statement with a comment /* in it.",
            "x *= 1; // Not a fault: a statement with a comment /* in it.",
            "x *= 3; // Not a fault: a statement with a comment /* in it."})

    def test_where_there_are_none(self):
        for line in ("constexpr int", "static_assert", "case 3", "long ns", "std::string joined",
                     "switch", "template", "friend"):
            self.assertEqual(self.shown(line), set(), line)

    def test_each_does_what_it_says(self):
        # Two faults of one place cannot be in one text: as many programs as a place has faults.
        layers = []
        for fault in self.found:
            for layer in layers:
                if all(other.last_line < fault.line for other in layer):
                    layer.append(fault)
                    break
            else:
                layers.append([fault])
        outputs = {}
        for layer in layers:
            numbered = dict(enumerate(layer, 1))
            changed = faults.with_faults({self.file: CODE}, numbered)[self.file]
            self.assertEqual(len(changed.splitlines()), len(CODE.splitlines()))
            source, program = self.folder / "all.cpp", self.folder / "all"
            source.write_text(changed + MAIN)
            subprocess.run(["g++", "-std=c++20", "-w", "-O0", source, "-o", program], check=True)
            for number in (0, *numbered):
                printed = subprocess.run(
                    [program], env={"RETRYSIM_MUTANT": str(number)}, check=True,
                    capture_output=True, text=True).stdout.strip()
                what = faults.shown(numbered[number], CODE)[1] if number else "none"
                if number == 0:
                    self.assertEqual(printed, "0 5 7 21 0 0 3 16")
                else:
                    outputs[what.split(" //")[0]] = printed
        self.assertEqual(outputs["bool earlier(Moment a, Moment b) { return a <= b; }"],
                         "1 5 7 21 0 0 3 16")
        self.assertEqual(outputs["int capped(int x) { return std::max(x, kLimit); }"],
                         "0 7 9 21 0 0 3 16")
        self.assertEqual(outputs["return a || b;"], "0 5 7 21 0 1 3 16")
        self.assertEqual(outputs["default: return 1;"], "0 5 7 21 1 0 3 16")
        self.assertEqual(outputs["int sum = 1;"], "0 5 7 21 0 0 4 16")
        self.assertEqual(outputs["if (one == 9) sum += one;"], "0 5 7 21 0 0 5 16")
        self.assertEqual(outputs["if (one != 9) {}"], "0 5 7 21 0 0 -2 16")
        self.assertEqual(outputs["else {}"], "0 5 7 21 0 0 5 16")
        self.assertEqual(outputs["{}"], "0 5 7 21 0 0 3 8")
        self.assertEqual(outputs["x *= 3;"], "0 5 7 21 0 0 3 24")

    def test_what_does_not_compile_is_left_out(self):
        begin = CODE.index("return a &&")
        line = CODE[:begin].count("\n") + 1
        wrong = faults.Fault(self.file, line, line, begin, begin + 6, "none", "", "no such")
        kept = self.part.without_errors({4: wrong, 1: self.found[0]})
        self.assertEqual(kept, {1: self.found[0]})

    def test_choice(self):
        lines = {self.file: CODE.count("\n")}
        some = faults.chosen(self.found, lines, 6, 1)
        self.assertEqual(len(some), 6)
        self.assertEqual(some, faults.chosen(self.found, lines, 6, 1))
        self.assertGreater(len({tuple(faults.chosen(self.found, lines, 6, seed))
                                for seed in range(5)}), 1)
        without = [fault for fault in self.found if fault != some[0]]
        self.assertLess(len(set(some[1:]) - set(faults.chosen(without, lines, 6, 1))), 3)
        self.assertEqual(len({fault.line for fault in some}), 6)
        self.assertGreater(len({fault.kind for fault in some}), 3)

    def test_the_report(self):
        copy = mock.Mock(originals={self.file: CODE}, relative=lambda _: "sim/retry/code.cpp")
        rows = [(n, fault, how, note) for n, (fault, how, note) in enumerate(zip(
            self.found, ["killed", "killed", "survived", "not reached"],
            ["x", "x", "3 tests", ""]), 1)]
        with contextlib.redirect_stdout(io.StringIO()) as out, \
                mock.patch.object(runs, "part_of", lambda fault: "retry"):
            share = runs.report(rows, copy, 77)
        self.assertAlmostEqual(share, 200 / 3)
        self.assertIn("| retry | 4 | 2 | 1 | 1 |\n| all | 4 | 2 | 1 | 1 |\n\n66.7 % of",
                      out.getvalue())
        before, after = faults.shown(self.found[2], CODE)
        self.assertIn(f"({self.found[2].kind}; 3 tests)\n  - {before}\n  + {after}\n",
                      out.getvalue())


class Equivalents(unittest.TestCase):
    def test_the_list(self):
        text = "# A comment.\n\nsim/a.cpp\n  - a < b\n  + a <= b\n  Never equal:\n  see c.\n"
        self.assertEqual(equivalents.parse(text), {
            equivalents.Entry("sim/a.cpp", "a < b", "a <= b"): "Never equal: see c."})
        for wrong in ("sim/a.cpp\n  - a\n  + b\n", "sim/a.cpp\n  + a\n  - b\n  why\n",
                      "x\n  - a\n  why\n  + b\n"):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "^line 2: not a file"):
                equivalents.parse("\n" + wrong)

    def test_the_list_of_the_project_is_of_its_code(self):
        for entry in equivalents.read(EQUIVALENT):
            with self.subTest(str(entry)):
                code = " ".join((ROOT / entry.file).read_text().split())
                self.assertIn(" ".join(entry.before.split()), code)


if __name__ == "__main__":
    unittest.main()
