#!/usr/bin/python3
"""The program starts where it runs under an instrument, and computes nothing before main.

Usage: start_test.py --program PATH. Exit status 77 if there is no valgrind.

SPDX-License-Identifier: MIT
"""

import argparse
import platform
import re
import shutil
import subprocess
import sys
import unittest

SKIPPED = 77

# What compilers call the functions that run before main, and what <iostream> has in each of them.
INITIALISER = re.compile(r"_GLOBAL__sub_I_|__static_initialization_and_destruction_0|"
                         r"__cxx_global_var_init")
OF_IOSTREAM = re.compile(r"std::ios_base::Init::|std::__ioinit|__dso_handle|__cxa_atexit")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class Start(unittest.TestCase):
    program = ""

    @unittest.skipIf(shutil.which("valgrind") is None, "there is no valgrind")
    def test_it_starts_under_valgrind(self):
        """Whose long double is shorter than the compiler says."""
        done = output("valgrind", "--tool=none", "--quiet", self.program, "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^retrysim \d")

    def test_no_function_of_boost_is_tried_before_main(self):
        symbols = output("nm", "--demangle", self.program)
        self.assertEqual((symbols.returncode, symbols.stderr), (0, ""))
        self.assertIn("retrysim::", symbols.stdout)
        found = re.findall(r"boost::math::.*_initializer<.*::initializer$", symbols.stdout,
                           re.MULTILINE)
        self.assertEqual(found, [], 'Whoever includes Boost.Math includes "kernel/boost_math.hpp"')

    def test_no_object_is_made_before_main(self):
        """Constants are constexpr, and what has to be computed is static in a function."""
        if platform.machine() != "x86_64":
            return  # objdump names what an instruction refers to here
        made = []
        symbols = output("nm", "--demangle", "--print-size", self.program).stdout
        for address, size, name in re.findall(r"^(\w+) (\w+) [tT] (.*)$", symbols, re.MULTILINE):
            if not INITIALISER.match(name):
                continue
            start, end = int(address, 16), int(address, 16) + int(size, 16)
            code = output("objdump", "--disassemble", "--demangle", "--no-show-raw-insn",
                          f"--start-address={start}", f"--stop-address={end}", self.program)
            self.assertEqual((code.returncode, code.stderr), (0, ""))
            used = re.findall(r"^ .*?<(.*)>$", code.stdout, re.MULTILINE)
            made += [symbol for symbol in used
                     if not INITIALISER.match(symbol) and not OF_IOSTREAM.match(symbol)]
        self.assertEqual(sorted(set(made))[:20], [], "made before main")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    Start.program = arguments.program
    done = unittest.main(argv=[sys.argv[0], *rest], exit=False).result
    sys.exit(1 if not done.wasSuccessful() else SKIPPED if done.skipped else 0)


if __name__ == "__main__":
    main()
