# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of backends that determine the expected outcome of a case.

The profiles of the backends of this tree are here. Those of third-party plugins come from their declarations
(lib/declaration.py), with the properties of iptables mode as defaults.
"""

import dataclasses

from . import addresses as a
from . import declaration, differences


@dataclasses.dataclass(frozen=True)
class Profile:
    backend: str  # its id
    differs: frozenset = frozenset()  # names of differences, see lib/differences.py
    relays: bool = False  # the backend terminates client connections and opens its own to endpoints
    binds: bool = False  # Service addresses are assigned to a link of the node
    localnet: str | None = None  # route_localnet while 127.0.0.1 serves node ports; None: not checked
    families: tuple = a.FAMILIES
    built_in: bool = False
    declared: declaration.Declaration = declaration.Declaration()
    verifies: bool = False  # cases that are declared unsupported run, too

    @property
    def lacks(self):
        """Missing abilities, see lib/declaration.py."""
        return {one for one in declaration.ABILITIES if not self.declared.has(one)}

    def meets(self, difference):
        """Whether this backend has that difference from iptables mode."""
        return difference.name in self.differs


def _of(backend, **more):
    return Profile(backend, differences.names_of(backend), built_in=True, **more)


BUILT_IN = {one.backend: one for one in (
    _of("iptables", localnet="1"),
    _of("ipvs", localnet="1", binds=True),
    _of("nftables", localnet="1"),
    _of("userspace", localnet="0", relays=True),
)}
