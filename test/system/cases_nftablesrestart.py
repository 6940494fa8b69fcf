# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""nftables mode when the daemon stops and starts: it does not read its table back if nf_tables has not changed meanwhile, and
repairs it if it has."""

import os

from lib import ipvs, metrics, nftables
from lib.addresses import FAMILIES, V4
from lib.cases import own_daemon
from cases_nftables import ONLY, expect_right, services_of_every_kind, wait_quiet
from cases_nftablesdrift import front, meaning, ours

LISTED, SAVED = "sluice_nftables_listings_total", "sluice_nftables_saved_listings_total"


def listing_file(t, family=V4):
    return os.path.join(t.bench.daemon.state_dir, "backends", "nftables", "listing-ip" + family)


def stop(t):
    """After a process that has read the table: one that has not yet compared a saved listing with the table saves none."""
    t.bench.daemon.kill()
    t.require(not os.path.exists(listing_file(t)), "a killed process left a listing")
    t.bench.start_daemon()
    require_read(t, True, "after kill -9")
    t.require(nftables.kernel_writes(t) == 0, f"after kill -9 {nftables.kernel_writes(t):.0f} writes")
    t.bench.daemon.stop()
    t.require(os.stat(listing_file(t)).st_mode & 0o7777 == 0o600, "the listing is not private")


def require_read(t, read, what):
    seen = metrics.scrape(t)
    t.require((seen.count(LISTED) > 0) == read, f"{what}: the table was read {seen.count(LISTED):.0f} times")
    t.require((seen.count(SAVED) == 0) == read, f"{what}: {seen.count(SAVED):.0f} saved listings were used")
    t.require(not os.path.exists(listing_file(t)), f"{what}: the listing is still there")


def start_unchanged(t, before, read, what):
    t.bench.start_daemon()
    require_read(t, read, what)
    t.require(nftables.kernel_writes(t) == 0, f"{what}: {nftables.kernel_writes(t):.0f} writes")
    t.require(meaning(t) == before, f"{what}: {ipvs.difference(before, meaning(t))}")


@own_daemon(None, "a stop and a start: without a change of nf_tables the table is not read back and nothing is written; changes of "
            "the table meanwhile are repaired; a malformed listing is ignored", families=[V4], slow=True, **ONLY)
def saved_listing(t):
    kinds = services_of_every_kind(t)
    wait_quiet(t)
    before = meaning(t)
    stop(t)
    start_unchanged(t, before, False, "without a change")
    expect_right(t, kinds)
    wait_quiet(t)
    before = meaning(t)
    for drift in (f"delete element {ours(t)} service-treatments {{ {front(kinds)} }}", f"flush table {ours(t)}",
                  f"add element {ours(t)} cluster-ips {{ 172.30.99.99 }}", f"insert rule {ours(t)} services counter drop",
                  f"delete table {ours(t)}"):
        stop(t)
        nftables.nft(t, drift)
        t.bench.start_daemon()
        require_read(t, True, drift)
        t.require(nftables.kernel_writes(t) > 0, f"{drift}: nothing was written")
        t.require(meaning(t) == before, f"{drift}: {ipvs.difference(before, meaning(t))}")
    stop(t)
    nftables.nft(t, "add table ip foreign_restart; delete table ip foreign_restart")
    start_unchanged(t, before, True, "after a change of another table")
    stop(t)
    for family in FAMILIES:
        with open(listing_file(t, family), "r+b") as file:
            file.seek(100)
            byte = file.read(1)[0]
            file.seek(100)
            file.write(bytes([byte ^ 1]))
    start_unchanged(t, before, True, "with a malformed listing")
    expect_right(t, kinds)
    stop(t)
    done = t.bench.cleanup()
    t.require(done.returncode == 0, f"--cleanup: exit {done.returncode}: {done.stderr[-300:]}")
    t.require(not os.path.exists(listing_file(t)), "--cleanup leaves the listing")
    t.bench.start_daemon()
    # A Service that changes meanwhile is written, and nothing else.
    stop(t)
    kinds[6].set_endpoints([])
    t.bench.start_daemon()
    # Both families share the generation of nf_tables: if one writes the change before the other has begun, the other reads.
    t.require(metrics.scrape(t).count(SAVED) >= 1, "with a missed change: no saved listing was used")
    t.require(0 < nftables.kernel_writes(t) < 30, f"a missed change: {nftables.kernel_writes(t):.0f} writes")
