# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tracked flows by the million: room for them, the flows, the daemon's scans of them, its memory meanwhile."""

import os
import re
import threading
import time
from dataclasses import dataclass

from network import BenchError, end_at_signals, run
from patience import stretched

SAMPLE_SECONDS = 0.01
MOST = "/proc/sys/net/netfilter/nf_conntrack_max"
# The kernel starts to drop entries below its limit, and the probes need some.
SPARE = 1.1
SPARE_ENTRIES = 20_000
_SCAN = re.compile(r"^\w\d{4} (\d\d):(\d\d):([\d.]+) .*conntrack\] IPv4: (\d+) of (\d+) flows removed"
                   r"(, full scan)?.*, ([\d.]+) s$")


class Room:
    """Raises the limit of tracked flows where it is too low; on exit it is what it was.

    It is the whole machine's, and only the initial network namespace may set it.
    """

    def __init__(self, entries):
        self._wanted = int(entries * SPARE) + SPARE_ENTRIES
        self._file = None
        self._before = None

    def __enter__(self):
        end_at_signals()
        try:
            with open(MOST, encoding="ascii") as file:
                before = int(file.read())
            if before == 0 or before >= self._wanted:  # 0: no limit
                return self
            # The file belongs to the namespace in which it is opened; on exit we may be in another.
            self._before = before
            self._file = open(MOST, "r+", encoding="ascii")
            self._write(self._wanted)
        except OSError as error:
            self.__exit__()
            raise BenchError(f"{MOST} has to be {self._wanted} or more, and cannot be raised ({error.strerror}); run "
                             "in the initial network namespace, or with fewer --entries") from error
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._file is None:
            return
        self._write(self._before)
        self._file.close()
        self._file = None

    def _write(self, value):
        self._file.seek(0)
        self._file.write(f"{value}\n")
        self._file.flush()


@dataclass
class Scan:
    begin: float  # on the monotonic clock
    end: float
    removed: int
    seen: int
    everything: bool

    @property
    def seconds(self):
        return self.end - self.begin


class Scans:
    """The scans of IPv4 flows that the daemon logs; it must run with --v=4."""

    def __init__(self, log_path):
        self._path = log_path
        self._at = 0

    def new(self):
        """Those that ended since the last call."""
        with open(self._path, "rb") as file:
            file.seek(self._at)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self._at += whole
        found = (_SCAN.match(line) for line in text[:whole].decode(errors="replace").splitlines())
        return [self._read(one) for one in found if one]

    def wait(self, patience, everything=None):
        """The next, or the next of that kind; None after a timeout."""
        end = time.monotonic() + stretched(patience)
        while True:
            for scan in self.new():
                if everything is None or scan.everything == everything:
                    return scan
            if time.monotonic() > end:
                return None
            time.sleep(SAMPLE_SECONDS)  # poll interval

    @staticmethod
    def _read(found):
        hours, minutes, seconds, removed, seen, everything, took = found.groups()
        wall = time.time()
        here = time.localtime(wall)
        of_day = here.tm_hour * 3600 + here.tm_min * 60 + here.tm_sec + wall % 1
        ago = (of_day - int(hours) * 3600 - int(minutes) * 60 - float(seconds)) % 86400
        end = time.monotonic() - ago
        return Scan(end - float(took), end, int(removed), int(seen), everything is not None)


class PeakAnonymous:
    """Samples the memory a process has of no file, and keeps the highest in MiB."""

    def __init__(self, pid):
        self._path = f"/proc/{pid}/status"
        self._stop = threading.Event()
        self.mib = 0.0
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _sample(self):
        while True:
            try:
                with open(self._path, encoding="ascii", errors="replace") as file:
                    kib = next((int(line.split()[1]) for line in file if line.startswith("RssAnon:")), 0)
            except OSError:
                return  # ended meanwhile
            self.mib = max(self.mib, kib / 1024)
            if self._stop.wait(SAMPLE_SECONDS):
                return


def fill(builddir, entries, services):
    """Entries to so many addresses from 172.31.0.0 on, port 53, each answered by its own from 10.99.0.0 on."""
    run(os.path.join(builddir, "test", "tools", "ctfill"), "--count", str(entries), "--services", str(services))


class Replacing:
    """Replaces the endpoints of a Service again and again, from a thread of its own."""

    def __init__(self, turn, interval):
        self._turn = turn
        self._interval = interval
        self._stop = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self):
        try:
            while not self._stop.wait(self._interval):
                self._turn()
        except (OSError, BenchError) as error:
            self._failure = BenchError(f"endpoints could not be replaced: {error}")
