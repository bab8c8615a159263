"""Scenarios: files, texts, and changes to them.

SPDX-License-Identifier: MIT
"""

import numbers
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from . import _engine


class TemporaryFolder:
    """A folder that is removed with the last object that needs it, in the process that made it:
    what fork() copies into a child still belongs to its parent."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="retrysim-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(folder, maker):
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def _has_control(text):
    return any(ord(one) < 0x20 or ord(one) == 0x7F for one in text)


def _is_plain(name):
    """Whether it is the name of a file by itself, in whatever folder."""
    return name not in ("", ".", "..") and "/" not in name and not _has_control(name)


def _text_of(value):
    """A text in quotes, as TOML has it."""
    def escaped(one):
        char = one.group()
        return "\\" + char if char in '\\"' else f"\\u{ord(char):04X}"
    return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', escaped, value) + '"'


def _key_of(key):
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text_of(key)


def toml_of(value):
    """A Python value as the value of a scenario key. Numbers and truth values may be of any kind:
    those of numpy, Decimal, Fraction; arrays are lists."""
    if isinstance(value, str):
        return _text_of(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key_of(str(key))} = {toml_of(one)}"
                               for key, one in value.items()) + "}"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_of(one) for one in value) + "]"
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return str(int(value))
    if isinstance(value, numbers.Rational) and value.denominator == 1:
        return str(int(value))
    if hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"{value!r}: no value of a scenario is a {type(value).__name__}")


def edits_of(changes, more=None):
    """Edits as the command line's --set takes them: "PATH=VALUE" texts, or a mapping of paths to
    Python values."""
    edits = []
    for given in (changes, more):
        if not given:
            continue
        if isinstance(given, str):
            edits.append(given)
        elif isinstance(given, Mapping):
            edits += [f"{path}={toml_of(value)}" for path, value in given.items()]
        else:
            edits += [str(edit) for edit in given]
    return edits


class Scenario:
    """A scenario: a file, or a text, and the changes to it. It never changes: `set` makes another.

    Durations are texts with a unit ("100ms") or numbers of seconds. All keys are in
    scenarios/KEYS.md, or listed by `retrysim list keys`.
    """

    def __init__(self, file, set=None):
        self._file, self._edits, self._folder = Path(file), edits_of(set), None
        self._engine = _engine.load(self._file, self._edits)

    @classmethod
    def _made(cls, engine, file=None, edits=(), folder=None):
        made = cls.__new__(cls)
        made._engine, made._file, made._edits = engine, file, list(edits)
        made._folder = folder
        return made

    @classmethod
    def _of_engine(cls, engine):
        """Of an answer: text by itself."""
        return cls._made(engine)

    @classmethod
    def from_text(cls, text, name="scenario", inputs=None, set=None):
        """A scenario from TOML text. `inputs` are the CSV files that it names, as texts. `name`, a
        plain name, is what the scenario is called where the text has no `name`."""
        if not isinstance(name, str):
            raise TypeError(f"name: expected a text, not {name!r}")
        if not _is_plain(name):
            raise ValueError(f"name: {name!r} is no plain name; expected one without a slash and "
                             "control characters")
        inputs = dict(inputs or {})
        for file in inputs:
            if not _is_plain(file) or file == f"{name}.toml":
                raise ValueError(f"inputs: {file!r} is no plain file name" if not _is_plain(file)
                                 else f"inputs: {file!r} is the scenario itself")
        folder = TemporaryFolder()
        for file, content in inputs.items():
            (folder.path / file).write_text(content, encoding="utf-8")
        edits = edits_of(set)
        engine = _engine.load_text(text, f"{name}.toml", folder.path, edits)
        file = folder.path / f"{name}.toml"
        file.write_text(text, encoding="utf-8")
        return cls._made(engine, file, edits, folder)

    def set(self, changes=None, **plain):
        """Another scenario with these changes: a mapping of paths to values, or texts
        "PATH=VALUE"; keys without dots also as arguments (`duration="10min"`)."""
        if self._engine.has_strategy:
            raise ValueError("change the scenario first, then give it a strategy")
        source = self._with_file()
        edits = source._edits + edits_of(changes, plain)
        return Scenario._made(_engine.load(source._file, edits), source._file, edits,
                              source._folder)

    def with_strategy(self, client, strategy):
        """Another scenario, in which the clients of a group ("*": of all) retry as a Python class
        says. `strategy(number)` is called for each client and returns an object with the method

            refresh_retry_token(request, attempts, failure, now, uniform)

        which is called after each failed attempt and returns the delay before the next one in
        seconds, or None to give up. `request` is the client's number of the request, `attempts` how
        many it has made, `now` the simulated time in seconds, and `uniform()` draws a number in
        [0, 1) by which the run can be repeated. `failure` has `kind` ("throttling", "transient",
        "timeout", "not-retryable"), `retryable`, `given_up` (an attempt timeout) and `retry_after`
        (the suggested delay in seconds, or None). Optional methods are
        acquire_initial_token(request, now), which returns a delay before the first attempt, and
        record_success(request, attempts, now).

        This is slow: each call waits for the interpreter. It must not ask for random numbers or
        times of its own if runs are to be repeated; `uniform` draws during the call only that it
        is given to. Of the rules in `retry` those on errors still apply. Results name the class, as
        the key `client.NAME.retry.strategy`, which no scenario file may have.
        """
        return Scenario._made(self._engine.with_strategy(client, strategy), self._file,
                              self._edits, self._folder)

    def _with_file(self):
        """Itself if it has a file; else its text in one."""
        if self._file is not None:
            return self
        return _restored(self.toml(), self.name, self._engine.inputs())

    @property
    def name(self):
        return self._engine.name

    @property
    def description(self):
        return self._engine.description

    @property
    def notes(self):
        """What is worth knowing about the scenario, as sentences."""
        return list(self._engine.notes)

    @property
    def clients(self):
        """The names of the client groups."""
        return list(self._engine.clients)

    @property
    def services(self):
        """The names of the services."""
        return list(self._engine.services)

    @property
    def keys(self):
        """Every key that applies, by path, with its value as TOML, defaults among them."""
        return self._engine.keys()

    def __getitem__(self, path):
        """The value of a key as TOML text."""
        return self._engine.keys()[path]

    def toml(self, origins=False):
        """The resolved scenario as TOML, which repeats its runs exactly; with `origins`, each line
        says where its value comes from."""
        return self._engine.toml(origins)

    def __reduce__(self):
        if self._engine.has_strategy:
            raise TypeError("a scenario with a strategy in Python cannot be pickled")
        return _restored, (self.toml(), self.name, self._engine.inputs())

    def __eq__(self, other):
        return isinstance(other, Scenario) and self.toml() == other.toml() and \
            not self._engine.has_strategy and not other._engine.has_strategy

    def __hash__(self):
        return hash(self.toml())

    def __repr__(self):
        return (f"<Scenario {self.name}: clients {', '.join(self.clients)}; "
                f"services {', '.join(self.services)}>")


def _restored(text, name, inputs):
    """The scenario of a text that has its name in itself."""
    name = name if _is_plain(name) and f"{name}.toml" not in inputs else "scenario"
    return Scenario.from_text(text, name=name, inputs=inputs)


def source_of(scenario, changes):
    """(file, edits, what keeps the file) of a path or a Scenario."""
    if not isinstance(scenario, Scenario):
        return Path(scenario), edits_of(changes), None
    if scenario._engine.has_strategy:
        raise ValueError("a scenario with a strategy in Python can only be run")
    source = scenario._with_file()
    return source._file, source._edits + edits_of(changes), source
