#!/usr/bin/python3
"""Writes sim/kernel/ziggurat_tables.cpp, the constants of the exponential ziggurat.

The density f(x) = exp(-x) is covered by 256 layers of equal area v (Marsaglia and Tsang, "The
ziggurat method for generating random variables", 2000). With x_1 = r the right edge of the base,

    v = r f(r) + integral of f from r to infinity = (r + 1) exp(-r),
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
// Constants of the exponential ziggurat, written by scripts/make_ziggurat_tables.py: change that
// script, not this file. They are stored instead of computed at start-up because exp and log of
// two C libraries may differ in the last bit, and then so would the simulated times.
//
// SPDX-License-Identifier: MIT
#include "kernel/ziggurat_tables.hpp"

// clang-format off
namespace retrysim::kernel {

"""


def heights(r):
    """f(x_1), ..., f(x_256) for the base edge r; stops early above 1, where x would be negative."""
    f = (-r).exp()
    v = (r + 1) * f
    result = [f]
    while len(result) < LAYERS:
        f += v / -f.ln()
        result.append(f)
        if f >= 1:
            break
    return result


def base_edge():
    """The r for which f(x_256) = 1. A larger r means thinner layers, hence a lower top."""
    low, high = Decimal(7), Decimal(8)
    while high - low > Decimal("1e-50"):
        middle = (low + high) / 2
        top = heights(middle)
        if len(top) < LAYERS or top[-1] > 1:
            low = middle
        else:
            high = middle
    return high


def tables():
    """The right edges x_0, ..., x_256 and the lower edge of each layer with the top at the end.
    The base with its tail is drawn as if it were a rectangle of height f(r), hence of width
    x_0 = v / f(r) = r + 1."""
    r = base_edge()
    f = heights(r)
    x = [r + 1] + [-h.ln() for h in f]
    x[LAYERS] = Decimal(0)
    return x, [Decimal(0)] + f[: LAYERS - 1] + [Decimal(1)]


def rows(cells, per_row):
    for i in range(0, len(cells), per_row):
        yield "    " + " ".join(cells[i : i + per_row]) + "\n"


def text():
    x, f = tables()
    layers = []
    for i in range(LAYERS):
        inside = int((x[i + 1] / x[i] * MANTISSA).to_integral_value(decimal.ROUND_FLOOR))
        width = (float(x[i]) / MANTISSA).hex()
        layers.append(f"{{{inside:#016x}, {width}}},")
    return "".join(
        [HEAD, f"const double kExponentialEdge = {float(x[1]).hex()};\n\n"]
        + ["const ZigguratLayer kExponentialLayers[256] = {\n", *rows(layers, 2), "};\n\n"]
        + ["const double kExponentialHeights[257] = {\n"]
        + [*rows([float(height).hex() + "," for height in f], 4), "};\n\n"]
        + ["}  // namespace retrysim::kernel\n// clang-format on\n"]
    )


def main():
    parser = argparse.ArgumentParser(description="constants of the exponential ziggurat")
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
