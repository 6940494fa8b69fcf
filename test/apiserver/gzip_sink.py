# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Compressing on the way into a response."""

import zlib


class GzipSink:
    """With `prompt`, all data written so far can be decompressed at once, as a watch needs it."""

    def __init__(self, response, prompt=False):
        self.response = response
        self.prompt = prompt
        self.compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"

    def write(self, data):
        packed = self.compressor.compress(data)
        if self.prompt:
            packed += self.compressor.flush(zlib.Z_SYNC_FLUSH)
        if packed:
            self.response.write(packed)

    def corrupt(self):
        """Writes bytes that no decompressor accepts."""
        self.response.write(self.compressor.flush(zlib.Z_SYNC_FLUSH) + b"\xff" * 64)

    def finish(self):
        self.response.write(self.compressor.flush())
