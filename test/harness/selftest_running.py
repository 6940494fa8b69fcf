# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that run: order, weights, locks, limits, retries, and the end of a run that is interrupted."""

import contextlib
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time

import load
import report
import results
import scheduler
from processes import Processes
from retry import MOST, Retry
from runner import Runner
from settings import Settings
from step import NEVER, STATUS, TAP, Step

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = ["echo", "ok 1 - a\n1..1"]
PRIORITY_IS_5 = '[ "$(nice)" = 5 ] && { [ "$(cat /proc/sys/kernel/sched_autogroup_enabled 2>&1)" != 1 ] || grep -q "nice 5$" /proc/self/autogroup; }'


class Spans:
    """Watches a scheduler: when each step ran."""

    def __init__(self, failing=()):
        self.spans = {}
        self.dropped_steps = {}
        self._failing = failing

    def started(self, step):
        pass

    def tick(self, steps):
        pass

    def ended(self, step, ended):
        self.spans[step.id] = ended
        return step.id not in self._failing

    def dropped(self, step, why, is_skip):
        self.dropped_steps[step.id] = (why, is_skip)

    def apart(self, first, second):
        return self.spans[first].ended <= self.spans[second].started or self.spans[second].ended <= self.spans[first].started


def nap(name, seconds=0.3, **about):
    return Step("p", name, ["sleep", str(seconds)], 20, **about)


def schedule(folder, steps, budget=10, failing=(), most=None):
    watch = Spans(failing)
    with Processes() as processes:
        scheduler.Scheduler(steps, budget, processes, folder, watch, most).run()
    return watch


def tests(folder):
    folder = os.path.join(folder, "running")
    os.makedirs(folder)
    yield from _scheduling(folder)
    yield from _retries(folder)
    yield "an interrupted run leaves no process and exits 130", _interrupted(folder)


def _scheduling(folder):
    found = schedule(folder, [nap("a"), nap("b"), nap("c", weight=2.0)], budget=2)
    yield "steps run side by side as far as their weights allow", \
        [] if not found.apart("p/a", "p/b") and found.apart("p/a", "p/c") and found.apart("p/b", "p/c") else [str(found.spans)]
    found = schedule(folder, [nap("a", weight=5.0), nap("b")], budget=2)
    yield "a step heavier than the machine runs alone", [] if found.apart("p/a", "p/b") else [str(found.spans)]
    with _idle(2.0):
        found = schedule(folder, [nap("a", weight=2.0), nap("b", weight=1.5), nap("c", weight=1.5, quiet=True)], budget=2)
    yield "idle processors take more than weights allow, but not beside a step that compares times", \
        [] if not found.apart("p/a", "p/b") and found.apart("p/a", "p/c") and found.apart("p/b", "p/c") else [str(found.spans)]
    found = schedule(folder, [nap("a", locks=("x",)), nap("b", locks=("x", "y")), nap("c", locks=("z",))])
    yield "steps with the same lock never run side by side", \
        [] if found.apart("p/a", "p/b") and not found.apart("p/a", "p/c") else [str(found.spans)]
    found = schedule(folder, [nap("b", after=("p/a",)), nap("a"), nap("c", needs=("p/b",))], failing=("p/a",))
    yield "a step runs after those it waits for, failed or not", \
        [] if found.spans["p/a"].ended <= found.spans["p/b"].started < found.spans["p/c"].started else [str(found.spans)]
    found = schedule(folder, [nap("a"), nap("b", needs=("p/a",)), nap("c", needs=("p/b",))], failing=("p/a",))
    yield "a step whose need failed does not run, nor does what needs it", \
        [] if found.dropped_steps == {"p/b": ("p/a failed", False), "p/c": ("p/b failed", False)} else [str(found.dropped_steps)]
    found = schedule(folder, [nap("a", absent=lambda: "no compiler"), nap("b", needs=("p/a",))])
    yield "what needs a step that this machine cannot run is skipped with its reason", \
        [] if found.dropped_steps.get("p/b") == ("no compiler", True) and not found.spans else [str(found.dropped_steps)]
    found = schedule(folder, [nap("a"), nap("b", expected=5), nap("c", after=("p/a",), expected=90)], most=1)
    order = sorted(found.spans, key=lambda name: found.spans[name].started)
    yield "the longest chain starts first, and one step after the other if so wanted", \
        [] if order == ["p/a", "p/c", "p/b"] and found.apart("p/a", "p/c") else [str(order)]
    low = Step("p", "low", ["sh", "-c", f"until {PRIORITY_IS_5}; do sleep 0.05; done"], 10, nice=5)  # poll interval
    found = schedule(folder, [low])
    yield "a step has its priority, also where the kernel compares sessions", [] if found.spans["p/low"].status == 0 else [str(found.spans)]
    before = time.monotonic()
    scheduler.PATIENCE = 0.5
    stubborn = "trap '' TERM; sleep 60 & wait; sleep 60"
    found = schedule(folder, [Step("p", "a", ["sh", "-c", stubborn], 0.3, environment={"SLUICE_SELFTEST": folder})])
    yield "a step that hangs is ended, and its children with it", \
        [] if found.spans["p/a"].status == 124 and time.monotonic() - before < 15 and not _there(folder) else [str(found.spans)]
    outcome = results.read(Settings(folder, folder), Step("p", "a", [], 0.3), found.spans["p/a"])
    yield "a step that was ended has failed, with that reason", \
        [] if [one.name for one in outcome.failed] == ["printed no plan and ended with its time limit (status 124)"] else [str(outcome)]


@contextlib.contextmanager
def _idle(processors):
    """A load measurement with that many idle processors."""
    measured = load.Idle.processors
    load.Idle.processors = processors
    try:
        yield
    finally:
        load.Idle.processors = measured


def once(folder, name, again=None):
    """A step whose test fails in the first run only."""
    file = os.path.join(folder, f"seen-{name}")
    script = f'if [ -e "{file}" ]; then echo "ok 1 - {name}"; else : >"{file}"; printf "not ok 1 - {name}\\n# too late\\n"; fi; echo 1..1'
    return Step("flaky", name, ["sh", "-c", script], 20, **({"again": again} if again else {}))


def run(folder, steps):
    """Outcomes, exit status and output of a run with retries."""
    settings = Settings(folder, folder, jobs=2)
    with contextlib.redirect_stdout(io.StringIO()) as said, Processes() as processes:
        runner = Runner(settings, processes)
        runner.run(steps)
        Retry(settings, processes, report.say).run(runner.outcomes)
        status = report.finish(runner.outcomes, time.monotonic(), 0, folder)
    return {one.step.name: one for one in runner.outcomes}, status, said.getvalue()


def _retries(folder):
    good = Step("p", "good", GOOD, 20)
    found, status, said = run(folder, [good, once(folder, "one")])
    yield "a failed test that passes alone is retried, not failed, and named with the reason", \
        [] if status == 0 and [one.name for one in found["one"].retried] == ["one"] and not found["one"].failed and \
        "flaky/one: one\n      too late\n2 passed, 0 failed\n" in said else [said]
    _, status, said = run(folder, [good, *(once(folder, f"three-{number}") for number in range(3))])
    yield "three retried tests make the run fail, with a sentence that says so", \
        [] if status == 1 and "3 tests passed only when they ran again" in said and said.endswith(", 1 failed\n") else [said]
    gone = f'if [ -e "{folder}/gone" ]; then echo "ok 1 - other"; else : >"{folder}/gone"; echo "not ok 1 - c"; fi; echo 1..1'
    _, status, said = run(folder, [good, Step("p", "gone", ["sh", "-c", gone], 20)])
    yield "a test that is missing when its program runs again has failed", [] if status == 1 and said.endswith(", 1 failed\n") else [said]
    _, status, said = run(folder, [good, Step("p", "bad", ["echo", "not ok 1 - b\n1..1"], 20)])
    yield "a test that fails alone, too, has failed", [] if status == 1 and said.endswith("1 passed, 1 failed\n") else [said]
    yield "what failed is named as its step ends and before the last line", \
        [] if "FAILED  p/bad: b\n" in said and "Failed:\n  p/bad: b\n" in said[said.index("total: "):] else [said]
    _, status, said = run(folder, [good, once(folder, "finding", NEVER)])
    yield "a finding does not run again", [] if status == 1 and "again " not in said else [said]
    reports = os.path.join(folder, "reports")
    os.makedirs(reports)
    with open(os.path.join(reports, "report.1"), "w", encoding="utf-8") as file:
        file.write("a race\n")
    _, status, said = run(folder, [dataclasses.replace(once(folder, "race"), reports=reports)])
    yield "a test does not run again where a sanitizer has reported", [] if status == 1 and "again " not in said else [said]
    died = Step("p", "dies", ["false"], 3000)
    _, status, said = run(folder, [good, died, dataclasses.replace(died, name="short", limit=20)])
    yield "a program that dies runs again only if it is short", \
        [] if status == 1 and "again   p/short" in said and "again   p/dies" not in said else [said]
    many = [once(folder, f"many-{number}") for number in range(MOST + 1)]
    _, status, said = run(folder, [good, *many])
    yield "nothing runs again when very many tests fail", [] if status == 1 and "again " not in said else [said]
    yield "two failures of one name run again together", _same_name(folder)
    records = os.path.join(folder, "of-a-step", "results.json")
    run(folder, [good, Step("p", "absent", GOOD, 20, records=records, absent=lambda: "no such kernel")])
    with open(records, encoding="utf-8") as file:
        left = json.load(file)
    yield "a step that this machine cannot run leaves the reason in place of its results", \
        [] if left == {"skipped": "no such kernel"} else [str(left)]
    _, status, said = run(folder, [Step("p", "empty", ["echo", "1..0 # SKIP no kernel"], 20)])
    yield "a run in which nothing passed has failed", [] if status == 1 and said.endswith("0 passed, 0 failed\n") else [said]
    _, status, said = run(folder, [Step("p", "s", ["false"], 3000, STATUS, "it works"), good])
    yield "a command that must succeed is one test", \
        [] if status == 1 and "p/s: it works" in said and said.endswith("1 passed, 1 failed\n") else [said]


def _same_name(folder):
    calls = []

    def again(step, failure):
        calls.append(failure.name)
        return dataclasses.replace(step, command=["sh", "-c", f"echo run >>{folder}/twice; echo 'ok 1 - b\nok 2 - b\n1..2'"], kind=TAP)

    found, status, said = run(folder, [Step("p", "twice", ["echo", "not ok 1 - b\nnot ok 2 - b\n1..2"], 20, again=again)])
    with open(os.path.join(folder, "twice"), encoding="utf-8") as file:
        runs = len(file.readlines())
    return [] if status == 0 and runs == 1 and [one.name for one in found["twice"].retried] == ["b", "b"] else [f"{runs} runs", said]


def _there(folder):
    """Processes of these tests, by a variable in their environment."""
    mark = f"SLUICE_SELFTEST={folder}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0") and int(name) != os.getpid():
                    found.append(int(name))
        except OSError:
            continue
    return found


RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from processes import Interrupted, Processes
from scheduler import Scheduler
from step import Step
from selftest_running import Spans
try:
    with Processes() as processes:
        # A child that ignores signals, with a descendant in a session of its own.
        words = ["sh", "-c", "trap '' INT HUP; setsid sh -c 'echo up; sleep 300' & sleep 300"]
        Scheduler([Step("p", "a", words, 300), Step("p", "b", ["sleep", "300"], 300)], 9, processes, sys.argv[2], Spans()).run()
except Interrupted:
    sys.exit(130)
"""


def _interrupted(folder):
    environment = {**os.environ, "SLUICE_SELFTEST": folder}
    with subprocess.Popen([sys.executable, "-c", RUN, HERE, folder], env=environment) as process:
        deadline = time.monotonic() + 10
        log = os.path.join(folder, "p-a.tap")
        while not (os.path.exists(log) and os.path.getsize(log)) and time.monotonic() < deadline:
            time.sleep(0.05)  # poll interval
        process.send_signal(signal.SIGTERM)
        status = process.wait()
    left = _there(folder)
    return [] if status == 130 and not left else [f"status {status}, left: {left}"]
