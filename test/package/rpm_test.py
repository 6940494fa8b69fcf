#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The RPM packages: built, and installed into a folder by the rpm of this machine, whose own packages are of another kind:
what ours ask for is compared with what is here, and no script of theirs is run. Prints TAP.

  rpm_test.py --builddir DIR [--built TREE]

DIR is a build tree, TREE one that is built and has the folders of a package; without it everything is compiled.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from outcome import Tests, call, require

SRC = Path(__file__).resolve().parents[2]
BACKENDS = ("iptables", "ipvs", "nftables", "userspace")
NAMES = ("sluice", *(f"sluice-backend-{backend}" for backend in BACKENDS), "sluice-devel",
         "sluice-conformance", "sluice-doc", "sluice-kube-proxy")
# Files only in the conformance kit.
KIT = re.compile(r"/usr/(bin/sluice-conformance|libexec/sluice/conformance|share/sluice/conformance"
                 r"|share/man/man1/sluice-conformance\.1)\b")


class Rpms:
    """Tests in a folder that is the root of a system."""

    def __init__(self, build, built):
        self.build = build
        self.built = built
        self.folder = build / "rpms"
        self.root = build / "rpms/root"

    def file(self, name):
        found = [path for path in self.folder.glob(f"{name}-[0-9]*.rpm")]
        require(len(found) == 1, f"packages named {name} in {self.folder}: {found}")
        return found[0]

    def rpm(self, *argv):
        return call("rpm", "--root", str(self.root), "--define", "_dbpath /var/lib/rpm", *argv, timeout=120)

    def of(self, name, what):
        return call("rpm", "-qp", what, str(self.file(name))).splitlines()

    def left(self):
        """Files in the root, except the database of rpm."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*")
                      if not path.is_dir() and "var/lib/rpm" not in str(path))

    def test_build(self):
        """packages are built from the tarball by the spec file"""
        argv = [str(SRC / "packaging/rpm/build.sh"), str(self.folder), str(self.build)]
        call(*argv, *([str(self.built)] if self.built else []), timeout=7200)
        for name in NAMES:
            self.file(name)

    def test_needs(self):
        """every requirement is provided by another package or by an installed library"""
        provided = {line.split()[0] for name in NAMES for line in self.of(name, "--provides")}
        libraries = set(re.findall(r"^\s*(\S+) \(", call("/sbin/ldconfig", "-p"), re.MULTILINE))
        tools = {"binutils", "iproute", "iptables", "nftables", "procps-ng", "python3", "systemd", "/bin/sh", "/usr/bin/pkg-config",
                 "/usr/bin/python3", "rtld(GNU_HASH)"}
        for name in NAMES:
            for need in {line.split()[0] for line in self.of(name, "--requires")}:
                library = need.split("(")[0]
                require(need in provided or need in tools or library in libraries or need.startswith("rpmlib("),
                        f"{name} asks for {need}")
        require("sluice-backend" in {line.split()[0] for line in self.of("sluice", "--requires")})
        for backend in BACKENDS:
            needs = {line.split()[0] for line in self.of(f"sluice-backend-{backend}", "--requires")}
            require(("iptables" in needs) == (backend != "nftables"), needs)
        require("sluice-conformance" in {line.split()[0] for line in self.of("sluice-devel", "--recommends")})

    def test_licences(self):
        """the licence of a package matches the libraries it is linked with"""
        for name, licence in (("sluice", "Apache-2.0"), ("sluice-backend-nftables", "Apache-2.0 AND GPL-3.0-or-later"),
                              ("sluice-backend-ipvs", "GPL-2.0-only"), ("sluice-backend-iptables", "Apache-2.0")):
            said = call("rpm", "-qp", "--queryformat", "%{LICENSE}", str(self.file(name)))
            require(said == licence, f"{name}: {said}")

    def test_install(self):
        """all packages can be installed together, and every file verifies"""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        self.rpm("-i", "--nodeps", "--noscripts", "--notriggers", *(str(self.file(name)) for name in NAMES))
        require(set(self.rpm("-qa", "--queryformat", "%{NAME}\\n").split()) == set(NAMES))
        self.rpm("-Va", "--nodeps", "--noscripts")
        listed = {name: {line for line in self.rpm("-ql", name).splitlines()} for name in NAMES}
        for backend in BACKENDS:
            plugins = [line for line in listed[f"sluice-backend-{backend}"] if line.endswith(".so")]
            require(len(plugins) == 1 and plugins[0].endswith(f"/{backend}.so"), plugins)
        for name in ("/usr/sbin/sluiced", "/usr/sbin/sluicectl", "/etc/sluice/config.yaml", "/etc/sluice/manifests",
                     "/usr/lib/systemd/system/sluiced.service", "/usr/libexec/sluice/configured"):
            require(name in listed["sluice"], f"not in sluice: {name}")
        require(any(line.endswith("/abi/abi.hpp") for line in listed["sluice-devel"]), listed["sluice-devel"])

    def test_apart(self):
        """no file is in two packages, and the conformance kit is in its own package"""
        owner = {}
        for name in NAMES:
            for line in self.rpm("-ql", name).splitlines():
                if (self.root / line.lstrip("/")).is_dir():
                    continue
                require(line not in owner, f"{line} is in {owner.get(line)} and in {name}")
                owner[line] = name
                kit = name == "sluice-conformance" and not line.startswith(("/usr/share/licenses/", "/usr/lib/.build-id/"))
                require(bool(KIT.match(line)) == kit, f"{line} is in {name}")
        for program in ("conformance-load", "netecho", "swaptraffic"):
            require(owner.get(f"/usr/libexec/sluice/conformance/{program}") == "sluice-conformance", f"no {program} in the kit")

    def script(self, which, count):
        """Runs a script of sluice-kube-proxy, with a folder in the place of /usr, as when there are `count` such packages."""
        text = call("rpm", "-qp", "--queryformat", f"%{{{which}}}", str(self.file("sluice-kube-proxy")))
        call("sh", "-ec", text.replace("/usr/", f"{self.folder}/scripts/"), which, str(count))

    def test_kube_proxy(self):
        """the command kube-proxy is the daemon; a program of the operator is diverted, and restored by a removal"""
        require((self.root / "usr/bin/kube-proxy").readlink() == Path("../sbin/sluiced"))
        require(call(str(self.root / "usr/bin/kube-proxy"), "--version").startswith("sluiced "))
        provided = {name: {line.split()[0] for line in self.of("sluice-kube-proxy", f"--{name}")} for name in ("provides", "conflicts")}
        require("kube-proxy" in provided["provides"] and {"kube-proxy", "kubernetes-node"} <= provided["conflicts"], provided)
        bin_folder, local = self.folder / "scripts/bin", self.folder / "scripts/local/bin/kube-proxy"
        for was in (True, False):
            shutil.rmtree(self.folder / "scripts", ignore_errors=True)
            bin_folder.mkdir(parents=True)
            local.parent.mkdir(parents=True)
            for file in (bin_folder / "kube-proxy", local) if was else ():
                file.write_text("of the operator", encoding="ascii")
            self.script("PREIN", 1)
            (bin_folder / "kube-proxy").symlink_to("../sbin/sluiced")
            for which, count in (("POSTIN", 1), ("PREIN", 2), ("POSTIN", 2), ("PREUN", 1), ("POSTUN", 1)):
                self.script(which, count)
                require(local.readlink() == bin_folder / "kube-proxy", f"after {which} {count}: {local}")
            self.script("PREUN", 0)
            (bin_folder / "kube-proxy").unlink()
            self.script("POSTUN", 0)
            left = {str(path.relative_to(self.folder / "scripts")) for path in (self.folder / "scripts").rglob("*") if not path.is_dir()}
            require(left == ({"bin/kube-proxy", "local/bin/kube-proxy"} if was else set()), left)
        shutil.rmtree(self.folder / "scripts")

    def test_kit(self):
        """the conformance kit is complete: from its package alone it lists what it would run"""
        root = self.root
        plugin = next(line for line in self.rpm("-ql", "sluice-backend-nftables").splitlines() if line.endswith(".so"))
        said = call(sys.executable, "-B", str(root / "usr/share/sluice/conformance/kit.py"), "--sbindir", str(root / "usr/sbin"),
                    "--libexecdir", str(root / "usr/libexec/sluice/conformance"), "--plugindir",
                    str(root / plugin.lstrip("/").rsplit("/", 1)[0]), "--plugin", str(root / plugin.lstrip("/")), "--list")
        require(len(said.splitlines()) > 100, said)

    def test_runs(self):
        """the daemon finds backends in the folder of the packages, and accepts the installed configuration"""
        daemon = str(self.root / "usr/sbin/sluiced")
        plugin = next(line for line in self.rpm("-ql", "sluice-backend-iptables").splitlines() if line.endswith(".so"))
        folder = plugin.rsplit("/", 1)[0]
        require(folder in call(daemon, "--help"), f"sluiced does not look into {folder}")
        config = self.folder / "config.yaml"
        text = (self.root / "etc/sluice/config.yaml").read_text(encoding="utf-8")
        config.write_text(text.replace("/etc/sluice", str(self.root / "etc/sluice")), encoding="utf-8")
        call(daemon, "--check", "--config", str(config), "--plugin-dir", str(self.root) + folder)

    def test_one_backend(self):
        """a backend can be removed without files of another one"""
        before = set(self.left())
        gone = {line.lstrip("/") for line in self.rpm("-ql", "sluice-backend-ipvs").splitlines()}
        self.rpm("-e", "--noscripts", "--notriggers", "sluice-backend-ipvs")
        require(before - set(self.left()) == gone & before, before - set(self.left()) ^ gone & before)
        # The daemon needs one.
        rest = [f"sluice-backend-{one}" for one in BACKENDS if one != "ipvs"]
        done = subprocess.run(["rpm", "--root", str(self.root), "--define", "_dbpath /var/lib/rpm", "-e", "--test", *rest],
                              capture_output=True, text=True, check=False)
        require(done.returncode != 0 and "sluice-backend is needed by" in done.stderr, done.stdout + done.stderr)

    def test_erase(self):
        """after the removal, no file is left"""
        self.rpm("-e", "--noscripts", "--notriggers", *self.rpm("-qa", "--queryformat", "%{NAME}\\n").split())
        require(not self.left(), self.left())
        folders = sorted(str(path) for path in self.root.rglob("*sluice*"))
        require(not folders, folders)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--builddir", required=True, type=Path)
    parser.add_argument("--built", type=Path)
    options = parser.parse_args()
    tests = Tests()
    tests.run(Rpms(options.builddir.resolve(), options.built and options.built.resolve()))
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
