# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A backend claims what it creates on the node: without the plugin the daemon cleans up by claims alone."""

from lib import artifacts, service_mix, snapshot
from lib.cases import Skip, own_daemon

SOURCES = ("manifests",)


@own_daemon(None, "everything that appears on the node while it serves is claimed", sources=SOURCES)
def what_appears_is_claimed(t):
    service_mix.make(t)
    strange = unclaimed(t)
    t.require(not strange, f"not claimed: {snapshot.describe(strange)}")
    claims = claimed(t)
    t.remark(f"{len(claims)} claims: {', '.join(claims[:6])}{'…' if len(claims) > 6 else ''}")


def unclaimed(t):
    """What differs on the node from the state before any daemon, and is not claimed in the ownership ledger."""
    claims = claimed(t)
    links = [claim.removeprefix("link/") for claim in claims if claim.startswith("link/")]
    return [(name, what) for name, what in snapshot.difference(t.topology.pristine, snapshot.take(t.topology))
            if not snapshot.is_base_chain(name) and not any(snapshot.covers(claim, name) for claim in claims) and
            not any(f"/{link}/" in name or f" dev {link}" in name or name == f"qdisc/{link}" for link in links)]


@own_daemon(None, "claims stay the same while Services come and go", sources=SOURCES)
def claims_are_stable(t):
    require_no_other(t)
    before = claimed(t)
    service_mix.make(t)
    after = claimed(t)
    t.require(before == after, f"differ with Services: {sorted(set(before) ^ set(after))[:4]}")


def claimed(t):
    """The claims that the daemon has saved, of every family."""
    return sorted({one for _, _, found in artifacts.ownership_ledger(t.bench.daemon.state_dir) for one in found})


def require_no_other(t):
    owners = artifacts.owners(t.bench.daemon.state_dir)
    t.require(owners <= {t.bench.backend}, f"the ownership ledger names {', '.join(sorted(owners))}")


@own_daemon(None, "claimed objects that another process removes are repaired", sources=SOURCES)
def removed_is_repaired(t):
    _, _, expect_served = service_mix.make(t)
    removed = [claim for claim in claimed(t) if remove(t, claim)]
    if not removed:
        raise Skip("it claims nothing of a kind that this kit can remove")
    t.remark(f"removed: {', '.join(removed[:6])}{'…' if len(removed) > 6 else ''}")
    t.wait_until(lambda: attempt(t, expect_served), "everything is served again, as before", seconds=20)
    expect_served()


def attempt(t, expect_served):
    """Returns whether the check succeeds; its failures are not recorded."""
    known = len(t.problems)
    expect_served()
    found = t.problems[known:]
    del t.problems[known:]
    return not found


def remove(t, claim):
    """Returns whether there was such an object to be removed."""
    kind, _, name = claim.partition("/")
    there = [one for one in snapshot.take(t.topology) if snapshot.covers(claim, one)]
    if not there:
        return False
    if kind == "nft":
        return ran(t, "nft", "delete", "table", *name.split("/"))
    if kind in ("iptables", "ip6tables"):
        family = "ip" if kind == "iptables" else "ip6"
        return any([ran(t, "nft", "flush", "chain", family, *one.split("/")[1:]) for one in there])
    if kind == "link":
        return ran(t, "ip", "link", "del", "dev", name)
    if kind == "ipset":
        return any([ran(t, "ipset", "flush", one.partition("/")[2]) for one in there])
    return kind == "ipvs" and ran(t, "ipvsadm", "-C")


def ran(t, *command):
    try:
        return t.topology.run("node", *command, check=False).returncode == 0
    except FileNotFoundError:
        return False
