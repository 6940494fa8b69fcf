# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A node in a network namespace and a folder, with an API server, and the part of kubelet that runs the pod of the
DaemonSet: volumes, containers, updates of a ConfigMap."""

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from pathlib import Path

NOT_SYNCED = 3  # exit status of sluicectl status
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system"))

from lib import netns_http, pace  # noqa: E402

NAME = "node-1"
ADDRESSES = ("192.0.2.10/24", "2001:db8::10/64")
MODULES = ("/lib/modules", "/usr/lib/modules")
CERTIFICATES = "/etc/ssl/certs"  # a folder that every node has
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
OBJECTS = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "uid": "0000"},
     "spec": {"podCIDRs": ["10.244.0.0/24"]},
     "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}]}},
    # At an address of the node as well, which userspace mode holds: the port needs a capability.
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
     "spec": {"type": "NodePort", "clusterIP": "10.96.0.80", "clusterIPs": ["10.96.0.80"], "ipFamilies": ["IPv4"],
              "externalIPs": ["192.0.2.10"],
              "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080, "nodePort": 30080}]}},
    {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
     "metadata": {"name": "web-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}},
     "addressType": "IPv4", "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
     "endpoints": [{"addresses": ["10.244.0.5"], "conditions": {"ready": True}}]},
    {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"},
     "spec": {"cidrs": ["10.96.0.0/16"]}},
]


class NodeError(Exception):
    """A condition did not hold in time, or a process ended."""


def wait_for(condition, what, seconds=20):
    found = pace.wait_until(condition, seconds)
    if not found:
        raise NodeError(f"within {pace.stretched(seconds):g} s not: {what() if callable(what) else what}")
    return found


def of_kind(objects, kind):
    return next(one for one in objects if one["kind"] == kind)


class Volume:
    """A ConfigMap in a folder, as kubelet writes it: files are symlinks through a symlink that is replaced atomically."""

    def __init__(self, folder, data):
        self.folder = Path(folder)
        self.folder.mkdir()
        self._number = 0
        self.data = {}
        self.write(data)
        for name in data:
            (self.folder / name).symlink_to(f"..data/{name}")

    def write(self, data):
        before = self.folder / f"..{self._number}"
        self._number += 1
        content = self.folder / f"..{self._number}"
        content.mkdir()
        for name, text in data.items():
            (content / name).write_text(text, encoding="utf-8")
        link = self.folder / "..data_tmp"
        link.symlink_to(content.name)
        os.replace(link, self.folder / "..data")
        self.data = dict(data)
        if before.exists():
            shutil.rmtree(before)


class Node:
    _number = 0

    def __init__(self, objects, image, folder, data=None, streaming=True, legacy=False):
        """`data`: of the ConfigMap, if it is not among the objects. `legacy`: the node has rules of iptables-legacy."""
        self.pod = of_kind(objects, "DaemonSet")["spec"]["template"]["spec"]
        self.role = of_kind(objects, "ClusterRole")
        self._image = image
        self._folder = Path(folder)
        Node._number += 1
        self._namespace = f"sluice-k8s-{os.getpid()}-{Node._number}"
        self._processes = []
        self._server = None
        for name in ("node", "layers", "account"):
            (self._folder / name).mkdir(parents=True)
        self.volume = Volume(self._folder / "config", data or of_kind(objects, "ConfigMap")["data"])
        self._run("ip", "netns", "add", self._namespace)
        try:
            self._build(streaming, legacy)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for process in self._processes + ([self._server] if self._server else []):
            if process.poll() is None:
                process.kill()
            process.wait()
        subprocess.run(["ip", "netns", "delete", self._namespace], check=False)

    # The node.

    @staticmethod
    def _run(*argv):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NodeError(f"{' '.join(argv)}: {done.stderr.strip()}")

    def _inside(self, *argv):
        self._run("ip", "netns", "exec", self._namespace, *argv)

    def _build(self, streaming, legacy):
        self._inside("ip", "link", "set", "lo", "up")
        self._inside("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "lan0")
        for link in ("eth0", "lan0"):
            self._inside("ip", "link", "set", link, "up")
        for address in ADDRESSES:
            self._inside("ip", "addr", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else []))
        self._inside("ip", "route", "add", "default", "dev", "eth0")
        if legacy:
            for tool in ("iptables-legacy", "ip6tables-legacy"):
                self._inside(tool, "-t", "mangle", "-N", "KUBE-KUBELET-CANARY")
        server = re.search(r"server: https://([^\s:]+):(\d+)", "\n".join(self.volume.data.values()))
        self.server_name, self._port = server.group(1), int(server.group(2))
        tls = self._folder / "tls"
        ready = self._folder / "ready"
        words = [sys.executable, str(HERE.parent / "apiserver/apiserver.py"), "--listen", f"0.0.0.0:{self._port}",
                 "--tls-dir", str(tls), "--ready-file", str(ready), *([] if streaming else ["--no-watchlist"])]
        if self.server_name != "127.0.0.1":
            words += ["--san", self.server_name]
        with open(self._folder / "server.log", "wb") as log:
            self._server = netns_http.made_in(self._namespace, lambda: subprocess.Popen(words, stdout=log, stderr=log))
        wait_for(ready.exists, lambda: "the API server: " + (self._folder / "server.log").read_text(encoding="utf-8"))
        for name in ("ca.crt", "token"):
            shutil.copy(tls / name, self._folder / "account" / name)
        (self._folder / "hosts").write_text(f"127.0.0.1 localhost\n127.0.0.1 {self.server_name}\n", encoding="ascii")
        self.ask_server("POST", "/_test/load", {"items": OBJECTS})

    def ask_server(self, method, path, body=None):
        tls = ssl.create_default_context(cafile=str(self._folder / "tls/ca.crt"))
        connection = netns_http.NamespaceConnection(self._namespace, "127.0.0.1", self._port, tls)
        connection.request(method, path, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status >= 300:
            raise NodeError(f"{method} {path}: {answer.status} {content[:200]!r}")
        return json.loads(content)

    def requests(self):
        return self.ask_server("GET", "/_test/requests?since=0")["requests"]

    def get(self, port, path):
        """The HTTP status of a request on the node."""
        connection = netns_http.NamespaceConnection(self._namespace, "127.0.0.1", port)
        connection.request("GET", path)
        status = connection.getresponse().status
        connection.close()
        return status

    # The pod.

    def start(self, container, without=(), command=None):
        """Starts the container of the DaemonSet without these capabilities, or another command in it."""
        security = container["securityContext"]
        mounts = [{"source": str(self._source(one["name"])), "at": one["mountPath"], "read_only": one.get("readOnly", False)}
                  for one in container["volumeMounts"]]
        mounts += [{"source": str(self._folder / "account"), "at": ACCOUNT, "read_only": True},
                   {"source": str(self._folder / "hosts"), "at": "/etc/hosts", "read_only": False}]
        environment = {"NODE_NAME": NAME, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin", "KUBERNETES_SERVICE_HOST": "10.96.0.1",
                       "KUBERNETES_SERVICE_PORT": "443"}
        words = [re.sub(r"\$\((\w+)\)", lambda name: environment[name.group(1)], word)
                 for word in command or [*container["command"], *container.get("args", [])]]
        number = len(self._processes)
        layer = self._folder / "layers" / str(number)
        layer.mkdir()
        asked = self._folder / f"container-{number}.json"
        asked.write_text(json.dumps({
            "image": str(self._image), "layer": str(layer), "mounts": mounts, "environment": environment, "command": words,
            "privileged": security.get("privileged", False), "read_only": security.get("readOnlyRootFilesystem", False),
            "no_new_privileges": security.get("allowPrivilegeEscalation") is False,
            "capabilities": [one for one in security.get("capabilities", {}).get("add", []) if one not in without],
        }), encoding="utf-8")
        self.log_path = self._folder / f"log-{number}"
        with open(self.log_path, "wb") as log:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self._namespace, "unshare", "--mount", "--pid", "--fork", "--kill-child",
                 "--propagation", "private", sys.executable, "-B", str(HERE / "container.py"), str(asked)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._processes.append(process)
        return process

    def _source(self, volume):
        one = next(one for one in self.pod["volumes"] if one["name"] == volume)
        if "configMap" in one:
            return self.volume.folder
        place = self._folder / "node" / one["hostPath"]["path"].lstrip("/")
        kind = one["hostPath"].get("type", "")
        if one["hostPath"]["path"] in MODULES:
            return Path("/lib/modules") if os.path.isdir("/lib/modules") else self._folder / "node"
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            if kind == "DirectoryOrCreate" or one["hostPath"]["path"] == CERTIFICATES:
                place.mkdir()
            elif kind == "FileOrCreate":
                place.touch()
            else:
                raise NodeError(f"{place.name} is not on the node, and type '{kind}' does not make it")
        return place

    @staticmethod
    def terminate(process):
        """Sends SIGTERM to the first process of the container, the child of the process that made its namespaces."""
        first = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()[0]
        os.kill(int(first), signal.SIGTERM)

    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def run(self, container, **options):
        """Runs to the end; returns status and output."""
        status = self.start(container, **options).wait(pace.stretched(60))
        return status, self.log()

    def status(self, sluicectl):
        done = subprocess.run([str(sluicectl), "--state-dir", str(self._folder / "node/run/sluice"), "status", "-o", "json"],
                              capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode in (0, NOT_SYNCED) and done.stdout.strip() else None

    def complaints(self):
        """Warnings and errors of the container started last."""
        return [line for line in self.log().splitlines() if re.match(r"[WEF]\d{4} |error:|warning:|Traceback", line)]


def asked_of(request):
    """The permission a request needs: API group, resource and verb; or its path, if it is not for a resource."""
    path = request["path"].partition("?")[0]
    found = re.match(r"/(?:api|apis/([^/]+))/v[^/]+/(?:namespaces/[^/]+/)?([a-z]+)(?:/[^/]+)?$", path)
    return (found.group(1) or "", found.group(2), request["verb"]) if found else path


def allowed_by(role):
    return {(group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]}
