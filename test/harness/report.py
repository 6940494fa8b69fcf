# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Output of a run: a line as each step starts and ends, then the reasons of failures, retries, skips,
the table, the names of failed tests and the sum."""

import collections
import time

import load
from results import prefix

MOST_RETRIED = 2
MOST_NAMED = 5  # failures listed when a step ends; the end of the run lists all
COLUMNS = ("part", "seconds", "CPU-s", "passed", "failed", "skipped", "retried")


def say(line):
    print(line, flush=True)


def started(step):
    say(f"start   {step.id}")


def ended(outcome):
    word = "ok" if outcome.good else "FAILED"
    took = outcome.ended
    say(f"{word:<7} {outcome.step.id:<28} {len(outcome.passed):>5} passed, {len(outcome.failed)} failed, "
        f"{len(outcome.skipped)} skipped, {took.seconds:.0f} s, {took.cpu:.0f} CPU-s, load {took.load:.1f}")
    for failure in outcome.failed[:MOST_NAMED]:
        say(f"FAILED  {named(outcome, failure)[:200]}")


def named(outcome, failure):
    middle = f"{failure.source.rpartition('/')[2]}: " if failure.source else ""
    return f"{prefix(outcome.step)}: {middle}{failure.name}"


def failures_of(outcomes):
    return [(named(outcome, failure), failure.why) for outcome in outcomes for failure in outcome.failed]


def print_reasons(outcomes, logs):
    failed = failures_of(outcomes)
    if not failed:
        return
    say("Reasons:")
    for name, why in failed:
        say(f"  {name}")
        for line in why:
            say(f"      {line}")
    say(f"Logs: {logs}")


def print_names(outcomes):
    """Truncated logs keep their end, so the names of failed and retried tests are printed last, each with the first words of its reason."""
    _name("Retried (failed beside other steps, passed alone):",
          [(named(outcome, failure), failure.why) for outcome in outcomes for failure in outcome.retried])
    _name("Failed:", failures_of(outcomes))


def _name(title, failures):
    if failures:
        say(title)
    for name, why in failures:
        say(f"  {name[:200]}")
        for line in why[:2]:
            say(f"      {line.strip()[:200]}")


def too_many_retried(outcomes):
    number = sum(len(outcome.retried) for outcome in outcomes)
    if number > MOST_RETRIED:
        say(f"{number} tests passed only when they ran again, and at most {MOST_RETRIED} may: the run counts as failed.")
    return number > MOST_RETRIED


def print_skipped(outcomes):
    reasons = collections.Counter(reason for outcome in outcomes for _, reason in outcome.skipped)
    if reasons:
        say("Skipped:")
    for reason, number in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        say(f"  {number:>4}  {reason}")


def seconds_of(spans):
    """The total time in which at least one of these (start, end) intervals ran."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def rows(outcomes):
    parts = {}
    for outcome in outcomes:
        parts.setdefault(outcome.step.part, []).append(outcome)
    for part, found in parts.items():
        yield (part, seconds_of([(one.ended.started, one.ended.ended) for one in found]), sum(one.ended.cpu for one in found),
               sum(len(one.passed) for one in found), sum(len(one.failed) for one in found),
               sum(len(one.skipped) for one in found), sum(len(one.retried) for one in found))


def print_table(outcomes, begun, cpu):
    say("".join(f"{title:<16}" if title == "part" else f"{title:>9}" for title in COLUMNS))
    for part, *numbers in rows(outcomes):
        say(f"{part:<16}" + "".join(f"{number:>9.0f}" for number in numbers))
    wall = time.monotonic() - begun
    share = 100 * cpu / (wall * load.PROCESSORS) if wall else 0
    say(f"total: {wall:.0f} s, {cpu:.0f} s of processor time, {share:.0f} % of {load.PROCESSORS} processors")


def finish(outcomes, begun, cpu, logs):
    """Prints everything after the last step; the exit status."""
    print_reasons(outcomes, logs)
    too_many = too_many_retried(outcomes)
    print_skipped(outcomes)
    print_table(outcomes, begun, cpu)
    print_names(outcomes)
    return last_line(sum(len(one.passed) for one in outcomes), sum(len(one.failed) for one in outcomes) + too_many,
                     sum(len(one.skipped) for one in outcomes))


def last_line(passed, failed, skipped):
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1
