"""Do two samples have the same mean? Student's and Welch's tests, and Holm's correction for many.

Written out because the script needs nothing but python3; tests/scripts/agreement_test.py holds
it against tables.

SPDX-License-Identifier: MIT
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Sample:
    """Mean and standard deviation of `runs` independent runs."""
    mean: float
    stddev: float
    runs: int

    @staticmethod
    def of(values):
        values = list(values)
        mean = math.fsum(values) / len(values)
        if len(values) < 2:
            raise ValueError("a spread takes two values")
        squares = math.fsum((v - mean) ** 2 for v in values)
        return Sample(mean, math.sqrt(squares / (len(values) - 1)), len(values))

    def variance_of_mean(self):
        return self.stddev ** 2 / self.runs

    def half_width(self):
        """Half the 95 % interval of the mean."""
        return t_quantile(0.975, self.runs - 1) * math.sqrt(self.variance_of_mean())


def incomplete_beta(a, b, x):
    """Regularized incomplete beta function, by its continued fraction (modified Lentz)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x)
                     + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 1000):
        step = 1.0
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            step = c * d
            value *= step
        if abs(step - 1) < 1e-15:
            break
    return front * value


def t_two_sided(t, degrees):
    """Probability that Student's t lies further from zero than `t`."""
    if math.isinf(t):
        return 0.0
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def t_quantile(p, degrees):
    """Quantile of Student's t, for p above one half."""
    low, high = 0.0, 1.0
    while 1 - t_two_sided(high, degrees) / 2 < p:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if 1 - t_two_sided(middle, degrees) / 2 < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def ratio(difference, variance):
    if variance > 0:
        return difference / math.sqrt(variance)
    return 0.0 if difference == 0 else math.inf


def welch(a, b):
    """p-value of the difference between the means of two samples, two-sided."""
    va, vb = a.variance_of_mean(), b.variance_of_mean()
    if va + vb == 0:
        return 1.0 if a.mean == b.mean else 0.0
    spread = sum(v * v / (s.runs - 1) for v, s in ((va, a), (vb, b)) if v > 0)
    return t_two_sided(ratio(a.mean - b.mean, va + vb), (va + vb) ** 2 / spread)


def prediction(mean, runs, ours):
    """p-value, two-sided, of a mean of `runs` runs whose spread is not known but, if the model is
    the same, that of ours."""
    variance = ours.stddev ** 2 * (1 / runs + 1 / ours.runs)
    return t_two_sided(ratio(mean - ours.mean, variance), ours.runs - 1)


def holm(p_values, level=0.05):
    """Which of the differences are significant, so that the chance of any false one is at most
    `level`."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    significant = [False] * len(p_values)
    for rank, i in enumerate(order):
        if p_values[i] > level / (len(p_values) - rank):
            break
        significant[i] = True
    return significant


def wilson(successes, runs):
    """95 % interval of a probability, by the score of Wilson; never empty."""
    z, share = 1.959964, successes / runs
    centre = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs
                                              + z * z / (4 * runs * runs))
    return max(0.0, centre - half), min(1.0, centre + half)
