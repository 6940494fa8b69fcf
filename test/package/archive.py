# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the image as an archive in the OCI image layout: packaging/image/oci.py makes it from the root filesystem of
image_test.py, and container tools that are installed here read it."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from outcome import Skip, call, require, stretched

SRC = Path(__file__).resolve().parents[2]
SCRIPT = SRC / "packaging/image/oci.py"
NAME = "registry.example/sluice:0.0.1"
REVISION = "0123456789abcdef0123456789abcdef01234567"
PREFIX = "org.opencontainers.image."
INDEX, MANIFEST = (f"application/vnd.oci.image.{kind}.v1+json" for kind in ("index", "manifest"))
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
STATEMENT = "application/vnd.in-toto+json"
DOCUMENTS = "usr/share/doc/sluice"
# A containerd of its own, in namespaces that end with this script. Prints the list of images, and what the image says.
CONTAINERD = """set -e
cd "$1"
cat >config.toml <<END
version = 2
root = "$1/root"
state = "$1/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
  address = "$1/socket"
END
containerd --config config.toml >log 2>&1 &
waited=0
until ctr --address "$1/socket" version >/dev/null 2>&1; do
  waited=$((waited + 1))
  [ $waited -lt 600 ] || { cat log >&2; exit 1; }
  sleep 0.1  # poll interval
done
ctr --address "$1/socket" images import --all-platforms "$2" >&2
ctr --address "$1/socket" images list
mkdir seen
ctr --address "$1/socket" images mount "$3" seen >&2
chroot seen /usr/local/bin/kube-proxy --version
umount seen
"""


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Blobs:
    """The files of an archive."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.members = archive.getmembers()
            self.files = {member.name: archive.extractfile(member).read() for member in self.members if member.isfile()}
        self.index = json.loads(self.files["index.json"])
        self.whole = self.object(self.index["manifests"][0])

    def content(self, descriptor):
        return self.files["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]

    def object(self, descriptor):
        return json.loads(self.content(descriptor))

    def of(self, architecture):
        """Descriptor of the only manifest for an architecture; "unknown" is that of attestations."""
        found, = [one for one in self.whole["manifests"] if one["platform"]["architecture"] == architecture]
        return found

    def reached(self, descriptor):
        """This descriptor and all that it leads to."""
        yield descriptor
        if descriptor["mediaType"] in (INDEX, MANIFEST):
            inner = self.object(descriptor)
            for one in [*inner.get("manifests", []), *inner.get("layers", []), *([inner["config"]] if "config" in inner else [])]:
                yield from self.reached(one)


class Archive:
    """Tests of the archive of one architecture, and of an index of two."""

    def __init__(self, image):
        self.image = image
        self.work = image.work / "archive"
        self.path = self.work / "sluice.oci.tar"

    @property
    def architecture(self):
        """That of the image."""
        return self.document("provenance.json")["predicate"]["buildDefinition"]["externalParameters"]["architecture"]

    def pack(self, output, *roots, name=NAME):
        return subprocess.run([str(SCRIPT), "--name", name, "--revision", REVISION, "--output", str(output), *map(str, roots)],
                              capture_output=True, text=True, check=False, timeout=stretched(120))

    def manifest(self):
        blobs = Blobs(self.path)
        return blobs, blobs.object(blobs.of(self.architecture))

    def document(self, name):
        return json.loads((self.image.root / DOCUMENTS / name).read_text(encoding="utf-8"))

    def attached(self, kind):
        """The statement of that kind about the image."""
        blobs = Blobs(self.path)
        digest = blobs.of(self.architecture)["digest"]
        manifest = blobs.object(blobs.of("unknown"))
        require(manifest["artifactType"] == STATEMENT and manifest["subject"]["digest"] == digest, manifest)
        found, = [blobs.object(one) for one in manifest["layers"] if one["annotations"]["in-toto.io/predicate-type"] == kind]
        require(found["predicateType"] == kind, found["predicateType"])
        require([f"sha256:{one['digest']['sha256']}" for one in found["subject"]] == [digest], found["subject"])
        return found

    def stand_in(self, architecture):
        """A root filesystem that has only the two documents, and claims to be of that architecture."""
        path = self.work / f"{architecture}.tar"
        with tarfile.open(path, "w") as archive:
            for name in ("sbom.spdx.json", "provenance.json"):
                text = (self.image.root / DOCUMENTS / name).read_text(encoding="utf-8")
                data = text.replace(f'"architecture": "{self.architecture}"', f'"architecture": "{architecture}"').encode()
                info = tarfile.TarInfo(f"./{DOCUMENTS}/{name}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return path

    # In this order.

    def test_packed(self):
        """the root filesystem is packed as an archive, byte for byte the same each time"""
        self.work.mkdir()
        for path in (self.path, self.work / "again.tar"):
            done = self.pack(path, self.image.tar)
            require(done.returncode == 0, done.stderr)
        require(self.path.read_bytes() == (self.work / "again.tar").read_bytes(), "two archives")
        print(f"#   {self.path.stat().st_size >> 10} KB")

    def test_refused(self):
        """a file that is no root filesystem, a name without a tag, and one architecture twice are errors"""
        other = self.work / "other.tar"
        for roots, name, said in (([SCRIPT], NAME, "not a root filesystem"), ([self.image.tar], "registry.example:5000/sluice", "no tag"),
                                  ([self.image.tar, self.image.tar], NAME, "of one architecture")):
            done = self.pack(other, *roots, name=name)
            require(done.returncode == 1 and said in done.stderr and not other.exists(), f"{said}: {done.stderr}")

    def test_layout(self):
        """each descriptor leads to a blob with its digest and size, no blob is left over, and files belong to root"""
        blobs = Blobs(self.path)
        require(json.loads(blobs.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"})
        descriptors = list(blobs.reached(blobs.index["manifests"][0]))
        for one in descriptors:
            data = blobs.content(one)
            require(one["digest"] == digest_of(data) and one["size"] == len(data), one)
        names = {"blobs/sha256/" + one["digest"].removeprefix("sha256:") for one in descriptors}
        require(names | {"index.json", "oci-layout"} == set(blobs.files), set(blobs.files) ^ names)
        owners = {(member.uid, member.gid, member.uname, member.gname) for member in blobs.members}
        require(owners == {(0, 0, "", "")} and len({member.mtime for member in blobs.members}) == 1, owners)

    def test_layer(self):
        """the layer is the root filesystem, compressed without a name and a time"""
        blobs, manifest = self.manifest()
        require([one["mediaType"] for one in (manifest["config"], *manifest["layers"])] == [CONFIG, LAYER], manifest)
        layer = blobs.content(manifest["layers"][0])
        require(layer[:8] == b"\x1f\x8b\x08" + bytes(5), layer[:8])
        data = subprocess.run(["gzip", "-dc"], input=layer, capture_output=True, check=True).stdout
        require(data == self.image.tar.read_bytes(), "another layer")
        config = blobs.object(manifest["config"])
        require(config["rootfs"]["diff_ids"] == [digest_of(data)], config)
        require(config["architecture"] == self.architecture and config["os"] == "linux", config)

    def test_configured(self):
        """the archive and the Containerfile start the same program with the same environment"""
        blobs, manifest = self.manifest()
        config = blobs.object(manifest["config"])["config"]
        text = (SCRIPT.parent / "Containerfile").read_text(encoding="utf-8")
        entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.MULTILINE).group(1))
        require(config["Entrypoint"] == entry and config["Env"] == re.findall(r"^ENV (.*)$", text, re.MULTILINE), config)

    def test_annotations(self):
        """annotations name the image, its version, revision and licences"""
        blobs, manifest = self.manifest()
        outer = blobs.index["manifests"][0]["annotations"]
        require(outer == {"io.containerd.image.name": NAME, f"{PREFIX}ref.name": "0.0.1"}, outer)
        version = re.search(r"^AC_INIT\(\[sluice\], \[(.*)\]\)$", (SRC / "configure.ac").read_text(encoding="utf-8"),
                            re.MULTILINE).group(1)
        expected = {"title": "sluice", "version": version, "revision": REVISION, "vendor": "The Sluice Authors",
                    "licenses": "Apache-2.0 AND GPL-2.0-only AND GPL-3.0-or-later"}
        for found in (blobs.whole["annotations"], manifest["annotations"]):
            require({name: found.get(PREFIX + name) for name in expected} == expected, found)

    def test_bill(self):
        """the bill of materials names every package and program in the image, and is attached to it"""
        bill = self.document("sbom.spdx.json")
        listed = {path.name for path in (self.image.root / "var/lib/dpkg/status.d").iterdir()}
        named = {one["name"] for one in bill["packages"] if one["SPDXID"].startswith("SPDXRef-Debian-")}
        require(named == listed, named ^ listed)
        require(len(bill["files"]) == 6, [one["fileName"] for one in bill["files"]])
        for one in bill["files"]:
            data = (self.image.root / one["fileName"]).read_bytes()
            sums = {each["algorithm"]: each["checksumValue"] for each in one["checksums"]}
            require(sums == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}, one)
        require(self.attached("https://spdx.dev/Document")["predicate"] == bill, "another bill is attached")

    def test_provenance(self):
        """the provenance names what the image is made of, with digests of the packages of Sluice"""
        inside = self.document("provenance.json")
        for one in inside["subject"]:
            data = (self.image.root / one["name"].lstrip("/")).read_bytes()
            require(one["digest"]["sha256"] == hashlib.sha256(data).hexdigest(), one)
        predicate = self.attached("https://slsa.dev/provenance/v1")["predicate"]
        require(predicate == inside["predicate"], "another provenance is attached")
        materials = {one["uri"]: one.get("digest", {}).get("sha256") for one in predicate["buildDefinition"]["resolvedDependencies"]}
        require(any(one.startswith("pkg:deb/debian/libc6@") for one in materials), materials)
        ours = {one: value for one, value in materials.items() if one.startswith("pkg:deb/sluice/")}
        require(len(ours) == (5 if self.image.debs else 0), ours)
        known = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.image.debs or self.work).glob("sluice*.deb")}
        require(set(ours.values()) <= known, ours)

    def test_source(self):
        """the provenance names the source archive if one is given"""
        root = self.work / "bill"
        shutil.copytree(self.image.root / "var/lib/dpkg/status.d", root / "var/lib/dpkg/status.d")
        (root / DOCUMENTS).mkdir(parents=True)
        call(str(SCRIPT.parent / "bill.py"), "--version", "0.0.1", "--source", str(SCRIPT), str(root))
        said = json.loads((root / DOCUMENTS / "provenance.json").read_text(encoding="utf-8"))
        first = said["predicate"]["buildDefinition"]["resolvedDependencies"][0]
        require(first == {"name": "oci.py", "digest": {"sha256": hashlib.sha256(SCRIPT.read_bytes()).hexdigest()}}, first)

    def test_two_architectures(self):
        """an archive of two architectures has an image and an attestation for each, whatever the order of the roots"""
        other = "arm64" if self.architecture != "arm64" else "amd64"
        path = self.work / "two.tar"
        roots = (self.stand_in(other), self.stand_in(self.architecture))
        for order in (roots, roots[::-1]):
            done = self.pack(path, *order)
            require(done.returncode == 0, done.stderr)
            blobs = Blobs(path)
            found = blobs.whole["manifests"]
            expected = [*sorted((other, self.architecture)), "unknown", "unknown"]
            require([one["platform"]["architecture"] for one in found] == expected, found)
            require([blobs.object(one)["subject"]["digest"] for one in found[2:]] == [one["digest"] for one in found[:2]], found)
            for one in found[:2]:
                config = blobs.object(blobs.object(one)["config"])
                require(config["architecture"] == one["platform"]["architecture"], config)

    def test_alone(self):
        """the digest of an image is the same in an archive of its own and beside another architecture"""
        path = self.work / "two.tar"
        done = self.pack(path, self.stand_in("riscv64"), self.image.tar)
        require(done.returncode == 0, done.stderr)
        alone, beside = (Blobs(each).of(self.architecture)["digest"] for each in (self.path, path))
        require(alone == beside, (alone, beside))

    def test_containerd(self):
        """containerd imports the archive under its name, and the imported files run as kube-proxy"""
        if not shutil.which("containerd") or not shutil.which("ctr"):
            raise Skip("containerd is not installed")
        if self.image.emulator:
            raise Skip("containerd starts no programs of another architecture")
        folder = self.work / "containerd"
        folder.mkdir()
        said = call("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", CONTAINERD, "sh",
                    str(folder), str(self.path), NAME, timeout=200)
        digest = Blobs(self.path).index["manifests"][0]["digest"]
        require(re.search(rf"^{re.escape(NAME)} +{re.escape(INDEX)} +{digest} .*linux/{self.architecture}", said, re.MULTILINE), said)
        require(said.splitlines()[-1].startswith("sluiced "), said)
        shutil.rmtree(folder)

    def test_skopeo(self):
        """skopeo shows the archive, and copies it with its attestations"""
        if not shutil.which("skopeo"):
            raise Skip("skopeo is not installed")
        blobs = Blobs(self.path)
        said = json.loads(call("skopeo", "--override-arch", self.architecture, "inspect", f"oci-archive:{self.path}"))
        require(said["Digest"] == blobs.index["manifests"][0]["digest"] and said["Labels"][f"{PREFIX}revision"] == REVISION, said)
        copy = self.work / "copy"
        call("skopeo", "copy", "--quiet", "--all", f"oci-archive:{self.path}", f"oci:{copy}:0.0.1")
        names = {f"blobs/sha256/{path.name}" for path in (copy / "blobs/sha256").iterdir()}
        missing = {name for name in blobs.files if name.startswith("blobs/")} - names
        require(not missing, missing)

    def test_podman(self):
        """podman loads the archive under its name"""
        if not shutil.which("podman"):
            raise Skip("podman is not installed")
        store = self.work / "podman"
        base = ["unshare", "--mount", "podman", "--storage-driver", "vfs", "--root", str(store / "root"), "--runroot", str(store / "run")]
        call(*base, "load", "--quiet", "--input", str(self.path))
        said = json.loads(call(*base, "image", "inspect", NAME))
        require(said[0]["Config"]["Entrypoint"] == ["/usr/sbin/sluiced"], said)
        shutil.rmtree(store)
