#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The root filesystem of the image: made by packaging/image/rootfs.sh, entered by chroot, everything in it started once.
archive.py has the tests of the archive that is made from it. Prints TAP. Needs root.

  image_test.py --builddir DIR [--debs DIR [--system DIR] [--emulator FILE]]

From the packages in --debs, else from what `make install` installs from the build tree. It is left in
builddir/image-test/root, for test/kubernetes/pod_test.py. For another architecture than that of this machine, --system is the
Debian that system.sh unpacked, and --emulator a statically linked emulator such as qemu-aarch64-static. The emulator starts
each program of the image, in a user namespace; this needs Linux 6.7, which has binfmt_misc there.
"""

import argparse
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from archive import Archive  # noqa: E402
from foreign import Foreign  # noqa: E402
from outcome import Skip  # noqa: E402
from package_test import SRC, Tests, call, require, stretched  # noqa: E402
from lib import installers  # noqa: E402

SCRIPT = SRC / "packaging/image/rootfs.sh"
# Mounts what a runtime does, in namespaces that end with the command: nothing is written to this machine's own rules.
PREPARE = """set -e
root=$1
shift
if [ -n "$RULE" ]; then
  mount -t binfmt_misc binfmt_misc "$root/dev"
  printf %s "$RULE" >"$root/dev/register"
fi
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/dev"
touch "$root/dev/null"
mount --bind /dev/null "$root/dev/null"
"""
ENTER = PREPARE + 'exec chroot "$root" "$@"'
# Prints the files that the loader cannot load.
LOAD = PREPARE + 'loader=$1; shift; for file; do chroot "$root" "$loader" --list "$file" >/dev/null || echo "$file"; done'

# An emulator has no netlink sockets of netfilter. A program that says so has started, with all its libraries.
NO_NETLINK = "Failed to initialize nft: Protocol not supported"


class Image:
    def __init__(self, options):
        self.build = options.builddir
        self.debs = options.debs
        self.system = ["--system", str(options.system)] if options.system else []
        self.emulator = options.emulator
        self.work = self.build / "image-test"
        self.root = self.work / "root"
        self.tar = self.work / "rootfs.tar"
        self.source = []

    def inside(self, *argv, script=ENTER, path="/usr/sbin:/usr/bin:/sbin:/bin"):
        """Runs a command in the root filesystem, in its own namespaces."""
        user = ["--user", "--map-root-user"] if self.emulator else []
        return subprocess.run(["unshare", *user, "--mount", "--net", "--pid", "--fork", "sh", "-c", script, "sh", str(self.root), *argv],
                              capture_output=True, text=True, timeout=stretched(600), check=False,
                              env={"PATH": path, "RULE": self.rule()})

    def rule(self):
        """The rule of binfmt_misc that starts programs of this image with the emulator."""
        if not self.emulator:
            return ""
        begin = (self.root / "usr/sbin/sluiced").read_bytes()[:20]
        # Any ABI: the linker notes there whether a program uses some extensions.
        mask = bytes(0 if at == 7 else 255 for at in range(len(begin)))
        magic, mask = ("".join(f"\\x{byte:02x}" for byte in each) for each in (begin, mask))
        return f":sluice-image:M::{magic}:{mask}:{self.emulator}:F"

    def files(self):
        for folder, names, others in os.walk(self.root):
            for name in names + others:
                yield Path(folder, name)

    def place(self, path):
        """Path of a file within the image."""
        return "/" + str(path.relative_to(self.root))

    def backends(self):
        return sorted(path.stem for path in self.root.glob("usr/**/sluice/plugins/*.so"))

    def elves(self):
        return [path for path in self.files() if path.is_file() and not path.is_symlink() and
                path.read_bytes()[:4] == b"\x7fELF" and b"ld-linux" not in path.name.encode()]

    def loader(self):
        found, = [path for folder in ("lib64", "lib") for path in (self.root / folder).glob("ld-linux-*.so.*")]
        return self.place(found)

    def unloadable(self):
        """Programs and libraries of the image with a missing library."""
        done = self.inside(self.loader(), "--help")
        require(done.returncode == 0, f"the loader: {done.stderr}")
        return self.inside(self.loader(), *[self.place(one) for one in self.elves()], script=LOAD).stdout.split()

    # In this order.

    def test_made(self):
        """the script creates the root filesystem"""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        if self.debs:
            self.source = ["--debs", str(self.debs), *self.system]
        else:
            call("make", "-C", str(self.build), "install", f"DESTDIR={self.work}/tree", timeout=600)
            self.source = ["--tree", f"{self.work}/tree", *self.system]
        said = call(str(SCRIPT), *self.source, "--tar", str(self.tar), str(self.root), timeout=300)
        print("#   " + said.strip().rpartition("/")[2])

    def test_refused(self):
        """a folder that is not empty, and missing dependencies, are errors"""
        for words, said in (([*self.source, str(self.root)], "is not empty"), ([str(self.root)], "rootfs.sh --debs"),
                            (["--tree", str(self.root / "etc"), f"{self.work}/other"], "no sluiced in")):
            done = subprocess.run([str(SCRIPT), *words], capture_output=True, text=True, check=False)
            require(done.returncode != 0 and said in done.stderr, f"{words}: status {done.returncode}: {done.stderr}")
        shutil.rmtree(self.work / "other", ignore_errors=True)

    def test_other_architecture(self):
        """packages for another architecture than that of the dependencies are an error"""
        known = self.work / "system/var/lib/dpkg"
        (known / "info").mkdir(parents=True)
        (known / "updates").mkdir()
        (known / "arch").write_text("s390x\n", encoding="ascii")
        (known / "status").write_text("Package: libc6\nStatus: install ok installed\nMaintainer: test\nArchitecture: s390x\n"
                                      "Version: 1\nDescription: test\n", encoding="ascii")
        package = self.work / "package"
        (package / "DEBIAN").mkdir(parents=True)
        (package / "DEBIAN/control").write_text("Package: sluice\nVersion: 1\nArchitecture: riscv64\nMaintainer: test\n"
                                                "Description: test\n", encoding="ascii")
        call("dpkg-deb", "--build", str(package), str(self.work / "sluice_1.deb"))
        done = subprocess.run([str(SCRIPT), "--debs", str(self.work), "--system", str(self.work / "system"), str(self.work / "other")],
                              capture_output=True, text=True, check=False)
        require(done.returncode == 1 and "architecture riscv64" in done.stderr and "is s390x" in done.stderr, done.stderr)
        shutil.rmtree(self.work / "other")

    def test_programs(self):
        """daemon, client and the programs they need start"""
        for argv, words in ((("/usr/sbin/sluiced", "--version"), "sluiced "), (("/usr/sbin/sluiced", "--help"), "--plugin-dir"),
                            (("/usr/sbin/sluicectl", "--version"), "sluicectl "), (("/usr/sbin/modprobe", "--version"), "kmod"),
                            *((("/usr/sbin/" + name, "--version"), kind) for family in ("iptables", "ip6tables")
                              for variant, kind in (("", "nf_tables"), ("-nft", "nf_tables"), ("-legacy", "legacy"))
                              for name in (family + variant, family + variant + "-save", family + variant + "-restore"))):
            done = self.inside(*argv)
            if self.emulator and words == "nf_tables" and NO_NETLINK in done.stderr:
                continue
            require(done.returncode == 0 and words in done.stdout, f"{argv}: status {done.returncode}: {done.stdout}{done.stderr}")

    def test_kube_proxy(self):
        """the daemon is at the place of kube-proxy, and the image finds a command of that name, as some static pods need"""
        path = re.search(r"^ENV PATH=(\S+)$", (SCRIPT.parent / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE).group(1)
        for command in ("/usr/local/bin/kube-proxy", "kube-proxy"):
            done = self.inside(command, "--version", path=path)
            require(done.returncode == 0 and done.stdout.startswith("sluiced "), f"{command}: {done.stdout}{done.stderr}")

    def test_configuration(self):
        """started as kube-proxy with the files of kubeadm, the daemon accepts the configuration, and rejects a wrong mode"""
        kubeadm = installers.Recording("kubeadm")
        folder = self.root / "etc/proxy"
        folder.mkdir()
        try:
            call("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", str(folder / "ca.key"),
                 "-out", str(folder / "ca.crt"))
            (folder / "token").write_text("token", encoding="ascii")
            text = kubeadm.text("kubeconfig.conf", "nftables").replace("/var/run/secrets/kubernetes.io/serviceaccount/", "/etc/proxy/")
            (folder / "kubeconfig.conf").write_text(text, encoding="utf-8")
            text = kubeadm.text("config.conf", "nftables").replace("/var/lib/kube-proxy/", "/etc/proxy/")
            require("kind: KubeProxyConfiguration" in text and "mode: nftables" in text, text)
            for written, accepted in ((text, True), (text.replace("mode: nftables", "mode: none-such"), False)):
                (folder / "config.conf").write_text(written, encoding="utf-8")
                done = self.inside("/usr/local/bin/kube-proxy", "--check", "--config=/etc/proxy/config.conf", "--hostname-override=n")
                require((done.returncode == 0) == accepted, f"status {done.returncode}: {done.stdout}{done.stderr}")
                require(accepted or "none-such" in done.stdout + done.stderr, done.stdout + done.stderr)
        finally:
            shutil.rmtree(folder)

    def test_matches(self):
        """iptables finds its matches and targets, in both families"""
        # The legacy variant needs no netlink; it asks the kernel about targets, which an emulator does not pass on.
        variant, target = ("legacy", []) if self.emulator else ("nft", ["-j", "DNAT"])
        for tool in (f"iptables-{variant}", f"ip6tables-{variant}"):
            done = self.inside(f"/usr/sbin/{tool}", "-m", "recent", "-m", "statistic", *target, "--help")
            require("recent match options" in done.stdout and "statistic match options" in done.stdout, done.stdout[-500:] + done.stderr)
            require(not target or "DNAT target options" in done.stdout, done.stdout[-500:] + done.stderr)

    def test_libraries(self):
        """every program and library of the image finds its libraries there"""
        require(len(self.elves()) > 20, self.elves())
        missing = self.unloadable()
        require(not missing, missing)
        # The check finds a missing library.
        library = next(self.root.glob("usr/lib/*/libyaml-cpp.so*"))
        library.rename(library.with_name("away"))
        try:
            found = self.unloadable()
        finally:
            library.with_name("away").rename(library)
        require(any(name.endswith("sluiced") for name in found), found)

    def test_backends(self):
        """the daemon loads each backend"""
        require(self.backends() == ["iptables", "ipvs", "nftables", "userspace"], self.backends())
        for backend in self.backends():
            done = self.inside("/usr/sbin/sluiced", "--check", "--proxy-mode", backend, "--manifests", "/etc", "--hostname-override", "n")
            require(done.returncode == 0, f"{backend}: {done.stdout}{done.stderr}")

    def test_probes(self):
        """each backend probes this kernel"""
        if self.emulator:
            raise Skip("an emulator has no netlink sockets of netfilter")
        for backend in self.backends():
            done = self.inside("/usr/sbin/sluiced", "--init-only", "--proxy-mode", backend, "--manifests", "/etc",
                               "--hostname-override", "n")
            text = done.stdout + done.stderr
            # This kernel may lack modules for ipvs mode; it is enough that the backend has probed for them.
            require(done.returncode == 0 or backend == "ipvs" and "probe" in text and "ip_vs" in text, f"{backend}: {text}")

    def test_plain(self):
        """the image has no shell, dangling link, world-writable or setuid file"""
        for name in ("sh", "bash", "dash", "busybox"):
            require(not list(self.root.glob(f"usr/*bin/{name}")), name)
        for path in self.files():
            if path.is_symlink():
                target = os.readlink(path)
                at = self.root / target.lstrip("/") if target.startswith("/") else path.parent / target
                require(os.path.lexists(at), f"{path} leads to {target}")
                continue
            mode = path.stat().st_mode
            require(not mode & (stat.S_ISUID | stat.S_ISGID), f"{path}: {mode:o}")
            require(not mode & stat.S_IWOTH or self.place(path) == "/tmp", f"{path}: {mode:o}")
            require(path.stat().st_uid == 0 and path.stat().st_gid == 0, f"{path} belongs to {path.stat().st_uid}")

    def test_terms(self):
        """the image has the name and the licence of each package"""
        names = [path.name for path in (self.root / "var/lib/dpkg/status.d").iterdir()]
        require("libc6" in names and "iptables" in names, names)
        for name in [*names, "sluice"]:
            require(any(self.root.glob(f"usr/share/doc/{name}/copyright")), name)

    def test_same(self):
        """the image is reproducible byte for byte"""
        other = self.work / "again"
        call(str(SCRIPT), *self.source, "--tar", f"{other}.tar", str(other), timeout=300)
        sums = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.tar, Path(f"{other}.tar"))}
        shutil.rmtree(other)
        require(len(sums) == 1, "two archives")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--builddir", required=True, type=Path)
    for name in ("--debs", "--system", "--emulator"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    for name, path in vars(options).items():
        setattr(options, name, path and path.resolve())
    tests = Tests()
    image = Image(options)
    tests.run(image)
    tests.run(Foreign(image))
    tests.run(Archive(image))
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
