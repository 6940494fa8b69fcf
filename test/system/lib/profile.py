# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What sort of data plane a backend is, as far as a case has to know it: which outcome of several is the right one.

The backends of this tree have theirs here; what a plugin of somebody else says of itself is in its declaration
(lib/declaration.py), and what it does not say is as in mode iptables.
"""

import dataclasses

from . import addresses as a
from . import declaration, differences


@dataclasses.dataclass(frozen=True)
class Profile:
    backend: str  # its id
    differs: frozenset = frozenset()  # names of differences, see lib/differences.py
    relays: bool = False  # connections end in the backend, and others begin there
    binds: bool = False  # the addresses of Services are on the node
    localnet: str | None = None  # what net.ipv4.conf.all.route_localnet is where 127.0.0.1 serves node ports; None: of no interest
    families: tuple = a.FAMILIES
    built_in: bool = False
    declared: declaration.Declaration = declaration.Declaration()
    verifies: bool = False  # what is declared unsupported is tried all the same

    @property
    def lacks(self):
        """Abilities, see lib/declaration.py."""
        return {one for one in declaration.ABILITIES if not self.declared.has(one)}

    def meets(self, difference):
        """Whether that is otherwise with this backend than in mode iptables."""
        return difference.name in self.differs


def _of(backend, **more):
    return Profile(backend, differences.names_of(backend), built_in=True, **more)


BUILT_IN = {one.backend: one for one in (
    _of("iptables", localnet="1"),
    _of("ipvs", localnet="1", binds=True),
    _of("nftables", localnet="1"),
    _of("userspace", localnet="0", relays=True),
)}
