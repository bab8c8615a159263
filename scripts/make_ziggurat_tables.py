#!/usr/bin/python3
"""Writes sim/kernel/ziggurat_tables.cpp, the constants of the exponential and the normal ziggurat.

A decreasing density f with f(0) = 1 is covered by 256 layers of equal area v (Marsaglia and Tsang,
"The ziggurat method for generating random variables", 2000). With x_1 = r the right edge of the
base,

    v = r f(r) + integral of f from r to infinity,
    f(x_{i+1}) = f(x_i) + v / x_i,

and r is the number for which the 256th layer ends exactly at the top, f(x_256) = 1. It is found
by bisection with 60 decimal digits, so every constant is the nearest double to the exact value,
whatever the machine the script runs on.

usage: make_ziggurat_tables.py           write the file
       make_ziggurat_tables.py --check   exit with status 1 if the committed file differs

SPDX-License-Identifier: MIT
"""

import argparse
import decimal
import pathlib
import sys
from decimal import Decimal

LAYERS = 256
MANTISSA = 2**53
TARGET = pathlib.Path(__file__).resolve().parent.parent / "sim/kernel/ziggurat_tables.cpp"

HEAD = """\
// Constants of the exponential and the normal ziggurat, written by scripts/make_ziggurat_tables.py:
// change that script, not this file. They are stored instead of computed at start-up because exp
// and log of two C libraries may differ in the last bit, and then so would the simulated times.
//
// SPDX-License-Identifier: MIT
#include "kernel/ziggurat_tables.hpp"

// clang-format off
namespace retrysim::kernel {

"""


class Exponential:
    """f(x) = exp(-x)"""
    name = "Exponential"
    edge_is_between = (7, 8)

    @staticmethod
    def density(x):
        return (-x).exp()

    @staticmethod
    def inverse(height):
        return -height.ln()

    @staticmethod
    def area_beyond(x):
        return (-x).exp()


class Normal:
    """f(x) = exp(-x^2 / 2), the positive half"""
    name = "Normal"
    edge_is_between = (3, 4)
    # sqrt(pi / 2), the area of the half
    half = (Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640629")
            / 2).sqrt(decimal.Context(prec=70))

    @staticmethod
    def density(x):
        return (-x * x / 2).exp()

    @staticmethod
    def inverse(height):
        return (-2 * height.ln()).sqrt()

    @staticmethod
    def area_beyond(x):
        """The half less the area up to x, exp(-x^2 / 2) (x + x^3 / 3 + x^5 / (3 * 5) + ...)."""
        term = total = x
        odd = 1
        while term > total * Decimal("1e-65"):
            odd += 2
            term *= x * x / odd
            total += term
        return Normal.half - total * Normal.density(x)


def heights(shape, r):
    """f(x_1), ..., f(x_256) for the base edge r; stops early above 1, where x would be negative."""
    f = shape.density(r)
    v = r * f + shape.area_beyond(r)
    result = [f]
    while len(result) < LAYERS:
        f += v / shape.inverse(f)
        result.append(f)
        if f >= 1:
            break
    return result


def base_edge(shape):
    """The r for which f(x_256) = 1. A larger r means thinner layers, hence a lower top."""
    low, high = map(Decimal, shape.edge_is_between)
    while high - low > Decimal("1e-50"):
        middle = (low + high) / 2
        top = heights(shape, middle)
        if len(top) < LAYERS or top[-1] > 1:
            low = middle
        else:
            high = middle
    return high


def tables(shape):
    """The right edges x_0, ..., x_256 and the lower edge of each layer with the top at the end.
    The base with its tail is drawn as if it were a rectangle of height f(r), hence of width
    x_0 = v / f(r)."""
    r = base_edge(shape)
    f = heights(shape, r)
    x = [r + shape.area_beyond(r) / f[0]] + [shape.inverse(h) for h in f[: LAYERS - 1]]
    return x + [Decimal(0)], [Decimal(0)] + f[: LAYERS - 1] + [Decimal(1)]


def rows(cells, per_row):
    for i in range(0, len(cells), per_row):
        yield "    " + " ".join(cells[i : i + per_row]) + "\n"


def constants(shape):
    x, f = tables(shape)
    layers = []
    for i in range(LAYERS):
        inside = int((x[i + 1] / x[i] * MANTISSA).to_integral_value(decimal.ROUND_FLOOR))
        width = (float(x[i]) / MANTISSA).hex()
        layers.append(f"{{{inside:#016x}, {width}}},")
    return "".join(
        [f"const double k{shape.name}Edge = {float(x[1]).hex()};\n\n"]
        + [f"const ZigguratLayer k{shape.name}Layers[256] = {{\n", *rows(layers, 2), "};\n\n"]
        + [f"const double k{shape.name}Heights[257] = {{\n"]
        + [*rows([float(height).hex() + "," for height in f], 4), "};\n\n"]
    )


def text():
    return (HEAD + constants(Exponential) + constants(Normal)
            + "}  // namespace retrysim::kernel\n// clang-format on\n")


def main():
    parser = argparse.ArgumentParser(description="constants of the ziggurats")
    parser.add_argument("--check", action="store_true", help="compare with the committed file")
    check = parser.parse_args().check
    decimal.getcontext().prec = 60
    new = text()
    if check:
        if TARGET.read_text() != new:
            sys.exit(f"{TARGET}: differs from what this script makes")
    else:
        TARGET.write_text(new)


if __name__ == "__main__":
    main()
