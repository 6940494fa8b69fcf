# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Container images, made by hand because nodes pull none: pause, agnhost on a small Debian, busybox, and one of upstream's tests.

They are named sluice.test/NAME:1, and also as `e2e.test --list-images` names them, so that upstream's tests find them.
"""

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import threading
from pathlib import Path

from . import shell
from .failure import ClusterError

PAUSE_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pause.c")
# Programs that tests run in pods.
PACKAGES = ("bash", "curl", "netcat-openbsd", "iproute2", "iperf", "util-linux", "bind9-dnsutils", "iptables", "conntrack",
            "procps", "ca-certificates", "iputils-ping", "socat", "wget")
UNUSED = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale")
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"
# By name: layers, entry point, default command. A missing optional program omits its image.
IMAGES = {
    "pause": (("pause",), ["/pause"], []),
    "agnhost": (("debian", "agnhost"), ["/agnhost"], ["pause"]),
    "busybox": (("busybox",), ["/bin/sh"], []),
    "distroless-iptables": (("debian",), ["/bin/sh"], []),
    "regression-issue-74839": (("regression-issue-74839",), ["/regression-issue-74839"], []),
}
OPTIONAL = ("regression-issue-74839",)
DATABASES = "*.db"
# Folders of containerd with the content of images.
CONTENT, SNAPSHOTS = "io.containerd.content.v1.content", "io.containerd.snapshotter.v1.overlayfs/snapshots"
RECIPE = 2  # grows with each change of what the images contain


def own_name(image):
    return f"sluice.test/{image}:1"


def write_layer(folder, path):
    """Writes a layer, sorted and without times, and returns its digest."""
    def plain(entry):
        entry.mtime = 0
        return entry

    with tarfile.open(path, "w") as archive:
        for place, folders, files in os.walk(folder):
            folders.sort()
            links = [name for name in folders if os.path.islink(os.path.join(place, name))]
            for name in ([] if place == folder else [""]) + sorted(files + links):
                full = os.path.join(place, name).rstrip("/")
                archive.add(full, os.path.relpath(full, folder), recursive=False, filter=plain)
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def configuration(digests, entry, command):
    return json.dumps({
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine], "os": "linux",
        "config": {"Entrypoint": entry, "Cmd": command, "Env": [PATH]},
        "rootfs": {"type": "layers", "diff_ids": digests},
        "history": [{"created_by": "sluice"} for _ in digests]}).encode()


class Images:
    def __init__(self, layout, programs):
        self._folder, self._programs = layout.images, programs
        self._archive = self._folder / "images.tar"
        self._stamp = self._folder / "images.json"
        self._template = self._folder / "containerd"
        self._lock = threading.Lock()

    # The archive with all images.

    def build(self):
        """Makes the images if they are not there, or if their programs changed."""
        names = self._names()
        programs = [self._version(name) for name in ("agnhost", *OPTIONAL)]
        wanted = json.dumps({"recipe": RECIPE, "names": names, "programs": programs})
        if self._stamp.exists() and self._stamp.read_text(encoding="utf-8") == wanted:
            return
        shutil.rmtree(self._template, ignore_errors=True)
        layers = {layer for image in names for layer in IMAGES[image][0]}
        digests = {layer: self._layer(layer) for layer in sorted(layers)}
        self._write_archive(names, digests)
        self._stamp.write_text(wanted, encoding="utf-8")

    def _names(self):
        """All names of each image."""
        listed = []
        if self._programs.has("e2e.test"):
            listed = shell.run([self._programs.path("e2e.test"), "--list-images"], timeout=120).stdout.split()
        images = [image for image in IMAGES if image not in OPTIONAL or self._programs.has(image)]
        return {image: [own_name(image)] + sorted({name for name in listed if f"/{image}:" in name}) for image in images}

    def _version(self, program):
        if not self._programs.has(program):
            return None
        status = os.stat(self._programs.path(program))
        return [program, status.st_size, status.st_mtime]

    def _layer(self, name):
        """Writes a layer, and returns its digest. Debian is kept, because it takes minutes."""
        root, path = self._folder / f"{name}.root", self._folder / f"{name}.tar"
        if name == "debian" and (self._folder / "debian.json").exists():
            return json.loads((self._folder / "debian.json").read_text(encoding="ascii"))
        shutil.rmtree(root, ignore_errors=True)
        {"debian": self._fill_debian, "pause": self._fill_pause, "busybox": self._fill_busybox,
         "agnhost": self._fill_agnhost}.get(name, self._fill_program)(root)
        digest = write_layer(str(root), path)
        shutil.rmtree(root)
        if name == "debian":
            (self._folder / "debian.json").write_text(json.dumps(digest), encoding="ascii")
        return digest

    def _fill_debian(self, root):
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "package"))
        import container  # pylint: disable=import-error,import-outside-toplevel  # extends sys.path

        try:
            container.make_root(root, PACKAGES)
        except container.CannotRun as error:
            raise ClusterError(f"the image of agnhost needs a Debian: {error}") from None
        for folder in UNUSED:
            shutil.rmtree(root / folder, ignore_errors=True)

    @staticmethod
    def _fill_pause(root):
        root.mkdir()
        shell.run(["gcc", "-static", "-O2", "-s", "-o", str(root / "pause"), PAUSE_SOURCE])

    @staticmethod
    def _fill_busybox(root):
        program = shutil.which("busybox")
        if not program:
            raise ClusterError("busybox is missing; packaging/install-deps.sh cluster installs it")
        (root / "bin").mkdir(parents=True)
        (root / "tmp").mkdir(mode=0o1777)
        shutil.copy(program, root / "bin/busybox")
        for applet in shell.run([program, "--list"]).stdout.split():
            if applet != "busybox":
                (root / "bin" / applet).symlink_to("busybox")

    def _fill_agnhost(self, root):
        (root / "uploads").mkdir(parents=True)
        shutil.copy(self._programs.path("agnhost"), root / "agnhost")
        (root / "agnhost-2").symlink_to("agnhost")
        # Of its TLS servers, which clients do not verify.
        shell.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=localhost",
                   "-keyout", str(root / "localhost.key"), "-out", str(root / "localhost.crt")])

    def _fill_program(self, root):
        root.mkdir()
        shutil.copy(self._programs.path(root.stem), root)

    def _write_archive(self, names, digests):
        manifest = []
        with tarfile.open(self._archive, "w") as archive:
            for layer in digests:
                archive.add(self._folder / f"{layer}.tar", f"{layer}.tar")
            for image, tags in names.items():
                layers, entry, command = IMAGES[image]
                text = configuration([digests[layer] for layer in layers], entry, command)
                _add(archive, f"{image}.json", text)
                manifest.append({"Config": f"{image}.json", "RepoTags": tags, "Layers": [f"{layer}.tar" for layer in layers]})
            _add(archive, "manifest.json", json.dumps(manifest).encode())

    # Images on a node.

    def install(self, node):
        """Gives the node all images. The first node imports them; containerd of the others begins with links to its files."""
        with self._lock:
            if not self._template.exists():
                self._import(node)
                return
        self._link(self._template, node.private("/var/lib") / "containerd")

    def mount(self, node):
        """Gives the images to a node in an emulated machine. Its files are in memory, so blobs and layers are mounts of the host's."""
        if not self._template.exists():
            node.start_containerd()
            node.import_image(self._archive)
            return
        target, lines = Path("/var/lib/containerd"), []
        for source in [self._template / CONTENT, *(self._template / SNAPSHOTS).iterdir()]:
            place = target / source.relative_to(self._template)
            lines.append(f"mkdir -p {place} && mount --bind {source} {place}")
        for database in self._template.glob(f"*/{DATABASES}"):
            lines.append(f"install -D {database} {target / database.relative_to(self._template)}")
        node.run("sh", "-c", "\n".join(["set -e", *lines]))

    def _import(self, node):
        node.start_containerd()
        node.import_image(self._archive)
        node.containerd.stop()
        unfinished = self._folder / "containerd.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        self._link(node.private("/var/lib") / "containerd", unfinished)
        unfinished.rename(self._template)

    @staticmethod
    def _link(source, target):
        """Links files instead of copying them: containerd only adds and removes blobs and layers, and writes only databases."""
        shell.run(["cp", "-al", str(source), str(target)], timeout=300)
        for database in target.rglob(DATABASES):
            database.unlink()
            shutil.copy2(source / database.relative_to(target), database)


def _add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
