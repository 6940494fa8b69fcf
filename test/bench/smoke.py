# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The smallest run, for CI: every metric exists and is plausible; whether it is good is not judged."""

import report
import selftest
from plausible import problem


def make_tiny(wanted):
    wanted.services = wanted.core_services = [20]
    wanted.endpoints, wanted.changes, wanted.core_changes, wanted.connects, wanted.churn_seconds = 3, 2, 3, 20, 2
    wanted.entries, wanted.conntrack_changes = [20_000], 3
    # A turn goes on until the first answer has come (test/tools/relayload_net.hpp).
    wanted.relay_rounds, wanted.relay_seconds, wanted.relay_open, wanted.relay_idle = 1, 0.1, 50, 200
    wanted.patience, wanted.change_patience = 20, 5
    # Phases that are not begun fail the run, so a busy machine gets many times what they take.
    wanted.part_minutes = wanted.relay_minutes = 10
    wanted.ipvs_services = [20, 200]


def judge(result):
    """TAP; the exit status."""
    lines = list(selftest.checks())
    for row in result["results"]:
        if row.get("missing"):
            lines.append((f"{report.what(row)} # SKIP {row['missing']}", None))
            continue
        tables = report.tables_of(row)
        why = row.get("gave_up")
        lines.append((f"{report.what(row)}: the measurement runs to its end", why))
        for metric in (metric for _, columns in tables for metric, _ in columns):
            lines.append((f"{report.what(row)}: {metric} is {row.get(metric)}", problem(row, metric)))
    for number, (title, why) in enumerate(lines, 1):
        print(f"{'not ok' if why else 'ok'} {number} - {title}")
        if why:
            print("\n".join("#   " + line for line in why.splitlines()))
    print(f"1..{len(lines)}")
    return 1 if any(why for _, why in lines) else 0
