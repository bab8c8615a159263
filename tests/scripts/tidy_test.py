#!/usr/bin/python3
"""Does each rule of scripts/tidy.py fire when it is broken, at the right place, and only then?

SPDX-License-Identifier: MIT
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True

import tidy  # noqa: E402

HEAD = "// What this file is.\n//\n// SPDX-License-Identifier: MIT\n"
HEADER = HEAD + "#pragma once\n"


class Rules(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.write("CMakeLists.txt", "set(retrysim_public_headers\n  random time)\n")
        self.write("include/retrysim/random.hpp", HEADER)
        self.write("include/retrysim/time.hpp", HEADER)
        self.write("sim/kernel/queue.hpp", HEADER)
        self.write("sim/model/world.hpp", HEADER)
        self.write("sim/report/csv.hpp", HEADER)
        self.write("sim/estimate/paired.hpp", HEADER)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def assert_clean(self):
        self.assertEqual(tidy.Checker(self.root).run(), [])

    def assert_only_error(self, place, fragment):
        errors = tidy.Checker(self.root).run()
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0].startswith(f"{place}: error: "), errors[0])
        self.assertIn(fragment, errors[0])

    def code(self, line, path="sim/kernel/a.cpp"):
        """A tree with one more source file, whose line 4 is `line`."""
        self.write(path, HEAD + line + "\n")

    def assert_fires(self, line, fragment, path="sim/kernel/a.cpp"):
        self.code(line, path)
        self.assert_only_error(f"{path}:4", fragment)
        (self.root / path).unlink()

    def assert_allowed(self, line, path="sim/kernel/a.cpp"):
        self.code(line, path)
        self.assert_clean()
        (self.root / path).unlink()

    def test_clean_tree(self):
        self.assert_clean()

    def test_line_length(self):
        self.assert_allowed("// " + "x" * 97)
        self.assert_fires("// " + "x" * 98, "101 columns")
        self.write("scripts/go", "#!/bin/bash\n" + "# " + "x" * 99 + "\n")
        self.assert_only_error("scripts/go:2", "101 columns")

    def test_documents_may_have_long_lines(self):
        self.write("README.md", "x" * 200 + "\n")
        self.assert_clean()



    def test_blanks_and_tabs(self):
        self.assert_fires("int a; ", "blanks at the end")
        self.assert_fires("\tint a;", "tab")
        self.write("README.md", "text \n")
        self.assert_only_error("README.md:1", "blanks at the end")
        self.write("README.md", "text\n")
        self.write("a.go", "\tf()\n")
        self.assert_clean()  # gofmt indents so

    def test_last_line(self):
        self.write("README.md", "text")
        self.assert_only_error("README.md:1", "last line")

    def test_marks_of_unfinished_work(self):
        for mark in ("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"):
            self.assert_fires(f"// {mark}: later", mark)

    def test_random_numbers(self):
        self.assert_fires("int a = rand();", "not reproducible")
        self.assert_fires("std::srand(1);", "not reproducible")
        self.assert_fires("std::random_device d;", "not reproducible")
        self.assert_fires("std::exponential_distribution<> d;", "differ between libraries")
        self.assert_allowed("int a = operand(1); key.rand();")

    def test_clocks(self):
        self.assert_fires("auto t = chrono::system_clock::now();", "clock of the machine")
        self.assert_fires("auto t = time(nullptr);", "clock of the machine")
        self.assert_fires("auto t = std::time(&x);", "clock of the machine")
        self.assert_allowed("auto t = steady_clock::now(); event.time(); next_time(0);")

    def test_printing(self):
        for path in ("sim/model/a.cpp", "sim/scenario/a.cpp", "sim/experiment/a.cpp"):
            self.assert_fires("std::cout << 1;", "print", path)
            self.assert_fires("std::fprintf(stderr, x);", "print", path)
        for path in ("sim/cli/a.cpp", "sim/report/a.cpp", "tests/unit/kernel/a.cpp"):
            self.assert_allowed("std::printf(x); std::cout << 1;", path)
        self.assert_allowed("snprintf(a, 1, b); report::print(b);", "sim/scenario/a.cpp")

    def test_costly_calls(self):
        for path in ("sim/kernel/a.cpp", "sim/model/a.cpp"):
            self.assert_fires("std::function<void()> f;", "allocate", path)
            self.assert_fires("virtual void f();", "virtual", path)
        self.assert_allowed("virtual void f(std::function<int()>);", "sim/experiment/a.cpp")

    def test_files_of_tests_that_run_side_by_side(self):
        for call in ("fs::temp_directory_path()", "::mkdtemp(name)", "std::tmpnam(nullptr)"):
            self.assert_fires(f"auto p = {call};", "TemporaryFolder", "tests/unit/kernel/a.cpp")
        self.assert_allowed("#pragma once\nauto p = temp_directory_path();",
                            "tests/temporary_folder.hpp")
        self.assert_allowed("auto p = temp_directory_path();", "sim/cli/a.cpp")

    def test_libm(self):
        for path in ("sim/kernel/a.cpp", "sim/retry/a.cpp", "sim/model/a.cpp"):
            for call in ("std::exp(x)", "log(x)", "::pow(x, y)", "cbrt(x)", "std::sin (x)"):
                self.assert_fires(f"double y = {call};", "kernel/functions.hpp", path)
        self.assert_allowed("double y = std::sqrt(x) + std::floor(x);")
        self.assert_allowed("double y = kernel::exp(x);")
        self.assert_allowed("#pragma once\ndouble exp(double x);", "sim/kernel/functions.hpp")
        self.assert_allowed("double y = trace.log(x) + catalog(x) + own::exp(x);")
        self.assert_allowed("double y = std::exp(x);", "sim/measure/a.cpp")

    def test_comments_and_strings_are_not_code(self):
        self.assert_allowed('// std::exp(x), rand()')
        self.assert_allowed('/* rand()\n std::cout */ int a;')
        self.assert_allowed('const char* a = "rand() \\" std::cout";')
        self.assert_allowed('const char* a = R"(rand()\nstd::cout)";')
        self.code('/* one\ntwo */ int a = rand();')
        self.assert_only_error("sim/kernel/a.cpp:5", "not reproducible")

    def test_digit_separators_are_not_quotes(self):
        self.assert_fires("int a = 1'000 + rand() + 2'000;", "not reproducible")

    def test_fast_math(self):
        self.write("scripts/cmake/x.cmake", "add_compile_options(-ffast" + "-math)\n")
        self.assert_only_error("scripts/cmake/x.cmake:1", "rearrangements")

    def test_words_of_the_command_line(self):
        throw = 'throw Bad("name it with --column");'
        for part in ("fit", "import", "experiment", "scenario", "model"):
            self.assert_fires(throw, "--column is an option of the program", f"sim/{part}/a.cpp")
        self.assert_allowed(throw, "sim/cli/a.cpp")
        self.assert_allowed('Identity x = {{"--set, --seed or --replications", y}};',
                            "sim/experiment/a.cpp")
        self.assert_allowed('Bad("write them with oha --output-format csv");', "sim/fit/a.cpp")
        self.assert_allowed("f(a--b);  // one less, as --vary has it", "sim/fit/a.cpp")

    def test_include_direction(self):
        self.assert_allowed('#include "kernel/queue.hpp"', "sim/retry/a.cpp")
        self.assert_allowed('#include "model/world.hpp"', "sim/experiment/a.cpp")
        self.assert_allowed('#include "report/csv.hpp"', "sim/cli/a.cpp")
        for part, included in (("kernel", "model/world"), ("retry", "model/world"),
                               ("measure", "model/world"), ("measure", "estimate/paired"),
                               ("model", "estimate/paired"), ("report", "model/world"),
                               ("prediction", "model/world"), ("experiment", "report/csv"),
                               ("execution", "model/world"), ("model", "report/csv")):
            self.assert_fires(f'#include "{included}.hpp"',
                              f"{part} must not include {included.split('/')[0]}",
                              f"sim/{part}/a.cpp")

    def test_files_include_what_they_use(self):
        self.write("sim/kernel/queue.hpp", HEADER + "class Queue {\n};\n"
                   "void empty_queue(Queue& q);\ninline constexpr int kDeepest = 3;\n")
        self.write("sim/kernel/timer.hpp", HEADER + '#include "kernel/queue.hpp"\n')
        self.write("include/retrysim/time.hpp", HEADER + "using Ticks = long;\n")
        for use, what in (("Queue q;", "Queue"), ("int a = kDeepest;", "kDeepest"),
                          ("int a = kernel::kDeepest;", "kDeepest"),
                          ("void f() { empty_queue(q); }", "empty_queue")):
            self.assert_fires(use, f"{what} without sim/kernel/queue.hpp")
        self.assert_fires("kernel::Queue q;", "Queue without", "sim/model/a.cpp")
        self.assert_fires("Ticks t;", "Ticks without include/retrysim/time.hpp", "sim/model/a.cpp")
        self.assert_fires("std::set<int> s;", "std::set without <set>")
        self.assert_fires("std::string s = fmt::format();", "fmt::format without <fmt>")
        self.assert_allowed('#include "kernel/timer.hpp"\nQueue q;')
        self.assert_allowed("#include <fmt/compile.h>\nstd::string s = fmt::format();")
        # Names of another part, of members and of the file's own things are not the header's.
        self.assert_allowed("Queue q; other::Queue r;", "sim/model/a.cpp")
        self.assert_allowed("int a = b.kDeepest + c->kDeepest + std::set_difference;")
        self.assert_allowed("constexpr int kDeepest = 4;\nint a = kDeepest;")
        self.assert_allowed("int f() {\n  static const int kDeepest = 4;\n  return kDeepest;\n}")
        self.assert_allowed("int empty_queue = 1;")
        self.assert_allowed("class Queue;\nQueue* q;")
        # A namespace within the part's is named where it is used.
        self.write("sim/kernel/words.hpp",
                   HEADER + "namespace retrysim::kernel::words {\nconstexpr int kFew = 3;\n}\n")
        self.assert_allowed("int a = b[kFew];")

    def test_includes_that_lead_nowhere(self):
        self.assert_fires('#include "queue.hpp"', "there is no sim/queue.hpp")
        self.assert_fires("#include <retrysim/clock.hpp>", "no public header")
        self.assert_allowed("#include <retrysim/time.hpp>")

    def test_unknown_part(self):
        self.assert_fires('#include "kernel/queue.hpp"', "does not know the part news",
                          "sim/news/a.cpp")

    def test_public_headers_stand_on_public_headers(self):
        self.write("include/retrysim/time.hpp", HEADER + '#include "kernel/queue.hpp"\n')
        self.assert_only_error("include/retrysim/time.hpp:5", "public headers only")

    def test_heads(self):
        self.write("sim/kernel/a.cpp", "// What.\nint a;\n")
        self.assert_only_error("sim/kernel/a.cpp:1", "SPDX")
        self.write("sim/kernel/a.cpp", "#include <a>\n// SPDX-License-Identifier: MIT\n")
        self.assertEqual(len(tidy.Checker(self.root).run()), 2)
        (self.root / "sim/kernel/a.cpp").unlink()
        self.write("sim/kernel/a.hpp", HEAD)
        self.assert_only_error("sim/kernel/a.hpp:1", "#pragma once")

    def test_vague_names(self):
        self.write("sim/kernel/utils.hpp", HEADER)
        self.assert_only_error("sim/kernel/utils.hpp:1", "says nothing")

    def test_names_of_test_cases(self):
        path = "tests/unit/kernel/a_test.cpp"
        self.assert_allowed('TEST_CASE("draws are below 1, always", "[slow]") { a[0] = 1; }', path)
        for name in ('"draws are in [0, 1)"', '"one; two"', '"one "\n"[two"', '"say \\"no\\""'):
            self.assert_fires(f"TEST_CASE({name}) {{}}", "must not contain", path)

    def test_matchers_of_one_version_of_catch2(self):
        path = "tests/unit/kernel/a_test.cpp"
        self.assert_allowed('CHECK_THROWS_WITH(f(), Catch::Contains("x"));', path)
        self.assert_fires('CHECK_THROWS_WITH(f(), Catch::Matchers::Contains("x"));',
                          "another matcher", path)

    def test_names_of_source_files(self):
        self.write("sim/kernel/EventQueue.hpp", HEADER)
        self.assert_only_error("sim/kernel/EventQueue.hpp:1", "snake_case")

    def test_public_headers_are_listed_in_order(self):
        self.write("include/retrysim/scenario.hpp", HEADER)
        self.assert_only_error("include/retrysim/scenario.hpp:1", "retrysim_public_headers")
        self.write("CMakeLists.txt", "set(retrysim_public_headers\n  random time scenario)\n")
        self.assert_only_error("CMakeLists.txt:1", "not in order")
        self.write("CMakeLists.txt", "set(retrysim_public_headers\n  random scenario time)\n")
        self.assert_clean()

    def test_the_citation_names_the_version(self):
        cmake = "project(retrysim VERSION 0.3.1 LANGUAGES CXX)\n"
        self.write("CMakeLists.txt", cmake + (self.root / "CMakeLists.txt").read_text())
        self.assert_clean()
        self.write("CITATION.cff", "title: x\nversion: 0.3.0\n")
        self.assert_only_error("CITATION.cff:2", "version 0.3.1")
        self.write("CITATION.cff", "title: x\n")
        self.assert_only_error("CITATION.cff:1", "version 0.3.1")
        self.write("CITATION.cff", "title: x\nversion: 0.3.1\n")
        self.assert_clean()

    def test_scenarios_are_described(self):
        self.write("scenarios/dip.toml", "")
        self.assert_only_error("scenarios/dip.toml:1", "not mentioned")
        self.write("scenarios/README.md", "See big-dip.toml.\n")
        self.assert_only_error("scenarios/dip.toml:1", "not mentioned")
        self.write("scenarios/README.md", "See `dip.toml`.\n")
        self.assert_clean()

    def test_links_lead_somewhere(self):
        self.write("sim/model/README.md", "# The model\n\n## Kinds of service, in short\n")
        self.write("README.md", "See [model](sim/model/README.md#kinds-of-service-in-short).\n")
        self.assert_clean()
        self.write("README.md", "\nSee [model](sim/modle/README.md).\n")
        self.assert_only_error("README.md:2", "sim/modle/README.md, which does not exist")
        self.write("README.md", "See [model](sim/model/README.md#kinds).\n")
        self.assert_only_error("README.md:1", "no heading #kinds")
        self.write("README.md", "See [below](#end).\n")
        self.assert_only_error("README.md:1", "no heading #end")
        self.write("README.md", "```\na[0](b)\n```\n[all](https://example.org/x#y), [up](sim)\n")
        self.assert_clean()

    def test_text_is_utf8(self):
        (self.root / "README.md").write_bytes(b"\xff\xfe\n")
        self.assert_only_error("README.md:1", "UTF-8")

    def test_exit_status(self):
        command = [sys.executable, str(SCRIPTS / "tidy.py"), "--root", str(self.root)]
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        self.write("sim/kernel/a.cpp", "int a;\n")
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("sim/kernel/a.cpp:1: error: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
