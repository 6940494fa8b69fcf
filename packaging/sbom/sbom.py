#!/usr/bin/env python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the bill of materials of a build, as SPDX 2.3 in JSON: each program and plugin with its digest, the Debian
packages whose libraries it is linked with, and those whose headers were read to compile it. Only the licences of
libraries are declared by hand, below; a library without one is an error, so that a new dependency is reviewed.

  sbom.py --version VERSION [--compiled BUILDDIR] [--output FILE] FOLDER…

FOLDER holds installed files, BUILDDIR what the compiler noted of headers. The time is SOURCE_DATE_EPOCH, else now.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

# By Debian source package: the licence of the library and its headers, not of its programs.
LICENCES = {
    "boost1.74": "BSL-1.0",
    "boost-defaults": "BSL-1.0",
    "cpprest": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "ipset": "GPL-2.0-only",
    "libmnl": "LGPL-2.1-or-later",
    "libnftnl": "GPL-2.0-or-later",
    "libnl3": "LGPL-2.1-only",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "log4cplus": "Apache-2.0 AND BSD-2-Clause",
    "nlohmann-json3": "MIT",
    "openssl": "Apache-2.0",
    "prometheus-cpp": "MIT",
    "protozero": "BSD-2-Clause AND Apache-2.0",
    "simdjson": "Apache-2.0",
    "yaml-cpp": "MIT",
}
# A cross compiler has its own copies of libraries and headers, in packages NAME-ARCHITECTURE-cross: by NAME, the original source.
CROSS = {"libc6-dev": "glibc", "libgcc-12-dev": "gcc-12", "libstdc++-12-dev": "gcc-12", "linux-libc-dev": "linux"}
OURS = "Apache-2.0"
# Binaries: restricted by the linked libraries.
BINARIES = {"nftables.so": "Apache-2.0 AND GPL-3.0-or-later", "ipvs.so": "GPL-2.0-only"}
COMPILED = ("core", "lib", "plugins", "sdk")


class Unknown(Exception):
    """The bill cannot be written."""


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True, env=dict(os.environ, LC_ALL="C")).stdout


def programs(folders):
    """(installed name, file) of each linked program or plugin."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or path.is_symlink() or "debug" in path.parts:
                continue
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield "/" + str(path.relative_to(folder)), path


def linked(path):
    return sorted(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(path))))


def owners(paths):
    """The Debian package of each of these files, if any. Folders may be symlinks, such as /lib."""
    asked = sorted(paths)
    found = {}
    for begin in range(0, len(asked), 500):
        done = subprocess.run(["dpkg-query", "--search", *asked[begin:begin + 500]], capture_output=True, text=True,
                              check=False, env=dict(os.environ, LC_ALL="C"))
        for line in done.stdout.splitlines():
            names, _, path = line.rpartition(": ")
            if not names.startswith("diversion "):
                found[path] = names.split(", ")[0]
    return found


def libraries(names):
    """The package of each shared library, by soname."""
    triplet = output("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    found = {}
    for path, package in owners(f"{top}/{triplet}/{name}" for name in names for top in ("/lib", "/usr/lib")).items():
        found[os.path.basename(path)] = package
    missing = sorted(set(names) - set(found))
    if missing:
        raise Unknown(f"no Debian package has {', '.join(missing)}")
    return found


def noted(text):
    """Headers of packages in the notes of a compiler. Those of a cross compiler are in /usr/TRIPLET/include."""
    return re.findall(r"(?<!\S)(/usr/(?:include|lib|[^/\s]+-linux-gnu[^/\s]*/include)/\S+?):?(?=\s)", text)


def headers(build):
    """Packages whose headers were compiled into installed files, from dependency files of the compiler."""
    read = set()
    for folder in COMPILED:
        for notes in (build / folder).rglob("*.P*o"):
            read.update(noted(notes.read_text(encoding="utf-8")))
    if not read:
        raise Unknown(f"no headers are noted in {build}; is it a build tree?")
    return set(owners(os.path.normpath(path) for path in read).values())


def licence(name, source):
    """The licence of the libraries and headers in a Debian package."""
    original = re.fullmatch(r"(.+)-[^-]+-cross", name)
    found = LICENCES.get(CROSS.get(original.group(1), source) if original else source)
    if not found:
        raise Unknown(f"package {name} is used, of source {source}, whose licence is not known to {sys.argv[0]}")
    return found


def described(package):
    fields = output("dpkg-query", "--show", "--showformat", "${Version}\t${source:Package}\t${Architecture}", package)
    version, source, architecture = fields.split("\t")
    name = package.split(":")[0]
    terms = licence(name, source)
    return {
        "SPDXID": "SPDXRef-Debian-" + re.sub(r"[^A-Za-z0-9.]", "-", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": terms,
        "licenseDeclared": terms,
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"Debian source package {source}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}"}],
    }


def related(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(version, folders, build):
    ours = {"SPDXID": "SPDXRef-sluice", "name": "sluice", "versionInfo": version, "supplier": "Organization: The Sluice Authors",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": OURS, "licenseDeclared": OURS,
            "copyrightText": "Copyright 2026 The Sluice Authors", "primaryPackagePurpose": "APPLICATION"}
    relationships = [related("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-sluice")]
    files = []
    needs = {}
    for name, path in programs(folders):
        data = path.read_bytes()
        terms = BINARIES.get(path.name, OURS)
        identifier = "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.]", "-", name.strip("/"))
        files.append({"SPDXID": identifier, "fileName": "." + name, "fileTypes": ["BINARY"],
                      "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                    {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
                      "licenseConcluded": terms, "licenseInfoInFiles": ["NOASSERTION"],
                      "copyrightText": "Copyright 2026 The Sluice Authors"})
        relationships.append(related("SPDXRef-sluice", "CONTAINS", identifier))
        needs[identifier] = linked(path)
    if not files:
        raise Unknown(f"no program is in {', '.join(map(str, folders))}")
    known = libraries({name for names in needs.values() for name in names})
    compiled = headers(build) if build else set()
    packages = {package: described(package) for package in sorted(set(known.values()) | compiled)}
    for identifier, names in needs.items():
        for package in sorted({known[name] for name in names}):
            relationships.append(related(identifier, "DYNAMIC_LINK", packages[package]["SPDXID"]))
    for package in sorted(compiled):
        relationships.append(related(packages[package]["SPDXID"], "BUILD_DEPENDENCY_OF", "SPDXRef-sluice"))
    content = {"packages": [ours, *packages.values()], "files": files, "relationships": relationships}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    created = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"sluice-{version}",
            "documentNamespace": f"https://sluice.dev/spdx/sluice-{version}-{digest}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created),
                             "creators": ["Organization: The Sluice Authors", f"Tool: sbom.py-{version}"]},
            **content}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--compiled", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    try:
        text = json.dumps(document(options.version, options.folders, options.compiled), indent=1, sort_keys=True) + "\n"
    except (Unknown, OSError, subprocess.CalledProcessError) as error:
        print(f"sbom.py: {error}", file=sys.stderr)
        return 1
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
