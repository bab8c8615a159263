#!/usr/bin/python3
"""Does the runner of stories notice everything that it should?

SPDX-License-Identifier: MIT
"""

import argparse
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

    def run_story(self, text, name="story.txt", **options):
        """The number of faults, and what was printed."""
        path = self.root / name
        path.write_text(text)
        options = argparse.Namespace(**{"show": False, "rewrite": False, "languages": [],
                                        "slow": False, **options})
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            faults = run_cli_tests.run_story(path, self.program, self.root, options)
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

    def test_a_page_is_a_story(self):
        page = ("Say hello:\n\n```sh\nretrysim greet you\n```\n\n```text\n{}\n```\n\n"
                "A file, which prints nothing:\n\n```sh\necho kept > a.txt\n```\n\n"
                "```toml\nnot = 'a command'\n```\n\n"
                "```sh\ncat a.txt\n```\n\n```text\nkept\n```\n")
        self.assertEqual(self.run_story(page.format("hello you\ntook ... s"), "page.md"), (0, ""))
        faults, printed = self.run_story(page.format("hello me\n..."), "page.md")
        self.assertEqual(faults, 1)
        self.assertIn("page.md:4: error:", printed)
        # Blanks at the ends of lines do not count; what goes wrong does, and what is not shown.
        for page, wrong in (("```sh\necho 'a  '\n```\n```text\na\n```\n", 0),
                            ("```sh\necho a\n```\nText.\n", 1),
                            ("```sh\nretrysim fail\n```\n```text\n...\n```\n", 1)):
            self.assertEqual(self.run_story(page, "page.md")[0], wrong)
        with self.assertRaises(run_cli_tests.StoryError):
            self.run_story("No block.\n", "page.md")

    def test_a_page_need_not_show_everything(self):
        for page, wrong in (("```bash\nretrysim greet you\n```\nText.\n", 0),
                            ("```bash\nretrysim fail\necho on\n```\n", 1),
                            ("```bash\nretrysim greet you\n```\n```text\nhello me\n...\n```\n", 1),
                            ("<!-- status 3 -->\n```bash\nretrysim fail\n```\n", 0),
                            ("<!-- status 3 -->\n```bash\nretrysim blank\n```\n", 1),
                            ("```sh\ntrue\n```\n<!-- slow -->\n```bash\nretrysim fail\n```\n", 0)):
            self.assertEqual(self.run_story(page, "page.md")[0], wrong, page)
        # The last one was slow.
        self.assertEqual(self.run_story(page, "page.md", slow=True)[0], 1)

    def test_blocks_in_other_languages(self):
        page = ("```sh\necho 'y = 2' > y.py\n```\n```python\nfrom y import y\nprint(y)\n```\n"
                "```text\n{}\n```\n")
        self.assertEqual(self.run_story(page.format(3), "page.md", languages=["python"])[0], 1)
        self.assertEqual(self.run_story(page.format(2), "page.md", languages=["python"])[0], 0)
        self.assertEqual(self.run_story(page.format(3), "page.md", languages=["r"])[0], 0)

    def test_pages_are_rewritten(self):
        page = ("```sh\nretrysim blank\n```\n\n```text\n{}\n```\n\n"
                "```sh\nretrysim greet you\n```\n\n```text\nhello you\n...\n```\n")
        self.assertEqual(self.run_story(page.format("start"), "page.md", rewrite=True)[0], 0)
        self.assertEqual((self.root / "page.md").read_text(), page.format("\nend"))
        # A command that fails is no output to show.
        failing = "```sh\nretrysim fail\n```\n```text\nx\n```\n"
        self.assertGreater(self.run_story(failing, "page.md", rewrite=True)[0], 0)
        self.assertEqual((self.root / "page.md").read_text(), failing)


if __name__ == "__main__":
    unittest.main()
