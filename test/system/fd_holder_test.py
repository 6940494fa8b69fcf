#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the stand-in for systemd's file descriptor store (lib/fd_holder.py) with a tiny program. TAP; no privileges."""

import errno
import os
import select
import socket
import sys
import tempfile
import traceback

from lib import pace
from lib.fd_holder import FdHolder

# Prints what it received, then executes its input, one line each.
PROGRAM = r"""
import array, os, socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def say(words, *fds):
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    manager.sendmsg([words.encode()], control, 0, os.environ["NOTIFY_SOCKET"])
count = int(os.environ.get("LISTEN_FDS", 0))
mine = os.environ.get("LISTEN_PID", str(os.getpid())) == str(os.getpid())
names = os.environ["LISTEN_FDNAMES"].split(":") if count else []
ports = [socket.socket(fileno=3 + i).getsockname()[1] for i in range(count)]
given = [f"{n}={p}" for n, p in zip(names, ports)]
say("STATUS=" + " ".join(given if count < 100 else [str(count), given[-1]]) + ("" if mine else " not ours"))
kept = []
def listener():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); kept.append(s); return s
say("READY=1")
for line in sys.stdin:
    exec(line)
    say("STATUS=did " + line.strip()[:40])
"""


class Program:
    def __init__(self, holder):
        self._holder = holder
        self._begin = len(holder.notifications)
        self._process = holder.popen([sys.executable, "-c", PROGRAM], stdin=-1, text=True)
        assert holder.wait_notified("READY=1", after=self._begin), holder.notifications

    @property
    def was_given(self):
        return next(line[7:] for line in self._holder.notifications[self._begin:] if line.startswith("STATUS="))

    def do(self, line):
        before = len(self._holder.notifications)
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        assert self._holder.wait_notified("STATUS=did " + line.strip()[:40], after=before), self._holder.notifications


def keep(name, more=r"\nFDPOLL=0"):
    return f'say("FDSTORE=1\\nFDNAME={name}{more}", listener().fileno())'


def port(holder, name):
    with socket.socket(fileno=os.dup(holder.fileno(name))) as held:
        return held.getsockname()[1]


def a_listener_outlives_kill_9(holder):
    program = Program(holder)
    assert program.was_given == ""
    program.do(keep("sluice.a.ipv4.one"))
    program.do(keep("two"))
    one, two = port(holder, "sluice.a.ipv4.one"), port(holder, "two")
    holder.kill()
    with socket.create_connection(("127.0.0.1", one)):  # waits there
        assert Program(holder).was_given == f"sluice.a.ipv4.one={one} two={two}"


def removed_sockets_are_not_passed_on(holder):
    program = Program(holder)
    for name in ("one", "two", "one"):
        program.do(keep(name))
    assert holder.names() == ["one", "two", "one"]
    two = port(holder, "two")
    program.do('say("FDSTOREREMOVE=1\\nFDNAME=one")')
    assert holder.names() == ["two"]
    assert holder.terminate() != 0
    assert Program(holder).was_given == f"two={two}"
    holder.kill()
    holder.forget()
    assert Program(holder).was_given == ""


def a_socket_is_stored_once(holder):
    program = Program(holder)
    program.do(keep("one"))
    program.do('say("FDSTORE=1\\nFDNAME=other\\nFDPOLL=0", kept[0].fileno())')
    assert holder.names() == ["one"]


def closed_sockets_are_dropped_unless_polling_is_off(holder):
    program = Program(holder)
    pair = 'a, b = socket.socketpair(); b.close(); say("FDSTORE=1\\nFDNAME=%s", a.fileno()); a.close()'
    program.do(pair % "stays\\nFDPOLL=0")
    program.do(keep("listens", ""))
    program.do(pair % "goes")
    pace.wait_until(lambda: "goes" not in holder.names(), 10)
    assert holder.names() == ["stays", "listens"], holder.names()


def sockets_beyond_the_limit_are_not_stored(holder):
    holder.limit = 2
    program = Program(holder)
    for name in ("one", "two", "three"):
        program.do(keep(name))
    assert holder.names() == ["one", "two"]
    assert holder.warnings == ["no room for three"], holder.warnings


def names_match_systemd(holder):
    program = Program(holder)
    program.do(keep("a:b"))
    program.do(keep("n" * 256))
    program.do(keep("a\\x01b"))
    program.do('say("FDSTOREREMOVE=1\\nFDNAME=a:b")')
    program.do('say("FDSTOREREMOVE=1")')
    assert holder.names() == ["stored", "stored", "stored"]
    assert len(holder.warnings) == 6, holder.warnings
    program.do(keep("n" * 255))
    assert holder.names()[-1] == "n" * 255


def notifications_of_other_processes_are_ignored(holder):
    program = Program(holder)
    program.do(f'import subprocess; subprocess.run([sys.executable, "-c", "import os, socket; socket.socket(socket.AF_UNIX, '
               f'socket.SOCK_DGRAM).sendto(b\'STATUS=other\', os.environ[\'NOTIFY_SOCKET\'])"])')
    assert "STATUS=other" not in holder.notifications
    assert len(holder.warnings) == 1, holder.warnings


def thousands_of_sockets_are_passed_on(holder):
    program = Program(holder)
    program.do('import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)')
    program.do('for i in range(3000): say(f"FDSTORE=1\\nFDNAME=n{i}\\nFDPOLL=0", listener().fileno())')
    assert holder.wait_kept(3000), len(holder.names())
    last = port(holder, "n2999")
    holder.kill()
    assert Program(holder).was_given == f"3000 n2999={last}"


def too_long_environment_is_an_error(holder):
    program = Program(holder)
    program.do('import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)')
    program.do('for i in range(600): say("FDSTORE=1\\nFDPOLL=0\\nFDNAME=" + "n" * 240 + str(i), listener().fileno())')
    assert holder.wait_kept(600), len(holder.names())
    holder.kill()
    try:
        holder.popen([sys.executable, "-c", "pass"]).wait()
    except OSError as error:
        assert error.errno == errno.E2BIG
    else:
        raise AssertionError("128 KiB is what the kernel has for one variable")


def a_busy_manager_reads_later(holder):
    program = Program(holder)
    # The holder's thread ignores the socket once it has begun to wait after the pause: from its second pass on.
    passes, drop_dead = [], holder._drop_dead  # pylint: disable=protected-access
    holder.pause()
    holder._drop_dead = lambda: (passes.append(None), drop_dead())  # pylint: disable=protected-access
    assert pace.wait_until(lambda: len(passes) >= 2, 10), "the holder does not go on while it is paused"
    program._process.stdin.write(keep("one") + "\n")  # pylint: disable=protected-access
    program._process.stdin.flush()  # pylint: disable=protected-access
    assert not holder.wait_kept(1, seconds=0.3)
    holder.pause(False)
    assert holder.wait_kept(1)


def no_other_descriptor_is_inherited(holder):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    Program(holder)
    os.close(write)
    assert select.select([read], [], [], pace.stretched(5))[0], "the program has our pipe"
    os.close(read)


def main():
    tests = [a_listener_outlives_kill_9, removed_sockets_are_not_passed_on, a_socket_is_stored_once,
             closed_sockets_are_dropped_unless_polling_is_off, sockets_beyond_the_limit_are_not_stored,
             names_match_systemd, notifications_of_other_processes_are_ignored, thousands_of_sockets_are_passed_on,
             too_long_environment_is_an_error, a_busy_manager_reads_later, no_other_descriptor_is_inherited]
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            with tempfile.TemporaryDirectory() as directory, FdHolder(directory) as holder:
                test(holder)
            print(f"ok {number} - {test.__name__.replace('_', ' ')}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {test.__name__.replace('_', ' ')}", flush=True)
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
