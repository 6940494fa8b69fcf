#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what a root filesystem of rootfs.sh is made of into it, in /usr/share/doc/sluice: sbom.spdx.json, the bill of
materials (SPDX 2.3), and provenance.json (an in-toto statement with a predicate of SLSA 1). Both have only what the folder
itself shows: the packages in var/lib/dpkg/status.d with the digests that are known there, and the programs of Sluice.

  bill.py --version VERSION [--source FILE] ROOT

FILE is the source archive that the programs are built from. The time is SOURCE_DATE_EPOCH, else now.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import time
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "sbom"))

from sbom import BINARIES, LICENCES, OURS, related  # noqa: E402

BUILD = "https://sluice.dev/image/v1"
BUILDER = "https://sluice.dev/packaging/image/rootfs.sh"
AUTHORS = "Organization: The Sluice Authors"
ARCHITECTURES = {"mips64el": "mips64le", "ppc64el": "ppc64le"}  # others have one name in Debian and in images


class Unknown(Exception):
    """The folder does not show what is in it."""


@dataclass
class Package:
    """A Debian package that files of the folder come from."""

    name: str
    version: str
    architecture: str
    source: str
    digest: str  # of its file, or empty

    @classmethod
    def read(cls, path):
        fields = Parser().parsestr(path.read_text(encoding="utf-8"))
        return cls(fields["Package"], fields["Version"], fields["Architecture"],
                   (fields["Source"] or fields["Package"]).partition(" ")[0], fields["SHA256"] or "")

    def is_ours(self):
        return self.source == "sluice"

    def address(self):
        return f"pkg:deb/{'sluice' if self.is_ours() else 'debian'}/{self.name}@{self.version}?arch={self.architecture}"


def packages(root):
    return [Package.read(path) for path in sorted((root / "var/lib/dpkg/status.d").iterdir())]


def architecture(found):
    """The name that images use."""
    for package in found:
        if package.name == "libc6":
            return ARCHITECTURES.get(package.architecture, package.architecture)
    raise Unknown("no package libc6")


def programs(root):
    """Path in the image and digest of each program and plugin of Sluice."""
    found = [*root.glob("usr/**/sbin/sluice*"), *root.glob("usr/**/sluice/plugins/*.so")]
    return [("/" + str(path.relative_to(root)), path) for path in sorted(found) if path.is_file() and not path.is_symlink()]


def digest(path, kind="sha256"):
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def described(package):
    licence = OURS if package.is_ours() else LICENCES.get(package.source, "NOASSERTION")
    found = {
        "SPDXID": "SPDXRef-Debian-" + re.sub(r"[^A-Za-z0-9.]", "-", package.name), "name": package.name,
        "versionInfo": package.version, "supplier": AUTHORS if package.is_ours() else "Organization: Debian",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
        "licenseComments": f"terms in the image: /usr/share/doc/{package.name}/copyright", "copyrightText": "NOASSERTION",
        "sourceInfo": f"Debian source package {package.source}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": package.address()}]}
    if package.digest:
        found["checksums"] = [{"algorithm": "SHA256", "checksumValue": package.digest}]
    return found


def document(version, root):
    ours = {"SPDXID": "SPDXRef-sluice", "name": "sluice", "versionInfo": version, "supplier": AUTHORS,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": OURS, "licenseDeclared": OURS,
            "copyrightText": "Copyright 2026 The Sluice Authors", "primaryPackagePurpose": "CONTAINER"}
    known = [described(package) for package in packages(root)]
    files = [{"SPDXID": "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.]", "-", name.strip("/")), "fileName": "." + name,
              "fileTypes": ["BINARY"], "licenseConcluded": BINARIES.get(path.name, OURS), "licenseInfoInFiles": ["NOASSERTION"],
              "checksums": [{"algorithm": kind.upper(), "checksumValue": digest(path, kind)} for kind in ("sha1", "sha256")],
              "copyrightText": "Copyright 2026 The Sluice Authors"} for name, path in programs(root)]
    relationships = [related("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-sluice"),
                     *(related("SPDXRef-sluice", "CONTAINS", one["SPDXID"]) for one in [*known, *files])]
    content = {"packages": [ours, *known], "files": files, "relationships": relationships}
    unique = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    created = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"sluice-image-{version}",
            "documentNamespace": f"https://sluice.dev/spdx/sluice-image-{version}-{unique}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created),
                             "creators": [AUTHORS, f"Tool: bill.py-{version}"]},
            **content}


def provenance(version, root, source):
    """Where the programs of Sluice in this folder come from."""
    found = packages(root)
    materials = [{"uri": package.address(), **({"digest": {"sha256": package.digest}} if package.digest else {})}
                 for package in found]
    if source:
        materials.insert(0, {"name": source.name, "digest": {"sha256": digest(source)}})
    return {"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
            "subject": [{"name": name, "digest": {"sha256": digest(path)}} for name, path in programs(root)],
            "predicate": {"buildDefinition": {"buildType": BUILD, "resolvedDependencies": materials,
                                              "externalParameters": {"version": version, "architecture": architecture(found)}},
                          "runDetails": {"builder": {"id": BUILDER}}}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--source", type=Path)
    parser.add_argument("root", type=Path)
    options = parser.parse_args()
    try:
        written = {"sbom.spdx.json": document(options.version, options.root),
                   "provenance.json": provenance(options.version, options.root, options.source)}
    except (Unknown, OSError) as error:
        print(f"bill.py: {error}", file=sys.stderr)
        return 1
    for name, content in written.items():
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        (options.root / "usr/share/doc/sluice" / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
