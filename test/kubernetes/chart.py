#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The Helm chart, its value sets (chart/values) and what helm rendered from them (chart/rendered).

  chart.py      writes chart/rendered with the helm of SLUICE_HELM or PATH

Each rendered file begins with the digest of its inputs, so that chart_test.py finds a stale one without helm. Alerts and
dashboard are not copied into these files.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

SRC = Path(__file__).resolve().parents[2]
CHART = SRC / "packaging/helm/sluice"
VALUES = SRC / "test/kubernetes/chart/values"
RENDERED = SRC / "test/kubernetes/chart/rendered"
# File in the chart → its source, to which it is a symbolic link.
SOURCES = {f"files/{name}": SRC / "packaging/monitoring" / name for name in ("alerts.yaml", "grafana-dashboard.json")}
RELEASE, NAMESPACE = "sluice", "kube-system"


class CannotRender(Exception):
    """The output of helm for values that it rejects."""


def helm():
    """The program, or None."""
    return os.environ.get("SLUICE_HELM") or shutil.which("helm")


def sets():
    return sorted(path.stem for path in VALUES.glob("*.yaml"))


def values_of(name):
    return yaml.safe_load((VALUES / f"{name}.yaml").read_text(encoding="utf-8"))


def run_helm(*words, stdin=""):
    return subprocess.run([helm(), *words], input=stdin, capture_output=True, text=True, check=False)


def render(values):
    """The text that `helm template` prints."""
    done = run_helm("template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--values", "-", stdin=json.dumps(values))
    if done.returncode:
        raise CannotRender(done.stderr)
    return done.stdout


def objects(text):
    return [one for one in yaml.safe_load_all(text) if one is not None]


def digest(name):
    """Of all that decides how the set is rendered, except alerts and dashboard."""
    out = hashlib.sha256()
    files = [path for path in sorted(CHART.rglob("*")) if path.is_file() and not path.is_symlink() and path.name != "README.md"]
    for path in [*files, VALUES / f"{name}.yaml"]:
        out.update(f"{path.relative_to(SRC)}\n".encode() + path.read_bytes())
    return out.hexdigest()


def elided(text):
    """Without the content of alerts and dashboard."""
    text = re.sub(r"(?<=^kind: PrometheusRule\n)(.*?^spec:\n).*?(?=^---|\Z)", r"\1  groups: []\n", text, flags=re.M | re.S)
    return re.sub(r"^  sluice\.json: \|\n.*?(?=^---|\Z)", '  sluice.json: ""\n', text, flags=re.M | re.S)


def read(name):
    """First line, and the rest."""
    first, _, rest = (RENDERED / f"{name}.yaml").read_text(encoding="utf-8").partition("\n")
    return first, rest


def main():
    version = run_helm("version", "--short").stdout.strip()
    RENDERED.mkdir(exist_ok=True)
    for name in sets():
        text = elided(render(values_of(name)))
        (RENDERED / f"{name}.yaml").write_text(f"# helm {version}, inputs sha256:{digest(name)}\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
