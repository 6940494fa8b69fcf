# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Titles of the numbered conformance cases of the behaviour reference.

Upstream behaviour is that of kube-proxy 1.36. REPLACED lists the cases in which Sluice differs, with the reason.
"""

SECTIONS = {
    "Cluster IP and masquerading": {
        1: "pod to cluster IP: every endpoint, equal shares",
        2: "node and outside to cluster IP: masqueraded",
        3: "masquerade-all; no detector",
        4: "hairpin",
        5: "two ports with different targets; wrong port",
        6: "TCP and UDP port of one number",
        7: "unnamed port",
        8: "SCTP",
        9: "IPv6",
        10: "leading zeros in addresses",
        11: "three endpoints, probabilities",
        12: "interface detectors",
    },
    "No endpoints": {
        13: "no slice: rejected everywhere",
        14: "no usable endpoint",
        15: "node port without endpoints: other hosts untouched",
        16: "first endpoint appears",
        17: "one port without endpoints",
        18: "source ranges without endpoints",
    },
    "Traffic policies": {
        19: "external Cluster",
        20: "external Local from outside",
        21: "external Local from a pod",
        22: "external Local from the node",
        23: "external Local without a local endpoint",
        24: "external Local without any endpoint",
        25: "external Local without a detector",
        26: "external Local on type ClusterIP",
        27: "internal Local",
        28: "internal Local without a local endpoint",
        29: "both Local, no external address",
        30: "internal Local, external Cluster",
        31: "internal Cluster, external Local",
        32: "health check node port is opened",
    },
    "Terminating endpoints": {
        33: "ready wins over terminating",
        34: "only terminating",
        35: "only gone",
        36: "external Local: local terminating, remote ready",
        37: "external Local: local gone, remote ready",
        38: "external Local: all terminating",
        39: "external Local: only a remote terminating one",
        40: "health port while terminating",
        41: "ready and terminating at once",
        42: "no conditions at all",
    },
    "Topology hints": {
        43: "zone hints complete",
        44: "zone hints incomplete",
        45: "node without a zone",
        46: "node hints before zone hints",
        47: "node hints incomplete",
        48: "several zones on one endpoint",
        49: "hints with external Local",
        50: "hints with internal Local",
        51: "zone without ready endpoints",
        52: "no ready endpoint: hints ignored",
        53: "zone label of the node changes",
    },
    "Load balancer": {
        54: "ipMode",
        55: "host name ingress; two addresses",
        56: "source ranges",
        57: "source ranges with the node's address",
        58: "ranges do not guard node ports",
        59: "range /0; ranges of the other family",
        60: "range with blanks",
        61: "ranges with external Local",
        62: "address removed from the status",
    },
    "Node ports": {
        63: "default addresses",
        64: "localhost node ports off",
        65: "one subnet",
        66: "subnet and loopback",
        67: "ranges of one family only",
        68: "::1 is skipped",
        69: "primary",
        70: "loopback in other modes",
        71: "service IP wins over node port",
        72: "neighbour to loopback",
    },
    "Session affinity": {
        73: "rules of ClientIP affinity",
        74: "one memory for all addresses",
        75: "remembered endpoint removed",
        76: "affinity with external Local",
        77: "nftables affinity sets",
        78: "affinity switched on",
    },
    "Change tracking": {
        79: "Services that are ignored",
        80: "label service-proxy-name",
        81: "changes without effect on rules",
        82: "A to B to A",
        83: "dual stack",
        84: "odd slices",
        85: "duplicate endpoint",
        86: "endpoint moves between slices",
        87: "slice before Service",
        88: "slice sent again",
        89: "slice deleted",
        90: "port renamed",
        91: "local and remote by node name",
        92: "trigger times",
        93: "local ready count",
    },
    "Sync engine": {
        94: "nothing before both lists are there",
        95: "partial sync leaves others alone",
        96: "Service deleted in a partial sync",
        97: "endpoint change in a partial sync",
        98: "restore failure, then a full sync",
        99: "large clusters drop comments",
        100: "flush is repaired",
        101: "tcp_be_liberal",
        102: "old iptables without --random-fully",
        103: "no_local_endpoints gauge",
        104: "foreign chains",
        105: "runner intervals",
    },
    "Conntrack": {
        106: "UDP endpoint removed",
        107: "un-NATed flow, endpoints appear",
        108: "node port flows",
        109: "terminating but serving; interrupted dump",
    },
    "Health": {
        110: "health over time",
        111: "one family late",
        112: "node taint and deletion",
        113: "health of a Service",
        114: "health port changes and conflicts",
        115: "health port on loopback",
    },
    "ipvs": {
        116: "new Service",
        117: "shared address",
        118: "external IP on a NIC",
        119: "graceful removal",
        120: "weight restored after a restart",
        121: "excluded and foreign virtual servers",
        122: "external Local node port",
        123: "SCTP node port; source ranges",
        124: "sysctls",
    },
    "nftables": {
        125: "second sync is empty",
        126: "Service loses its endpoints",
        127: "restart; unallocated cluster IPs",
    },
    "userspace": {
        128: "order of endpoints",
        129: "affinity",
        130: "no endpoints; connect ladder",
        131: "half-close; Service removed",
        132: "UDP time-out",
        133: "node port conflict",
    },
    "Process": {
        134: "bind address and node addresses",
        135: "unknown or duplicate configuration field",
        136: "host name override",
        137: "sync period flags per mode",
        138: "configuration file rewritten",
        139: "NodeCIDR",
        140: "cluster CIDR of the wrong family",
        141: "userspace mode",
    },
}

# Files of cases without numbers that have a separate section on the page.
AREAS = {
    "Swap of the backend under traffic": ("swap", "swapaffinity"),
    "Swaps that fail": ("swapfaults",),
    "Reload of the configuration": ("reload",),
    "Takeover from kube-proxy, and back": ("takeover",),
    "Restart under traffic": ("restart",),
}

REPLACED = {
    88: "an event that changes nothing causes no sync, regardless of its resourceVersion",
    95: "only changes are written; dispatch chains are not rewritten",
    100: "second half: a flush of the table filter alone is noticed, too",
    106: "second half: when the last endpoint is removed, its UDP flows are deleted too",
    121: "only virtual servers of Sluice are ever removed, inside excludeCIDRs or outside",
    130: "first half: without endpoints clients are rejected, as in the kernel modes",
    131: "a half-closed connection stays open in the other direction",
    135: "an unknown field is a warning at start and an error with --check",
    138: "the process does not end: a changed or replaced file is read again and applied as a whole, or rejected as a whole; "
         "a restart would close relayed connections, and a mistake in the file would leave the node without a proxy",
    141: "userspace is a valid mode",
}

# How expectations differ in userspace mode from those in the kernel modes, and why. Differences of other modes are in
# differences.py, and the runs show which cases assert them.
DIFFERENT = {
    "userspace": {
        "1, 11": "equal shares, because endpoints take turns",
        "63, 64": "no program can listen on node ports that the proxy holds; nothing answers there",
        "63, 72": "127.0.0.1 serves without route_localnet",
        "74-76, 78": "session affinity is kept in the process, one table per list of endpoints",
        "8": "SCTP is not relayed: the port is reported as not programmed, the other ports of its Service are served",
        "94": "the fixed rules are those of BEH 8.1",
        "95, 97": "adding or removing an endpoint writes nothing, except the first or last one of a list",
        "98": "tested with a rejected Service, because a change of endpoints writes nothing that could fail",
        "106, 108": "UDP clients move, though the kernel's flow to the proxy stays",
    },
}

# Cases that do not apply to a backend, and why.
NOT_APPLICABLE = {
    "userspace": {
        73: "there are no affinity rules",
        82: "changes of endpoints write nothing, between two syncs or not",
        99: "endpoints have no rules",
        101: "there is no rule for invalid packets: no packets of Services are forwarded",
        102: "nothing is masqueraded",
        109: "a UDP client keeps its endpoint until the endpoint is removed or the client is idle",
    },
}
NOT_APPLICABLE["ipvs"] = {
    64: "127.0.0.1 never serves node ports (70)",
    99: "endpoints have no rules",
    101: "there is no rule for invalid packets (BEH 6.8)",
}
NOT_APPLICABLE["nftables"] = {
    64: "127.0.0.1 never serves node ports (70)",
    73: "no affinity rules: the state is in one map (77)",
    99: "endpoints have no rules",
    102: "iptables is not used",
}
for _mode, _other_modes in (("userspace", ("ipvs", "nftables")), ("ipvs", ("nftables", "userspace")), ("nftables", ("ipvs", "userspace"))):
    NOT_APPLICABLE[_mode] |= {number: f"another mode: {title}" for title in _other_modes for number in SECTIONS[title]}
