#!/usr/bin/python3
"""Does the runner of stories notice everything that it should?

SPDX-License-Identifier: MIT
"""

import contextlib
import io
import pathlib
import tempfile
import unittest

import run_cli_tests

FAKE_PROGRAM = """#!/bin/bash
case $1 in
  greet) echo "hello $2"; echo "took 0.25 s" ;;
  fail) echo "bad input" >&2; exit 3 ;;
  both) echo out; echo err >&2 ;;
  dollar) echo '$ 5' ;;
  blank) echo; echo end ;;
esac
"""


class Stories(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        (self.root / "scenarios").mkdir()
        (self.root / "scenarios" / "one.toml").write_text('name = "one"\n')
        self.program = self.root / "fake"
        self.program.write_text(FAKE_PROGRAM)
        self.program.chmod(0o755)

    def run_story(self, text, show=False):
        """The number of faults, and what was printed."""
        path = self.root / "story.txt"
        path.write_text(text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            faults = run_cli_tests.run_story(path, self.program, self.root, show)
        return faults, printed.getvalue()

    def assert_holds(self, text):
        self.assertEqual(self.run_story(text), (0, ""))

    def assert_fails(self, text, *fragments):
        faults, printed = self.run_story(text)
        self.assertGreater(faults, 0)
        for fragment in fragments:
            self.assertIn(fragment, printed)

    def test_exact_output(self):
        self.assert_holds("# A greeting.\n\n$ retrysim greet you\nhello you\ntook 0.25 s\n")
        self.assert_fails("$ retrysim greet you\nhello me\ntook 0.25 s\n",
                          "story.txt:1: error:", "-hello me", "+hello you")

    def test_missing_and_surplus_lines(self):
        self.assert_fails("$ retrysim greet you\nhello you\n", "+took 0.25 s")
        self.assert_fails("$ retrysim greet you\nhello you\ntook 0.25 s\nmore\n", "-more")
        self.assert_fails("$ retrysim greet you\n")

    def test_wildcards(self):
        self.assert_holds("$ retrysim greet you\nhello ...\ntook ... s\n")
        self.assert_holds("$ retrysim greet you\n...\n")
        self.assert_holds("$ retrysim greet you\n...\nhello you\n...\ntook 0.25 s\n...\n")
        self.assert_fails("$ retrysim greet you\nhello ...\ntook ... ms\n")
        # Inside a line the dots do not reach over its end.
        self.assert_fails("$ retrysim greet you\nhello ... s\n")
        # All else is literal: a dot is a dot.
        self.assert_fails("$ retrysim greet you\nhello you\ntook 0_25 s\n")

    def test_exit_status(self):
        self.assert_holds("$ retrysim fail\n! bad input\n? 3\n")
        self.assert_fails("$ retrysim fail\n! bad input\n", "exit status 3 instead of 0")
        self.assert_fails("$ retrysim fail\n! bad input\n? 2\n", "exit status 3 instead of 2")

    def test_standard_error_is_kept_apart(self):
        self.assert_holds("$ retrysim both\nout\n! err\n")
        self.assert_fails("$ retrysim both\nout\n", "standard errors")
        self.assert_fails("$ retrysim both\nout\nerr\n")

    def test_commands_share_a_folder(self):
        self.assert_holds("$ cat > a.txt <<'END'\n> first\n>\n> last\n> END\n\n$ cat a.txt\n"
                          "first\n\nlast\n")

    def test_scenarios_are_there(self):
        self.assert_holds('$ cat scenarios/one.toml\nname = "one"\n')

    def test_marks_can_be_escaped(self):
        self.assert_holds("$ retrysim dollar\n\\$ 5\n")

    def test_empty_lines_in_output_count(self):
        self.assert_holds("$ retrysim blank\n\nend\n")
        self.assert_fails("$ retrysim blank\nend\n")

    def test_show_prints_a_story_that_holds(self):
        story = "$ retrysim both\n$ retrysim fail\n$ retrysim dollar\n$ retrysim blank\n"
        _, shown = self.run_story(story, show=True)
        self.assert_holds(shown)

    def test_malformed_stories(self):
        with self.assertRaises(run_cli_tests.StoryError):
            run_cli_tests.parse("hello\n$ retrysim greet\n")
        with self.assertRaises(run_cli_tests.StoryError):
            run_cli_tests.parse("# nothing\n")


if __name__ == "__main__":
    unittest.main()
