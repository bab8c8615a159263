"""Pages of the documentation as stories: what they tell to type works, and prints what they show.

A block of commands is fenced and marked `sh`, `bash`, or with one of INTERPRETERS, which reads it.
If a block marked `text` follows, it shows what comes of the commands, standard error included;
otherwise those of a `bash` block may print anything, and others print nothing. As in other stories
`...` stands for anything. Blocks in other languages, or in none, are for the reader.

A comment in front of a block says what is not usual: `<!-- slow -->`, it takes more than ten
seconds of processor time; `<!-- status 1 -->`, the exit status.

SPDX-License-Identifier: MIT
"""

import dataclasses
import re
import shutil

INTERPRETERS = {"python": "/usr/bin/python3", "r": "Rscript", "gnuplot": "gnuplot"}
FENCED = re.compile(r"(?:^<!-- ([\w ]+) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclasses.dataclass
class Block:
    line: int  # of the first command, from 1
    command: str
    output: list
    status: int = 0
    slow: bool = False


def missing_programs(languages):
    return [INTERPRETERS[language] for language in languages
            if not shutil.which(INTERPRETERS[language])]


def is_commands(language):
    return language in ("sh", "bash") or language in INTERPRETERS


def command_of(language, text):
    if language in ("sh", "bash"):
        return "exec 2>&1; set -e; " + text
    return f"{INTERPRETERS[language]} - 2>&1 <<'END OF BLOCK'\n{text}END OF BLOCK"


def blocks(text, languages):
    """The blocks of commands in shell or one of `languages`, in order, with what they print."""
    found = []
    open_for_output = None
    for fence in FENCED.finditer(text):
        mark, language, body = fence[1] or "", fence[2], fence[3]
        if is_commands(language):
            line = text.count("\n", 0, fence.start(3)) + 1
            status = re.search(r"\bstatus (\d+)\b", mark)
            open_for_output = Block(line, command_of(language, body),
                                    ["..."] if language == "bash" else [],
                                    int(status[1]) if status else 0, "slow" in mark.split())
            if language in ("sh", "bash") or language in languages:
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
        language = fence[2]
        if is_commands(language):
            due = outputs.get(text.count("\n", 0, fence.start(3)) + 1)
        elif language == "text" and due is not None:
            body, due = due, None
            return f"```text\n{body.rstrip()}\n```"
        return fence[0]

    return FENCED.sub(replaced, text)
