# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the injected faults: every kind, on lists, on watches and on streaming lists."""

import json
import socket
import ssl
import time
import zlib

from support import Answer, Server, equal, pace, read_all, service, test

LIST = "/api/v1/services"
WATCH = LIST + "?watch=1&timeoutSeconds=1&resourceVersion=500&allowWatchBookmarks=true"
INITIAL = (LIST + "?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true"
           "&resourceVersionMatch=NotOlderThan")
PLACES = {"list": LIST, "resume": WATCH, "initial": INITIAL}
OBJECTS = 6


def with_objects(server):
    server.control("bulk", {"services": OBJECTS, "endpoints": 0})


def unpacked(answer):
    """The decompressed body, and whether it is corrupt."""
    if answer.headers.get("Content-Encoding") != "gzip":
        return answer.body, False
    engine = zlib.decompressobj(31)
    text = b""
    try:
        for at in range(len(answer.body)):
            text += engine.decompress(answer.body[at : at + 1])
    except zlib.error:
        return text, True
    return text, False


def body_error(answer, watching):
    """Why this is not a complete and valid body; empty if it is."""
    body, corrupt = unpacked(answer)
    if not body:
        return "empty"
    length = answer.headers.get("Content-Length")
    if corrupt:
        return "compression"
    if length is not None and int(length) != len(answer.body):
        return "length"
    if length is None and not answer.complete:
        return "cut"
    try:
        for text in body.decode().splitlines() if watching else [body.decode()]:
            json.loads(text)
    except UnicodeDecodeError:
        return "utf8"
    except ValueError:
        return "json"
    return ""


@test
def faults_that_break_a_body():
    expected = {"cut": "cut", "cut-mid-line": "cut", "half-line": "json", "garbage-line": "json",
                "invalid-utf8": "utf8", "broken-gzip": "compression", "wrong-content-length": "length",
                "reset": "cut", "empty": "empty"}
    with Server() as server:
        with_objects(server)
        for place, path in PLACES.items():
            for kind, harm in expected.items():
                server.fault(match=place, kind=kind, after_events=2)
                answer = server.get(path)
                equal(body_error(answer, place != "list"), harm, "%s in %s" % (kind, place))
            equal(body_error(server.get(path), place != "list"), "", "no fault in " + place)


@test
def a_wrong_length_is_too_long_or_too_short():
    with Server() as server:
        with_objects(server)
        for place, path in PLACES.items():
            for delta in (100000, -100):
                server.fault(match=place, kind="wrong-content-length", length_delta=delta, after_events=1)
                answer = server.get(path)
                missing = int(answer.headers["Content-Length"]) - len(answer.body)
                equal(missing > 0, delta > 0, "%s %d: %d missing" % (place, delta, missing))


@test
def faults_that_leave_a_body_valid():
    with Server() as server:
        with_objects(server)
        for place, path in PLACES.items():
            watching = place != "list"
            plain = objects_of(server.get(path), watching)
            server.fault(match=place, kind="duplicate", after_events=2)
            equal(len(objects_of(server.get(path), watching)) - len(plain), len(plain) - 2,
                  "duplicates in " + place)
            server.fault(match=place, kind="foreign-kind", after_events=1)
            equal(objects_of(server.get(path), watching)[1]["kind"], "Pod", place)
            server.fault(match=place, kind="huge-object", after_events=1, size=3 << 20)
            filler = objects_of(server.get(path), watching)[1]["metadata"]["annotations"]["filler"]
            equal(len(filler), 3 << 20, place)
            server.fault(match=place, kind="slow-drip", seconds=0.0001)
            equal(objects_of(server.get(path), watching), plain, "drip in " + place)


def objects_of(answer, watching):
    return [event["object"] for event in answer.events] if watching else answer.json["items"]


@test
def faults_instead_of_an_answer():
    with Server() as server:
        with_objects(server)
        for place, path in PLACES.items():
            for code in (403, 404, 410, 429, 500):
                server.fault(match=place, kind="status", code=code, retry_after=2)
                answer = server.get(path)
                equal((answer.code, answer.headers["Retry-After"], answer.json["code"]),
                      (code, "2", code), place)
            server.fault(match=place, kind="redirect", location="http://127.0.0.1:1/")
            equal(server.get(path).headers["Location"], "http://127.0.0.1:1/", place)
            server.fault(match=place, kind="html", code=503)
            answer = server.get(path)
            equal((answer.code, answer.headers["Content-Type"]), (503, "text/html"), place)
            equal(answer.body.startswith(b"<html>"), True)
            server.fault(match=place, kind="stall", seconds=0.3)
            started = time.monotonic()
            equal(server.get(path).code, 200)
            equal(time.monotonic() - started >= 0.3, True)
            server.fault(match=place, kind="reset")
            equal(answer_or_reset(server, path), "reset", place)
        server.fault(match="get", resource="/version", kind="html")
        equal(server.get("/version").code, 502)
        equal(server.ask("POST", "/_test/fault", {"kind": "nonsense"}).code, 400)
        equal(server.ask("POST", "/_test/fault", {"kind": "cut", "typo": 1}).code, 400)


def answer_or_reset(server, path):
    with server.connect() as sock:
        sock.sendall(("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path).encode())
        try:
            return repr(sock.recv(10))
        except ConnectionResetError:
            return "reset"


@test
def faults_of_watches_only():
    expected = {"410-event": (3, 410), "error-event": (3, 500), "end": (2, None), "unknown-event": (None, None)}
    with Server() as server:
        with_objects(server)
        for place in ("resume", "initial"):
            for kind, (count, code) in expected.items():
                server.fault(match=place, kind=kind, code=500, after_events=2)
                answer = server.get(PLACES[place])
                equal(answer.complete, True, kind)
                if count is None:
                    equal(answer.events[2]["type"], "RENAMED")
                else:
                    equal(len(answer.events), count, kind)
                if code:
                    equal(answer.events[-1]["object"]["code"], code)
        server.fault(match="watch", kind="stall", after_events=1, seconds=30)
        stream = server.stream(WATCH)
        stream.chunk()
        stream.sock.settimeout(0.5)
        try:
            stream.event()
            raise AssertionError("no stall")
        except TimeoutError:
            pass
        stream.sock.settimeout(pace.stretched(10))
        equal(server.control("cut", {})["cut"], 1)
        equal(stream.sock.recv(1), b"", "a stalled watch can be cut")
        stream.close()


@test
def faults_choose_their_requests():
    with Server() as server:
        with_objects(server)
        server.fault(match="list", resource="services", kind="status", code=429, count=2, skip=1)
        equal(server.get("/apis/discovery.k8s.io/v1/endpointslices").code, 200)
        equal([server.get(LIST).code for _ in range(4)], [200, 429, 429, 200])
        server.fault(match="read", kind="status", code=500)
        equal([server.get(path).code for path in ("/api/v1/namespaces/bulk/services/svc-0", LIST, LIST)],
              [200, 500, 200])
        server.fault(match="initial", kind="status", code=500, count=0)
        equal([server.get(path).code for path in (LIST, WATCH, INITIAL, INITIAL)], [200, 200, 500, 500])
        equal(server.get("/_test/fault").json["faults"][0]["hits"], 2)
        server.ask("DELETE", "/_test/fault")
        equal(server.get(INITIAL).code, 200)


@test
def faults_before_the_handshake():
    with Server(plain=False) as server:
        control = server.connect()
        for fault, seen in (({"kind": "cut"}, "end"), ({"kind": "reset"}, "reset"),
                            ({"kind": "stall", "seconds": 0.4}, "end")):
            send_control(control, {"match": "connection", **fault})
            started = time.monotonic()
            equal(first_byte(server.port), seen, fault["kind"])
            if fault["kind"] == "stall":
                equal(time.monotonic() - started > 0.3, True, "held for a while")
        equal(server.get(LIST).code, 200)
        control.close()
        equal(server.ask("POST", "/_test/fault", {"match": "connection", "kind": "html"}).code, 400)


@test
def requests_in_progress_can_be_ended():
    with Server(plain=False) as server:
        with_objects(server)
        control = server.connect()
        waiting = []
        for fault, path in (({"match": "list", "kind": "stall"}, LIST), ({"match": "list", "kind": "slow-drip"}, LIST),
                            ({"match": "initial", "kind": "stall", "after_events": 1}, INITIAL)):
            send_control(control, fault)
            waiting.append(server.connect())
            waiting[-1].sendall(("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path).encode())
            arrived = pace.wait_until(lambda: len(server.get("/_test/requests").json["requests"]) >= len(waiting), 15)
            equal(bool(arrived), True, "the request has arrived")
        send_control(control, {"match": "connection", "kind": "stall"})
        waiting.append(socket.create_connection(("127.0.0.1", server.port)))
        equal(bool(pace.wait_until(lambda: not control_answer(control, "GET", "stats", None)["faults"], 15)), True, "the fault is met")
        equal(control_answer(control, "POST", "disconnect", {})["disconnected"], 3)
        for sock in waiting:
            sock.settimeout(pace.stretched(5))
            read_all(sock)
            sock.close()
        control.close()


def send_control(sock, fault):
    control_answer(sock, "POST", "fault", fault)


def control_answer(sock, method, name, body):
    """Uses an open connection, because new ones may be held."""
    data = b"" if body is None else json.dumps(body).encode()
    sock.sendall(b"%s /_test/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
                 % (method.encode(), name.encode(), len(data), data))
    answer = Answer(sock.recv(65536))
    equal(answer.code, 200, answer.body)
    return answer.json


def first_byte(port):
    # A reset may arrive before connect() has returned.
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=pace.stretched(5)) as sock:
            return "data" if sock.recv(1) else "end"
    except ConnectionResetError:
        return "reset"


@test
def requests_are_kept_with_headers_and_certificate():
    with Server(plain=False) as server:
        server.get(LIST, "X-Odd: yes")
        server.get("/apis/discovery.k8s.io/v2/nothing")
        server.exchange(b"GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n", certificate=False)
        kept = server.get("/_test/requests").json
        equal([(one["verb"], one["resource"], one["code"]) for one in kept["requests"]],
              [("list", "services", 200), ("", "", 404), ("", "", 401)])
        first, _, last = kept["requests"]
        equal(first["headers"]["x-odd"], "yes")
        equal(first["certificate"]["subject"].endswith("commonName=system:kube-proxy"), True)
        equal((last["certificate"], kept["next"]), (None, 3))
        equal(len(server.get("/_test/requests?since=2").json["requests"]), 1)


@test
def certificates_of_a_chosen_validity():
    with Server(plain=False) as server:
        server.get(LIST)
        server.control("certificate", {"name": "client"})
        server.get(LIST)
        serials = {one["certificate"]["serial"] for one in server.get("/_test/requests").json["requests"]}
        equal(len(serials), 2, "the client's certificate is another")
        with server.connect() as kept:
            for wrong, word in (({"valid_from": -7200, "valid_until": -3600}, "expired"),
                                ({"valid_from": 3600}, "not yet valid"), ({"authority": "other-ca"}, "issuer")):
                control_answer(kept, "POST", "certificate", {"name": "server", **wrong})
                try:
                    server.connect().close()
                    raise AssertionError("a certificate that is %s was accepted" % word)
                except ssl.SSLCertVerificationError as error:
                    equal(word in error.verify_message, True, error.verify_message)
            control_answer(kept, "POST", "certificate", {"name": "server"})
        equal(server.get(LIST).code, 200)


@test
def an_older_backup_is_restored():
    with Server() as server:
        server.control("load", [service("old", clusterIP="10.96.9.9")])
        version = server.get("/_test/stats").json["resourceVersion"]
        server.control("load", [service("old", clusterIP="10.96.9.9", type="NodePort"), service("new")])
        stream = server.stream(LIST + "?watch=1")
        server.control("restore", {"resourceVersion": version})
        while stream.file.readline():
            continue
        stream.close()
        listed = server.get(LIST).json
        equal([(item["metadata"]["name"], item["spec"]["type"]) for item in listed["items"]],
              [("old", "ClusterIP")])
        equal(listed["metadata"]["resourceVersion"], str(version))
        server.control("load", [service("newer")])
        equal(server.get(LIST).json["metadata"]["resourceVersion"], str(version + 1))
        equal(server.ask("POST", "/_test/restore", {"resourceVersion": version + 99}).code, 400)


@test
def a_server_without_endpointslices():
    slices = "/apis/discovery.k8s.io/v1/endpointslices"
    with Server("--no-endpointslices") as server:
        equal([server.get(path).code for path in (slices, slices + "?watch=1", "/apis/discovery.k8s.io/v1",
                                                  "/apis/discovery.k8s.io")], [404] * 4)
        groups = [group["name"] for group in server.get("/apis").json["groups"]]
        equal("discovery.k8s.io" in groups, False)
        server.control("load", [{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web"}}])
        equal(len(server.get("/api/v1/endpoints").json["items"]), 1)
        server.control("options", {"no_endpointslices": False})
        equal(server.get(slices).code, 200)
        equal(server.ask("POST", "/_test/options", {"history": 1}).code, 400)


@test
def service_cidrs_in_the_configured_versions():
    paths = ["/apis/networking.k8s.io/%s/servicecidrs" % version for version in ("v1", "v1beta1", "v2")]
    cidr = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"},
            "spec": {"cidrs": ["172.30.0.0/16"]}}
    with Server("--service-cidrs", "v1beta1") as server:
        server.control("load", [cidr])
        for wanted, codes in (("v1beta1", [404, 200, 404]), ("v1", [200, 404, 404]), ("none", [404] * 3),
                              ("both", [200, 200, 404])):
            server.control("options", {"service_cidrs": wanted})
            equal([server.get(path).code for path in paths], codes)
            equal([server.get(path + "?watch=1&timeoutSeconds=1").code for path in paths], codes)
        listed = server.get(paths[1]).json
        equal((listed["apiVersion"], listed["kind"]), ("networking.k8s.io/v1beta1", "ServiceCIDRList"))
        equal([item["spec"]["cidrs"] for item in listed["items"]], [["172.30.0.0/16"]])
        stream = server.stream(paths[1] + "?watch=true&resourceVersion=0&timeoutSeconds=30")
        equal(stream.event()["object"]["apiVersion"], "networking.k8s.io/v1beta1")
        stream.close()
        equal(server.ask("POST", "/_test/options", {"service_cidrs": "v3"}).code, 400)
        server.control("fault", {"match": "read", "resource": "servicecidrs", "kind": "status", "code": 403})
        equal([server.get(path).code for path in paths[:2]], [403, 200])
