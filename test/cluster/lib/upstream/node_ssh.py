# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""An SSH server on each node, for tests that log in to delete rules. It accepts one key that is made for it, and runs commands
as root of the node; `sudo` is a script, because nodes have only the programs of this machine."""

import shlex
import shutil

from .. import shell
from ..failure import ClusterError

SERVER, SERVER_KEY = "dropbear", "dropbearkey"  # of Debian's package dropbear-bin
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
START_PATIENCE = 30
CONNECT = ("bash", "-c", ": </dev/tcp/127.0.0.1/22")
# The server reads the keys in root's home, which gets a file system of its own for the server and its commands.
START = """set -e
mount -t tmpfs -o mode=700 tmpfs ~root
mkdir -m 700 ~root/.ssh
cp "$1" ~root/.ssh/authorized_keys
shift
exec "$@"
"""


def missing():
    """Why no server can start, or None."""
    absent = [name for name in (SERVER, SERVER_KEY, "ssh-keygen") if not shutil.which(name)]
    return f"{', '.join(absent)}: not installed; Debian's packages are dropbear-bin and openssh-client" if absent else None


class NodeSsh:
    """A context manager; the servers run while it is entered."""

    def __init__(self, cluster):
        self._nodes, self._folder = cluster.nodes, cluster.layout.pki / "ssh"

    @property
    def environment(self):
        """Variables with which e2e.test finds the key."""
        return {"KUBE_SSH_KEY_PATH": str(self._folder / "client"), "KUBE_SSH_USER": "root"}

    def __enter__(self):
        if missing():
            raise ClusterError(missing())
        shutil.rmtree(self._folder, ignore_errors=True)
        (self._folder / "bin").mkdir(parents=True)
        shell.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._folder / "client")])
        shell.run([SERVER_KEY, "-t", "rsa", "-f", str(self._folder / "server")])
        self._script("bin/sudo", 'exec "$@"')
        path = shlex.quote(f"{self._folder}/bin:{SYSTEM_PATH}")
        self._script("command", f'PATH={path} exec sh -c "$SSH_ORIGINAL_COMMAND"')
        for node in self._nodes:
            node.place.start(f"ssh-{node.name}", self._command())
            process = node.place.daemon(f"ssh-{node.name}")
            process.wait(lambda node=node: node.run(*CONNECT, check=False).returncode == 0, "listen", START_PATIENCE)
        return self

    def __exit__(self, *_):
        for node in self._nodes:
            node.place.daemon(f"ssh-{node.name}").stop()

    def _command(self):
        return ["unshare", "--mount", "sh", "-c", START, "sh", self._folder / "client.pub", SERVER, "-F", "-E", "-s", "-j", "-k",
                "-r", self._folder / "server", "-c", self._folder / "command", "-p", "22"]

    def _script(self, name, line):
        script = self._folder / name
        script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        script.chmod(0o755)
