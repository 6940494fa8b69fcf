#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a node of a cluster in an emulated machine, and carries out the calls of lib/machine_node.py. It does not return.

Usage: machine_guest.py FOLDER NUMBER, with the folder of the cluster and the number of the node
"""

import http.server
import json
import sys

sys.dont_write_bytecode = True  # sources stay as they are

from lib import images, netns_http, network, shell  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.kube_programs import KubePrograms  # noqa: E402
from lib.layout import Layout  # noqa: E402
from lib.machine_node import PORT  # noqa: E402
from lib.node import Node  # noqa: E402
from lib.proxies import from_words  # noqa: E402

MODULES = ("br_netfilter", "ip_vs", "ip_vs_rr", "ip_vs_sh", "dummy", "ip_set")


class Calls:
    """What the host may ask for. Arguments and results are JSON."""

    def __init__(self, node):
        self._node = node

    def name(self):
        return self._node.name

    def run(self, argv, stdin, timeout):
        done = self._node.run(*argv, stdin=stdin, check=False, timeout=timeout)
        return {"returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    def get(self, port, path, host):
        return self._node.get(port, path, host)

    def restart(self):
        self._node.restart()

    def start_proxy(self, words, settings, wait):
        proxy = from_words(**words)
        proxy.settings = settings
        self._node.start_proxy(proxy, wait)

    def stop_proxy(self, clean_up):
        self._node.stop_proxy(clean_up)


def handler(calls):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # pylint: disable=invalid-name  # the name is that of http.server
            arguments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                answer = {"result": getattr(calls, self.path.removeprefix("/"))(**arguments)}
            except (ClusterError, shell.CommandFailed, OSError) as error:
                answer = {"error": str(error)}
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    return Handler


def build(layout, node):
    """The host's files are below a memory layer, on which containerd cannot put layers of containers; so nodes have memory of
    their own."""
    shell.run(["mount", "-t", "tmpfs", "nodes", str(layout.node_folders)])
    shell.run(["modprobe", "-a", *MODULES])
    network.build_in_machine(layout, node.name)
    node.build()
    images.Images(layout, node.programs).mount(node)
    node.start_containerd()
    node.start_kubelet()


def main(folder, number):
    layout = Layout.load(folder)
    node = Node(layout, KubePrograms.from_environment(), int(number))
    build(layout, node)
    address, calls = (node.ips[0], PORT), handler(Calls(node))
    netns_http.made_in(node.namespace, lambda: http.server.ThreadingHTTPServer(address, calls)).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
