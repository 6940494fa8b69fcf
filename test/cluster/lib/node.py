# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node: kubelet and containerd in the namespaces of a place, with private folders instead of the machine's, and a proxy."""

import http.client
import json

from . import cri, netns_http, pace
from .failure import ClusterError
from .layout import PRIVATE
from .place import Place
from .proxies import from_words

START_PATIENCE = 120
# Sysctls of the whole machine that a kubelet sets. It finds these values instead of the machine's, and so writes nothing.
KUBELET_SYSCTLS = {
    "vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000,
}
FOLDERS = ("netns", "sluice")


class Node:
    def __init__(self, layout, programs, number):
        self.layout, self.programs, self.number = layout, programs, number
        self.name = layout.nodes[number - 1]
        self.ips = layout.node_ips(number)
        self.pod_cidrs = layout.pod_cidrs(number)
        self.folder = layout.node_folder(self.name)
        self.namespace = layout.namespace(self.name)
        self.place = Place(layout, self.name)

    # Programs on the node, in its network, mount, UTS and PID namespaces.

    def run(self, *argv, stdin=None, check=True, timeout=120):
        """Runs a program to its end; returns the CompletedProcess with text output."""
        return self.place.run(*argv, stdin=stdin, check=check, timeout=timeout)

    def popen(self, *argv, **options):
        """Starts a program; options as of subprocess.Popen. Signals reach the program itself."""
        return self.place.popen(*argv, **options)

    def get(self, port, path, host="127.0.0.1"):
        """The body of a successful HTTP answer on the node, or None."""
        connection = netns_http.NamespaceConnection(self.namespace, host, port)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read().decode(errors="replace")
            return body if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def import_image(self, archive):
        """Imports an image archive into containerd of this node."""
        self.run("ctr", "-n", "k8s.io", "images", "import", archive, timeout=300)

    # Life of the node.

    def manifest(self):
        """The Node object. It exists before the kubelet, so the Pod CIDRs do not depend on the order of starts."""
        zone = self.layout.zone(self.number)
        labels = {"kubernetes.io/hostname": self.name} | ({"topology.kubernetes.io/zone": zone} if zone else {})
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "labels": labels},
                "spec": {"podCIDR": self.pod_cidrs[0], "podCIDRs": self.pod_cidrs}}

    def start(self, prepared):
        """Starts the node with the images.Images `prepared`."""
        self.build()
        prepared.install(self)
        self.start_containerd()
        self.start_kubelet()

    def build(self):
        """Creates the namespaces and folders."""
        commands = []
        for place in PRIVATE:
            private = self.private(place)
            private.mkdir(parents=True)
            commands.append(f"mount --bind {private} {place}")
        for name in FOLDERS:
            (self.private("/run") / name).mkdir()
        (self.private("/run") / "xtables.lock").touch()
        for name, value in KUBELET_SYSCTLS.items():
            file = self.folder / "sysctl" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n", encoding="ascii")
            commands.append(f"[ ! -e /proc/sys/{name} ] || mount --bind {file} /proc/sys/{name}")
        # Mounts of pods must propagate to containers.
        self.place.build("\n".join([*commands, "mount --make-rshared /"]))
        cri.write_configuration(self)

    def private(self, place):
        """The folder on the host that the node has at this place, one of layout.PRIVATE."""
        return self.folder / place.lstrip("/").replace("/", "-")

    def start_containerd(self):
        process = self.place.start(f"containerd-{self.name}", ["containerd", "--config", self.folder / "containerd.toml"])
        process.wait(lambda: self.run("ctr", "version", check=False).returncode == 0, "answer on its socket", START_PATIENCE)

    def start_kubelet(self):
        self.place.start(f"kubelet-{self.name}", [
            self.programs.path("kubelet"), f"--config={self.folder}/kubelet.yaml", f"--kubeconfig={self.layout.kubeconfig(self.name)}",
            f"--hostname-override={self.name}", f"--cert-dir={self.folder}/cert", f"--node-ip={','.join(self.ips)}"])

    @property
    def kubelet(self):
        return self.place.daemon(f"kubelet-{self.name}")

    @property
    def containerd(self):
        return self.place.daemon(f"containerd-{self.name}")

    def restart(self):
        """Restarts kubelet and containerd; pods keep running. Wait for the condition Ready afterwards."""
        self.kubelet.stop()
        self.containerd.stop()
        self.start_containerd()
        self.start_kubelet()

    # The proxy of the node.

    @property
    def proxy_process(self):
        return self.place.daemon(f"proxy-{self.name}")

    @property
    def proxy(self):
        """The proxy that was started last and not cleaned up, or None."""
        try:
            return from_words(**json.loads(self._proxy_file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    @property
    def _proxy_file(self):
        return self.layout.pids / f"proxy-{self.name}.json"

    def start_proxy(self, proxy, wait=True):
        """Starts a proxy beside the rules that are there, and waits until it is ready."""
        if self.proxy_process.pid:
            raise ClusterError(f"{self.name}: a proxy runs already; stop it first")
        process = self.place.start(f"proxy-{self.name}", proxy.command(self))
        self._proxy_file.write_text(json.dumps(proxy.words()), encoding="utf-8")
        if wait:
            process.wait(lambda: proxy.ready(self), f"start of {proxy}", START_PATIENCE)

    def stop_proxy(self, clean_up=False):
        """Stops the proxy. Its rules stay unless they are cleaned up."""
        proxy = self.proxy
        if proxy:
            proxy.stop(self)
        if clean_up and proxy:
            proxy.clean_up(self)
            self._proxy_file.unlink()

    def change_proxy(self, proxy):
        """Stops and cleans up the proxy that runs, then starts this one."""
        self.stop_proxy(clean_up=True)
        self.start_proxy(proxy)
