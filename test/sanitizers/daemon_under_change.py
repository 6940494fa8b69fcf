#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps all threads of the daemon busy at the same time under a sanitizer. Prints TAP.

The daemon runs with the print example as its backend, first with the test API server, then with manifest files, while
objects, addresses of the node and the server's responses change at random and clients query the control socket and
the health check node ports. The daemon must survive, apply the last change, and exit on SIGTERM. Sanitizers write their
reports to files. Runs in a network namespace of its own.
"""

import argparse
import http.client
import json
import os
import random
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "system"))

from lib import pace  # noqa: E402

APISERVER = os.path.join(HERE, "..", "apiserver", "apiserver.py")
NODE = "node-1"
SERVICES = 12
PATIENCE = 150  # seconds; the same takes milliseconds without a sanitizer
FAULTS = [
    {"match": "watch", "kind": "cut", "after_events": 1},
    {"match": "watch", "kind": "cut-mid-line"},
    {"match": "watch", "kind": "410-event"},
    {"match": "watch", "kind": "garbage-line"},
    {"match": "list", "kind": "status", "code": 500},
    {"match": "watch", "kind": "status", "code": 429, "retry_after": 1},
    {"match": "watch", "kind": "reset"},
]


class Failed(Exception):
    """A required event did not happen."""


def await_that(what, condition):
    if not pace.wait_until(condition, PATIENCE, every=0.02):
        raise Failed(f"{what}: not within {pace.stretched(PATIENCE):.0f} s")


# Objects.

def service(number):
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": f"s{number}"},
        "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "clusterIP": f"10.96.1.{number + 1}",
                 "clusterIPs": [f"10.96.1.{number + 1}"], "ipFamilies": ["IPv4"], "healthCheckNodePort": 31000 + number,
                 "ports": [{"name": "http", "port": 80, "nodePort": 30000 + number, "protocol": "TCP"}]},
    }


def endpoint_slice(number, address):
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"namespace": "shop", "name": f"s{number}-a",
                     "labels": {"kubernetes.io/service-name": f"s{number}"}},
        "addressType": "IPv4", "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "nodeName": NODE, "conditions": {"ready": True}}],
    }


def node(zone):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": NODE, "labels": {"topology.kubernetes.io/zone": zone}},
            "spec": {}, "status": {"addresses": [{"type": "InternalIP", "address": "192.168.7.1"}]}}


# Where they come from.

class ApiSource:
    name = "the API server"

    def __init__(self, scratch):
        self._ready = os.path.join(scratch, "ready")
        self._kubeconfig = os.path.join(scratch, "tls", "kubeconfig-cert")
        self._ca = os.path.join(scratch, "tls", "ca.crt")
        self._process = subprocess.Popen(
            [sys.executable, APISERVER, "--tls-dir", os.path.join(scratch, "tls"), "--ready-file", self._ready],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_that("the start of the API server", lambda: os.path.exists(self._ready))
        with open(self._ready, encoding="utf-8") as file:
            self._address = file.read().strip().removeprefix("https://")

    def flags(self):
        return ["--kubeconfig", self._kubeconfig]

    def put(self, *objects):
        self._ask("POST", "/_test/load", {"items": list(objects)})

    def delete(self, number):
        self._ask("DELETE", f"/api/v1/namespaces/shop/services/s{number}")

    def disturb(self, chance):
        if chance.random() < 0.2:
            self._ask("POST", "/_test/cut", {"how": chance.choice(["abrupt", "clean", "reset"])})
        else:
            self._ask("POST", "/_test/fault", chance.choice(FAULTS))

    def calm(self):
        self._ask("DELETE", "/_test/fault")

    def close(self):
        self._process.terminate()
        self._process.wait()

    def _ask(self, method, path, body=None):
        context = ssl.create_default_context(cafile=self._ca)
        folder = os.path.dirname(self._ca)
        context.load_cert_chain(os.path.join(folder, "client.crt"), os.path.join(folder, "client.key"))
        connection = http.client.HTTPSConnection(self._address, timeout=pace.stretched(10), context=context)
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        answer.read()
        connection.close()
        if answer.status >= 300 and answer.status != 404:
            raise Failed(f"the API server answers {method} {path} with {answer.status}")


class ManifestSource:
    name = "manifests"

    def __init__(self, scratch):
        self._folder = os.path.join(scratch, "manifests")
        os.mkdir(self._folder)

    def flags(self):
        return ["--manifests", self._folder]

    def put(self, *objects):
        for one in objects:
            self._write(f"{one['kind']}-{one['metadata']['name']}.json", json.dumps(one))

    def delete(self, number):
        path = os.path.join(self._folder, f"Service-s{number}.json")
        if os.path.exists(path):
            os.unlink(path)

    def disturb(self, chance):
        self._write("broken.json", chance.choice(["{", "", '{"kind":"Service"}', "}", "[1,2"]))

    def calm(self):
        self._write("broken.json", "")

    def close(self):
        pass

    def _write(self, name, text):
        new = os.path.join(self._folder, "." + name)
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(new, os.path.join(self._folder, name))


# The daemon and its clients.

class Daemon:
    def __init__(self, build, scratch, flags):
        plugins = os.path.join(scratch, "plugins")
        if not os.path.isdir(plugins):
            os.mkdir(plugins, 0o755)
            shutil.copy(os.path.join(build, "sdk", "examples", "print", ".libs", "print.so"), plugins)
        self._ctl = os.path.join(build, "core", "sluicectl")
        self._state = tempfile.mkdtemp(dir=scratch)
        self.calls = os.path.join(self._state, "calls")
        self.log_path = os.path.join(self._state, "log")
        self._log = open(self.log_path, "wb")
        self._process = subprocess.Popen(
            [os.path.join(build, "core", "sluiced"), *flags, "--hostname-override", NODE, "--proxy-mode", "print",
             "--plugin-dir", plugins, "--state-dir", self._state, "--cluster-cidr", "10.244.0.0/16",
             "--iptables-min-sync-period", "0s", "--iptables-sync-period", "1s", "--v=4"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            env={**os.environ, "SLUICE_PRINT_PATH": self.calls})

    def ctl(self, *words):
        return subprocess.run([self._ctl, "--state-dir", self._state, *words], capture_output=True, text=True,
                              timeout=pace.stretched(PATIENCE))

    def alive(self):
        return self._process.poll() is None

    def delivered(self, text):
        """Whether any transaction to the backend contains the text."""
        try:
            with open(self.calls, encoding="utf-8") as file:
                return text in file.read()
        except FileNotFoundError:
            return False

    def stop(self):
        self._process.terminate()
        try:
            status = self._process.wait(pace.stretched(PATIENCE))
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise Failed(f"the daemon does not end within {PATIENCE} s") from None
        finally:
            self._log.close()
        if status != 0:
            raise Failed(f"the daemon ended with status {status}; its last words: {self.last_words()}")

    def last_words(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return " | ".join(file.read().splitlines()[-4:])


class Clients:
    """Send requests until they are stopped and ignore the results, some of which are errors."""

    def __init__(self, daemon):
        self._stop = threading.Event()
        work = [lambda: daemon.ctl("status"), lambda: daemon.ctl("status", "-o", "json"), self._health]
        self._threads = [threading.Thread(target=self._again, args=(one,)) for one in work]
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _again(self, work):
        while not self._stop.is_set():
            work()

    @staticmethod
    def _health():
        for number in range(SERVICES):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", 31000 + number, timeout=1)
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                connection.close()
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)  # poll interval


def change_at_random(source, chance, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        number = chance.randrange(SERVICES)
        what = chance.random()
        if what < 0.25:
            source.put(service(number))
        elif what < 0.7:
            source.put(endpoint_slice(number, f"10.244.0.{chance.randrange(1, 250)}"))
        elif what < 0.8:
            source.delete(number)
        elif what < 0.85:
            source.put(node(chance.choice("abc")))
        elif what < 0.95:
            source.disturb(chance)
        else:
            subprocess.run(["ip", "addr", chance.choice(["add", "del"]), "192.168.7.2/32", "dev", "lo"],
                           capture_output=True, check=False)


def run_with(source_type, build, scratch, seconds, chance):
    source = source_type(scratch)
    try:
        source.put(node("a"), service(0), endpoint_slice(0, "10.244.0.1"))
        daemon = Daemon(build, scratch, source.flags())
        try:
            await_that("the first transaction", lambda: daemon.delivered("10.244.0.1") or not daemon.alive())
            clients = Clients(daemon)
            try:
                change_at_random(source, chance, seconds)
                source.calm()
                source.put(service(0), endpoint_slice(0, "10.244.99.99"))
                await_that("the last change", lambda: daemon.delivered("10.244.99.99") or not daemon.alive())
            finally:
                clients.stop()
        finally:
            daemon.stop()
    finally:
        source.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builddir", default=".")
    parser.add_argument("--seconds", type=float, default=20, help="of change, with each source")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if not wanted.inside:
        os.execvp("unshare", ["unshare", "--net", "--mount", "--", sys.executable, os.path.abspath(__file__),
                              *sys.argv[1:], "--seed", str(wanted.seed), "--inside"])
    for command in (["link", "set", "lo", "up"], ["addr", "add", "192.168.7.1/32", "dev", "lo"]):
        subprocess.run(["ip", *command], check=True)
    print(f"# seed {wanted.seed}", flush=True)
    failed = 0
    sources = (ApiSource, ManifestSource)
    for number, source_type in enumerate(sources, 1):
        title = f"the daemon under change, objects from {source_type.name}"
        with tempfile.TemporaryDirectory(prefix="sluice-change-") as scratch:
            try:
                run_with(source_type, os.path.abspath(wanted.builddir), scratch, wanted.seconds,
                         random.Random(wanted.seed))
                print(f"ok {number} - {title}", flush=True)
            except (Failed, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"not ok {number} - {title}: {error}", flush=True)
    print(f"1..{len(sources)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
