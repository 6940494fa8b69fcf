# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the content of packages: files, licences, linked libraries, and reproducible builds."""

import fnmatch
import hashlib
import json
import os
import re
import shutil

from outcome import Skip, call, require

OURS = "The Sluice Authors"
NAMES = ("sluice", "sluice-backend-iptables", "sluice-backend-ipvs", "sluice-backend-nftables",
         "sluice-backend-userspace", "sluice-dev", "sluice-conformance", "sluice-doc")
REPLACEMENT = "sluice-kube-proxy"  # tested in replacement.py
EVERY = (*NAMES, REPLACEMENT)
# Licences that are compatible with GPL-2.0-only.
WITH_GPL_2 = ("GPL-2.0-only", "LGPL-2.1-only", "LGPL-2.1-or-later", "GPL-3.0-or-later WITH GCC-exception-3.1")
NOTICE = re.compile(r"(?:Copyright|\(c\)|©)[^\n]*?\b(?:19|20)\d\d\b[^\n]*", re.IGNORECASE)


class Contents:
    """Tests of built packages, unpacked."""

    def __init__(self, packages, src, build):
        self.packages = packages
        self.src = src
        self.build = build
        self.work = packages.work / "contents"
        self.unpacked = None

    def folder(self, name):
        """The folder with the unpacked package."""
        if self.unpacked is None:
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir(parents=True)
            for part in EVERY:
                call("dpkg-deb", "-x", str(self.packages.file(part)), str(self.work / part))
            self.unpacked = True
        return self.work / name

    def files(self, name):
        folder = self.folder(name)
        return {"/" + str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}

    def programs(self):
        for part in EVERY:
            for name in sorted(self.files(part)):
                path = self.folder(part) / name.lstrip("/")
                if not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                    yield part, name, path

    def test_apart(self):
        """no file is in two packages, and packages of backends have only the backend and its documents"""
        owner = {}
        for part in EVERY:
            for name in self.files(part):
                require(name not in owner, f"{name} is in {owner.get(name)} and in {part}")
                owner[name] = part
        for part in EVERY:
            if "-backend-" in part:
                papers = (f"/usr/share/doc/{part}/", f"/usr/share/lintian/overrides/{part}")
                others = [name for name in self.files(part) if not name.startswith(papers)]
                require(len(others) == 1 and others[0].endswith(f"/sluice/plugins/{part.rsplit('-', 1)[1]}.so"), others)
        # dh_missing fails for installed files that are in no package.
        kit = {name for name in owner if "conformance" in name and not name.startswith(("/usr/share/doc/", "/usr/share/lintian/"))}
        require(len(kit) > 50 and {owner[name] for name in kit} == {"sluice-conformance"}, {name: owner[name] for name in kit})

    def test_replacement(self):
        """the package of the command kube-proxy has only links to the daemon and its manual, and documents"""
        folder = self.folder(REPLACEMENT)
        papers = (f"/usr/share/doc/{REPLACEMENT}/",)
        links = {name: os.readlink(folder / name.lstrip("/")) for name in self.files(REPLACEMENT) if not name.startswith(papers)}
        require(links == {"/usr/bin/kube-proxy": "../sbin/sluiced", "/usr/share/man/man8/kube-proxy.8.gz": "sluiced.8.gz"}, links)

    def test_licences(self):
        """the copyright file has the licence of every file of the tarball"""
        tree = self.work.parent / "tarball"
        shutil.rmtree(tree, ignore_errors=True)
        call("make", "--no-print-directory", "-s", "-C", str(self.build), "distdir", f"distdir={tree}", timeout=120)
        found = stanzas(self.src / "packaging/debian/copyright")
        require(("*", OURS, "Apache-2.0") in found, found)
        patterns = [pattern for pattern, holder, _ in found if holder != OURS]
        used = set()
        wrong = []
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            name = str(path.relative_to(tree))
            own = {pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)}
            used |= own
            # The copyright holders in the first lines; recorded data has none, the licence itself has a template.
            head = path.read_bytes()[:6000].decode("utf-8", "replace")
            holders = [notice for notice in NOTICE.findall(head) if OURS not in notice and name != "LICENSE"]
            if name.startswith(("packaging/debian/copyright", "packaging/sbom/", "test/package/", "test/sdk/new.sh")):
                continue
            if holders and not own:
                wrong.append(f"{name}: {holders[0]}")
            if own and not holders:
                wrong.append(f"{name}: the copyright file names another holder than the file")
        require(not wrong, "\n".join(wrong))
        unused = set(patterns) - used
        require(not unused, f"no such files: {unused}")

    def test_bill(self):
        """the bill of materials has every program with its digest and its linked libraries"""
        bill = json.loads((self.folder("sluice") / "usr/share/doc/sluice/sbom.spdx.json").read_text(encoding="utf-8"))
        require(bill["spdxVersion"] == "SPDX-2.3" and bill["SPDXID"] == "SPDXRef-DOCUMENT", bill["spdxVersion"])
        names = {one["SPDXID"]: one for one in (*bill["packages"], *bill["files"])}
        require(len(names) == len(bill["packages"]) + len(bill["files"]), "identifiers twice")
        links = [(one["spdxElementId"], one["relatedSpdxElement"]) for one in bill["relationships"]
                 if one["relationshipType"] == "DYNAMIC_LINK"]
        require(all(one in names and other in names for one, other in links), links)
        listed = {one["fileName"].lstrip("."): one for one in bill["files"]}
        found = {name: path for _, name, path in self.programs()}
        require(set(listed) == set(found), f"listed {set(listed)}, there are {set(found)}")
        for name, path in found.items():
            sums = {one["algorithm"]: one["checksumValue"] for one in listed[name]["checksums"]}
            require(sums["SHA256"] == hashlib.sha256(path.read_bytes()).hexdigest(), f"{name}: another digest")
        # dpkg-shlibdeps finds the libraries in another way, from the symbols that are used.
        for part in EVERY:
            mine = {listed[name]["SPDXID"] for owner, name, _ in self.programs() if owner == part}
            linked = {names[other]["name"] for one, other in links if one in mine}
            depends = call("dpkg-deb", "--field", str(self.packages.file(part)), "Depends")
            needed = {one.split("(")[0].strip() for one in depends.split(",") if re.match(r"\s*lib.*\d", one)}
            require(needed <= linked, f"{part} depends on {needed - linked}, which the bill does not have")
        licences = {names[one]["name"]: names[one]["licenseDeclared"] for one in names if "Debian" in one}
        require(licences["libipset13"] == "GPL-2.0-only" and "NOASSERTION" not in licences.values(), licences)

    def test_ipvs(self):
        """all sources and libraries of ipvs.so are compatible with GPL-2.0-only"""
        bill = json.loads((self.folder("sluice") / "usr/share/doc/sluice/sbom.spdx.json").read_text(encoding="utf-8"))
        named = {one["SPDXID"]: one for one in (*bill["packages"], *bill["files"])}
        plugin, = (one["SPDXID"] for one in bill["files"] if one["fileName"].endswith("/ipvs.so"))
        require(named[plugin]["licenseConcluded"] == "GPL-2.0-only", named[plugin])
        libraries = [named[one["relatedSpdxElement"]] for one in bill["relationships"]
                     if one["relationshipType"] == "DYNAMIC_LINK" and one["spdxElementId"] == plugin]
        linked = {one["name"]: one["licenseDeclared"] for one in libraries}
        wrong = {name: licence for name, licence in linked.items() if licence not in WITH_GPL_2}
        require("libipset13" in linked and not wrong, f"linked with {linked}, of which {wrong}")
        trees = list(self.packages.folder.glob("sluice-*/build/plugins/ipvs"))
        if not trees:
            raise Skip("the packages were built elsewhere, with what the compiler noted of sources")
        both = [pattern for pattern, _, licence in stanzas(self.src / "packaging/debian/copyright")
                if licence == "Apache-2.0 or GPL-2"]
        read = set()
        plugins = trees[0].parent
        # The sources of a folder are compiled as one generated file.
        for notes in (*trees[0].rglob("*.Plo"), *(plugins / "common").rglob("*.Plo"), *(plugins / "unity/.deps").glob("ipvs_*.Plo"),
                      *(plugins / "unity/.deps").glob("common_*.Plo")):
            names = re.findall(r"(?<!\S)(?!/)(\S+\.[ch]pp):?(?=\s)", notes.read_text(encoding="utf-8"))
            read |= {name.removeprefix("./").removeprefix("../") for name in names if not name.startswith("plugins/unity/")}
        wrong = sorted(name for name in read if not any(fnmatch.fnmatchcase(name, pattern) for pattern in both))
        require(len(read) > 100 and not wrong, f"of {len(read)} files: {wrong}")

    def test_build_path(self):
        """no file contains its build path"""
        where = str(self.packages.folder.resolve()).encode()
        found = [name for part in EVERY for name in sorted(self.files(part))
                 if (path := self.folder(part) / name.lstrip("/")).exists() and where in path.read_bytes()]
        require(not found, f"{where.decode()} is in {found}")


def stanzas(file):
    """Stanzas of a machine-readable copyright file: file pattern, holder without years, licence."""
    text = re.sub(r"\n[ \t]+", " ", file.read_text(encoding="utf-8"))
    found = []
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line)
        for pattern in fields.get("Files", "").split():
            found.append((pattern, re.sub(r"^[\d, -]+ ", "", fields["Copyright"]), fields["License"]))
    return found
