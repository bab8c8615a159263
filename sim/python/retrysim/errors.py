"""What goes wrong, as exceptions.

SPDX-License-Identifier: MIT
"""


class InputError(ValueError):
    """A mistake in a scenario, an edit, a log, a configuration or a request.

    `str` has every mistake with its place. `mistakes` is a list of dictionaries with `file`, `line`
    and `column` (0: no place in a file), `message`, `source_line`, `key` and `nearest` (the known
    name that is nearest to a misspelt one, or ""). The attributes are those of the first.
    """

    def __init__(self, text, mistakes=()):
        super().__init__(text, list(mistakes))
        self.mistakes = list(mistakes)
        first = self.mistakes[0] if self.mistakes else {}
        self.file = first.get("file", "")
        self.line = first.get("line", 0)
        self.column = first.get("column", 0)
        self.message = first.get("message", text)
        self.key = first.get("key", "")
        self.nearest = first.get("nearest", "")

    def __str__(self):
        return self.args[0]


class LimitExceeded(RuntimeError):
    """A limit (`timeout`, `max_events`, `max_memory`) was hit before the answer was there."""


class WarmupNotFound(RuntimeError):
    """With `warmup = "auto"`: half of the run or more may be warm-up."""


class OutputError(OSError):
    """A folder could not be written, or must not be."""


class TokenMisuse(RuntimeError):
    """A retry token was used twice."""
