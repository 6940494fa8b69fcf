# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The table of api_cost.py."""

HEAD = ("clients", "N", "rate", "phase", "seconds", "server CPU s", "RSS MiB", "live MiB", "of clients MiB", "received kB",
        "sent kB", "connections", "CPU ms of a client", "CPU us of an event")


def table(results):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    order = sorted(results, key=lambda one: (one["endpoints"], one["rate"], one["instances"], one["clients"]))
    for result in order:
        names = [name for name in ("start", "steady", "churn") if name in result["phases"]]
        lines += [_row(result, name, base_of(results, result)) for name in names]
    for result in results:
        lines += [f"list: {one['encoding']:8} {one['compression']:8} {one['bytes'] / 1000:8.0f} kB  server CPU "
                  f"{one['serverCpuMs']:6.1f} ms" for one in result.get("lists", [])]
    return "\n".join(lines)


def base_of(results, result):
    """The same load without clients, or None."""
    same = ("services", "endpoints", "rate")
    return next((one for one in results if not one["instances"] and all(one[key] == result[key] for key in same)), None)


def marginal_cpu(result, name, base):
    """CPU seconds that the clients added; None without a run to compare with. Nothing but clients costs CPU in the start."""
    phase = result["phases"][name]
    if name == "start":
        return phase["serverCpu"]
    if not base or not result["instances"]:
        return None
    quiet = base["phases"][name]
    if name == "steady":
        return phase["serverCpu"] - quiet["serverCpu"] * phase["seconds"] / quiet["seconds"]
    return phase["serverCpu"] - quiet["serverCpu"]


def _row(result, name, base):
    phase, count = result["phases"][name], result["instances"]
    added = marginal_cpu(result, name, base)
    live = phase["serverLiveMiB"] - result["phases"]["before"]["serverLiveMiB"]
    cells = [result["clients"], count, f"{result['rate']:g}", name, f"{phase['seconds']:.1f}", f"{phase['serverCpu']:.2f}",
             f"{phase['serverResidentMiB']:.0f}", f"{phase['serverLiveMiB']:.1f}", f"{live:.1f}",
             _each(phase["received"] / 1000, count), _each(phase["sent"] / 1000, count), _each(phase["connections"], count),
             "" if added is None else _each(added * 1000, count),
             _each((added or 0) * 1e6, count * phase["events"]) if name == "churn" and added else ""]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _each(value, count):
    return f"{value / count:.1f}" if count else ""
