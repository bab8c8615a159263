#!/usr/bin/python3
"""When does the check of README's picture tell two pictures apart?

SPDX-License-Identifier: MIT
"""

import pathlib
import sys
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True

from readme_picture import PICTURE, same  # noqa: E402


class Comparison(unittest.TestCase):
    def setUp(self):
        self.text = PICTURE.read_text(encoding="utf-8")

    def changed(self, old, new):
        self.assertIn(old, self.text)
        return self.text.replace(old, new, 1)

    def test_a_picture_equals_itself(self):
        self.assertTrue(same(self.text, self.text))

    def test_the_version_of_matplotlib_does_not_matter(self):
        self.assertTrue(same(self.text, self.changed("Matplotlib v", "Matplotlib v9.")))

    def test_how_it_writes_fonts_and_clip_paths_does_not_matter(self):
        old = """<text clip-path="url(#p0123456789)" style="font: 700 11px 'A'; fill: red"/>"""
        new = """<text clip-path="url(#p9876543210)" style="fill: red; font-weight: 700; """ \
            """font-size: 11px; font-family: 'A'"/>"""
        self.assertTrue(same(old, new))
        self.assertFalse(same(old, new.replace("700", "400")))
        self.assertFalse(same(old, new.replace("red", "blue")))

    def test_rounding_does_not_matter(self):
        self.assertTrue(same("L 10.000001 2.5", "L 10.0 2.51"))

    def test_a_moved_point_matters(self):
        self.assertFalse(same("L 10.000001 2.5", "L 10.000001 2.6"))

    def test_words_matter(self):
        self.assertFalse(same(self.text, self.changed("38 s", "39 s")))

    def test_a_missing_point_matters(self):
        self.assertFalse(same("L 1.5 2.5 L 1.5 2.6", "L 1.5 2.5"))


if __name__ == "__main__":
    unittest.main()
