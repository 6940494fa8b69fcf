# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Services without selectors, their EndpointSlices, and their continuous change."""

import http.client
import itertools
import json
import random
import ssl
import threading

from . import addresses as a
from . import netns_http, objects, pace
from .failure import ClusterError
from .layout import CONTROL_PLANE

NAMESPACE = "traffic"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
PROTOCOLS = ("TCP", "UDP")
FIRST_NODE_PORT = 31000
FIRST_TARGET_PORT = 7100
FIELD_MANAGER = "traffic"
ENDPOINTS = 3  # constant: Sluice in nftables mode keeps chains for other numbers of endpoints for a minute
UNREACHABLE = (OSError, http.client.HTTPException)
PERIOD = 0.05  # seconds between two changes
# An API server that is stopped between the deletion of a Service and the release of its addresses releases them later: its
# controller scans for them every three minutes, and passes over those of the last minute.
RELEASE_SECONDS = 300


class AddressInUse(ClusterError):
    """The API server has not released an address of the deleted Service."""


class Api:
    """Requests of the administrator. Each thread needs one of its own."""

    def __init__(self, layout):
        self._tls = ssl.create_default_context(cafile=str(layout.pki / "ca.crt"))
        self._tls.load_cert_chain(str(layout.pki / "admin.crt"), str(layout.pki / "admin.key"))
        self._where = (layout.namespace(CONTROL_PLANE), layout.control_plane_ips[0], 6443)
        self._connection = None

    def request(self, method, path, body=None, kind="application/json"):
        """(HTTP status, decoded answer); raises one of UNREACHABLE."""
        if self._connection is not None:
            try:
                return self._request(method, path, body, kind)
            except UNREACHABLE:  # the server has closed the connection; it may have restarted
                pass
        self._connection = netns_http.NamespaceConnection(*self._where, self._tls)
        return self._request(method, path, body, kind)

    def _request(self, method, path, body, kind):
        try:
            self._connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind})
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except Exception:
            self.close()
            raise

    def require(self, method, path, body=None, accepted=(), **more):
        status, answer = self.request(method, path, body, **more)
        if status >= 500 or status == 429:
            raise ConnectionError(f"{method} {path}: {status}: {answer.get('message', answer)}")
        if status == 422 and "is already allocated" in answer.get("message", ""):
            raise AddressInUse(answer["message"])
        if status >= 300 and status not in accepted:
            raise ClusterError(f"{method} {path}: {status}: {answer.get('message', answer)}")
        return answer

    def apply(self, path, body):
        """Creates or changes the object."""
        return self.require("PATCH", f"{path}?fieldManager={FIELD_MANAGER}&force=true", body, kind="application/apply-patch+yaml")

    def close(self):
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class Services:
    """`count` Services of type NodePort in both families, for TCP and UDP, each with ENDPOINTS of `servers`."""

    def __init__(self, layout, servers, count):
        self._layout, self.servers, self.count = layout, tuple(servers), count
        self._api = Api(layout)

    @staticmethod
    def cluster_ip(number, family=a.V4):
        return f"10.96.100.{number}" if family == a.V4 else f"fd00:96::64{number:02x}"

    @staticmethod
    def node_port(number):
        return FIRST_NODE_PORT + number

    def target_port(self, number):
        """Each Service has its own. With a common one, two connections of a client to different Services could have the same
        addresses and ports behind the translation, and the server would drop the later one for a while."""
        return FIRST_TARGET_PORT + min(number, self.count)

    @property
    def target_ports(self):
        return [self.target_port(number) for number in range(1, self.count + 1)]

    def create(self):
        self._api.apply(f"/api/v1/namespaces/{NAMESPACE}",
                        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for number in range(1, self.count + 1):
            self.put_service(number)
            self.put_endpoints(number)

    def put_service(self, number, api=None):
        ips = [self.cluster_ip(number, family) for family in a.FAMILIES]
        spec = {"type": "NodePort", "clusterIP": ips[0], "clusterIPs": ips,
                "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack",
                "ports": [{"name": protocol.lower(), "port": 80, "targetPort": self.target_port(number), "protocol": protocol,
                           "nodePort": self.node_port(number)} for protocol in PROTOCOLS]}
        made = objects.service(NAMESPACE, f"web-{number}", spec)
        del made["status"]
        (api or self._api).apply(f"{SERVICES}/web-{number}", made)

    def delete_service(self, number, api=None):
        (api or self._api).require("DELETE", f"{SERVICES}/web-{number}", accepted=(404,))

    def delete_endpoints(self, number):
        for family in a.FAMILIES:
            self._api.require("DELETE", f"{SLICES}/web-{number}-{family}", accepted=(404,))

    def put_endpoints(self, number, servers=None, api=None):
        """Without `servers`: the first ones."""
        servers = servers or self.servers[:ENDPOINTS]
        ports = [{"name": protocol.lower(), "port": self.target_port(number), "protocol": protocol} for protocol in PROTOCOLS]
        for family in a.FAMILIES:
            name = f"web-{number}-{family}"
            made = objects.endpoint_slice(NAMESPACE, name, f"web-{number}", family, ports, [objects.ready(one) for one in servers])
            (api or self._api).apply(f"{SLICES}/{name}", made)


class Churn:
    """While open, changes endpoints of all Services but those in `steady`, and deletes and creates those from `spare` on, which no
    client uses. Each Service always has endpoints, and all servers run, so a client that is not served has met missing rules."""

    def __init__(self, services, spare, steady, layout):
        self._services, self._spare = services, spare
        self._numbers = [number for number in range(1, services.count + 1) if number not in steady]
        self._api = Api(layout)
        self._random = random.Random(1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._absent = set()
        self.changes = 0
        self.unreachable = 0
        self.problem = None

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Stops the changes and restores all Services; raises the error that stopped the changes, if any."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        for number in range(1, self._services.count + 1):
            if number in self._absent and not pace.wait_until(lambda one=number: self._restored(one), RELEASE_SECONDS, every=1):
                raise ClusterError(f"the addresses of web-{number} are not released")
            self._services.put_endpoints(number)
        self._api.close()
        if self.problem:
            raise self.problem

    def _restored(self, number, api=None):
        try:
            self._services.put_service(number, api)
        except AddressInUse:
            return False
        self._absent.discard(number)
        return True

    def _run(self):
        subsets = list(itertools.combinations(self._services.servers, ENDPOINTS))
        while not self._stop.wait(PERIOD * pace.SLOWNESS):
            try:
                self._change(subsets)
                self.changes += 1
            except UNREACHABLE:  # the API server is down
                self.unreachable += 1
            except Exception as error:  # pylint: disable=broad-except  # raised by end()
                self.problem = error
                return

    def _change(self, subsets):
        number = self._random.choice(self._numbers)
        if number >= self._spare and self._random.random() < 0.3:
            if number in self._absent:
                self._restored(number, self._api)
            else:
                self._services.delete_service(number, self._api)
                self._absent.add(number)
        else:
            self._services.put_endpoints(number, self._random.choice(subsets), self._api)
