# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the modules of test/bench and the package `lib` of test/cluster importable. Import it first."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
ROOT = os.path.dirname(os.path.dirname(BENCH))
CLUSTER = os.path.join(ROOT, "test", "cluster")
PICTURES = os.path.join(ROOT, "docs", "pictures")
DOCS = os.path.join(ROOT, "docs", "benchmarks")
RESULTS = os.path.join(DOCS, "results.json")

for folder in (BENCH, CLUSTER, PICTURES):
    if folder not in sys.path:
        sys.path.append(folder)
