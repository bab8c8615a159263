#!/usr/bin/python3
"""Holds scripts/studies/agreement.py, the statistics of scripts/reproduce, against tables and
worked examples, and checks that the comparison of studies can fail.

SPDX-License-Identifier: MIT
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "studies"))

import agreement  # noqa: E402
import published_studies  # noqa: E402
import reproduce_studies  # noqa: E402
from agreement import Sample  # noqa: E402


class StudentTest(unittest.TestCase):
    def test_quantiles_of_the_printed_tables(self):
        for degrees, quantile in ((1, 12.7062047), (9, 2.2621572), (19, 2.0930241),
                                  (399, 1.9659273)):
            self.assertAlmostEqual(agreement.t_quantile(0.975, degrees), quantile, places=6)

    def test_two_sided_probabilities(self):
        self.assertAlmostEqual(agreement.t_two_sided(2, 10), 0.0733880347, places=9)
        self.assertAlmostEqual(agreement.t_two_sided(0.1, 3), 0.9266523492, places=9)
        self.assertAlmostEqual(agreement.t_two_sided(35, 5) / 3.58238809e-07, 1, places=3)
        self.assertEqual(agreement.t_two_sided(float("inf"), 5), 0)


class ComparisonTest(unittest.TestCase):
    def test_sample(self):
        sample = Sample.of([1, 2, 3, 4])
        self.assertEqual(sample.mean, 2.5)
        self.assertAlmostEqual(sample.stddev, (5 / 3) ** 0.5)
        # t is 3.1824463 for three degrees of freedom.
        self.assertAlmostEqual(sample.half_width(), 3.1824463 * (5 / 12) ** 0.5, places=6)
        with self.assertRaises(ValueError):
            Sample.of([1])

    def test_welch(self):
        p = agreement.welch(Sample(10, 2, 12), Sample(11, 3, 30))
        self.assertAlmostEqual(p, 0.2184897484, places=9)

    def test_welch_without_spread(self):
        exact = Sample(1, 0, 1)
        self.assertEqual(agreement.welch(exact, Sample(1, 0, 20)), 1)
        self.assertEqual(agreement.welch(exact, Sample(1.0001, 0, 20)), 0)
        # Against an exact value it is Student's test: here t = 2 with 10 degrees of freedom.
        self.assertAlmostEqual(agreement.welch(exact, Sample(1 + 2 / 11 ** 0.5, 1, 11)),
                               0.0733880347, places=9)

    def test_prediction(self):
        # One run lies 2 sqrt(1 + 1/11) standard deviations away.
        ours = Sample(0, 1, 11)
        self.assertAlmostEqual(agreement.prediction(2 * (12 / 11) ** 0.5, 1, ours),
                               0.0733880347, places=9)
        # The mean of four runs varies less.
        self.assertLess(agreement.prediction(2, 4, ours), agreement.prediction(2, 1, ours))

    def test_holm(self):
        self.assertEqual(agreement.holm([0.012, 0.04, 0.9, 0.02]), [True, False, False, False])
        self.assertEqual(agreement.holm([0.01, 0.02, 0.03]), [True, True, True])
        self.assertEqual(agreement.holm([]), [])


class StudiesTest(unittest.TestCase):
    def test_wilson(self):
        low, high = agreement.wilson(0, 40)  # z^2 / (n + z^2)
        self.assertEqual(low, 0)
        self.assertAlmostEqual(high, 3.841459 / 43.841459, places=6)
        low, high = agreement.wilson(30, 40)
        self.assertAlmostEqual(low, 0.598060, places=5)
        self.assertAlmostEqual(high, 0.858129, places=5)

    def test_every_published_case_is_run_and_every_study_has_figures(self):
        published = reproduce_studies.read_published()
        names = {s.name for s in published_studies.STUDIES}
        self.assertEqual(set(published) - names, set(), "figures of no study")
        for study in published_studies.STUDIES:
            rows = published.get(study.name, [])
            self.assertTrue(rows or study.claims, study.name)
            figures = [(row.case, row.metric) for row in rows]
            self.assertEqual(len(figures), len(set(figures)), "a figure stands twice")
            for row in rows:
                self.assertIn(row.case, study.cases)
            scenario = reproduce_studies.ROOT / "scenarios" / study.scenario
            self.assertTrue(scenario.is_file(), scenario)

    def test_a_wrong_figure_differs(self):
        case = published_studies.Case(clients=("one",))
        study = published_studies.Study("s", "", "", "", {"c": case})
        runs = FakeRuns({("one", "m"): [0.9, 1.0, 1.1, 1.0, 0.95, 1.05]})
        def differs(mean):
            rows = [reproduce_studies.Published("c", "m", mean, None, 1)]
            return reproduce_studies.compare(study, rows, runs)[0].differs
        self.assertFalse(differs(1.1))
        self.assertTrue(differs(1.5))

    def test_an_approximation_is_met_within_its_factor(self):
        study = published_studies.Study("s", "", "", "", {"c": published_studies.Case()}, factor=10)
        runs = FakeRuns({("all", "m"): [0.9, 1.0, 1.1, 1.0]})
        def differs(mean):
            rows = [reproduce_studies.Published("c", "m", mean, None, 1)]
            return reproduce_studies.compare(study, rows, runs)[0].differs
        self.assertFalse(differs(9.0))
        self.assertTrue(differs(11.0))
        self.assertTrue(differs(0.09))

    def test_two_of_ours_bound_a_figure(self):
        case = published_studies.Case(clients=("low", "high"))
        study = published_studies.Study("s", "", "", "", {"c": case})
        runs = FakeRuns({("low", "m"): [0.9, 1.0, 1.1, 1.0], ("high", "m"): [1.9, 2.0, 2.1, 2.0]})
        def differs(mean):
            rows = [reproduce_studies.Published("c", "m", mean, None, 1)]
            return reproduce_studies.compare(study, rows, runs)[0].differs
        self.assertTrue(differs(0.5))
        self.assertFalse(differs(1.5))
        self.assertTrue(differs(2.5))


class FakeRuns:
    def __init__(self, values):
        self.values = values

    def get(self, study, case):
        return self.values


if __name__ == "__main__":
    unittest.main()
