# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Invalid input: one clear line that names the object, the place and the remedy; everything else goes on."""

import json
import os
import shutil

from lib import objects
from lib.addresses import E1
from lib.cases import POD, Skip, kept, own_daemon
from lib.objects import endpoint_slice, port, ready
from lib.programs import built_modules

ABOVE_BACKENDS = True

BAD_SERVICE_SPECS = {
    "bad-ip": {"clusterIP": "172.30.0.999", "clusterIPs": ["172.30.0.999"]},
    "port-zero": {"ports": [{"name": "p", "port": 0, "protocol": "TCP"}]},
    "port-too-big": {"ports": [{"name": "p", "port": 70000, "protocol": "TCP"}]},
    "unknown-protocol": {"ports": [{"name": "p", "port": 80, "protocol": "ICMP"}]},
    "duplicate-ports": {"ports": [{"name": "p", "port": 80, "protocol": "TCP"},
                                  {"name": "p", "port": 80, "protocol": "TCP"}]},
    "ports-not-a-list": {"ports": "eighty"},
}


def fails_to_start(t, flags, *named):
    """Exit status 1, and one line on stderr that contains every word."""
    done = t.bench.daemon.run([*flags, "--state-dir", os.path.join(t.topology.directory, "state-bad")])
    t.require(done.returncode == 1, f"exit {done.returncode}, not 1: {done.stderr[-300:]}")
    lines = [line for line in done.stderr.splitlines() if all(word in line for word in named)]
    t.require(len(lines) == 1, f"{len(lines)} lines name {', '.join(named)}: {done.stderr[-600:]}")


def base_flags(t, mode="iptables", plugin_dir=None):
    # --plugin-dir may be repeated, so a second one would not replace the first.
    return ["--hostname-override", "node-1", "--proxy-mode", mode,
            "--plugin-dir", plugin_dir or t.bench.programs.plugin_dir(t.topology.directory)]


def kubeconfig(t, name, text):
    path = os.path.join(t.topology.directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@own_daemon(None, "a kubeconfig that is not there", sources=["manifests"])
def kubeconfig_missing(t):
    path = os.path.join(t.topology.directory, "no-such-kubeconfig")
    fails_to_start(t, [*base_flags(t), "--kubeconfig", path], path)


@own_daemon(None, "a kubeconfig that is not YAML", sources=["manifests"])
def kubeconfig_broken(t):
    path = kubeconfig(t, "broken-kubeconfig", "clusters: [\n")
    fails_to_start(t, [*base_flags(t), "--kubeconfig", path], path)


@own_daemon(None, "a kubeconfig without current-context", sources=["manifests"])
def kubeconfig_without_context(t):
    path = kubeconfig(t, "no-context", "apiVersion: v1\nkind: Config\nclusters:\n"
                      "- name: c\n  cluster: {server: 'https://192.168.0.3:6443'}\ncontexts: []\nusers: []\n")
    fails_to_start(t, [*base_flags(t), "--kubeconfig", path], path, "current-context")


@own_daemon(None, "a kubeconfig whose certificate authority file is not there", sources=["manifests"])
def kubeconfig_without_ca(t):
    path = kubeconfig(t, "no-ca", "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters:\n- name: c\n"
                      "  cluster: {server: 'https://192.168.0.3:6443', certificate-authority: /nowhere/ca.crt}\n"
                      "contexts:\n- name: x\n  context: {cluster: c, user: u}\nusers:\n- name: u\n  user: {token: t}\n")
    fails_to_start(t, [*base_flags(t), "--kubeconfig", path], "/nowhere/ca.crt")


@own_daemon(None, "an unknown proxy mode", sources=["manifests"])
def unknown_mode(t):
    fails_to_start(t, [*base_flags(t, "quantum"), "--manifests", t.topology.directory], "quantum")


@own_daemon(None, "a mode whose plugin is not installed", sources=["manifests"])
def plugin_missing(t):
    empty = os.path.join(t.topology.directory, "no-plugins")
    os.makedirs(empty, 0o755, exist_ok=True)
    fails_to_start(t, [*base_flags(t, plugin_dir=empty), "--manifests", t.topology.directory], "iptables", empty)


@own_daemon(None, "a plugin file that is no plugin", sources=["manifests"])
def plugin_not_a_plugin(t):
    folder = os.path.join(t.topology.directory, "odd-plugins")
    shutil.copytree(t.bench.programs.plugin_dir(t.topology.directory), folder)
    victims = [name for name in os.listdir(folder) if "iptables" in name]
    t.require(victims, "no iptables plugin was built")
    for name in victims:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"this is no shared object\n")
    fails_to_start(t, [*base_flags(t, plugin_dir=folder), "--manifests", t.topology.directory], victims[0])


@own_daemon(None, "a plugin built for another version of the ABI", sources=["manifests"])
def plugin_of_another_abi(t):
    built = [path for path in built_modules(os.path.join(t.bench.programs.builddir, "test", "plugins"))
             if os.path.basename(path) == "other_major.so"]
    if not built:
        raise Skip("the plugins of test/plugins are not built; make check builds them")
    folder = os.path.join(t.topology.directory, "other-abi")
    os.mkdir(folder, 0o755)
    shutil.copy(built[0], folder)
    fails_to_start(t, [*base_flags(t, "other_major", folder), "--manifests", t.topology.directory], "other_major", "ABI")


@own_daemon(None, "the wrong certificate authority: reported once and retried, and no rules are written")
def wrong_ca(t):
    daemon = t.bench.daemon
    daemon.stop()
    t.bench.cleanup()
    daemon.start(t.bench.source.daemon_flags("kubeconfig-badca"), t.bench.flags)
    line = daemon.wait_logged("certificate", seconds=10)
    t.require(line is not None and "192.168.0.3" in line, f"no line names the server and its certificate: {line}")
    daemon.check_alive()
    rules = t.topology.run("node", t.topology.tools.program(t.family, "-save"), "-t", "nat").stdout
    t.require("KUBE-SVC" not in rules, "rules were written without a list of Services")
    daemon.stop()
    t.bench.start_daemon()


@own_daemon(None, "a rejected bearer token: the line says so and names the server")
def wrong_token(t):
    daemon = t.bench.daemon
    daemon.stop()
    daemon.start(t.bench.source.daemon_flags("kubeconfig-badtoken"), t.bench.flags)
    line = daemon.wait_logged("192.168.0.3", "answers 401", seconds=10)
    t.require(line is not None, f"no line names the server and the refusal: {daemon.log_tail()}")
    daemon.check_alive()
    daemon.stop()
    t.bench.start_daemon()


def bad_services(t):
    for name, wrong in BAD_SERVICE_SPECS.items():
        spec = {"type": "ClusterIP", "clusterIP": "172.30.200.1", "clusterIPs": ["172.30.200.1"], "ipFamilies": ["IPv4"],
                "ports": [{"name": "p", "port": 80, "protocol": "TCP"}], **wrong}
        yield name, objects.service("bad", name, spec)


def expect_reported_and_served(t, names):
    """Each bad object is named in a line of the log, and a valid Service written afterwards works."""
    good = t.service([ready(E1)])
    t.settle()
    t.expect(POD, good.cluster(), kept(E1))
    for name in names:
        t.require(t.bench.daemon.wait_logged(name, seconds=3) is not None, f"no log line names {name}")


@own_daemon(None, "invalid Services in manifests are named, with their file, and the others are served",
            sources=["manifests"])
def bad_services_in_manifests(t):
    source = t.bench.source
    names = []
    for name, made in bad_services(t):
        source.put_text(f"{name}.json", json.dumps(made))
        names.append(name)
    expect_reported_and_served(t, names)


@own_daemon(None, "invalid Services from the API are named, and the others are served")
def bad_services_from_api(t):
    made = dict(bad_services(t))
    t.bench.source.put_raw(*made.values())
    expect_reported_and_served(t, [f"bad/{name}" for name in made])


@own_daemon(None, "invalid endpoints are named, the valid ones next to them are used", sources=["manifests", "apiserver"])
def bad_endpoints(t):
    service = t.service([ready(E1)])
    made = endpoint_slice(service.namespace, "odd-addresses", service.name, t.family, [port("p80", 80, t.protocol)],
                          [objects.Endpoint(E1, address="10.180.0.999"), objects.Endpoint(E1, address="not-an-address")])
    service.put_slice(made, "odd")
    expect_reported_and_served(t, ["odd-addresses"])
    t.expect(POD, service.cluster(), kept(E1))


@own_daemon(None, "files that are no manifests are named, and the others are served", sources=["manifests"])
def bad_files(t):
    source = t.bench.source
    source.put_text("broken-one.yaml", "kind: Service\n  metadata: [\n")
    source.put_text("broken-two.json", '{"kind": "Service", "metadata": ')
    source.put_text("no-kind.yaml", "metadata:\n  name: nameless\n")
    source.put_text("no-name.yaml", "apiVersion: v1\nkind: Service\nspec: {}\n")
    expect_reported_and_served(t, ["broken-one.yaml", "broken-two.json", "no-kind.yaml", "no-name.yaml"])


@own_daemon(None, "the last valid content of a file stays active while the file is invalid", sources=["manifests"])
def file_turns_bad(t):
    source = t.bench.source
    service = t.service([ready(E1)])
    t.settle()
    t.expect(POD, service.cluster(), kept(E1))
    source.put_text(f"service-{service.namespace}-{service.name}.json", "{ not json")
    expect_reported_and_served(t, [f"service-{service.namespace}-{service.name}.json"])
    t.expect(POD, service.cluster(), kept(E1))
