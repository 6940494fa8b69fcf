# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the image needs for another architecture than that of this machine, without a cross compiler: the programs
that build packages, and the checks that a wrong file must not pass."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from outcome import call, require

SRC = Path(__file__).resolve().parents[2]
FOLDER = SRC / "packaging/image"
sys.path.append(str(SRC / "packaging/sbom"))

import sbom  # noqa: E402

MACHINE = 18  # offset of the machine in an ELF file
AARCH64, X86_64 = (183).to_bytes(2, "little"), (62).to_bytes(2, "little")
# Writes its arguments, one line a call.
STAND_IN = '#!/bin/sh\nprintf "%s " "$(basename "$0")" "$@" >>"$RECORD"\necho >>"$RECORD"\n'


class Foreign:
    """Stand-ins for mmdebstrap, chroot, and what must run in the new Debian only."""

    def __init__(self, image):
        self.image = image
        self.work = image.work / "foreign"
        self.record = self.work / "record"
        self.archive = self.work / "sluice.tar.gz"

    def environment(self, *programs):
        """An environment in which these programs are stand-ins."""
        folder = self.work / "bin"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in programs:
            (folder / name).write_text(STAND_IN, encoding="ascii")
            (folder / name).chmod(0o755)
        self.record.write_text("", encoding="ascii")
        others = {name: value for name, value in os.environ.items() if not name.startswith(("CCACHE", "DEB_", "SLUICE_JOBS"))}
        return {**others, "PATH": f"{folder}:{os.environ['PATH']}", "RECORD": str(self.record), "LC_ALL": "C"}

    def recorded(self, name):
        """The arguments of each call of that stand-in."""
        lines = [line.split() for line in self.record.read_text(encoding="ascii").splitlines()]
        return [words[1:] for words in lines if words[0] == name]

    def packages(self, architecture, **others):
        """The arguments that mmdebstrap gets."""
        out = self.work / "out"
        out.mkdir(exist_ok=True)
        (out / "sluice_1_riscv64.deb").touch()
        subprocess.run([str(FOLDER / "packages.sh"), "--arch", architecture, str(self.archive), str(out)], capture_output=True,
                       check=False, env={**self.environment("mmdebstrap"), **others})
        require(not list(out.iterdir()), "packages of an earlier build are left")
        words, = self.recorded("mmdebstrap")
        return {key: value.split(",") for key, _, value in (word.partition("=") for word in words)}

    def plugin(self):
        found, = self.image.root.glob("usr/**/sluice/plugins/nftables.so")
        return found

    # In this order.

    def test_arguments(self):
        """packages.sh rejects missing arguments, an unknown architecture, and a source archive that does not exist"""
        self.work.mkdir()
        for words, status, said in ((["--arch", "arm64", "x"], 2, "packages.sh --arch ARCH SOURCE.tar.gz OUT"),
                                    (["--arch", "i386", "x", "y"], 1, "no packages for architecture 'i386'; supported: amd64 arm64"),
                                    (["--arch", "arm64", f"{self.work}/none", "y"], 1, "no source archive")):
            done = subprocess.run([str(FOLDER / "packages.sh"), *words], capture_output=True, text=True, check=False)
            require(done.returncode == status and said in done.stderr, f"{words}: status {done.returncode}: {done.stderr}")

    def test_debian(self):
        """packages.sh creates a Debian with a cross compiler only for another architecture, and with ccache on demand"""
        top = self.work / "sluice-1"
        (top / "packaging/debian").mkdir(parents=True)
        (top / "packaging/debian/control").write_text("Source: sluice\n", encoding="ascii")
        os.link(top / "packaging/debian/control", top / "linked")
        with tarfile.open(self.archive, "w:gz") as archive:
            archive.add(top, "sluice-1")
        native = call("dpkg", "--print-architecture").strip()
        other = "arm64" if native != "arm64" else "amd64"
        words = self.packages(native)
        require(words["--architectures"] == [native] and words["--include"] == ["build-essential"], words)
        words = self.packages(other, CCACHE_DIR="/none")
        require(words["--architectures"] == [native, other], words)
        require(words["--include"] == ["build-essential", f"crossbuild-essential-{other}", "ccache"], words)

    def test_inside(self):
        """apt and the compiler run only in the new Debian, without the caller's environment, on every file of the archive"""
        root = self.work / "debian"
        root.mkdir()
        tools = ("apt-get", "dpkg", "dpkg-buildpackage", "mount")
        about = {"ARCHITECTURE": "arm64", "SOURCE": str(self.archive), "OUT": str(self.work), "PROFILES": "nocheck,cross",
                 "SLUICE_JOBS": "3", "CXX": "none"}
        # The packages are missing afterwards, so the last command fails.
        subprocess.run([str(FOLDER / "compile.sh"), str(root)], capture_output=True, check=False,
                       env={**self.environment("chroot", *tools), **about})
        for tool in tools:
            require(not self.recorded(tool), f"{tool} ran on this machine")
        calls = self.recorded("chroot")
        require([words[:3] for words in calls] == [[str(root), "env", "-i"]] * 2, calls)
        require(not any("CXX" in word for words in calls for word in words), calls)
        install, build = (set(words) for words in calls)
        require({"apt-get", "build-dep", "--host-architecture", "arm64", "nocheck,cross"} <= install, calls)
        require({"--host-arch", "arm64", "--build-profiles=nocheck,cross", "--jobs-try=3"} <= build, calls)
        for name in ("linked", "debian/control"):
            text = (root / "build/sluice" / name).read_text(encoding="ascii")
            require(text == "Source: sluice\n", f"{name}: {text}")

    def test_machine(self):
        """a plugin of another architecture, or one that is no ELF file, is an error"""
        tree = self.work / "tree"
        for folder in ("usr/sbin", "usr/lib"):
            for path in self.image.root.glob(f"{folder}/**/sluice*"):
                at = tree / path.relative_to(self.image.root)
                at.parent.mkdir(parents=True, exist_ok=True)
                if path.is_dir():
                    shutil.copytree(path, at)
                else:
                    shutil.copy(path, at)
        plugin = tree / self.plugin().relative_to(self.image.root)
        data = plugin.read_bytes()
        other = X86_64 if data[MACHINE:MACHINE + 2] == AARCH64 else AARCH64
        for content, said in ((data[:MACHINE] + other + data[MACHINE + 2:], "AArch64" if other == AARCH64 else "X86-64"),
                              (b"text", "not an ELF file")):
            plugin.write_bytes(content)
            done = subprocess.run([str(FOLDER / "rootfs.sh"), "--tree", str(tree), *self.image.system, f"{self.work}/root"],
                                  capture_output=True, text=True, check=False)
            shutil.rmtree(self.work / "root")
            require(done.returncode == 1 and "nftables.so is for" in done.stderr and said in done.stderr, done.stderr)

    def test_headers(self):
        """the bill of materials finds the headers of a cross compiler and of packages in the notes of the compiler"""
        text = ("core/a.lo: ../core/a.cpp \\\n /usr/aarch64-linux-gnu/include/c++/12/string \\\n /usr/include/yaml-cpp/yaml.h \\\n"
                " /usr/lib/gcc-cross/aarch64-linux-gnu/12/include/stddef.h ../sdk/include/x.hpp\n/usr/include/yaml-cpp/yaml.h:\n")
        require(sorted(set(sbom.noted(text))) == ["/usr/aarch64-linux-gnu/include/c++/12/string", "/usr/include/yaml-cpp/yaml.h",
                                                  "/usr/lib/gcc-cross/aarch64-linux-gnu/12/include/stddef.h"], sbom.noted(text))

    def test_licences(self):
        """the bill of materials has the licences of a cross compiler's headers, and rejects an unknown package"""
        for name, source, original in (("libc6-dev-arm64-cross", "cross-toolchain-base", "glibc"),
                                       ("linux-libc-dev-ppc64el-cross", "cross-toolchain-base", "linux"),
                                       ("libstdc++-12-dev-arm64-cross", "gcc-12-cross", "gcc-12"),
                                       ("libgcc-12-dev-arm64-cross", "gcc-12-cross", "gcc-12")):
            require(sbom.licence(name, source) == sbom.LICENCES[original], name)
        require(sbom.licence("libmnl-dev", "libmnl") == "LGPL-2.1-or-later")
        for name, source in (("binutils-arm64-cross", "cross-toolchain-base"), ("libnone-dev", "none")):
            try:
                found = sbom.licence(name, source)
            except sbom.Unknown as why:
                require(name in str(why), why)
            else:
                raise AssertionError(f"{name}: {found}")
