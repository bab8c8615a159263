"""How large the classes and functions of a C++ file are.

Not a parser of C++: it follows brackets and knows what declarations look like in code that
clang-format has laid out. Comments, strings and preprocessor lines must have been blanked out.

SPDX-License-Identifier: MIT
"""

import bisect
import dataclasses
import re

SCOPE = re.compile(r"(?:inline )?namespace\b|extern\s*{")
TYPE = re.compile(r"(?:class|struct|union|enum)\b")
NO_MEMBER = re.compile(r"(?:using|typedef|friend|static_assert|static constexpr)\b")
ACCESS = re.compile(r"(?:public|protected|private)\s*:(?!:)")
START = re.compile(r"[\s;]*")
MARK = re.compile(r"[(\[{;]")
CONTINUATION = re.compile(r"\s*[;,{=(.)]")
# What may stand in a declaration, and has brackets that are none of a function.
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\balignas\([^()]*\)|\bdecltype\([^()]*\)|\b__extension__\b",
                       re.DOTALL)


@dataclasses.dataclass
class Class:
    name: str
    line: int
    members: int = 0
    functions: int = 0


@dataclasses.dataclass
class Function:
    name: str
    line: int
    lines: int


class Shape:
    """The classes and functions of `code`, wherever they are declared but inside functions."""

    def __init__(self, code):
        code = re.sub(r"^[ ]*#(?:[^\n]*\\\n)*[^\n]*", _blank, code, flags=re.MULTILINE)
        self.code = code.replace('""', "  ")  # where comments and strings were
        self.newlines = [match.start() for match in re.finditer("\n", self.code)]
        self.close_of = _pairs_of_brackets(self.code)
        self.classes, self.functions = [], []
        self._read(0, len(self.code), None)

    def _line(self, at):
        return bisect.bisect_left(self.newlines, at) + 1

    def _read(self, at, end, owner):
        """The declarations of a namespace or, with an owner, of a class body."""
        while (begin := START.match(self.code, at, end).end()) < end:
            if access := ACCESS.match(self.code, begin, end):
                at = access.end()
                continue
            at, bodies = self._end_of_declaration(begin, end)
            self._note(begin, at, bodies, owner)

    def _end_of_declaration(self, at, end):
        """Behind its semicolon or body, and the pairs of braces that are not in other brackets."""
        bodies = []
        while mark := MARK.search(self.code, at, end):
            at = mark.end()
            if mark.group() == ";":
                return at, bodies
            close = self.close_of[mark.start()]
            at = close + 1
            if mark.group() == "{":
                bodies.append((mark.start(), close))
                # A body ends the declaration, an initializer does not.
                if not CONTINUATION.match(self.code, at, end):
                    return at, bodies
        return end, bodies

    def _note(self, begin, end, bodies, owner):
        text = ATTRIBUTE.sub(_blank, self.code[begin:end])
        text = _without_template_head(text)
        start = begin + len(text) - len(text.lstrip())
        text = text.strip()
        head = _head(text)
        if SCOPE.match(text) and bodies:
            self._read(bodies[0][0] + 1, bodies[0][1], None)
        elif TYPE.match(text) and "(" not in head:
            self._note_type(text, start, bodies)
            if owner is not None:
                behind = self.code[bodies[0][1] + 1:end] if bodies else text.partition(" ")[2]
                owner.members += _variables(behind if bodies else behind.partition(" ")[2])
        elif NO_MEMBER.match(text):
            pass
        elif _is_function(head):
            if bodies:
                lines = self._line(bodies[-1][1]) - self._line(start) + 1
                self.functions.append(Function(_function_name(head), self._line(start), lines))
            if owner is not None and not re.search(r"=\s*(?:delete|default)\s*;$", text):
                owner.functions += 1
        elif owner is not None:
            owner.members += _variables(text)

    def _note_type(self, text, start, bodies):
        if not bodies or text.startswith("enum"):
            return
        name = re.match(r"\w+\s*([\w:]*)", text).group(1)
        found = Class(name or "(unnamed)", self._line(start))
        self.classes.append(found)
        self._read(bodies[0][0] + 1, bodies[0][1], found)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def _pairs_of_brackets(code):
    """Of the place of each opening bracket, that of the one that closes it."""
    close_of, still_open = {}, []
    for bracket in re.finditer(r"[()\[\]{}]", code):
        if bracket.group() in "([{":
            still_open.append(bracket.start())
        else:
            close_of[still_open.pop()] = bracket.start()
    return close_of


def _without_template_head(text):
    """The text with `template <...>` and `requires` clauses in front of it blanked out."""
    while found := re.match(r"\s*template\s*<", text):
        depth, at = 1, found.end()
        while depth:
            depth += (text[at] == "<") - (text[at] == ">")
            at += 1
        text = " " * at + text[at:]
        if found := re.match(r"\s*requires\s+[^\n]*\n", text):
            text = " " * found.end() + text[found.end():]
    return text


def _head(text):
    """What stands before the initializer or body, without template arguments."""
    text = re.sub(r"\boperator\s*(?:\(\)|[^\s\w(]+)", "operator", text)
    while (shorter := re.sub(r"<[^<>;{}]*>", "", text)) != text:
        text = shorter
    return re.split(r"[={]", text, maxsplit=1)[0]


def _is_function(head):
    return "operator" in head or re.search(r"[\w\]]\s*\((?!\s*\*)", head) is not None


def _function_name(head):
    found = re.search(r"([\w:~]+)\s*\(", head)
    return found.group(1) if found else "operator"


def _variables(text):
    """How many variables are declared: a comma outside of all brackets separates two."""
    if not re.search(r"\w", text):
        return 0
    while (shorter := re.sub(r"<[^<>;{}]*>|\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]", "", text)) != text:
        text = shorter
    return text.count(",") + 1
