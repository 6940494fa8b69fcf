# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A recording with the objects that the API server of the tests would serve: the fastest source for a daemon."""

import json
import os
import sys

from cluster import NAMESPACE, NODE_NAME, node

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apiserver"))

import bulk  # noqa: E402


def write_recording(path, services, endpoints):
    kinds = {"Node": [node()], "Service": [], "EndpointSlice": []}
    for one in bulk.objects({"services": services, "endpoints": endpoints, "namespace": NAMESPACE}):
        kinds[one["kind"]].append(one)
    with open(path, "w", encoding="utf-8") as file:
        def line(**members):
            json.dump(members, file, separators=(",", ":"))
            file.write("\n")
        line(format="sluice-recording", version=1, program="bench", node=NODE_NAME, started="2026-01-01T00:00:00Z")
        for kind, objects in kinds.items():
            line(ms=0, type="LIST_BEGIN", kind=kind)
            for one in objects:
                line(ms=0, type="MODIFIED", object=one)
            line(ms=0, type="LIST_END", kind=kind)
