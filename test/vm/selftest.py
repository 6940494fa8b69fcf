#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests test/vm/run: the results of a machine, and detection of its failures. Prints TAP."""

import argparse
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))  # before the lib of this folder
sys.path.append(os.path.join(HERE, "lib"))

import trouble  # noqa: E402
from lib import pace  # noqa: E402

RUN = os.path.join(HERE, "run")
PATIENCE = 240
MODULES = ("ip_vs", "dummy", "xt_set", "sctp")
CLOCK_SECONDS = 4
MOST_REQUESTS = 5  # of the guest to this machine at the start of a program; without --resident there are fifty

_tests = []


def test(title):
    def register(function):
        _tests.append((title, function))
        return function

    return register


class Wrong(Exception):
    """What was expected and what was there."""


class Scene:
    """The options of every run, and a scratch folder."""

    def __init__(self, wanted, scratch):
        self.scratch = scratch
        self._options = ["--builddir", wanted.builddir] if wanted.builddir else []
        self._options += ["--kernel", wanted.kernel] if wanted.kernel else []

    def start(self, *words, before=(), **more):
        """`before` is the beginning of the command line, which executes the rest."""
        return subprocess.Popen([*before, sys.executable, RUN, *self._options, *words], stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, **{"stderr": subprocess.PIPE, **more})

    def run(self, *words, **more):
        """(status, stdout, stderr)"""
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=pace.stretched(PATIENCE))
        return process.returncode, out, err


def equal(got, expected, what):
    if got != expected:
        raise Wrong(f"{what}: expected {expected!r}, got {got!r}")


def holds(text, part, what):
    if part not in text:
        raise Wrong(f"{what}: expected {part!r} in {text!r}")


def console_of(err):
    """What is in the file that the complaint names."""
    path = err.strip().rsplit("console is in ", 1)[-1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    os.remove(path)
    return text


def ours():
    """Processes of machines that this process, or one it started, began."""
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            with open(os.path.join(folder, "cmdline"), "rb") as file:
                words = file.read().split(b"\0")
            with open(os.path.join(folder, "environ"), "rb") as file:
                mine = f"SLUICE_VM_SELFTEST={os.getpid()}".encode() in file.read().split(b"\0")
        except OSError:
            continue
        if mine and (b"qemu" in words[0] or b"virtiofsd" in words[0]):
            found.append(int(os.path.basename(folder)))
    return found


def wait_gone():
    pace.wait_until(lambda: not ours(), 10)
    equal(ours(), [], "processes that are left")


@test("status 7, output in order and in two streams, folder, variables and results: as if it had run here")
def brought_back(scene):
    results = os.path.join(scene.scratch, "results")
    elsewhere = os.path.join(scene.scratch, "lost")
    script = f"""echo "$(pwd) $SPECIAL"; echo complaint >&2
        {sys.executable} -c 'for number in range(5000): print(number)'
        echo kept >{results}/file; echo lost >{elsewhere}; ln -s file {results}/link; exit 7"""
    status, out, err = scene.run("--results", results, "--", "sh", "-c", script, cwd=scene.scratch,
                                 env={**os.environ, "SPECIAL": "a 'b' \"c\" $d"})
    equal(err, "complaint\n", "stderr")
    equal(out.splitlines()[:1], [f"{scene.scratch} a 'b' \"c\" $d"], "first line")
    equal(out.splitlines()[1:], [str(number) for number in range(5000)], "lines")
    equal(status, 7, "status")
    with open(os.path.join(results, "link"), encoding="utf-8") as file:
        equal(file.read(), "kept\n", "what was written to the results")
    equal(os.path.exists(elsewhere), False, "a file written elsewhere is here")


@test("modules " + ", ".join(MODULES) + " load, a match and a device load theirs; the clock runs as this machine's does; with "
      "--resident a program starts without a request for a file")
def modules(scene):
    names = " ".join(MODULES)
    script = f"""set -e; modprobe -a {names}; for name in {names}; do test -d /sys/module/$name; done
        test -z "$(modinfo -F signer ip_vs)"
        ipset create few hash:ip; ip link add kube-ipvs0 type dummy
        for variant in legacy nft; do iptables-$variant -t nat -A OUTPUT -m set --match-set few dst -m statistic \\
          --mode random --probability 0.5 -j ACCEPT; done
        requests() {{ made=0; while read -r _ number _ _ name; do case $name in *-requests.*) made=$((made + number)) ;; esac
          done </proc/interrupts; }}
        requests; before=$made; ip -o link show lo | while read -r line; do :; done; requests; echo $((made - before))
        uname -r; cat /proc/sys/net/netfilter/nf_conntrack_max >/dev/null; ip -o link show lo | grep -o LOOPBACK,UP
        date +%s.%N; sleep {CLOCK_SECONDS}; date +%s.%N"""
    process = scene.start("--resident", "--", "sh", "-c", script)
    lines = [(time.monotonic(), line) for line in process.stdout]
    _, err = process.communicate(timeout=pace.stretched(PATIENCE))
    equal((process.returncode, err), (0, ""), "status and stderr")
    equal(len(lines), 5, "lines")
    made, release, _, *_ = (line.strip() for _, line in lines)
    equal(release == os.uname().release, False, "the kernel is this machine's own")
    if int(made) > MOST_REQUESTS:
        raise Wrong(f"a program that is in memory made {made} requests")
    here, inside = lines[-1][0] - lines[-2][0], float(lines[-1][1]) - float(lines[-2][1])
    if not 0.7 < inside / here < 1.4:  # a busy machine delays the second line
        raise Wrong(f"the clock inside advanced by {inside:.1f} s in {here:.1f} s")


@test("with a tap device the machine has an eth0, connected to it")
def tap(scene):
    outside = 'ip tuntap add dev tap1 mode tap && ip addr add 192.0.2.1/24 dev tap1 && ip link set tap1 up && exec "$@"'
    inside = """ip addr add 192.0.2.2/24 dev eth0 && ip link set eth0 up
        busybox ping -q -c 1 -w 60 192.0.2.1 | grep -c ' 0% packet loss'"""
    status, out, err = scene.run("--tap", "tap1", "--", "sh", "-c", inside,
                                 before=("unshare", "--net", "sh", "-c", outside, "sh"))
    equal((status, out, err), (0, "1\n", ""), "status and output")


@test("a command that a signal ends: 128 and its number; both streams in one keep their order")
def killed(scene):
    script = "for number in 1 2 3 4 5 6 7 8 9; do echo $number; echo $number >&2; done; kill -9 $$"
    process = scene.start("--", "sh", "-c", script, stderr=subprocess.STDOUT)
    out, _ = process.communicate(timeout=pace.stretched(PATIENCE))
    equal(out.split(), [number for number in "123456789" for _ in range(2)], "output")
    equal(process.returncode, 128 + signal.SIGKILL, "status")


@test("a command that hangs is cut off at the limit, and the console says what ran")
def hangs(scene):
    began = time.monotonic()
    status, out, err = scene.run("--limit", "2", "--", "sh", "-c", "echo begun; sleep 54321")
    equal((status, out), (124, "begun\n"), "status and stdout")
    # The machine starts and lists its processes within half of what would pass for a hang.
    if time.monotonic() - began > pace.stretched(PATIENCE / 2):
        raise Wrong("it took for ever")
    holds(err, "the limit of 2 s passed", "stderr")
    holds(console_of(err), "sleep 54321", "console")


@test("a kernel that panics is reported, not waited for")
def panics(scene):
    status, out, err = scene.run("--", "sh", "-c", "echo begun; echo c >/proc/sysrq-trigger; sleep 100")
    equal((status, out), (125, "begun\n"), "status and stdout")
    holds(err, "Kernel panic - not syncing: sysrq triggered crash", "stderr")
    equal(err.count("\n"), 1, "lines on stderr")
    holds(console_of(err), "Call Trace", "console")


@test("a kernel that warns is reported though the command went well")
def warns(scene):
    status, out, err = scene.run("--", "sh", "-c", "echo '<4>WARNING: CPU: 0 PID: 1 at test' >/dev/kmsg; echo done")
    equal((status, out), (125, "done\n"), "status and stdout")
    holds(err, "WARNING: CPU: 0 PID: 1 at test (the command ended with status 0)", "stderr")
    console_of(err)
    later = "WARNING: net/a.c:12 at test+0x1/0x2, CPU#1: sh/7"  # from 6.19 on
    equal(bool(trouble.TROUBLE.search(f"[    4.2] {later}")), True, f"{later} is an error")


@test("interrupted, and even killed, it leaves no process")
def interrupted(scene):
    ends = ((signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL))
    for number, status in ends:
        process = scene.start("--", "sleep", "54321")
        pace.wait_until(lambda: len(ours()) >= 3, PATIENCE)
        equal(len(ours()) >= 3, True, "there are processes")
        process.send_signal(number)
        process.communicate(timeout=pace.stretched(PATIENCE))
        equal(process.returncode, status, f"status after signal {number}")
        wait_gone()


@test("what cannot be done is said in one line, with status 125")
def refused(scene):
    for words, said in ((["--kernel", "/no/such.deb", "--", "true"], "no file /no/such.deb"),
                        (["--builddir", "/no/such", "--", "true"], "/no/such is no build tree"),
                        (["--systemd", "/no/such", "--", "true"], "there is no systemd in /no/such")):
        status, out, err = scene.run(*words)
        equal((status, out, err.count("\n")), (125, "", 1), f"status, stdout and lines of {words}")
        holds(err, said, "stderr")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", help="as of run")
    parser.add_argument("--kernel", help="as of run")
    parser.add_argument("--only", default="", metavar="TEXT", help="only tests whose title holds TEXT")
    wanted = parser.parse_args()
    os.environ["SLUICE_VM_SELFTEST"] = str(os.getpid())
    chosen = [(title, function) for title, function in _tests if wanted.only in title]
    failed = 0
    for number, (title, function) in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory() as scratch:
            began = time.monotonic()
            try:
                function(Scene(wanted, os.path.realpath(scratch)))
                wait_gone()
                wrong = None
            except (Wrong, OSError, subprocess.SubprocessError) as error:
                wrong = f"{type(error).__name__}: {error}"
            failed += wrong is not None
            print(f"{'not ok' if wrong else 'ok'} {number} - {title}")
            if wrong:
                print(f"#   {wrong}")
            print(f"# {time.monotonic() - began:.1f} s", flush=True)
    print(f"1..{len(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
