# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs steps side by side: the longest chain first, as many as keep the processors busy and no more."""

import os
import shutil
import signal
import time

import load
from processes import PATIENCE, send
from step import Ended

TICK = 0.25  # seconds between checks of clocks and load
TIMED_OUT, NOT_STARTED = 124, 127


class Running:
    def __init__(self, step, pid, now):
        self.step = step
        self.pid = pid
        self.clock = load.Clock(now)
        self.ended_by_limit = None  # time of the signal after the limit


class Scheduler:
    """`watch` has the methods started(step), ended(step, Ended) → whether it succeeded, dropped(step, why, is_skip) and
    tick(running steps)."""

    def __init__(self, steps, budget, processes, logs, watch, most=None):
        self._waiting = list(steps)
        self._known = {step.id for step in steps}
        if len(self._known) != len(self._waiting):
            raise ValueError("two steps have the same name")
        self._budget = budget
        self._most = most or len(self._waiting)
        self._processes = processes
        self._logs = logs
        self._watch = watch
        self._running = {}
        self._checked = 0.0
        self._idle = load.Idle()
        self._over = {}  # step → whether it succeeded; a reason when it was skipped

    def run(self):
        while self._waiting or self._running:
            self._drop()
            while (step := self._next()) is not None:
                self._start(step)
            if not self._running and self._waiting and self._next() is None and not self._drop():
                raise ValueError(f"no step can start: {', '.join(step.id for step in self._waiting)}")
            self._processes.wait(TICK)
            self._check_limits()
            for pid, status, cpu in self._processes.reap():
                self._end(pid, status, cpu)
            self._watch.tick([one.step for one in self._running.values()])

    def _drop(self):
        """Removes steps that need one that failed or was skipped; whether there were any."""
        before = len(self._waiting)
        for step in list(self._waiting):
            for need in step.needs:
                verdict = self._over.get(need, True)
                if verdict is not True:
                    self._waiting.remove(step)
                    self._over[step.id] = verdict
                    self._watch.dropped(step, verdict or f"{need} failed", is_skip=bool(verdict))
                    break
        return len(self._waiting) < before

    def _next(self):
        """The waiting step with the longest chain that may start now."""
        if len(self._running) >= self._most:
            return None
        busy = [one.step for one in self._running.values()]
        held = {lock for step in busy for lock in step.locks}
        room = self._budget - sum(step.weight for step in busy) + 1e-6
        # Weights are estimates: idle processors get further steps, but not beside steps that compare times.
        spare = 0 if any(step.quiet for step in busy) else self._idle.processors
        able = [step for step in self._waiting if self._is_ready(step) and held.isdisjoint(step.locks) and
                (not busy or step.weight <= (room if step.quiet else max(room, spare)))]
        chains = chain_lengths(self._waiting)
        return max(able, key=lambda step: chains[step.id], default=None)

    def _is_ready(self, step):
        return all(self._over.get(name) is True or name not in self._known for name in step.needs) and \
            all(name in self._over or name not in self._known for name in step.after)

    def _start(self, step):
        self._waiting.remove(step)
        why = step.absent() if step.absent else None
        if why:
            self._over[step.id] = why
            self._watch.dropped(step, why, is_skip=True)
            return
        for folder in step.clean:
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        command = step.command() if callable(step.command) else step.command
        out, err = log_files(self._logs, step)
        self._watch.started(step)
        self._idle.forget()
        try:
            pid = self._processes.start(command, out, err, step.environment, step.nice)
        except OSError as error:
            with open(err, "w", encoding="utf-8") as file:
                file.write(f"{command[0]}: {error.strerror}\n")
            now = time.monotonic()
            self._over[step.id] = bool(self._watch.ended(step, Ended(NOT_STARTED, now, now)))
            return
        self._running[pid] = Running(step, pid, time.monotonic())

    def _check_limits(self):
        now = time.monotonic()
        if now - self._checked < TICK:
            return
        self._checked = now
        self._idle.sample(now)
        runnable, slowness = load.sample()
        for one in self._running.values():
            one.clock.tick(now, runnable, slowness)
            if one.ended_by_limit is None and one.clock.counted > one.step.limit:
                one.ended_by_limit = now
                send(one.pid, signal.SIGTERM)
            elif one.ended_by_limit is not None and now - one.ended_by_limit > PATIENCE:
                send(one.pid, signal.SIGKILL)

    def _end(self, pid, status, cpu):
        one = self._running.pop(pid)
        one.clock.tick(time.monotonic(), *load.sample())
        if one.ended_by_limit is not None:
            status = TIMED_OUT
        ended = Ended(status, one.clock.started, time.monotonic(), cpu, one.clock.load)
        self._over[one.step.id] = bool(self._watch.ended(one.step, ended))


def chain_lengths(steps):
    """Seconds from the start of each step to the end of what can only run after it, by its id."""
    by_id = {step.id: step for step in steps}
    later = {name: [] for name in by_id}
    for step in steps:
        for name in {*step.needs, *step.after} & by_id.keys():
            later[name].append(step.id)
    queue = {}
    for step in steps:
        for lock in step.locks:
            queue[lock] = queue.get(lock, 0) + step.expected
    lengths = {}

    def length(name):
        if name not in lengths:
            step = by_id[name]
            chain = step.expected + max(map(length, later[name]), default=0)
            lengths[name] = max([chain, *(queue[lock] for lock in step.locks)])
        return lengths[name]

    for name in by_id:
        length(name)
    return lengths


def log_files(logs, step):
    """Where standard output and standard error of a step go; the same file for steps without TAP."""
    if step.kind in ("tap", "machine"):
        return os.path.join(logs, f"{step.file}.tap"), os.path.join(logs, f"{step.file}.err")
    return (os.path.join(logs, f"{step.file}.log"),) * 2
