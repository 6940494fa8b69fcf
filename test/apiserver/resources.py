# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The served resource types: names, fields, empty forms and discovery documents."""

import copy

DISCOVERY = "discovery.k8s.io"
NETWORKING = "networking.k8s.io"
METADATA_FIELDS = ("metadata.name", "metadata.namespace")

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class Resource:
    """One resource type at one group and version."""

    def __init__(self, group, plural, kind, namespaced, selectable=(), empty=None, short=(),
                 create_on_update=False, has_generation=False, returns_deleted=False,
                 warning=None, status=False):
        self.group = group
        self.version = "v1"
        self.plural = plural
        self.kind = kind
        self.namespaced = namespaced
        self.selectable = METADATA_FIELDS + tuple(selectable)
        # What an object without any content looks like on the wire (BOOKMARK events).
        self.empty = empty or {}
        self.short = list(short)
        self.create_on_update = create_on_update
        self.has_generation = has_generation
        self.returns_deleted = returns_deleted
        self.warning = warning
        self.status = status
        # The key of the collection objects are kept in; the two event types share theirs.
        self.collection = plural

    @property
    def api_version(self):
        return self.group + "/" + self.version if self.group else self.version

    @property
    def qualified(self):
        return self.plural + "." + self.group if self.group else self.plural

    def discovery(self):
        entry = {
            "name": self.plural,
            "singularName": self.kind.lower(),
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": VERBS,
        }
        if self.short:
            entry["shortNames"] = self.short
        return entry


EMPTY_NODE_STATUS = {
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    "nodeInfo": {
        "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
        "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
        "operatingSystem": "", "architecture": "",
    },
}

RESOURCES = [
    Resource("", "services", "Service", True, ("spec.clusterIP", "spec.type"),
             {"spec": {}, "status": {"loadBalancer": {}}}, ("svc",),
             create_on_update=True, returns_deleted=True, status=True),
    Resource("", "endpoints", "Endpoints", True, short=("ep",), create_on_update=True,
             warning="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    Resource("", "nodes", "Node", False, ("spec.unschedulable",),
             {"spec": {}, "status": EMPTY_NODE_STATUS}, ("no",), status=True),
    Resource("", "events", "Event", True, short=("ev",), create_on_update=True,
             empty={"involvedObject": {}, "source": {}, "firstTimestamp": None,
                    "lastTimestamp": None, "eventTime": None, "reportingComponent": "",
                    "reportingInstance": ""}),
    Resource("events.k8s.io", "events", "Event", True, short=("ev",), create_on_update=True,
             empty={"eventTime": None, "regarding": {}, "deprecatedSource": {},
                    "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None}),
    Resource(DISCOVERY, "endpointslices", "EndpointSlice", True,
             empty={"addressType": "", "endpoints": None, "ports": None}, has_generation=True),
    Resource(NETWORKING, "servicecidrs", "ServiceCIDR", False,
             empty={"spec": {}, "status": {}}, status=True),
]

BY_GROUP = {(r.group, r.plural): r for r in RESOURCES}
BY_TYPE = {(r.api_version, r.kind): r for r in RESOURCES}
GROUPS = sorted({r.group for r in RESOURCES if r.group})
# The same objects in a server that does not offer v1 yet.
OLDER_SERVICE_CIDRS = copy.copy(BY_GROUP[(NETWORKING, "servicecidrs")])
OLDER_SERVICE_CIDRS.version = "v1beta1"
# The served versions for each value of --service-cidrs.
SERVICE_CIDR_VERSIONS = {"both": ("v1", "v1beta1"), "v1": ("v1",), "v1beta1": ("v1beta1",), "none": ()}
EVENTS_V1 = BY_GROUP[("events.k8s.io", "events")]
EVENTS_CORE = BY_GROUP[("", "events")]

# What the recorded server publishes for the one type of this group.
STORAGE_HASHES = {"endpointslices": "qgS0xkrxYAI="}

VERSION_TEXT = b"""{
  "major": "1",
  "minor": "36",
  "emulationMajor": "1",
  "emulationMinor": "36",
  "minCompatibilityMajor": "1",
  "minCompatibilityMinor": "35",
  "gitVersion": "v1.36.2",
  "gitCommit": "98b35193b2ac7a23a673325f5e9b830ecd5ba406",
  "gitTreeState": "clean",
  "buildDate": "2026-11-20T23:54:01Z",
  "goVersion": "go1.26.10",
  "compiler": "gc",
  "platform": "linux/amd64"
}"""


def resource_list(group):
    """The APIResourceList of a group, "" being core."""
    entries = []
    for resource in RESOURCES:
        if resource.group == group:
            entry = resource.discovery()
            if resource.plural in STORAGE_HASHES:
                entry["storageVersionHash"] = STORAGE_HASHES[resource.plural]
            entries.append(entry)
    document = {"kind": "APIResourceList"}
    if group:
        document["apiVersion"] = "v1"
    document["groupVersion"] = group + "/v1" if group else "v1"
    document["resources"] = entries
    return document


def api_versions():
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def api_group(group):
    version = {"groupVersion": group + "/v1", "version": "v1"}
    return {"name": group, "versions": [version], "preferredVersion": version}


def group_list(groups):
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [api_group(g) for g in groups]}
