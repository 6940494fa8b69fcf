# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Debian's kernel packages: found by apt, downloaded once, unpacked, never installed."""

import contextlib
import dataclasses
import fcntl
import glob
import os
import re
import shutil
import subprocess
import tempfile

from .failure import Failure

DEFAULT = "linux-image-cloud-amd64"
FLAVOUR = "cloud-amd64"
LISTS = "/var/lib/apt/lists"
SIGNED = b"~Module signature appended~\n"
SIGNATURE_HEADER = 12


@dataclasses.dataclass(frozen=True)
class Kernel:
    version: str  # as printed by uname -r
    folder: str  # boot/ and lib/modules/ of the package, and files made from them

    @property
    def image(self):
        return os.path.join(self.folder, "boot", f"vmlinuz-{self.version}")

    @property
    def modules(self):
        return os.path.join(self.folder, "lib", "modules", self.version)


def get(wanted, cache):
    """The requested kernel: a file, a package, or a version."""
    with locked(cache):
        if wanted.endswith(".deb"):
            return _unpacked(os.path.abspath(wanted), cache)
        package = _package(wanted, cache)
        known = _known(os.path.join(cache, package))
        return known or _unpacked(_downloaded(package, cache), cache, package)


@contextlib.contextmanager
def locked(cache):
    """Several runs may begin at once; only one of them downloads."""
    with open(os.path.join(cache, "lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _package(wanted, cache):
    """The name of the package with the kernel itself. It is searched again if apt has newer lists than last time."""
    known = os.path.join(cache, "package-of-" + re.sub(r"[^\w.+-]", "_", wanted))
    if os.path.exists(known) and os.path.getmtime(known) >= _lists_changed():
        with open(known, encoding="utf-8") as file:
            return file.read().strip()
    package = _resolved(wanted)
    if package is None and os.geteuid() == 0:
        subprocess.run(["apt-get", "-qq", "update"], check=False, capture_output=True)
        package = _resolved(wanted)
    if package is None:
        raise Failure(f"apt knows no kernel {wanted}; give a version that `apt-cache search linux-image` lists for "
                      f"{FLAVOUR}, or the file of a package, or run apt-get update")
    with open(known, "w", encoding="utf-8") as file:
        print(package, file=file)
    return package


def _lists_changed():
    return max([os.path.getmtime(LISTS)] if os.path.isdir(LISTS) else [0])


def _resolved(wanted):
    if wanted.startswith("linux-image-"):
        return _itself(wanted)
    exact = f"linux-image-{wanted}-{FLAVOUR}"
    return _itself(exact) or _newest_of(wanted)


def _itself(package):
    """The package, or for a metapackage the kernel package that it depends on."""
    shown = _apt_cache("show", "--no-all-versions", package)
    if not shown:
        return None
    depends = re.search(r"^Depends: .*?(linux-image-[\w.+-]+)", shown, re.M)
    return depends.group(1) if depends else package


def _newest_of(version):
    """All kernels whose version begins with it."""
    names = _apt_cache("pkgnames", f"linux-image-{version}").split()
    pattern = re.compile(rf"linux-image-({re.escape(version)}(?:[.+-][\w.+]*)*)-{FLAVOUR}")
    found = [match for match in map(pattern.fullmatch, names) if match]
    newest = max(found, key=lambda match: [int(number) for number in re.findall(r"\d+", match.group(1))], default=None)
    return newest and newest.group(0)


def _apt_cache(*words):
    try:
        return subprocess.run(["apt-cache", *words], check=False, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise Failure("there is no apt here to get a kernel with; give --kernel the file of a Debian package") from None


def _downloaded(package, cache):
    """apt verifies the file against the signed lists of the archive."""
    folder = tempfile.mkdtemp(prefix="download-", dir=cache)
    done = subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package], check=False,
                          cwd=folder, capture_output=True, text=True)
    files = glob.glob(os.path.join(folder, "*.deb"))
    if done.returncode != 0 or len(files) != 1:
        shutil.rmtree(folder)
        raise Failure(f"{package} could not be downloaded: {done.stderr.strip() or done.stdout.strip()}")
    return files[0]


def _unpacked(file, cache, package=None):
    if not os.path.isfile(file):
        raise Failure(f"there is no file {file}")
    if package is None:
        package = _said(["dpkg-deb", "-f", file, "Package"]).strip()
        status = os.stat(file)
        package = f"{package}-{status.st_size}-{status.st_mtime_ns}"
        if known := _known(os.path.join(cache, package)):
            return known
    folder = os.path.join(cache, package)
    fresh = tempfile.mkdtemp(prefix="unpack-", dir=cache)
    try:
        _said(["dpkg-deb", "-x", file, fresh])
        versions = os.listdir(os.path.join(fresh, "lib", "modules"))
        _said(["depmod", "-b", fresh, versions[0]])
        os.chmod(fresh, 0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(fresh, folder)
    except (OSError, IndexError) as error:
        raise Failure(f"{file} is no package of a kernel: {error}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if os.path.basename(os.path.dirname(file)).startswith("download-"):
            shutil.rmtree(os.path.dirname(file))
    return _known(folder)


def _known(folder):
    versions = glob.glob(os.path.join(folder, "lib", "modules", "*"))
    if not versions:
        return None
    _remove_signatures(folder)
    return Kernel(os.path.basename(versions[0]), folder)


def _remove_signatures(folder):
    """The kernel verifies a signature that a module has. An emulated processor spends half a second on that at each start."""
    done = os.path.join(folder, "unsigned")
    if os.path.exists(done):
        return
    for module in glob.glob(os.path.join(folder, "lib", "modules", "**", "*.ko"), recursive=True):
        with open(module, "r+b") as file:
            content = file.read()
            if content.endswith(SIGNED):
                # Before the mark is struct module_signature, whose last field is the length of the signature.
                length = int.from_bytes(content[-len(SIGNED) - 4:-len(SIGNED)], "big")
                file.truncate(len(content) - len(SIGNED) - SIGNATURE_HEADER - length)
    with open(done, "w", encoding="ascii"):
        pass


def _said(words):
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise Failure(f"{words[0]} is missing; packaging/install-deps.sh test installs it") from None
    except subprocess.CalledProcessError as error:
        raise Failure(f"{' '.join(words)}: {error.stderr.strip()}") from None
