# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured: sizes, modes and parts, and how long it takes."""

from metrics import KUBE_PROXY, PACKET_PARTS, SLUICE, TURN_PARTS

SIZES = "100x10,1000x10,5000x10,10000x10,44125x1,1x50000,5000x50"
SMOKE_SIZE = "20x2"
MODES = ("nftables", "iptables-nft", "iptables-legacy", "ipvs")
# ipvs mode runs in an emulated machine, where the larger sizes would take hours.
MOST_EMULATED = 10_000  # endpoints
REST_SECONDS = 1.2

# Seconds of a first sync on two processors of 2026: factor, Services, exponent; and seconds for each endpoint.
_SYNC = {
    (KUBE_PROXY, "nftables"): (10.0, 5000, 1.5, 5e-6), (SLUICE, "nftables"): (0.4, 5000, 1.0, 8e-6),
    (KUBE_PROXY, "iptables-nft"): (7.2, 1000, 2.5, 1e-5), (SLUICE, "iptables-nft"): (6.8, 5000, 1.1, 1e-5),
    (KUBE_PROXY, "iptables-legacy"): (6.0, 5000, 1.2, 2e-5), (SLUICE, "iptables-legacy"): (4.0, 5000, 1.2, 2e-5),
    (KUBE_PROXY, "ipvs"): (60.0, 1000, 1.0, 2e-3), (SLUICE, "ipvs"): (30.0, 1000, 1.0, 1e-3),
}
_CHANGE_SHARE = 0.2  # of a first sync
_OBJECTS_PER_SECOND = 700
_SERVER_SECONDS = 12
_EMULATED_SECONDS = 400


def sync_seconds(proxy, mode, services, endpoints, patience):
    factor, unit, exponent, each = _SYNC[proxy, mode]
    return min(patience, 0.4 + factor * (services / unit) ** exponent + each * services * endpoints)


def estimate(sizes, modes, parts, wanted):
    """Seconds, roughly; on a machine with two processors."""
    total = 0.0
    for services, endpoints in sizes:
        own = [mode for mode in modes if mode != "ipvs" or services * endpoints <= MOST_EMULATED]
        if not own:
            continue
        total += _SERVER_SECONDS + services * (1 + -(-endpoints // 100)) / _OBJECTS_PER_SECOND
        total += sum(_mode(mode, services, endpoints, parts, wanted) for mode in own)
    return total


def _mode(mode, services, endpoints, parts, wanted):
    turns = set(parts) & set(TURN_PARTS)
    rounds = rounds_of(parts, wanted)
    total = _EMULATED_SECONDS if mode == "ipvs" else 0
    for proxy in (KUBE_PROXY, SLUICE):
        sync = sync_seconds(proxy, mode, services, endpoints, wanted.patience)
        if sync >= wanted.patience:
            total += sync
            continue
        change = REST_SECONDS + 0.5 + _CHANGE_SHARE * sync
        total += rounds * (6 + sync)
        if "change" in turns:
            total += wanted.changes * change
        total += sum(rounds * (wanted.churn_seconds + change) for name in ("churn50", "churn500") if name in turns)
        if "restart" in turns:
            total += rounds * (2 * sync + 5)
    if "connect" in parts:
        total += wanted.probe_rounds * wanted.probes * 14 * 0.00015 + 2
    if "load" in parts:
        total += wanted.load_rounds * 4 * 2 * (wanted.load_seconds + 0.2)
    return total


def rounds_of(parts, wanted):
    """Without parts of a turn, each proxy starts once."""
    return wanted.rounds if set(parts) - set(PACKET_PARTS) else 1


def orders(rounds):
    """Sluice and kube-proxy alternate: A B, B A, A B …"""
    return [(SLUICE, KUBE_PROXY) if number % 2 == 0 else (KUBE_PROXY, SLUICE) for number in range(rounds)]


def share_of_round(count, rounds, number):
    """How many of `count` fall into this round."""
    return count * (number + 1) // rounds - count * number // rounds
