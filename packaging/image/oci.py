#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Packs root filesystems of rootfs.sh as one image: an archive in the OCI image layout, which `ctr images import`,
`podman load` and `skopeo copy oci-archive:FILE` read.

  oci.py --name NAME:TAG [--revision COMMIT] --output FILE ROOTFS.tar…

Each ROOTFS.tar is of another architecture; the runtime of a node selects its own. The image index also has, for each of
them, the bill of materials and the provenance that the root filesystem contains, as an attestation with the image as its
subject. The same input gives the same bytes: all times are those in the root filesystem.
"""

import argparse
import hashlib
import io
import json
import sys
import tarfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
EMPTY = "application/vnd.oci.empty.v1+json"
STATEMENT = "application/vnd.in-toto+json"
BILL = "usr/share/doc/sluice/sbom.spdx.json"
PROVENANCE = "usr/share/doc/sluice/provenance.json"
# Also in the Containerfile beside this.
ENTRYPOINT = ["/usr/sbin/sluiced"]
ENVIRONMENT = ["PATH=/usr/local/bin:/usr/sbin:/usr/bin"]


class Unusable(Exception):
    """The input cannot become an image."""


@dataclass
class Root:
    """A root filesystem: its bytes, and what is said in it."""

    data: bytes
    bill: dict
    provenance: dict
    created: int

    @classmethod
    def read(cls, path):
        data = path.read_bytes()
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                said = [json.load(archive.extractfile(f"./{name}")) for name in (BILL, PROVENANCE)]
                return cls(data, *said, int(archive.getmember(f"./{BILL}").mtime))
        except (tarfile.TarError, KeyError) as error:
            raise Unusable(f"{path}: not a root filesystem of rootfs.sh: {error}") from None

    def parameter(self, name):
        return self.provenance["predicate"]["buildDefinition"]["externalParameters"][name]

    def licences(self):
        """Those of the programs of Sluice; the bill of materials has the others."""
        return " AND ".join(sorted({name for file in self.bill["files"] for name in file["licenseConcluded"].split(" AND ")}))


class Layout:
    """Blobs by digest, and the index that names the image. Members of objects are in the order of the specification, in which
    tools write them: an index that skopeo writes again keeps its digest."""

    def __init__(self):
        self.blobs = {}

    def add(self, kind, content, **others):
        """The descriptor of a new blob; content is bytes, or an object for JSON."""
        data = content if isinstance(content, bytes) else json.dumps(content, separators=(",", ":")).encode()
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data), **others}

    def write(self, path, index, created):
        files = {f"blobs/sha256/{digest}": data for digest, data in self.blobs.items()}
        files["index.json"] = json.dumps(index).encode()
        files["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
        part = path.with_name(path.name + ".new")
        with tarfile.open(part, "w", format=tarfile.USTAR_FORMAT) as archive:
            for name in ("blobs", "blobs/sha256"):
                archive.addfile(entry(name, created, type=tarfile.DIRTYPE, mode=0o755))
            for name in sorted(files):
                archive.addfile(entry(name, created, size=len(files[name]), mode=0o644), io.BytesIO(files[name]))
        part.rename(path)


def entry(name, created, **fields):
    info = tarfile.TarInfo(name)
    info.mtime = created
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def compressed(data):
    """Gzip without a name and a time."""
    packer = zlib.compressobj(level=6, wbits=31)
    return packer.compress(data) + packer.flush()


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def annotations(root, revision):
    """What tools show about an image. The project has no address to name as its source."""
    found = {"title": "sluice", "description": "Kubernetes service proxy with exchangeable backends",
             "version": root.parameter("version"), "licenses": root.licences(), "vendor": "The Sluice Authors",
             "created": stamp(root.created)}
    if revision:
        found["revision"] = revision
    return {f"org.opencontainers.image.{name}": value for name, value in sorted(found.items())}


def image(layout, root, revision):
    """The descriptor of the image of one architecture."""
    labels = annotations(root, revision)
    architecture = root.parameter("architecture")
    platform = {"architecture": architecture, "os": "linux", **({"variant": "v8"} if architecture == "arm64" else {})}
    config = {**platform, "created": stamp(root.created),
              "config": {"Entrypoint": ENTRYPOINT, "Env": ENVIRONMENT, "Labels": labels},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(root.data).hexdigest()]},
              "history": [{"created": stamp(root.created), "created_by": "packaging/image/rootfs.sh"}]}
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": layout.add(CONFIG, config),
                "layers": [layout.add(LAYER, compressed(root.data))], "annotations": labels}
    return layout.add(MANIFEST, manifest, platform=platform)


def attestation(layout, root, subject, name):
    """The descriptor of the bill of materials and the provenance of that image."""
    about = [{"name": name, "digest": {"sha256": subject["digest"].removeprefix("sha256:")}}]
    bill = {"_type": root.provenance["_type"], "subject": about, "predicateType": "https://spdx.dev/Document", "predicate": root.bill}
    layers = [layout.add(STATEMENT, one, annotations={"in-toto.io/predicate-type": one["predicateType"]})
              for one in (bill, {**root.provenance, "subject": about})]
    config = layout.add(EMPTY, b"{}")
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": STATEMENT, "config": config, "layers": layers,
                "subject": {name: subject[name] for name in ("mediaType", "digest", "size")}}
    return layout.add(MANIFEST, manifest, annotations={"vnd.docker.reference.digest": subject["digest"],
                                                       "vnd.docker.reference.type": "attestation-manifest"},
                      platform={"architecture": "unknown", "os": "unknown"})


def pack(roots, name, revision, output):
    architectures = [root.parameter("architecture") for root in roots]
    if len(set(architectures)) != len(roots):
        raise Unusable(f"two root filesystems of one architecture: {', '.join(architectures)}")
    if len({root.parameter("version") for root in roots}) != 1:
        raise Unusable("root filesystems of different versions")
    layout = Layout()
    roots = sorted(roots, key=lambda root: root.parameter("architecture"))
    images = [image(layout, root, revision) for root in roots]
    attestations = [attestation(layout, root, one, name) for root, one in zip(roots, images)]
    whole = layout.add(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": images + attestations,
                               "annotations": annotations(roots[0], revision)})
    whole["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    layout.write(output, {"schemaVersion": 2, "mediaType": INDEX, "manifests": [whole]}, max(root.created for root in roots))
    return whole["digest"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--revision")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("roots", nargs="+", type=Path, metavar="ROOTFS.tar")
    options = parser.parse_args()
    try:
        if ":" not in options.name.rpartition("/")[2]:
            raise Unusable(f"invalid image name '{options.name}': it has no tag; write NAME:TAG")
        digest = pack([Root.read(path) for path in options.roots], options.name, options.revision, options.output)
    except (Unusable, OSError) as error:
        print(f"oci.py: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {options.name} {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
