#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Records a program on a pseudo-terminal as an asciicast of version 2: record.py FILE.cast COMMAND…

The recording begins with a prompt and the command; its times are those of the run. The program must end with status 0, or no file
is written.
"""

import codecs
import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time

COLUMNS, ROWS = 100, 30


def record(command):
    """(exit status, [[seconds, text]…]) of a run."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begin = time.monotonic()
    events = []
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux reports the end of a pseudo-terminal as EIO
            break
        if not piece:
            break
        events.append([round(time.monotonic() - begin, 3), decoder.decode(piece)])
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), events


def main(file, *command):
    status, events = record(command)
    if status != 0:
        sys.stderr.write("".join(text for _, text in events))
        sys.exit(f"record.py: {command[0]} ended with status {status}; nothing is written")
    shown = f"# {' '.join(command)}"
    lines = [{"version": 2, "width": COLUMNS, "height": ROWS, "title": shown, "env": {"TERM": "xterm-256color"}},
             [0, "o", shown + "\r\n"], *([seconds, "o", text] for seconds, text in events)]
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
