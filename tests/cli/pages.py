"""Pages of the documentation as stories: what they tell to type works, and prints what they show.

A block of commands is fenced and marked `sh`, or with one of INTERPRETERS, which reads it. If a
block marked `text` follows, it shows what comes of the commands, standard error included; otherwise
they print nothing. As in other stories `...` stands for anything. Blocks in other languages are for
the reader.

SPDX-License-Identifier: MIT
"""

import dataclasses
import re
import shutil

INTERPRETERS = {"python": "/usr/bin/python3", "r": "Rscript", "gnuplot": "gnuplot"}
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclasses.dataclass
class Block:
    line: int  # of the first command, from 1
    command: str
    output: list


def missing_programs(languages):
    return [INTERPRETERS[language] for language in languages
            if not shutil.which(INTERPRETERS[language])]


def command_of(language, text):
    if language == "sh":
        return "exec 2>&1; " + text
    return f"{INTERPRETERS[language]} - 2>&1 <<'END OF BLOCK'\n{text}END OF BLOCK"


def blocks(text, languages):
    """The blocks of commands in shell or one of `languages`, in order, with what they print."""
    found = []
    open_for_output = None
    for fence in FENCED.finditer(text):
        language, body = fence[1], fence[2]
        if language == "sh" or language in INTERPRETERS:
            line = text.count("\n", 0, fence.start(2)) + 1
            open_for_output = Block(line, command_of(language, body), [])
            if language == "sh" or language in languages:
                found.append(open_for_output)
        elif language == "text" and open_for_output is not None:
            open_for_output.output = body.splitlines()
            open_for_output = None
    return found


def with_outputs(text, outputs):
    """The page with new outputs, by the line of the commands; none is added where none was."""
    due = None

    def replaced(fence):
        nonlocal due
        language = fence[1]
        if language == "sh" or language in INTERPRETERS:
            due = outputs.get(text.count("\n", 0, fence.start(2)) + 1)
        elif language == "text" and due is not None:
            body, due = due, None
            return f"```text\n{body.rstrip()}\n```"
        return fence[0]

    return FENCED.sub(replaced, text)
