#!/usr/bin/python3
"""House rules that a program can check, as `path:line: error: ...`; exit status 1 if one is broken.

Usage: tidy.py [--root FOLDER]. Checks the files that git knows or would take (all files where there
is no git). Comments and strings of C++ are not code: rules about calls do not look at them. Each
rule is a function below, and tests/scripts/tidy_test.py shows each one firing.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

LINE_COLUMNS_MAX = 100

# What a part may include besides itself. Lower parts know nothing of higher ones; results are plain
# data in public headers, so nothing but the program, the page and Python needs the report.
MAY_INCLUDE = {
    "kernel": set(),
    "retry": {"kernel"},
    "flow": {"retry"},
    "scenario": {"kernel", "retry", "flow"},
    "measure": {"kernel", "retry", "flow"},
    "estimate": {"kernel", "measure"},
    "model": {"kernel", "retry", "flow", "measure", "scenario"},
    "execution": {"measure", "estimate", "scenario"},
    "fit": {"kernel", "scenario"},
    "import": {"scenario"},
    "experiment": {"kernel", "retry", "flow", "measure", "estimate", "scenario", "model",
                   "execution"},
    "prediction": {"flow", "scenario"},
    "explain": {"flow", "measure", "estimate", "scenario", "prediction"},
    "report": {"flow", "measure", "estimate", "scenario", "fit"},
    "browser": {"scenario", "execution", "report"},
    "cli": {"kernel", "retry", "measure", "estimate", "scenario", "model", "execution",
            "experiment", "prediction", "explain", "fit", "import", "report"},
    "npm": {"execution"},
    "python": {"experiment", "report", "cli"},
}

# What any part may include: it holds nothing of its part's.
FOR_ALL_PARTS = {"kernel/boost_math.hpp", "kernel/sorting.hpp", "kernel/stop.hpp"}

# Parts whose messages any program may show.
PARTS_WITHOUT_OPTIONS = {"retry", "flow", "scenario", "measure", "estimate", "fit", "import",
                         "model", "experiment", "prediction", "explain"}

# Names that say nothing about what is inside.
VAGUE_NAMES = {"utils", "util", "common", "misc", "helpers"}

LIBM = ("exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2|sinh|"
        "cosh|tanh|erf|erfc|lgamma|tgamma")

# (pattern, parts of sim/ it holds in; "include" is the public headers, what to say). A name after
# a dot, an arrow or another namespace is somebody else's.
BANNED = [
    (r"(?<![\w.>:])(?:std::)?s?rand\s*\(", "all",
     "rand is not reproducible; draw from retrysim::Draws"),
    (r"\bstd::time\s*\(|(?<![\w.>:])time\s*\(\s*(?:nullptr|NULL|0|&)", "all",
     "time() reads the clock of the machine; simulated time is passed in"),
    (r"\bsystem_clock\b|\bgettimeofday\b", "all",
     "results must not depend on the clock of the machine; use steady_clock to limit wall time"),
    (r"\brandom_device\b", "all",
     "random_device is not reproducible; seeds come from the scenario"),
    (r"\bstd::\w+_distribution\b", "all",
     "std:: distributions differ between libraries; use retrysim::Distribution"),
    (r"\bstd::(?:cout|cerr|clog)\b|(?<![\w.>:])(?:std::)?(?:f?printf|f?puts|putchar)\s*\(",
     "all but cli report", "only sim/cli and sim/report print"),
    (r"\bstd::function\b", "kernel model", "std::function may allocate for each event"),
    (r"\bvirtual\b", "kernel model", "virtual calls cost too much for each event; use a template"),
    (r"(?<![\w.>:])::(?:system|popen)\s*\(|\bstd::system\s*\(", "all", "no shell is started"),
]

# What a file must include to use a name. Headers that nearly every file includes are left out.
HEADERS_OF_NAMES = {
    "atomic": r"std::atomic\w*",
    "bit": r"std::(?:bit_cast|bit_width|count[lr]_zero|popcount)",
    "charconv": r"std::(?:from|to)_chars",
    "chrono": r"std::chrono",
    "condition_variable": r"std::condition_variable\w*",
    "cstring": r"std::(?:mem(?:cpy|cmp|set)|str(?:len|error|cmp))",
    "deque": r"std::deque",
    "exception": r"std::(?:current_exception|exception_ptr|rethrow_exception|uncaught_exceptions)",
    "fstream": r"std::[io]?fstream",
    "iterator": r"std::(?:back_inserter|[io]streambuf_iterator|make_move_iterator)",
    "limits": r"std::numeric_limits",
    "mutex": r"std::(?:mutex|lock_guard|unique_lock|scoped_lock)",
    "numeric": r"std::(?:accumulate|gcd|iota|lcm|reduce)",
    "queue": r"std::(?:priority_)?queue",
    "set": r"std::(?:multi)?set",
    "sstream": r"std::[io]?stringstream",
    "stdexcept": r"std::(?:invalid_argument|logic_error|out_of_range|runtime_error)",
    "thread": r"std::(?:jthread|this_thread|thread)",
    "tuple": r"std::(?:tie|tuple)",
    "unordered_map": r"std::unordered_map",
    "variant": r"std::(?:holds_alternative|variant|visit)",
    "Eigen/": r"Eigen::\w+",
    "boost/": r"boost::\w+",
    "fmt/": r"fmt::\w+",
    "nlohmann/": r"nlohmann::\w+",
    "toml++/": r"toml::\w+",
}
# A header's names outside of classes, those of functions with a parenthesis. Functions of one word
# are left out: members have such names.
DECLARATIONS = [
    r"^(?:class|enum|enum class|struct|union) (\w+)(?: final)?(?: :.*)? \{",
    r"^using (\w+) =",
    r"^(?:extern |inline )*(?:const|constexpr) [\w:<>, ]+ (\w+)(?:(?:\[\w*\])? =|\{|\[|;)",
    r"^(?!else|return|using)\w[\w:<>,*& ]*[ &*](\w+_\w+\()",
]

CODE_SUFFIXES = {".cpp", ".hpp", ".py", ".cmake", ".in"}
# Data, whose lines are as long as they are.
DATA_SUFFIXES = {".csv", ".txt", ".png", ".svg", ".pdf", ".json"}


class Checker:
    """The files of one tree and the errors found in them."""

    def __init__(self, root):
        self.root = root
        self.errors = []
        self.paths = list_files(root)
        self.texts = {}
        for path in self.paths:
            try:
                self.texts[path] = (root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                if pathlib.PurePosixPath(path).suffix not in DATA_SUFFIXES:
                    self.error(path, 1, "not UTF-8 text")

    def error(self, path, line, message):
        self.errors.append((path, line, message))

    def sources(self):
        """(path, text) of C++ files."""
        return [(p, t) for p, t in self.texts.items() if p.endswith((".cpp", ".hpp"))]

    def run(self):
        for rule in RULES:
            rule(self)
        return [f"{path}:{line}: error: {message}" for path, line, message in sorted(self.errors)]


def list_files(root):
    """Paths relative to `root`, with slashes."""
    try:
        out = subprocess.run(
            ["git", "-C", str(root), "-c", f"safe.directory={root}", "ls-files", "-z", "--cached",
             "--others", "--exclude-standard"], check=True, capture_output=True).stdout
        names = sorted(set(out.decode().split("\0")) - {""})
    except (subprocess.CalledProcessError, FileNotFoundError):
        names = sorted(p.relative_to(root).as_posix() for p in root.rglob("*"))
        names = [n for n in names if not n.startswith((".git/", "build/", "results/"))]
    return [n for n in names if (root / n).is_file() and not (root / n).is_symlink()]


def is_code(path, text):
    """Code has a line limit: C++, CMake and scripts, which may have no suffix."""
    suffix = pathlib.PurePosixPath(path).suffix
    return suffix in CODE_SUFFIXES or path.endswith("CMakeLists.txt") or text.startswith("#!")


def part_of(path):
    """"kernel" for sim/kernel/..., "include" for public headers, else None."""
    names = path.split("/")
    if names[0] == "sim" and len(names) > 2:
        return names[1]
    return "include" if path.startswith("include/retrysim/") else None


TOKENS = re.compile(
    r'R"(?P<d>[^()\\ ]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/", re.DOTALL)


def without_comments_and_strings(text):
    """C++ with comments and strings blanked out; lines keep their numbers."""
    return TOKENS.sub(lambda match: '""' + "\n" * match.group().count("\n"), text)


def numbered(text):
    return enumerate(text.split("\n"), 1)


def check_layout_of_lines(checker):
    for path, text in checker.texts.items():
        if pathlib.PurePosixPath(path).suffix in DATA_SUFFIXES and "CMakeLists" not in path:
            continue
        limited = is_code(path, text)
        for number, line in numbered(text):
            if limited and len(line) > LINE_COLUMNS_MAX:
                checker.error(path, number,
                              f"line has {len(line)} columns; at most {LINE_COLUMNS_MAX}")
            if line.rstrip() != line:
                checker.error(path, number, "blanks at the end of the line")
            if "\t" in line and not path.endswith(".go"):  # gofmt indents with tabs
                checker.error(path, number, "tab; indent with blanks")
        if text and not text.endswith("\n"):
            checker.error(path, text.count("\n") + 1, "the last line is not ended")


def check_marks_of_unfinished_work(checker):
    mark = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
    for path, text in checker.texts.items():
        for number, line in numbered(text):
            if found := mark.search(line):
                checker.error(path, number, f"{found.group()}: finish it, or open an issue")


def applies(scope, part):
    words = scope.split()
    if words[0] == "all":
        return part not in words[2:]  # "all", or "all but ..."
    return part in words


def check_banned_calls(checker):
    for path, text in checker.sources():
        part = part_of(path)
        if part is None:
            continue
        for number, line in numbered(without_comments_and_strings(text)):
            for regex, scope, message in BANNED:
                if applies(scope, part) and re.search(regex, line):
                    checker.error(path, number, message)


def check_places_of_tests(checker):
    """Tests run side by side: files of theirs need a folder that is nobody else's."""
    for path, text in checker.sources():
        if not path.startswith("tests/") or path == "tests/temporary_folder.hpp":
            continue
        for number, line in numbered(without_comments_and_strings(text)):
            if found := re.search(r"\b(?:temp_directory_path|mkdtemp|mkstemp|tmpnam)\b", line):
                checker.error(path, number, f"{found.group()}: take a test::TemporaryFolder, "
                              "which no test beside this one has too")


def check_words_of_the_command_line(checker):
    """The library has no options: what users call a part of a request is up to the program. Its
    messages name the part (`RequestError::part`, `LogOptions::part`), and sim/cli writes it as an
    option. Options of other programs may be named, and the parts of an identity are."""
    option = re.compile(r"--[a-z][a-z-]+")
    names = re.compile(rf"{option.pattern}(?:(?:, | or ){option.pattern})*")
    others = re.compile(r"(?:docker|k6|oha|vegeta)\b[^;]*--[a-z]")
    for path, text in checker.sources():
        if part_of(path) not in PARTS_WITHOUT_OPTIONS:
            continue
        for found in TOKENS.finditer(text):
            literal = found.group()
            if literal.startswith(('"', "R")) and option.search(literal) and \
                    not names.fullmatch(literal.strip('"')) and not others.search(literal):
                checker.error(path, text[:found.start()].count("\n") + 1,
                              f"{option.search(literal).group()} is an option of the program; name "
                              "the part of the request")


def check_libm(checker):
    """No libm function whose result depends on the machine where events are decided."""
    call = re.compile(rf"(?<![\w.>:])(std::|::)?({LIBM})[fl]?\s*\(")
    for path, text in checker.sources():
        if part_of(path) not in ("kernel", "retry", "model", "include") or \
                path.startswith("sim/kernel/functions."):
            continue
        for number, line in numbered(without_comments_and_strings(text)):
            for _, name in call.findall(line):
                checker.error(path, number, f"libm's {name} depends on the machine; "
                              "use that of kernel/functions.hpp")


def check_fast_math(checker):
    for path, text in checker.texts.items():
        if not (path.endswith((".cmake", "CMakeLists.txt")) or path == "CMakePresets.json"):
            continue
        for number, line in numbered(text):
            if re.search(r"-ffast-math|-Ofast|-funsafe-math-optimizations", line):
                checker.error(path, number, "results would depend on the compiler's rearrangements")


def check_includes(checker):
    include = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(retrysim/[^>]+)>)')
    for path, text in checker.sources():
        part = part_of(path)
        for number, line in numbered(text):
            found = include.match(line)
            if not found:
                continue
            quoted, public = found.groups()
            if public:
                if f"include/{public}" not in checker.texts:
                    checker.error(path, number, f"there is no public header <{public}>")
            elif part == "include":
                checker.error(path, number,
                              "a public header includes public headers only, as <...>")
            elif part is not None:
                check_direction(checker, path, number, part, quoted)


def check_direction(checker, path, number, part, quoted):
    """The include `quoted` in a file of sim/`part`."""
    other = quoted.split("/")[0]
    if f"sim/{quoted}" not in checker.texts:
        checker.error(path, number, f'there is no sim/{quoted}; write "part/file.hpp"')
    elif part not in MAY_INCLUDE:
        checker.error(path, number, f"tidy.py does not know the part {part}")
    elif other != part and other not in MAY_INCLUDE[part] and quoted not in FOR_ALL_PARTS:
        allowed = ", ".join(sorted(MAY_INCLUDE[part])) or "nothing else"
        checker.error(path, number, f"{part} must not include {other}; it may include {allowed}")


def declared_names(code):
    return {n for regex in DECLARATIONS for n in re.findall(regex, code, re.MULTILINE)}


def check_files_include_what_they_use(checker):
    """The parts are compiled as one file each, so that the compiler would not miss an include."""
    code, direct = {}, {}
    for path, text in checker.sources():
        if part_of(path) is not None:
            code[path] = without_comments_and_strings(text)
            direct[path] = {f"sim/{quoted}" if quoted else
                            f"include/{system}" if system.startswith("retrysim/") else system
                            for quoted, system in
                            re.findall(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', text,
                                       re.MULTILINE)}
    homes = {}  # of a name: the headers that declare it
    for path, text in code.items():
        # Names of a namespace inside the part's are used with it in front, and are not looked for.
        inner = re.search(r"^namespace retrysim::\w+::\w+", text, re.MULTILINE)
        for name in declared_names(text) if path.endswith(".hpp") and not inner else ():
            homes.setdefault(name, set()).add(path)

    for path, text in code.items():
        included, unread = set(), [path]
        while unread:
            name = unread.pop()
            if name not in included:
                included.add(name)
                unread.extend(direct.get(name, ()))
        check_names_are_included(checker, path, text, homes, included)


def check_names_are_included(checker, path, text, homes, included):
    """`included`: the file at `path` and all that it includes, directly or not."""
    own = declared_names(re.sub(r"^ +(?:static )?", "", text, flags=re.MULTILINE))
    own.update(re.findall(r"^(?:class|struct) (\w+);", text, re.MULTILINE))
    for number, line in numbered(text):
        if line.lstrip().startswith("#"):
            continue
        for header, regex in HEADERS_OF_NAMES.items():
            found = re.search(rf"(?<![\w:]){regex}\b", line)
            if found and not any(i == header or header.endswith("/") and i.startswith(header)
                                 for i in included):
                checker.error(path, number, f"{found.group()} without <{header.rstrip('/')}>")
        for qualifier, name, call in re.findall(r"(?<![\w.>])(?:(\w+)::)?(\w+)\b(\(?)", line):
            name += call
            if name not in homes or name in own or homes[name] & included:
                continue
            parts = {part_of(home) for home in homes[name]}
            if qualifier in parts or not qualifier and ({part_of(path), "include"} & parts):
                checker.error(path, number, f"{name.rstrip('(')} without {min(homes[name])}")


def check_heads_of_sources(checker):
    for path, text in checker.sources():
        head = re.split(r"^#", text, maxsplit=1, flags=re.MULTILINE)[0]
        if not head.startswith("// "):
            checker.error(path, 1, "no paragraph at the head of the file that says what it is")
        if "SPDX-License-Identifier: MIT" not in head:
            checker.error(path, 1, "no `SPDX-License-Identifier: MIT` at the head of the file")
        if path.endswith(".hpp") and not re.search(r"^#pragma once$", text, re.MULTILINE):
            checker.error(path, 1, "no #pragma once")


def check_names_of_test_cases(checker):
    """CMake's lists hold the names of test cases: a bracket or semicolon would join or split them,
    and the tests that follow would not be run."""
    test_case = re.compile(r'\bTEST_CASE\(\s*((?:"(?:\\.|[^"\\])*"\s*)+)')
    for path, text in checker.sources():
        for found in test_case.finditer(text):
            if re.search(r"[\[\];\\]", found.group(1)):
                checker.error(path, text[:found.start()].count("\n") + 1,
                              "the name of a test case must not contain [, ], ; or a backslash")


def check_matchers(checker):
    """Catch2 2 and 3 have a matcher of this name each, which differ; tests/catch3 has ours."""
    for path, text in checker.sources():
        for number, line in numbered(without_comments_and_strings(text)):
            if re.search(r"\bMatchers::Contains\b", line):
                checker.error(path, number, "another matcher in Catch2 3; expected Catch::Contains")


def check_names(checker):
    for path in checker.paths:
        for name in path.split("/"):
            if name.split(".")[0].lower() in VAGUE_NAMES:
                checker.error(path, 1, f"'{name}' says nothing about what is inside")
        if path.startswith(("sim/", "include/")) and path.endswith((".cpp", ".hpp")):
            if not re.fullmatch(r"[a-z0-9_/]+\.[ch]pp", path):
                checker.error(path, 1, "names of source files are in snake_case")


def check_public_headers_are_listed(checker):
    cmake = checker.texts.get("CMakeLists.txt", "")
    found = re.search(r"set\(retrysim_public_headers\s([^)]*)\)", cmake)
    listed = found.group(1).split() if found else []
    for path in checker.texts:
        name = pathlib.PurePosixPath(path)
        if part_of(path) == "include" and name.suffix == ".hpp" and name.stem not in listed:
            checker.error(path, 1, "not in retrysim_public_headers of CMakeLists.txt")
    if listed != sorted(listed):
        line = cmake[:found.start()].count("\n") + 1
        checker.error("CMakeLists.txt", line, "retrysim_public_headers is not in order")


def check_citation(checker):
    """People cite the version that they have."""
    path = "CITATION.cff"
    project = re.search(r"^project\(\w+ VERSION ([\d.]+)", checker.texts.get("CMakeLists.txt", ""),
                        re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", checker.texts.get(path, ""), re.MULTILINE)
    if project and path in checker.texts and (not cited or cited[1] != project[1]):
        line = checker.texts[path].count("\n", 0, cited.start()) + 1 if cited else 1
        checker.error(path, line, f"CMakeLists.txt has version {project[1]}")


def check_scenarios_are_described(checker):
    guide = checker.texts.get("scenarios/README.md", "")
    for path in checker.paths:
        name = path.removeprefix("scenarios/")
        if path.startswith("scenarios/") and "/" not in name and name.endswith(".toml"):
            if not re.search(rf"(?<![\w-]){re.escape(name)}", guide):
                checker.error(path, 1, "not mentioned in scenarios/README.md")


def check_links(checker):
    """Links in Markdown lead to files of the project, and to headings that exist in them."""
    link = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
    for path, text in checker.texts.items():
        if not path.endswith(".md"):
            continue
        prose = re.sub(r"^```.*?^```", lambda code: "\n" * code.group().count("\n"), text,
                       flags=re.DOTALL | re.MULTILINE)
        for number, line in numbered(prose):
            for file, heading in link.findall(line):
                target = os.path.join(os.path.dirname(path), file) if file else path
                target = os.path.normpath(target)
                if not (checker.root / target).exists():
                    checker.error(path, number, f"the link leads to {target}, which does not exist")
                elif heading and heading not in headings(checker.texts.get(target, "")):
                    checker.error(path, number, f"{target} has no heading #{heading}")


def headings(text):
    """What GitHub calls the headings of a page in links."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


RULES = [
    check_layout_of_lines,
    check_marks_of_unfinished_work,
    check_banned_calls,
    check_places_of_tests,
    check_words_of_the_command_line,
    check_libm,
    check_fast_math,
    check_includes,
    check_files_include_what_they_use,
    check_heads_of_sources,
    check_names_of_test_cases,
    check_matchers,
    check_names,
    check_public_headers_are_listed,
    check_citation,
    check_scenarios_are_described,
    check_links,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    checker = Checker(parser.parse_args().root.resolve())
    errors = checker.run()
    for error in errors:
        print(error)
    print(f"tidy: {len(checker.paths)} files, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
