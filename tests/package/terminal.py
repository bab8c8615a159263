"""A real interactive bash on a pseudo-terminal, to which keys are sent as a person would.

SPDX-License-Identifier: MIT
"""

import os
import pty
import re
import select
import signal
import time


class Bash:
    """Use as a context manager. The shell starts in `folder` and has nothing but `path` on its
    path."""

    def __init__(self, folder, path, patience=60):
        self.patience = patience
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"],
                      {"PATH": path, "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                       "COLUMNS": "1000", "INPUTRC": "/dev/null", "HISTFILE": ""})
        self.marks = 0

    def __enter__(self):
        self.run("PS1= PS2=; bind 'set enable-bracketed-paste off'; stty -echo cols 10000")
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)

    def run(self, keys):
        """What the line prints that the keys make; Enter is pressed at their end."""
        self.marks += 1
        begin, end = f"<begin{self.marks}>", f"<end{self.marks}>"
        # The quotes keep the marks out of what the terminal echoes.
        os.write(self.terminal, f"echo '<'begin{self.marks}'>'\n{keys}\n"
                                f"echo '<'end{self.marks}'>'\n".encode())
        text = ""
        deadline = time.monotonic() + self.patience
        while end not in text:
            if not select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"no answer to {keys!r} but {text!r}")
            text += os.read(self.terminal, 65536).decode("utf-8", "replace")
        text = text.replace("\r", "")
        return re.search(rf"{begin}\n(.*?){end}", text, re.DOTALL)[1]

    def completions(self, line):
        """The words that Escape-star inserts for the last word of `line`: all that fit. `line`
        begins with a command, which is not run."""
        home = "\x01"  # Ctrl-A
        return self.run(f"{line}\x1b*{home}printf '%s|' ")
