#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests what a cluster is computed from: addresses, kubeconfigs, command lines, images; needs no Kubernetes program. Prints TAP."""

import base64
import ipaddress
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import types
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from lib import cgroups, cri, dns, images, network, pace, package_root, pki, processes, proxies, shell, tap  # noqa: E402
from lib.cluster import Cluster, dns_objects  # noqa: E402
from lib.control_plane import ControlPlane  # noqa: E402
from lib.failure import ClusterError  # noqa: E402
from lib.kube_programs import KubePrograms  # noqa: E402
from lib.layout import FAMILIES, KUBERNETES_IP, POD_CIDR, SERVICE_CIDR, V4, V6, Layout  # noqa: E402
from lib.node import Node  # noqa: E402

NODES = range(1, 51)
_tests = []


def test(title):
    def register(function):
        _tests.append((title, function))
        return function

    return register


def equal(got, expected, what):
    if got != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {got!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def rejected(call, text):
    try:
        call()
    except ClusterError as error:
        true(text in str(error), f"expected {text!r} in {error}")
    else:
        raise AssertionError(f"no error with {text!r}")


def layouts(folder):
    return [Layout(folder, count, families) for count in NODES for families in FAMILIES]


@test("1 to 50 nodes, each choice of families: addresses are distinct and in the LAN, Pod CIDRs are distinct and in the range")
def addresses(folder):
    for layout in layouts(folder):
        ips = [ipaddress.ip_address(ip) for place in network.addresses(layout).values() for ip in place]
        what = f"{layout.node_count} nodes, {layout.families_name}"
        equal(len(set(ips)), len(ips), f"{what}: distinct addresses")
        equal(len(ips), (layout.node_count + 2) * len(layout.families), f"{what}: addresses")
        equal({f"ipv{ip.version}" for ip in ips}, set(layout.families), f"{what}: families")
        cidrs = [ipaddress.ip_network(cidr) for number in range(1, layout.node_count + 1) for cidr in layout.pod_cidrs(number)]
        equal(len(set(cidrs)), layout.node_count * len(layout.families), f"{what}: distinct Pod CIDRs")
        for cidr in cidrs:
            true(cidr.subnet_of(ipaddress.ip_network(POD_CIDR[f"ipv{cidr.version}"])), f"{what}: {cidr} is not in the range")
        equal(layout.nodes[-1], f"n{layout.node_count}", f"{what}: last node")
        primary = ipaddress.ip_network(SERVICE_CIDR[layout.families[0]])
        true(ipaddress.ip_address(layout.dns_ip) in primary, f"{what}: the name server is not in the range of Services")


@test("commands of ip: every place gets its addresses and a route to the pods of each other node")
def commands(folder):
    for layout in layouts(folder):
        lines = network.commands(layout)
        equal(set(lines), {"outside", "cp", *layout.nodes}, "places")
        for number, name in enumerate(layout.nodes, 1):
            routes = [line for line in lines[name] if line.startswith("route add") and " via " in line and "/0 " not in line]
            equal(len(routes), (layout.node_count - 1) * len(layout.families), f"routes of {name}")
            for ip in layout.node_ips(number):
                equal(sum(f"addr add {ip}/" in line for line in lines[name]), 1, f"address {ip} of {name}")
        interfaces = re.findall(r"link add (\S+) type veth", "\n".join(lines["outside"]))
        true(all(len(one) <= 15 for one in interfaces), "the name of an interface is too long")


@test("zones: nodes are spread evenly; without zones nodes have no zone label")
def zones(folder):
    layout = Layout(folder, 7, zones=3)
    equal([layout.zone(number) for number in range(1, 8)], ["z1", "z2", "z3", "z1", "z2", "z3", "z1"], "zones")
    equal(Layout(folder, 7).zone(1), None, "zone")
    programs = KubePrograms(folder)
    equal(Node(layout, programs, 2).manifest()["metadata"]["labels"]["topology.kubernetes.io/zone"], "z2", "label")
    true("topology.kubernetes.io/zone" not in Node(Layout(folder, 1), programs, 1).manifest()["metadata"]["labels"], "label")


@test("invalid choices are rejected with an error that names them")
def invalid(folder):
    rejected(lambda: Layout(folder, 3, "both"), "invalid families 'both'")
    rejected(lambda: Layout(folder, -1), "invalid number of nodes -1")
    rejected(lambda: Layout(folder, 2, zones=3), "invalid number of zones 3")
    rejected(lambda: Layout("/run/cluster"), "nodes hide /run")
    rejected(lambda: Layout.load(folder), "no cluster runs in")
    rejected(lambda: proxies.from_words("haproxy", "nftables"), "invalid proxy 'haproxy'")
    rejected(lambda: KubePrograms(folder).check(3), "program 'etcd' is missing")


@test("a saved layout is loaded; clusters in two folders have different namespaces")
def saved(folder):
    layout = Layout(folder, 5, V6, 2)
    layout.save()
    loaded = Layout.load(folder)
    equal((loaded.node_count, loaded.families_name, loaded.zone_count), (5, V6, 2), "layout")
    true(Layout(folder + "/a").prefix != Layout(folder + "/b").prefix, "prefixes are equal")


@test("certificates are signed by the authority, and the API server's names its addresses; kubeconfigs name the files")
def certificates(folder):
    layout = Layout(folder, 2)
    pki.create(layout)
    for user in (*pki.USERS, *layout.nodes):
        config = json.loads(layout.kubeconfig(user).read_text(encoding="utf-8"))
        equal(config["clusters"][0]["cluster"]["server"], "https://192.168.60.10:6443", "server")
        for path in config["users"][0]["user"].values():
            true(os.path.exists(path), f"{path} is missing")
        shell.run(["openssl", "verify", "-CAfile", f"{layout.pki}/ca.crt", f"{layout.pki}/{user}.crt"])
    subject = shell.run(["openssl", "x509", "-in", f"{layout.pki}/n2.crt", "-noout", "-subject"]).stdout
    true("system:node:n2" in subject and "system:nodes" in subject, f"subject {subject}")
    names = shell.run(["openssl", "x509", "-in", f"{layout.pki}/apiserver.crt", "-noout", "-ext", "subjectAltName"]).stdout
    for ip in (*layout.control_plane_ips, KUBERNETES_IP[V4]):
        true(ip in names or ipaddress.ip_address(ip).version == 6, f"{ip} is not in {names}")
    true("DNS:kubernetes.default.svc" in names, f"names {names}")
    equal(Layout(folder, 1, V6).server, "https://[fd00:60::10]:6443", "server")


@test("command lines and configuration of the control plane, kubelet and CNI follow the families")
def command_lines(folder):
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
        program(folder, name)
    for families, ranges, bind in (("dual", "10.96.0.0/16,fd00:96::/112", "0.0.0.0"), (V4, "10.96.0.0/16", "0.0.0.0"),
                                   (V6, "fd00:96::/112", "::")):
        layout = Layout(folder, 3, families)
        plane = ControlPlane(layout, KubePrograms(folder))
        server = plane.apiserver_command()
        true(f"--service-cluster-ip-range={ranges}" in server, f"{families}: {server}")
        true(f"--bind-address={bind}" in server, f"{families}: {server}")
        true(f"--advertise-address={layout.control_plane_ips[0]}" in server, f"{families}: {server}")
        kubelet = json.loads(cri.kubelet_configuration(layout, "/f"))
        equal((kubelet["address"], kubelet["clusterDNS"]), (bind, [layout.dns_ip]), f"{families}: kubelet")
        bridge = json.loads(cri.network_configuration(layout, 3))["plugins"][0]["ipam"]
        equal([one[0]["subnet"] for one in bridge["ranges"]], layout.pod_cidrs(3), f"{families}: ranges of pods")
        slices = dns_objects(layout)[1]
        equal(slices["addressType"], "IPv6" if families == V6 else "IPv4", f"{families}: EndpointSlice")
        for words in (plane.etcd_command(), plane.controller_manager_command(), plane.scheduler_command(), plane.dns_command()):
            true(all(str(word) for word in words), f"{families}: an empty word in {words}")


@test("proxies: command line, configuration file, and the words that name them again")
def proxy_commands(folder):
    program(folder, "kube-proxy")
    daemon = program(folder, "sluiced")
    node = Node(Layout(folder, 3), KubePrograms(folder), 2)
    node.folder.mkdir(parents=True)
    other = program(folder, "kube-proxy-1.35")
    equal(proxies.from_words(other, "iptables").command(node)[0], other, "a kube-proxy of another release")
    for proxy in (proxies.KubeProxy("iptables"), proxies.KubeProxy("ipvs", other), proxies.Sluice("nftables", daemon=daemon)):
        words = proxy.command(node)
        true(f"--config={node.folder}/proxy.yaml" in words, f"command {words}")
        config = json.loads((node.folder / "proxy.yaml").read_text(encoding="utf-8"))
        equal((config["mode"], config["hostnameOverride"], config["clusterCIDR"]),
              (proxy.mode, "n2", "10.244.0.0/16,fd00:244::/56"), "configuration")
        again = proxies.from_words(**proxy.words())
        equal((type(again), again.mode, again.command(node)), (type(proxy), proxy.mode, words), "named again")
    equal(json.loads(proxies.KubeProxy("nftables").configuration(Node(Layout(folder, 1, V6), node.programs, 1)))["bindAddress"],
          "::", "bind address")


@test("a proxy is ready when it has its mode and has synced each address family")
def ready(folder):
    def node(mode, families="dual", **times):
        lines = "".join(f'kubeproxy_sync_proxy_rules_last_timestamp_seconds{{ip_family="{family}"}} {time}\n'
                        for family, time in times.items())
        return types.SimpleNamespace(layout=Layout(folder, 1, families),
                                     get=lambda _port, path: mode if path == "/proxyMode" else lines)

    proxy = proxies.KubeProxy("nftables")
    equal(proxy.ready(node("nftables", IPv4="1.7e+09", IPv6="1.7e+09")), True, "both synced")
    equal(proxy.ready(node("nftables", IPv4="1.7e+09", IPv6="0")), False, "one is 0")
    equal(proxy.ready(node("nftables", IPv4="1.7e+09")), False, "one has no line")
    equal(proxy.ready(node("nftables", V6, IPv6="1.7e+09")), True, "the only family")
    equal(proxy.ready(node("nftables", V6, IPv4="1.7e+09")), False, "another family")
    equal(proxy.ready(node("nftables")), False, "no metric")
    equal(proxy.ready(node("iptables", IPv4="1.7e+09", IPv6="1.7e+09")), False, "another mode")
    equal(proxy.ready(node(None)), False, "no answer")


@test("packages: the files of daemon and backends, what they depend on, and the same files with a higher version")
def package_files(folder):
    for name, depends in (("sluice", "procps, sluice-backend-ipvs | sluice-backend, libc6 (>= 2.34)"),
                          ("sluice-backend-ipvs", "libc6, libipset13"), ("sluice-backend-ipvs-dbgsym", "gdb"), ("sluice-dev", "make")):
        deb(folder, name, depends)
    files = package_root.packages(Path(folder))
    equal([file.name.partition("_")[0] for file in files], ["sluice", "sluice-backend-ipvs"], "files")
    equal(package_root.dependencies(files), ["libc6", "libipset13", "procps"], "dependencies")
    newer = Path(folder, "newer")
    newer.mkdir()
    for file in package_root.bumped(files, "+b", newer):
        fields = shell.run(["dpkg-deb", "--field", str(file), "Package", "Version"]).stdout.split()
        equal((file.name.split("_")[:2], fields[1::2]), ([fields[1], "1-1+b"], [fields[1], "1-1+b"]), "name and fields")
        equal(shell.run(["dpkg-deb", "--fsys-tarfile", str(file)]).stdout.count("usr/doc"), 1, "content")
    equal(sorted(os.listdir(newer)), ["sluice-backend-ipvs_1-1+b_all.deb", "sluice_1-1+b_all.deb"], "files with the higher version")
    rejected(lambda: package_root.packages(newer / "none"), "no packages in")


@test("the proxy sluice-package: its words, and files of a system that names nothing outside")
def package_proxy_files(folder):
    layout = Layout(folder, 1)
    pki.create(layout)
    node = Node(layout, KubePrograms(folder), 1)
    rejected(lambda: proxies.from_words("sluice-package", "nftables"), "name it with --builddir")
    proxy = proxies.from_words("sluice-package", "nftables", f"{folder}/build")
    again = proxies.from_words(**proxy.words())
    equal((type(again), again.words()), (type(proxy), proxy.words()), "named again")
    system = proxy.system(node)
    equal((system.exists, system.first_process), (False, None), "a system that was not made")
    system.create(f"{folder}/lower", [deb(folder, "sluice", "libc6")])
    proxy.configure(node, system)
    upper = node.folder / "package/upper"
    equal((upper / "etc/hostname").read_text(encoding="ascii"), "n1\n", "host name")
    true((upper / "srv/packages/sluice_1-1_all.deb").exists(), "the package is missing")
    config = (upper / "etc/sluice/config.yaml").read_text(encoding="utf-8")
    equal(json.loads(config)["clientConnection"]["kubeconfig"], "/etc/sluice/kubeconfig", "kubeconfig")
    equal(json.loads(config)["hostnameOverride"], "n1", "name of the node")
    kubeconfig = upper / "etc/sluice/kubeconfig"
    equal(kubeconfig.stat().st_mode & 0o777, 0o600, "mode of the kubeconfig")
    user = json.loads(kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]
    for name, file in (("client-certificate-data", "proxy.crt"), ("client-key-data", "proxy.key")):
        equal(base64.b64decode(user[name]), (layout.pki / file).read_bytes(), name)
    true(folder not in config + kubeconfig.read_text(encoding="utf-8"), "a file names the folder of the cluster")
    system.remove()
    equal((system.exists, os.path.exists(f"{folder}/sluice_1-1_all.deb")), (False, True), "after the removal")


@test("a process whose first thread ended runs while another thread does")
def threads(folder):
    program = ("import ctypes, threading, time\n"
               "threading.Thread(target=lambda: time.sleep(600)).start()\n"  # fixed time: until it is killed
               "ctypes.CDLL(None).pthread_exit(None)\n")
    with subprocess.Popen([sys.executable, "-c", program], cwd=folder) as process:
        try:
            stat = Path(f"/proc/{process.pid}/stat")
            true(pace.wait_until(lambda: ") Z " in stat.read_text(encoding="ascii"), 30), "the first thread does not end")
            true(processes.start_time(process.pid), "it counts as ended")
        finally:
            process.kill()
    equal(processes.start_time(process.pid), None, "start time after the end")


@test("down removes the control groups of systems with packages, and those of no other cluster")
def groups(folder):
    layout, other = Layout(folder, 1), Layout(f"{folder}/other", 1)
    for name in (layout.namespace("n1"), other.namespace("n1")):
        Path(folder, "unified", name, "system.slice/sluiced.service").mkdir(parents=True)
    before, cgroups.ROOT = cgroups.ROOT, Path(folder)
    try:
        equal([group.name for group in cgroups.of_systems(layout)], [layout.namespace("n1")], "groups")
        cgroups.remove(layout)
    finally:
        cgroups.ROOT = before
    equal(os.listdir(f"{folder}/unified"), [other.namespace("n1")], "groups after the removal")


@test("a layer of an image is the same for the same files, and keeps links")
def layers(folder):
    digests = []
    for number in (1, 2):
        root = Path(folder, f"root-{number}")
        (root / "bin").mkdir(parents=True)
        (root / "bin/tool").write_text("tool", encoding="ascii")
        (root / "bin/link").symlink_to("tool")
        (root / "lib").symlink_to("bin")
        digests.append(images.write_layer(str(root), f"{folder}/{number}.tar"))
    equal(digests[0], digests[1], "digest")
    with tarfile.open(f"{folder}/1.tar") as archive:
        equal(archive.getnames(), ["lib", "bin", "bin/link", "bin/tool"], "entries")


@test("names: Services, headless Services, host names of endpoints, ExternalName, unknown names")
def names(_folder):
    def service(name, **spec):
        return {"metadata": {"namespace": "shop", "name": name}, "spec": spec}

    slices = [{"metadata": {"namespace": "shop", "labels": {"kubernetes.io/service-name": "db"}},
               "endpoints": [{"addresses": ["10.244.0.5"], "hostname": "db-0", "conditions": {"ready": True}},
                             {"addresses": ["10.244.0.6"], "conditions": {"ready": False}}]}]
    known = dns.records([service("web", clusterIPs=["10.96.0.80", "fd00:96::80"]), service("db", clusterIPs=["None"]),
                         service("far", type="ExternalName", externalName="web.shop.svc.cluster.local.")], slices)

    def ask(name, kind):
        query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + dns.encoded(name) + struct.pack(">HH", kind, 1)
        reply = dns.answer(query, *known)
        _, flags, _, count = struct.unpack(">HHHH", reply[:8])
        return flags & 15, count, reply[-4:]

    suffix = "shop.svc.cluster.local"
    equal(ask(f"web.{suffix}", dns.A), (0, 1, bytes([10, 96, 0, 80])), "A")
    equal(ask(f"web.{suffix}", dns.AAAA)[:2], (0, 1), "AAAA")
    equal(ask(f"db.{suffix}", dns.A), (0, 1, bytes([10, 244, 0, 5])), "headless")
    equal(ask(f"db-0.db.{suffix}", dns.A)[:2], (0, 1), "host name")
    equal(ask(f"far.{suffix}", dns.A), (0, 2, bytes([10, 96, 0, 80])), "ExternalName")
    equal(ask(f"none.{suffix}", dns.A)[:2], (dns.NAME_ERROR, 0), "unknown name")


@test("a process: starts once, its log is kept, stops, and a process that ends is reported with its log")
def process(folder):
    layout = Layout(folder)
    layout.pids.mkdir()
    layout.logs.mkdir()
    one = processes.Process(layout, "one")
    one.start(subprocess.Popen, ["sleep", "1000"])
    pid = one.pid
    true(pid and processes.start_time(pid), "it does not run")
    rejected(lambda: one.start(subprocess.Popen, ["true"]), "runs already")
    one.stop()
    equal((one.pid, processes.start_time(pid)), (None, None), "process after stop")
    broken = processes.Process(layout, "broken")
    broken.start(subprocess.Popen, ["sh", "-c", "echo the cause; exit 1"])
    rejected(lambda: broken.wait(lambda: False, "answer", 20), "the cause")


@test("down is safe in an empty folder, and repeatedly; it keeps images, logs and results")
def nothing_to_remove(folder):
    layout = Layout(folder)
    for path in (layout.images, layout.logs, layout.results, layout.pids, layout.etcd):
        path.mkdir()
    for _ in range(2):
        Cluster(layout, None).down()
        equal(sorted(os.listdir(folder)), ["images", "log", "results"], "folder")
    done = subprocess.run([sys.executable, str(HERE / "cluster"), "--folder", f"{folder}/none", "down"], capture_output=True,
                          text=True, check=False)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "status and output")


@test("the program names what is missing in one line")
def missing(folder):
    environment = {name: text for name, text in os.environ.items() if name != "SLUICE_KUBE_BIN"}
    for words, text, more in ((["up"], "SLUICE_KUBE_BIN is not set", {}),
                              (["up"], "program 'etcd' is missing", {"SLUICE_KUBE_BIN": folder}),
                              (["kubectl", "get", "pods"], "no cluster runs in", {"SLUICE_KUBE_BIN": folder})):
        done = subprocess.run([sys.executable, str(HERE / "cluster"), "--folder", folder, *words], capture_output=True,
                              text=True, check=False, env=environment | more)
        equal((done.returncode, done.stderr.count("\n")), (1, 1), f"status and lines of {words}: {done.stderr}")
        true(text in done.stderr, f"expected {text!r} in {done.stderr!r}")


def program(folder, name):
    path = Path(folder, name)
    path.write_text("#!/bin/sh\n", encoding="ascii")
    path.chmod(0o755)
    return str(path)


def deb(folder, name, depends):
    """A package with one file."""
    tree = Path(folder, f"{name}.new")
    (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
    (tree / "usr").mkdir(exist_ok=True)
    (tree / "usr/doc").write_text(name, encoding="ascii")
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 1-1\nArchitecture: all\nMaintainer: Test <test@example.com>\nDepends: {depends}\n"
        f"Description: {name}\n", encoding="ascii")
    path = Path(folder, f"{name}_1-1_all.deb")
    shell.run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(path)])
    return path


def run(tests):
    results = tap.Results()
    for title, function in tests:
        notes = []
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            try:
                function(folder)
            except (AssertionError, ClusterError, shell.CommandFailed, OSError) as error:
                notes.append(f"{type(error).__name__}: {error}")
        results.add({"name": title, "parameters": [], "result": tap.FAIL if notes else tap.PASS}, notes)
    return results.finish()


if __name__ == "__main__":
    sys.exit(run(_tests))
