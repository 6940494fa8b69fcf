# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Asks the daemon whether it accepts the configuration in a rendered ConfigMap."""

import subprocess
import tempfile
from pathlib import Path

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
MODES = ("iptables", "ipvs", "nftables", "userspace")


def _certificate(folder):
    """The daemon reads the authority that the kubeconfig names."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", "/dev/null",
                    "-out", str(folder / "ca.crt")], capture_output=True, check=True)


def rejected(build, data):
    """The output of `sluiced --check` if it fails; `data` is that of the ConfigMap."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _certificate(folder)
        (folder / "token").write_text("token", encoding="ascii")
        (folder / "kubeconfig").write_text(data["kubeconfig"].replace(ACCOUNT, name), encoding="utf-8")
        (folder / "config.yaml").write_text(data["config.yaml"].replace("/etc/sluice", name), encoding="utf-8")
        plugins = [f"--plugin-dir={build}/plugins/{mode}/.libs" for mode in MODES]
        done = subprocess.run([f"{build}/core/sluiced", "--check", "--config", str(folder / "config.yaml"),
                               "--hostname-override=node-1", *plugins], capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).splitlines() if done.returncode else []
