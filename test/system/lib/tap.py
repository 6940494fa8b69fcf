# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Results as TAP during the run, and as JSON for the conformance table at the end."""

import json
import sys
import threading

PASS, FAIL, SKIP = "pass", "fail", "skip"
UNSUPPORTED = "unsupported"  # as declared by the author of the plugin


def title(name, parameters):
    """The printed name of a test."""
    return f"{name} ({' '.join(parameters)})" if parameters else name


class Results:
    def __init__(self, out=sys.stdout):
        self._out = out
        self._lock = threading.Lock()
        self.records = []

    def add(self, record, notes=()):
        """`record` has title, parameters, result, reason and seconds; `notes` explain a failure."""
        with self._lock:
            self.records.append(record)
            word = "not ok" if record["result"] == FAIL else "ok"
            line = f"{word} {len(self.records)} - {title(record['name'], record['parameters'])}"
            if record["result"] in (SKIP, UNSUPPORTED):
                line += f" # SKIP {record['reason']}"
            print(line, file=self._out)
            for note in notes:
                for part in note.splitlines():
                    print(f"#   {part}", file=self._out)
            self._out.flush()

    def count(self, result):
        return sum(1 for record in self.records if record["result"] == result)

    def finish(self):
        print(f"1..{len(self.records)}", file=self._out)
        declared = self.count(UNSUPPORTED)
        print(f"# {self.count(PASS)} passed, {self.count(FAIL)} failed, {self.count(SKIP)} skipped" +
              (f", {declared} declared unsupported" if declared else ""), file=self._out)
        return 1 if self.count(FAIL) or not self.records else 0

    def write(self, path, backend):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"backend": backend, "results": self.records}, file, indent=1)
            file.write("\n")
