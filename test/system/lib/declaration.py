# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The declaration of a plugin by its author: how it differs from iptables mode, and what it does not support. The file has lines:

    # a comment
    relays
    binds-addresses
    differs other-port, no-local
    unsupported 20, 21: external policy Local is planned for 1.1
    unsupported node-ports: the switch has no room for them
    unsupported cases_changes.endpoint_moves: slices are read once a minute

The report prints every entry. Entries of unsupported features need a reason. Entries with an unknown name are rejected, so that
stale entries are noticed.
"""

import dataclasses
import os
import re

from . import differences

# Abilities that a case may need.
ABILITIES = {
    "affinity": "session affinity",
    "node-ports": "node ports",
    "source-ranges": "source ranges of load balancers",
    "sctp": "SCTP",
    "udp": "UDP",
    "dual-stack": "both families",
}
TRAITS = {"relays": "relays", "binds-addresses": "binds"}


class InvalidDeclaration(Exception):
    """The file is invalid; the text is the position and the reason."""


@dataclasses.dataclass(frozen=True)
class Unsupported:
    what: str  # a number, the name of a test, or an ability
    reason: str
    where: str  # FILE:LINE, or the descriptor

    @property
    def sentence(self):
        return f"declared unsupported by {self.where}: {self.reason}"


@dataclasses.dataclass(frozen=True)
class Declaration:
    differs: tuple = ()
    traits: tuple = ()
    unsupported: tuple = ()

    def about(self, case, protocol):
        """The entry that excludes a case with that protocol, or None."""
        words = {str(number) for number in case.numbers} | {case.test, protocol, *case.needs}
        return next((one for one in self.unsupported if one.what in words), None)

    def has(self, ability):
        return not any(one.what == ability for one in self.unsupported)


def read(path, cases):
    """Reads the declaration from that file; `cases` are all cases that it may name."""
    known = {str(number) for case in cases for number in case.numbers} | {case.test for case in cases} | set(ABILITIES)
    differs, traits, unsupported = [], [], []
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        where = f"{os.path.basename(path)}:{number}"
        text = line.partition("#")[0].strip()
        if not text:
            continue
        word, _, rest = text.partition(" ")
        if word in TRAITS and not rest:
            traits.append(word)
        elif word == "differs" and rest:
            differs += [_known(one, differences.ALL, where, "a difference", differences.ALL) for one in _listed(rest)]
        elif word == "unsupported":
            things, colon, reason = rest.partition(":")
            if not colon or not reason.strip():
                raise InvalidDeclaration(f"{where}: a reason is missing: unsupported {things.strip() or 'WHAT'}: REASON")
            unsupported += [Unsupported(_known(one, known, where, "a case or an ability", ABILITIES), reason.strip(), where)
                            for one in _listed(things)]
        else:
            raise InvalidDeclaration(f"{where}: '{text}' is none of {', '.join(TRAITS)}, differs NAME…, unsupported WHAT…: REASON")
    return Declaration(tuple(differs), tuple(traits), tuple(unsupported))


def of_features(features):
    """Entries that follow from the features in the descriptor."""
    lacks = [("affinity", "kFeatureAffinity is not claimed")] if "affinity" not in features else []
    lacks += [("dual-stack", f"kFeature{family} is not claimed") for family in ("Ipv4", "Ipv6")
              if f"IP{family[2:]}" not in features]
    return tuple(Unsupported(what, reason, "its descriptor") for what, reason in lacks)


def _listed(text):
    return [one for one in re.split(r"[,\s]+", text.strip()) if one]


def _known(one, known, where, what, examples):
    if one not in known:
        raise InvalidDeclaration(f"{where}: '{one}' is not {what} that this kit knows; known are for one: {', '.join(sorted(examples))}")
    return one
