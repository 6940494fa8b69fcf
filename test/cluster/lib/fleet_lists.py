# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What a list costs the API server, by encoding and compression."""

from .fleet_api import Api
from .fleet_cost import cpu_seconds
from .fleet_plain import ENCODINGS, WATCHES

LISTS = WATCHES[:2]  # EndpointSlices and Services


def measure_lists(server, count):
    """CPU milliseconds of the API server and bytes of the body, for one list of EndpointSlices and one of Services."""
    api, results = Api(server.layout, "proxy"), []
    for encoding, accept in ENCODINGS.items():
        for compression in ("identity", "gzip"):
            headers = {"Accept": accept, "Accept-Encoding": compression}
            size = sum(api.size(path + "resourceVersion=0", headers) for path in LISTS)  # also warms caches
            before = cpu_seconds(server.pid)
            for _ in range(count):
                for path in LISTS:
                    api.size(path + "resourceVersion=0", headers)
            results.append({"encoding": encoding, "compression": compression, "bytes": size,
                            "serverCpuMs": (cpu_seconds(server.pid) - before) * 1000 / count})
    return results
