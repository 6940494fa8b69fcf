# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What the author of a plugin says of it: where it is otherwise than mode iptables, and what it does not do. A file of lines:

    # a comment
    relays
    binds-addresses
    differs other-port, no-local
    unsupported 20, 21: external policy Local is planned for 1.1
    unsupported node-ports: the switch has no room for them
    unsupported cases_changes.endpoint_moves: slices are read once a minute

Every entry is printed with the report. What is unsupported has a reason; what names nothing is refused, so that no entry
outlives what it was for.
"""

import dataclasses
import os
import re

from . import differences

# What a case may need; the features of the descriptor that say the same.
ABILITIES = {
    "affinity": "session affinity",
    "node-ports": "node ports",
    "source-ranges": "source ranges of load balancers",
    "sctp": "SCTP",
    "udp": "UDP",
    "dual-stack": "both families",
}
TRAITS = {"relays": "relays", "binds-addresses": "binds"}


class Wrong(Exception):
    """The file cannot be taken; the text says where and why."""


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
        """What is declared of a case with that protocol; None when it is to be run."""
        words = {str(number) for number in case.numbers} | {case.test, protocol, *case.needs}
        return next((one for one in self.unsupported if one.what in words), None)

    def has(self, ability):
        return not any(one.what == ability for one in self.unsupported)


def read(path, cases):
    """The declaration in that file; `cases` are all that there could be something to say of."""
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
                raise Wrong(f"{where}: a reason is missing: unsupported {things.strip() or 'WHAT'}: REASON")
            unsupported += [Unsupported(_known(one, known, where, "a case or an ability", ABILITIES), reason.strip(), where)
                            for one in _listed(things)]
        else:
            raise Wrong(f"{where}: '{text}' is none of {', '.join(TRAITS)}, differs NAME…, unsupported WHAT…: REASON")
    return Declaration(tuple(differs), tuple(traits), tuple(unsupported))


def of_features(features):
    """What follows from the descriptor alone."""
    lacks = [("affinity", "kFeatureAffinity is not claimed")] if "affinity" not in features else []
    lacks += [("dual-stack", f"kFeature{family} is not claimed") for family in ("Ipv4", "Ipv6")
              if f"IP{family[2:]}" not in features]
    return tuple(Unsupported(what, reason, "its descriptor") for what, reason in lacks)


def _listed(text):
    return [one for one in re.split(r"[,\s]+", text.strip()) if one]


def _known(one, known, where, what, examples):
    if one not in known:
        raise Wrong(f"{where}: '{one}' is not {what} that this kit knows; known are for one: {', '.join(sorted(examples))}")
    return one
