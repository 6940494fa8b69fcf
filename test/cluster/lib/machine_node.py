# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node in an emulated machine, which test/vm/run starts with another kernel. The machine's eth0 is a tap on the switch of the
cluster. Inside, machine_guest.py builds an ordinary node and carries out the calls of this class."""

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path

from . import netns_http, pace, shell
from .failure import ClusterError
from .layout import OUTSIDE
from .node import Node
from .processes import Process

TREE = Path(__file__).resolve().parents[3]
RUN, GUEST = TREE / "test/vm/run", TREE / "test/cluster/machine_guest.py"
PORT = 10240  # of machine_guest.py
MEMORY = 4096  # MiB, for containerd's files, too
LIMIT = 4 * 3600  # seconds, after which the machine ends itself
START_PATIENCE = 900
CALL_PATIENCE = 900


class MachineNode(Node):
    """Only run(), get(), restart() and changes of the proxy work. Signals, popen() and disruptive tests do not."""

    @property
    def machine(self):
        return Process(self.layout, f"machine-{self.name}")

    def start(self, prepared):
        """Starts the machine; it mounts the images itself."""
        self.layout.kernels.mkdir(exist_ok=True)
        self.layout.node_folders.mkdir(exist_ok=True)
        command = [sys.executable, "-B", RUN, "--kernel", self.layout.kernel, "--memory", MEMORY, "--limit", LIMIT,
                   "--tap", self.name, "--results", self.layout.logs, "--console", self.layout.logs / f"console-{self.name}.log", "--",
                   "/usr/bin/python3", "-B", GUEST, self.layout.folder, self.number]
        # The shared files of a machine have names in its network namespace. Removal of the cluster ends all processes of that.
        inside = shell.inside(self.layout.namespace(OUTSIDE), [str(word) for word in command])
        environment = {"SLUICE_VM_CACHE": str(self.layout.kernels), **os.environ, "SLUICE_KUBE_BIN": self.programs.folder}
        self.machine.start(subprocess.Popen, inside, stdin=subprocess.DEVNULL, start_new_session=True, env=environment)
        self.machine.wait(self._answers, "answer of the node in the machine", START_PATIENCE)

    def run(self, *argv, stdin=None, check=True, timeout=120):
        words = [str(word) for word in argv]
        done = subprocess.CompletedProcess(words, **self._call("run", argv=words, stdin=stdin, timeout=timeout))
        if check and done.returncode:
            raise shell.CommandFailed(f"{self.name}: {' '.join(words)}: exit {done.returncode}: "
                                      f"{(done.stderr or done.stdout).strip()}")
        return done

    def popen(self, *argv, **options):
        raise ClusterError(f"{self.name}: a node in an emulated machine runs programs to their end only")

    def get(self, port, path, host="127.0.0.1"):
        return self._call("get", port=port, path=path, host=host)

    def import_image(self, archive):
        self.run("ctr", "-n", "k8s.io", "images", "import", archive, timeout=CALL_PATIENCE)

    def restart(self):
        self._call("restart")

    def start_proxy(self, proxy, wait=True):
        self._call("start_proxy", words=proxy.words(), settings=proxy.settings, wait=wait)

    def stop_proxy(self, clean_up=False):
        self._call("stop_proxy", clean_up=clean_up)

    # The connection to machine_guest.py.

    def _answers(self):
        try:
            return self._call("name", patience=10) == self.name
        except ClusterError:
            return False

    def _call(self, method, patience=CALL_PATIENCE, **arguments):
        connection = netns_http.NamespaceConnection(self.layout.namespace(OUTSIDE), self.ips[0], PORT)
        connection.timeout = pace.stretched(patience)
        try:
            connection.request("POST", f"/{method}", json.dumps(arguments))
            answer = json.load(connection.getresponse())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ClusterError(f"{self.name}: {method}: {error}; last lines of {self.machine.log}:\n"
                               f"{self.machine.tail()}") from error
        finally:
            connection.close()
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer["result"]
