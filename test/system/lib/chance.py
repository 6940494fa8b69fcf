# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Statistical tests: the probability that random selection causes the observed counts."""

import math


def chi_square_chance(counts, expected):
    """The p-value of Pearson's chi-square test, with one degree of freedom less than counts."""
    statistic = sum((count - one) ** 2 / one for count, one in zip(counts, expected))
    return upper_gamma((len(counts) - 1) / 2, statistic / 2)


def uniform_chance(counts):
    mean = sum(counts) / len(counts)
    return chi_square_chance(counts, [mean] * len(counts))


def independence_chance(table):
    """The p-value of the test that all rows have the same distribution."""
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table)]
    every = sum(rows)
    statistic = sum((count - row * column / every) ** 2 / (row * column / every)
                    for row, line in zip(rows, table) for column, count in zip(columns, line))
    return upper_gamma((len(rows) - 1) * (len(columns) - 1) / 2, statistic / 2)


def upper_gamma(shape, x):
    """The regularized upper incomplete gamma function, by its series or its continued fraction."""
    if x <= 0:
        return 1.0
    scale = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        number = shape
        while term > total * 1e-15:
            number += 1
            term *= x / number
            total += term
        return max(0.0, 1 - scale * total)
    tiny = 1e-300
    b = x + 1 - shape
    c, d = 1 / tiny, 1 / b
    h = d
    for i in range(1, 100000):
        a = -i * (i - shape)
        b += 2
        d = 1 / (a * d + b or tiny)
        c = b + a / c or tiny
        factor = d * c
        h *= factor
        if abs(factor - 1) < 1e-15:
            break
    return scale * h
