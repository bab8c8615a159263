"""Faults in C++ text: where one can be made, which are chosen, and the text that has them all.

They are found on the syntax tree (libclang), since text alone does not tell a comparison from a
template's bracket, or an operand from half of one. A part is parsed as the one file as which it is
compiled, which costs its headers only once. Left out is what the compiler evaluates: constants,
template arguments, labels, static_assert.

SPDX-License-Identifier: MIT
"""

import collections
import dataclasses
import hashlib
import re

from clang.cindex import CursorKind, Index, TranslationUnit

OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "&&": "||", "||": "&&",
}
KINDS = {"<": "boundary", "<=": "boundary", ">": "boundary", ">=": "boundary", "==": "equality",
         "!=": "equality", "&&": "logic", "||": "logic"}
FUNCTIONS = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR,
             CursorKind.DESTRUCTOR, CursorKind.CONVERSION_FUNCTION, CursorKind.FUNCTION_TEMPLATE}
LITERALS = {CursorKind.INTEGER_LITERAL, CursorKind.FLOATING_LITERAL,
            CursorKind.CXX_BOOL_LITERAL_EXPR}
# Below these, literals are types, labels or names.
CLOSED = {CursorKind.STATIC_ASSERT, CursorKind.PARM_DECL, CursorKind.DECL_REF_EXPR,
          CursorKind.TYPE_REF, CursorKind.TEMPLATE_REF, CursorKind.NAMESPACE_REF,
          CursorKind.TYPE_ALIAS_DECL, CursorKind.TYPEDEF_DECL, CursorKind.CXX_UNARY_EXPR}
STATEMENTS = {CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR,
              CursorKind.COMPOUND_ASSIGNMENT_OPERATOR, CursorKind.UNEXPOSED_EXPR}
# Calls that only make room: no test can tell whether they are made.
ROOM = re.compile(r"[\w.>()\[\]-]*(\.|->)(reserve|shrink_to_fit)\(")
# The parts of these that are statements follow their conditions.
BODIES = {CursorKind.IF_STMT: 1, CursorKind.FOR_STMT: -1, CursorKind.WHILE_STMT: 1,
          CursorKind.CXX_FOR_RANGE_STMT: -1}


@dataclasses.dataclass(frozen=True)
class Fault:
    """The bytes from `start` to `end` of `file` become `code`, in which NUMBER is the fault's."""
    file: str  # as it is given to the parser
    line: int
    last_line: int
    start: int
    end: int
    kind: str
    after: str  # what a reader would write for it
    code: str


def _one_line(text):
    return re.sub(r"\s+", " ", text)


def shown(fault, text):
    """The lines with the fault as a reader knows them, on one line each: before and after."""
    data = text.encode()
    begin = data.rfind(b"\n", 0, fault.start) + 1
    finish = data.find(b"\n", fault.end)
    finish = len(data) if finish < 0 else finish
    before = data[begin:finish].decode()
    after = (data[begin:fault.start].decode() + fault.after + data[fault.end:finish].decode())
    return _one_line(before).strip(), _one_line(after).strip()


def other_constants(literal):
    """A literal's faults: one more, one less (never below zero), or twice as much."""
    if literal in ("true", "false"):
        return ["false" if literal == "true" else "true"]
    plain = literal.replace("'", "")
    if re.fullmatch(r"\d+", plain) and (plain == "0" or plain[0] != "0"):
        value = int(plain)
        return [str(value + 1), str(value - 1)] if value else ["1"]
    if re.fullmatch(r"\d+\.\d*(e[+-]?\d+)?|\d+e[+-]?\d+", plain):
        value = float(plain)
        return [repr(2 * value), repr(value / 2)] if value else ["1.0"]
    return []


class _Finder:
    """Walks a syntax tree and collects the faults of some files."""

    def __init__(self, texts):
        self.data = {file: text.encode() for file, text in texts.items()}
        self.faults = {}

    def text(self, file, start, end):
        return self.data[file][start:end].decode()

    def place(self, cursor):
        """(file, start, end) of what is written in one of the files as it stands."""
        start, end = cursor.extent.start, cursor.extent.end
        file = start.file.name if start.file else None
        if file not in self.data or not end.file or end.file.name != file:
            return None
        return (file, start.offset, end.offset) if start.offset < end.offset else None

    def add(self, cursor, place, kind, after, code):
        file, start, end = place
        text = self.text(file, start, end)
        if "//" in text or "#" in text or "/*" in text or 'R"' in text:
            return  # the copy of the text on one line would mean something else
        fault = Fault(file, cursor.extent.start.line, cursor.extent.end.line, start, end, kind,
                      after, code)
        self.faults.setdefault((file, start, end, after), fault)

    def expression(self, cursor, place, kind, after, faulty):
        original = self.text(*place)
        self.add(cursor, place, kind, after,
                 f"(retrysim_mutant(NUMBER) ? ({_one_line(faulty)}) : ({original}))")

    def operator(self, cursor, place, left, right):
        a, b = self.place(left), self.place(right)
        if not a or not b or not place[1] <= a[1] < a[2] < b[1] < b[2] <= place[2]:
            return
        file = place[0]
        written = self.text(file, a[2], b[1]).strip()
        if written not in OPERATORS or "string" in left.type.spelling + right.type.spelling:
            return
        other = OPERATORS[written]
        one, two = self.text(*a), self.text(*b)
        self.expression(cursor, (file, a[1], b[2]), KINDS.get(written, "arithmetic"),
                        f"{one} {other} {two}", f"({one}) {other} ({two})")

    def visit(self, cursor, in_body):
        kind = cursor.kind
        if kind in CLOSED:
            return
        place = self.place(cursor)
        children = list(cursor.get_children())
        if in_body and place:
            if kind == CursorKind.DECL_STMT and re.match(
                    r"(static|constexpr|using)\b", self.text(*place)):
                return
            if kind == CursorKind.VAR_DECL and self._is_plain_constant(cursor, children):
                return
            self._here(cursor, kind, place, children)
        for child in children:
            if kind in FUNCTIONS:
                if child.kind == CursorKind.COMPOUND_STMT and self._is_written(child):
                    self.visit(child, True)
            elif kind == CursorKind.CASE_STMT and child == children[0]:
                continue
            elif kind == CursorKind.VAR_DECL and child.kind in LITERALS and (
                    child.extent.start.offset < cursor.location.offset):
                continue  # an argument of its type
            else:
                self.visit(child, in_body)

    def _is_written(self, body):
        """Not so if the function is defaulted."""
        place = self.place(body)
        return place is not None and self.text(*place).startswith("{")

    def _is_plain_constant(self, cursor, children):
        """A constant that the compiler evaluates: `const int n = 5`."""
        return (cursor.type.is_const_qualified() and
                all(child.kind in LITERALS or child.kind in CLOSED or
                    (child.kind == CursorKind.UNEXPOSED_EXPR and
                     all(below.kind in LITERALS for below in child.get_children()))
                    for child in children))

    def _here(self, cursor, kind, place, children):
        file = place[0]
        if kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            if len(children) == 2:
                self.operator(cursor, place, *children)
        elif kind == CursorKind.CALL_EXPR:
            arguments = list(cursor.get_arguments())
            if cursor.spelling.startswith("operator") and len(arguments) == 2:
                self.operator(cursor, place, *arguments)
            elif cursor.spelling in ("min", "max") and children:
                callee = self.place(children[0])
                if callee and callee[1] == place[1]:
                    other = "max" if cursor.spelling == "min" else "min"
                    faulty = (re.sub(rf"\b{cursor.spelling}\b", other, self.text(*callee)) +
                              self.text(file, callee[2], place[2]))
                    self.expression(cursor, place, "extreme", faulty, faulty)
        elif kind in LITERALS:
            text = self.text(*place)
            for other in other_constants(text):
                self.expression(cursor, place, "constant", other, other)
        elif kind == CursorKind.IF_STMT and children and children[0].kind.is_expression():
            condition = self.place(children[0])
            if condition and "constexpr" not in self.text(file, place[1], condition[1]):
                text = self.text(*condition)
                self.add(children[0], condition, "negation", f"!({_one_line(text)})",
                         f"(retrysim_mutant(NUMBER) ? !({_one_line(text)}) : !!({text}))")
        if kind == CursorKind.COMPOUND_STMT:
            for child in children:
                self._dropped(child)
        elif kind in BODIES:
            for child in children[BODIES[kind]:]:
                self._dropped(child)

    def _dropped(self, cursor):
        place = self.place(cursor)
        if cursor.kind not in STATEMENTS or not place:
            return
        file, start, end = place
        if ROOM.match(self.text(*place)):
            return
        semicolon = re.match(rb"\s*;", self.data[file][end:end + 200])
        if semicolon:
            end += semicolon.end()
            text = self.text(file, start, end)
            self.add(cursor, (file, start, end), "statement", "{}",
                     "{ if (!retrysim_mutant(NUMBER)) { " + text + " } }")


def _errors(unit):
    return [note for note in unit.diagnostics if note.severity >= note.Error]


class Part:
    """The syntax tree of a part: the file `main`, compiled with `arguments`, which includes `texts`
    (their paths, and what is to be taken for their content)."""

    def __init__(self, main, arguments, texts):
        self._unit = Index.create().parse(
            main, args=arguments, unsaved_files=list(texts.items()),
            options=TranslationUnit.PARSE_NONE)
        self.texts = texts
        if errors := _errors(self._unit):
            raise ValueError(f"{main} does not parse: {errors[0]}")

    def faults(self):
        """All faults that can be made, in the order of the text."""
        finder = _Finder(self.texts)
        for cursor in self._unit.cursor.get_children():
            file = cursor.location.file
            if file and file.name in self.texts:
                finder.visit(cursor, False)
        return sorted(finder.faults.values(),
                      key=lambda fault: (fault.file, fault.start, fault.end, fault.after))

    def without_errors(self, numbered):
        """Those of {number: fault} with which the part still compiles."""
        kept = dict(numbered)
        while True:
            changed = with_faults(self.texts, kept)
            self._unit.reparse(unsaved_files=list(changed.items()))
            wrong = {number for note in _errors(self._unit)
                     for number in at_line(kept, note.location.file and note.location.file.name,
                                           note.location.line)}
            if not wrong:
                if errors := _errors(self._unit):
                    raise ValueError(f"an error where there is no fault: {errors[0]}")
                return kept
            kept = {number: fault for number, fault in kept.items() if number not in wrong}


def at_line(numbered, file, line):
    """The numbers of the faults on a line of a file."""
    return [number for number, fault in numbered.items()
            if fault.file == file and fault.line <= line <= fault.last_line]


def with_faults(texts, numbered):
    """The texts with all these faults behind the switch; lines keep their numbers. The switch is
    declared by mutants.hpp, in place of the comment on the first line."""
    data = {file: text.encode() for file, text in texts.items()}
    for number, fault in sorted(numbered.items(), key=lambda item: -item[1].start):
        code = fault.code.replace("NUMBER", str(number)).encode()
        old = data[fault.file]
        data[fault.file] = old[:fault.start] + code + old[fault.end:]
    for file in {fault.file for fault in numbered.values()}:
        first, rest = data[file].split(b"\n", 1)
        if not first.startswith(b"//"):
            raise ValueError(f"{file} does not begin with a comment")
        data[file] = b'#include "mutants.hpp"\n' + rest
    return {file: text.decode() for file, text in data.items()}


def chosen(faults, lines, limit, seed):
    """At most `limit` of the faults, spread over the files in proportion to their `lines`, of each
    file as many of one kind as of another, and no two of them on one line. In order of the text.
    A fault that is not there (any more) changes as little of the choice as possible."""
    waiting, seen = collections.defaultdict(list), collections.Counter()

    def lot(fault):
        name = f"{fault.file.rsplit('/sim/')[-1]}\n{fault.code}\n{fault.after}"
        seen[name] += 1
        return hashlib.sha256(f"{seed}\n{seen[name]}\n{name}".encode()).digest()

    for _, _, fault in sorted((lot(fault), i, fault) for i, fault in enumerate(faults)):
        waiting[fault.file].append(fault)
    picked, kinds = collections.defaultdict(list), collections.Counter()
    total = sum(lines[file] for file in waiting)
    while waiting and sum(map(len, picked.values())) < limit:
        file = max(sorted(waiting), key=lambda name: lines[name] * limit / total -
                   len(picked[name]))
        candidates = waiting[file]
        fault = min(candidates, key=lambda one: kinds[file, one.kind])  # the first of equals
        picked[file].append(fault)
        kinds[file, fault.kind] += 1
        waiting[file] = [other for other in candidates
                         if other.last_line < fault.line or other.line > fault.last_line]
        if not waiting[file]:
            del waiting[file]
    return sorted((fault for some in picked.values() for fault in some),
                  key=lambda fault: (fault.file, fault.start))
