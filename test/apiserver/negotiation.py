# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Content negotiation."""

import protobuf
import status


class Form:
    """The form of an answer that a client accepts: full objects in JSON or protobuf, or metadata only."""

    def __init__(self, as_protobuf=False, metadata_only=False):
        self.protobuf, self.metadata_only = as_protobuf, metadata_only


def negotiate(accept, offers_protobuf=False):
    """The first form of `accept` that the server has; fails if there is none."""
    offered = ["application/json"] + [protobuf.MEDIA_TYPE] * offers_protobuf
    for clause in (accept or "*/*").split(","):
        media, *parameters = [part.strip() for part in clause.split(";")]
        if media not in (*offered, "application/*", "*/*"):
            continue
        view = ""
        for parameter in parameters:
            if parameter.startswith("as="):
                view = parameter[3:]
        if view in ("PartialObjectMetadataList", "PartialObjectMetadata"):
            return Form(metadata_only=True)
        if not view:
            return Form(as_protobuf=media == protobuf.MEDIA_TYPE)
    raise status.ApiError(
        406, "NotAcceptable", "only the following media types are accepted: " + ", ".join(offered))
