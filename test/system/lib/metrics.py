# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Scrapes the metrics of the daemon."""

import re

from . import observed
from .addresses import V4, V6

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
FAMILY = {V4: "IPv4", V6: "IPv6"}
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    def __init__(self, text):
        self.text = text
        self.types = {}  # by name
        self._samples = {}  # by name and labels
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.types[name] = kind
            elif line and not line.startswith("#"):
                sample, _, value = line.rpartition(" ")
                name, _, labels = sample.partition("{")
                self._samples[(name, frozenset(_LABEL.findall(labels)))] = float(value)

    def get(self, name, **labels):
        """The sum of the series with these labels and possibly additional ones; None if there are none."""
        found = [value for (sample, its_labels), value in self._samples.items()
                 if sample == name and set(labels.items()) <= its_labels]
        return sum(found) if found else None

    def count(self, name, **labels):
        """Like get(), but 0 for a missing series: series with labels appear when they are first updated."""
        return self.get(name, **labels) or 0

    def families(self):
        return sorted(self.types)


def scrape(trial):
    answer = observed.metrics(trial)
    trial.require(answer.status == 200, f"/metrics answers {answer.status}: {answer.body[:200]}")
    trial.require(answer.headers.get("content-type") == CONTENT_TYPE,
                  f"/metrics is {answer.headers.get('content-type')}")
    return Metrics(answer.body)
