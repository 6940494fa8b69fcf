# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Error answers: an exception that carries a metav1 Status."""


class ApiError(Exception):
    """A request failed; `status()` is the body the client receives."""

    def __init__(self, code, reason, message, details=None, headers=None, metadata=None):
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or []
        self.metadata = metadata or {}

    def status(self):
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def bad_request(message):
    return ApiError(400, "BadRequest", message)


def unauthorized():
    return ApiError(401, "Unauthorized", "Unauthorized")


def not_found(resource, name):
    details = {"name": name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return ApiError(404, "NotFound", '%s "%s" not found' % (resource.qualified, name), details)


def no_such_path():
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource, name):
    details = {"name": name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return ApiError(409, "AlreadyExists", '%s "%s" already exists' % (resource.qualified, name), details)


def conflict(resource, name):
    details = {"name": name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return ApiError(
        409,
        "Conflict",
        'Operation cannot be fulfilled on %s "%s": the object has been modified; '
        "please apply your changes to the latest version and try again" % (resource.qualified, name),
        details,
    )


def invalid(kind, name, causes, group=""):
    """`causes` is a list of (field, reason, message)."""
    text = ", ".join("%s: %s" % (field, message) for field, _, message in causes)
    if len(causes) > 1:
        text = "[" + text + "]"
    qualified = kind + "." + group if group else kind
    details = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [
        {"reason": reason, "message": message, "field": field} for field, reason, message in causes
    ]
    return ApiError(422, "Invalid", '%s "%s" is invalid: %s' % (qualified, name, text), details)


def too_large_version(asked, current):
    return ApiError(
        504,
        "Timeout",
        "Timeout: Too large resource version: %d, current: %d" % (asked, current),
        {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
        headers=[("Retry-After", "1")],
    )


def expired(message, metadata=None):
    return ApiError(410, "Expired", message, metadata=metadata)


# Reasons the server gives with a code when nothing more is known.
REASON_BY_CODE = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
