# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The body of a watch in protobuf, from events in JSON."""

import json

import protobuf

CONTENT_TYPE = protobuf.MEDIA_TYPE + ";stream=watch"


class FrameSink:
    """Writes each event as a frame. Faults write text that is no event: the beginning of one becomes the beginning of a frame,
    anything else is written as it is."""

    def __init__(self, sink):
        self.sink = sink

    def write(self, data):
        self.sink.write(self.frame(data))

    @staticmethod
    def frame(data):
        try:
            return protobuf.event_frame(json.loads(data.decode("utf-8", "surrogateescape")))
        except ValueError:
            return (2 * len(data)).to_bytes(4, "big") + data if data.startswith(b"{") else data
