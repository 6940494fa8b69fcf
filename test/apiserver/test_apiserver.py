#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the test API server with recorded answers of a real one. Prints TAP."""

import asyncio
import gzip
import json
import math
import os
import re
import signal
import socket
import ssl
import struct
import sys
import time
import traceback

sys.dont_write_bytecode = True

from support import (Answer, SELECTED, Server, TESTS, equal, fixture, normal, pace, populate, read_all,
                     same_answer, service, test)
import test_faults  # its tests are registered by reading it


@test
def recorded_creations():
    with Server("--seed", plain=False) as server:
        for name in ("create-service-clusterip", "create-service-nodeport-dualstack",
                     "create-service-headless", "create-service-ignored-proxy-name",
                     "create-service-loadbalancer", "create-service-externalname",
                     "create-endpointslice", "event-create", "event-create-invalid-name"):
            got = server.exchange(fixture(name + ".request"))
            same_answer(got, Answer(fixture(name + ".response")), name)


@test
def recorded_reads():
    with Server("--seed", plain=False) as server:
        populate(server)
        for name in ("version", "api-discovery-endpointslice", "get-node", "get-not-found",
                     "list-services", "list-services-gzip", "list-endpointslices",
                     "list-endpoints-legacy", "list-nodes-field-selector",
                     "list-services-page1-limit2", "list-resource-version-in-future",
                     "list-invalid-label-selector", "list-endpointslices-table-metadata-only"):
            got = server.exchange(fixture(name + ".request"))
            want = Answer(fixture(name + ".response"))
            same_answer(got, want, name)
            # The numbers of the recorded cluster have the same length, so chunks must agree, too.
            if want.chunks and name != "list-endpointslices-table-metadata-only":
                sizes = [len(chunk) for chunk in got.chunks]
                equal(sizes[:-1], [len(chunk) for chunk in want.chunks][:-1], name + ": chunks")


@test
def recorded_second_page():
    with Server("--seed", plain=False) as server:
        populate(server)
        token = server.exchange(fixture("list-services-page1-limit2.request")).json["metadata"]
        request = re.sub(rb"continue=[^ ]+", b"continue=" + token["continue"].encode(),
                         fixture("list-services-page2-limit2.request"))
        same_answer(server.exchange(request), Answer(fixture("list-services-page2-limit2.response")),
                    "page 2")


@test
def recorded_continue_token_is_understood():
    from listing import decode_continue, encode_continue
    token = Answer(fixture("list-services-page1-limit2.response")).json["metadata"]["continue"]
    equal(decode_continue(token), (534, "/demo/ext\0"))
    equal(encode_continue(534, "/demo/ext"), token)


@test
def recorded_refusals():
    with Server(plain=False) as server:
        for name in ("unauthorized-no-credential", "unauthorized-bad-token"):
            got = server.exchange(fixture(name + ".request"), certificate=False)
            same_answer(got, Answer(fixture(name + ".response")), name)


@test
def recorded_large_list_framing():
    """The bytes of the body, chunk sizes included, for the recorded pages."""
    from listing import list_head
    from objects import to_json
    from wire import Response

    class Sink:
        drip = entry = None

        def __init__(self):
            self.data = b""

        async def send(self, data):
            self.data += data

    async def render(want):
        sink = Sink()
        response = Response(sink, None)
        document = want.json
        response.write(list_head(document["kind"], document["apiVersion"], document["metadata"]))
        for index, item in enumerate(document["items"]):
            if index:
                response.write(b",")
            response.write(to_json(item))
        response.write(b"]}\n")
        await response.finish()
        return Answer(sink.data)

    for name in ("list-endpointslices-large-page1-limit100",
                 "list-endpointslices-large-page2-limit100"):
        want = Answer(fixture(name + ".response"))
        got = asyncio.run(render(want))
        equal(got.body == want.body, True, name + ": bytes")
        equal([len(c) for c in got.chunks], [len(c) for c in want.chunks], name)


@test
def recorded_large_list_answers():
    """Paging without selectors, and compression, with the recorded objects loaded."""
    items = []
    for page in ("page1", "page2"):
        name = "list-endpointslices-large-%s-limit100.response" % page
        items += Answer(fixture(name)).json["items"]
    items = [{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", **i} for i in items]
    with Server() as server:
        equal(server.control("load", {"kind": "List", "items": items})["stored"], len(items))
        base = "/apis/discovery.k8s.io/v1/endpointslices"
        want = Answer(fixture("list-endpointslices-large-page1-limit100.response"))
        got = server.get(base + "?limit=100")
        equal(got.json["metadata"]["remainingItemCount"], want.json["metadata"]["remainingItemCount"])
        names = [i["metadata"]["name"] for i in got.json["items"]]
        equal(names, [i["metadata"]["name"] for i in want.json["items"]])
        last = server.get(base + "?limit=100&continue=" + got.json["metadata"]["continue"])
        equal(set(last.json["metadata"]), {"resourceVersion"})
        want = Answer(fixture("list-endpointslices-large-gzip.response"))
        got = server.get(base, "Connection: close", "Accept-Encoding: gzip")
        equal(got.header_names, want.header_names)
        equal(got.headers["Content-Encoding"], "gzip")
        unpacked = json.loads(gzip.decompress(got.body))
        recorded = json.loads(gzip.decompress(want.body))
        equal([i["metadata"]["name"] for i in unpacked["items"]],
              [i["metadata"]["name"] for i in recorded["items"]])


@test
def recorded_watch_of_services():
    with Server("--seed") as server:
        populate(server)
        version = server.get("/api/v1/services").json["metadata"]["resourceVersion"]
        want = Answer(fixture("watch-services.response"))
        stream = server.stream("/api/v1/services?%s&watch=true&resourceVersion=%s"
                               "&allowWatchBookmarks=true&timeoutSeconds=%d" % (SELECTED, version, round(pace.stretched(4))))
        later = service("later")
        later["metadata"]["labels"] = {"app": "later"}
        later["spec"]["ports"] = [{"name": "http", "port": 80, "targetPort": 8080}]
        equal(server.ask("POST", "/api/v1/namespaces/demo/services", later).code, 201)
        equal(server.ask("DELETE", "/api/v1/namespaces/demo/services/later").code, 200)
        chunks = [stream.chunk() for _ in range(3)]
        equal([normal(chunk) for chunk in chunks], [normal(chunk) for chunk in want.chunks])
        equal(stream.chunk(), b"", "the server ends the stream")
        stream.close()


@test
def recorded_watch_of_endpointslices():
    with Server() as server:
        want = Answer(fixture("watch-endpointslices.response"))
        stream = server.stream("/apis/discovery.k8s.io/v1/endpointslices?watch=true"
                               "&resourceVersion=500&allowWatchBookmarks=true&timeoutSeconds=%d" % round(pace.stretched(4)))
        path = "/apis/discovery.k8s.io/v1/namespaces/demo/endpointslices"
        for event, recorded in zip(want.events, want.chunks):
            obj = event["object"]
            for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
                obj["metadata"].pop(name, None)
            if event["type"] == "ADDED":
                equal(server.ask("POST", path, obj).code, 201)
            elif event["type"] == "MODIFIED":
                equal(server.ask("PUT", path + "/later-1", obj).code, 200)
            elif event["type"] == "DELETED":
                equal(server.ask("DELETE", path + "/later-1").code, 200)
            got = stream.chunk()
            equal(normal(got), normal(recorded))
            if "generation" in obj["metadata"]:
                equal(json.loads(got)["object"]["metadata"]["generation"],
                      obj["metadata"]["generation"])
        equal(stream.chunk(), b"")
        stream.close()


@test
def recorded_backlog_is_packed_into_chunks():
    """Events that are already waiting share chunks, which do not end at line ends."""
    want = Answer(fixture("watch-endpointslices-with-bookmarks-70s.response"))
    with Server("--first-resource-version", "547", "--bookmark-interval", "1") as server:
        path = "/apis/discovery.k8s.io/v1/namespaces/demo/endpointslices"
        for number, line in enumerate(want.body.splitlines()[:6]):
            event = json.loads(line)
            obj = event["object"]
            obj["metadata"].pop("resourceVersion")
            if event["type"] == "DELETED":
                server.ask("DELETE", path + "/later-1")
            else:
                server.ask("PUT" if number else "POST",
                           path + "/later-1" if number else path, obj)
        stream = server.stream("/apis/discovery.k8s.io/v1/endpointslices?watch=true"
                               "&resourceVersion=547&allowWatchBookmarks=true&timeoutSeconds=5")
        sizes = [len(chunk) for chunk in want.chunks if b"BOOKMARK" not in chunk]
        got = [stream.chunk() for _ in sizes]
        equal([len(chunk) for chunk in got], sizes)
        equal(normal(b"".join(got)).splitlines(), normal(want.body).splitlines()[:6])
        for _ in range(2):
            equal(normal(stream.chunk()), normal(want.chunks[-1]))
        stream.close()


@test
def recorded_streaming_list():
    with Server("--seed", plain=False) as server:
        populate(server)
        got = server.exchange(fixture("watchlist-services-sendinitialevents.request"))
        want = Answer(fixture("watchlist-services-sendinitialevents.response"))
        equal([normal(chunk) for chunk in got.chunks], [normal(chunk) for chunk in want.chunks])
        equal(got.complete, True)
        stream = server.stream("/api/v1/services?watch=true&sendInitialEvents=true"
                               "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
        for _ in range(7):
            equal(stream.event()["type"], "ADDED")
        equal(stream.event()["object"]["metadata"]["annotations"],
              {"k8s.io/initial-events-end": "true"})
        server.ask("DELETE", "/api/v1/namespaces/demo/services/web")
        equal(stream.event()["type"], "DELETED")
        stream.close()


@test
def recorded_expired_watch():
    with Server(plain=False) as server:
        got = server.exchange(fixture("watch-too-old-resource-version.request"))
        want = Answer(fixture("watch-too-old-resource-version.response"))
        got.header_names.remove("Connection")
        equal(got.header_names, want.header_names)
        equal(normal(got.body), normal(want.body))
        equal(len(got.chunks), 1)


@test
def selectors_move_objects_in_and_out():
    with Server() as server:
        path = "/api/v1/namespaces/demo/services"
        server.ask("POST", path, service("web"))
        stream = server.stream("/api/v1/services?watch=true&labelSelector=!hidden"
                               "&fieldSelector=spec.clusterIP!%3DNone&resourceVersion=500")
        equal(stream.event()["type"], "ADDED")
        merge = ("Content-Type: application/merge-patch+json",)
        hide = {"metadata": {"labels": {"hidden": "1"}}}
        changed = server.ask("PATCH", path + "/web", hide, merge).json
        gone = stream.event()
        equal(gone["type"], "DELETED")
        equal("labels" in gone["object"]["metadata"], False)
        equal(gone["object"]["metadata"]["resourceVersion"], changed["metadata"]["resourceVersion"])
        server.ask("PATCH", path + "/web", {"metadata": {"labels": {"hidden": None}}}, merge)
        equal(stream.event()["type"], "ADDED")
        server.ask("POST", path, service("headless", clusterIP="None"))
        server.ask("POST", path, service("other"))
        equal(stream.event()["object"]["metadata"]["name"], "other")
        stream.close()


@test
def label_selector_forms():
    from object_selectors import Matcher

    class Thing:
        labels = {"a": "1", "b": "x"}

        @staticmethod
        def field(name):
            return {"metadata.name": "thing"}[name]

    for text, expected in (
        ("", True), ("a", True), ("!a", False), ("!c", True), ("a=1", True), ("a==1,b=x", True),
        ("a!=1", False), ("c!=1", True), ("a in (1,2)", True), ("a in (2)", False),
        ("a notin (2, 3)", True), ("c notin (2)", True), ("a>0", True), ("a<1", False),
        (" a , !c ", True),
    ):
        equal(Matcher(text).matches(Thing), expected, text)
    names = ("metadata.name",)
    equal(Matcher("", "metadata.name=thing", names).matches(Thing), True)
    equal(Matcher("", "metadata.name!=thing", names).matches(Thing), False)
    with Server("--no-clusterip-field-selector") as server:
        answer = server.get("/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone")
        equal((answer.code, answer.json["message"]), (400, "field label not supported: spec.clusterIP"))
        equal(server.get("/api/v1/services?labelSelector=a+in+%28").code, 400)


@test
def paging_is_consistent_until_compaction():
    with Server() as server:
        server.control("bulk", {"services": 5, "endpoints": 3, "slice_size": 2})
        first = server.get("/api/v1/services?limit=2").json
        equal(first["metadata"]["remainingItemCount"], 3)
        server.ask("DELETE", "/api/v1/namespaces/bulk/services/svc-3")
        server.ask("DELETE", "/api/v1/namespaces/bulk/services/svc-0")
        token = "&continue=" + first["metadata"]["continue"]
        second = server.get("/api/v1/services?limit=2" + token).json
        equal([i["metadata"]["name"] for i in second["items"]], ["svc-2", "svc-3"])
        equal(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"])
        exact = "/api/v1/services?resourceVersionMatch=Exact&resourceVersion="
        equal(len(server.get(exact + first["metadata"]["resourceVersion"]).json["items"]), 5)
        server.control("compact", {})
        expired = server.get("/api/v1/services?limit=2" + token)
        equal((expired.code, expired.json["reason"]), (410, "Expired"))
        rest = server.get("/api/v1/services?continue=" + expired.json["metadata"]["continue"])
        equal([i["metadata"]["name"] for i in rest.json["items"]], ["svc-2", "svc-4"])
        watch = server.get("/api/v1/services?watch=1&resourceVersion="
                           + first["metadata"]["resourceVersion"])
        equal(watch.events[0]["object"]["code"], 410)


@test
def bounded_history_expires():
    with Server("--history", "3") as server:
        server.control("bulk", {"services": 6, "endpoints": 0})
        old = server.get("/api/v1/services?watch=1&timeoutSeconds=1&resourceVersion=502")
        equal(old.events[0]["object"]["reason"], "Expired")
        new = server.get("/api/v1/services?watch=1&timeoutSeconds=1&resourceVersion=503")
        equal([e["type"] for e in new.events], ["ADDED"] * 3)


@test
def streaming_list_from_a_version_shows_everything():
    with Server() as server:
        server.control("bulk", {"services": 3, "endpoints": 0})
        query = ("/api/v1/services?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                 "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1&resourceVersion=")
        equal([e["type"] for e in server.get(query + "503").events], ["ADDED"] * 3 + ["BOOKMARK"])
        equal(server.get(query + "504").code, 504)


@test
def older_server_refuses_streaming_lists():
    query = ("/api/v1/services?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
             "&timeoutSeconds=1")
    with Server("--no-watchlist") as server:
        answer = server.get(query + "&resourceVersionMatch=NotOlderThan")
        equal((answer.code, answer.json["reason"]), (422, "Invalid"))
    with Server() as server:
        equal(server.get(query).code, 422)


@test
def still_older_server_does_not_know_streaming_lists():
    with Server("--ignore-watchlist") as server:
        server.ask("POST", "/api/v1/namespaces/demo/services", service("web"))
        answer = server.get("/api/v1/services?watch=1&sendInitialEvents=true&timeoutSeconds=1"
                            "&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan")
        equal((answer.code, [e["type"] for e in answer.events]), (200, ["ADDED"]))


@test
def ports_that_the_server_chooses_come_from_the_end_of_the_range():
    """The tests of the daemon choose theirs, and listen on some, from its beginning."""
    with Server() as server:
        path = "/api/v1/namespaces/demo/services"
        one = server.ask("POST", path, service("one", type="LoadBalancer", externalTrafficPolicy="Local")).json["spec"]
        equal([one["ports"][0]["nodePort"], one["healthCheckNodePort"]], [32767, 32766])
        taken = service("taken", type="NodePort")
        taken["spec"]["ports"][0]["nodePort"] = 32765
        equal(server.ask("POST", path, taken).code, 201)
        two = server.ask("POST", path, service("two", type="NodePort")).json["spec"]
        equal(two["ports"][0]["nodePort"], 32764)


@test
def writes():
    with Server() as server:
        path = "/api/v1/namespaces/demo/services"
        created = server.ask("POST", path, service("web")).json
        equal(server.ask("POST", path, service("web")).code, 409)
        equal(created["spec"]["ports"], [{"protocol": "TCP", "port": 80, "targetPort": 80}])
        replaced = server.ask("PUT", path + "/web", service("web", type="NodePort")).json
        equal(replaced["spec"]["clusterIP"], created["spec"]["clusterIP"])
        equal(replaced["spec"]["ports"][0]["nodePort"] >= 30000, True)
        equal(server.ask("PUT", path + "/web", replaced).json, replaced, "no change, no version")
        equal(server.ask("PUT", path + "/web", created).code, 409, "conflict")
        equal(server.ask("PUT", path + "/new", service("new")).code, 201)
        equal(server.ask("POST", path, b"{").code, 400)
        equal(server.ask("DELETE", path + "/web").json["kind"], "Service")
        equal(server.ask("DELETE", path + "/web").code, 404)
        equal(len(server.ask("DELETE", path).json["items"]), 1)
        broken = service("broken", clusterIP="10.0.0.999", externalIPs=["nonsense"])
        broken["spec"]["ports"][0]["port"] = 0
        equal(server.ask("POST", path, broken).code, 201)
        core = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e.1"},
                "involvedObject": {"kind": "Node", "name": "n"}, "message": "text"}
        equal(server.ask("POST", "/api/v1/namespaces/default/events", core).code, 201)
        shown = server.get("/apis/events.k8s.io/v1/namespaces/default/events/e.1").json
        equal((shown["note"], shown["regarding"]["name"]), ("text", "n"))
        equal(server.get("/api/v1/events").json["items"][0]["message"], "text")
        events = "/apis/events.k8s.io/v1/namespaces/default/events"
        event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e.2"}, "type": "Normal",
                 "eventTime": "2026-01-02T03:04:05.000006Z", "reportingController": "c", "reportingInstance": "c-n",
                 "action": "Act", "reason": "Why", "regarding": {"kind": "Node", "name": "n"}}
        for lacking in ("eventTime", "reportingController", "reportingInstance", "action", "reason", "type"):
            incomplete = {name: value for name, value in event.items() if name != lacking}
            equal(server.ask("POST", events, incomplete).code, 422, lacking)
        elsewhere = {**event, "regarding": {"kind": "Service", "name": "s", "namespace": "demo"}}
        equal(server.ask("POST", events, elsewhere).code, 422, "regarding an object of another namespace")
        equal(server.ask("POST", events, {**event, "note": "x" * 1025}).code, 422, "a long note")
        equal(server.ask("POST", events, event).code, 201)
    with Server("--validate") as server:
        equal(server.ask("POST", path, broken).code, 422)


@test
def raw_load_keeps_objects_as_they_are():
    with Server() as server:
        odd = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "odd"},
               "spec": {"clusterIP": "", "ports": [{"port": "eighty"}]}}
        server.control("load", {"raw": True, "objects": [odd]})
        got = server.get("/api/v1/namespaces/default/services/odd").json
        equal(got["spec"], odd["spec"])
        server.control("load", [odd])
        got = server.get("/api/v1/namespaces/default/services/odd").json
        equal(got["spec"]["type"], "ClusterIP")
        equal(server.control("reset", {})["deleted"], 1)


@test
def running_watches_can_be_ended_and_injected():
    with Server() as server:
        streams = [server.stream("/api/v1/services?watch=1") for _ in range(3)]
        node = server.stream("/api/v1/nodes?watch=1")
        equal(server.get("/_test/stats").json["watches"], {"services": 3, "nodes": 1})
        event = {"type": "ERROR", "object": {"kind": "Status", "code": 500}}
        equal(server.control("inject", {"resource": "services", "event": event})["injected"], 3)
        equal([stream.event() for stream in streams], [event] * 3)
        equal(server.control("cut", {"resource": "services"})["cut"], 3)
        equal([stream.file.read() for stream in streams], [b""] * 3)
        equal(server.control("cut", {"how": "clean"})["cut"], 1)
        equal(node.chunk(), b"")
        for stream in streams + [node]:
            stream.close()
        stream = server.stream("/api/v1/services?watch=1")
        stream.close()
        pace.wait_until(lambda: not server.get("/_test/stats").json["watches"], 10)
        equal(server.get("/_test/stats").json["watches"], {}, "a client's departure is noticed")


@test
def bookmarks_come_at_the_interval():
    with Server("--bookmark-interval", "0.2") as server:
        answer = server.get("/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d"
                            "&resourceVersion=500" % math.ceil(pace.stretched(2)))
        equal(len(answer.events) >= 3, True)
        equal({event["type"] for event in answer.events}, {"BOOKMARK"})
        quiet = server.get("/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion=500")
        equal(quiet.body, b"")


@test
def connections_are_kept_open():
    with Server() as server, server.connect() as sock:
        file = sock.makefile("rb")
        for _ in range(2):
            sock.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
            length = None
            while True:
                line = file.readline()
                if line.startswith(b"Content-Length"):
                    length = int(line.split()[1])
                if line == b"\r\n":
                    break
            equal(json.loads(file.read(length))["minor"], "36")
        file.close()
        equal(server.exchange(b"nonsense\r\n\r\n").code, 400)


@test
def misbehaving_clients_are_handled():
    """Clients that vanish in the handshake, after a request or in the middle of an answer."""
    with Server(plain=False) as server:
        server.control("bulk", {"services": 3000, "endpoints": 0})
        context = ssl.create_default_context()
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port)) as sock:
                try:
                    context.wrap_socket(sock, server_hostname="localhost")
                except ssl.SSLError:
                    pass
            for request in (b"GET /api/v1/services HTTP/1.1\r\nHost: x\r\n\r\n",
                            b"GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n",
                            b"POST /api/v1/services HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"):
                sock = server.connect()
                sock.sendall(request)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
        equal(server.get("/healthz").body, b"ok")


@test
def media_types():
    with Server() as server:
        def ask(accept):
            return server.exchange(("GET /api/v1/services HTTP/1.1\r\nHost: x\r\nAccept: %s\r\n\r\n"
                                    % accept).encode())
        both = "application/vnd.kubernetes.protobuf, application/json"
        equal(ask(both).headers["Content-Type"], "application/vnd.kubernetes.protobuf")
        equal(ask(both).body[:4], b"k8s\0")
        server.control("options", {"no_protobuf": True})
        equal(ask("application/vnd.kubernetes.protobuf").code, 406)
        equal(ask(both).headers["Content-Type"], "application/json")
        equal(ask("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").code, 200)


@test
def tls_and_credentials():
    # `fresh`: this test is about the certificates that a server creates.
    with Server("--san", "api.test", "--san", "192.0.2.1", plain=False, fresh=True) as server:
        equal(server.url.startswith("https://127.0.0.1:"), True)
        with open(server.ready, encoding="utf-8") as file:
            equal(file.read().strip(), server.url)
        with open(os.path.join(server.tls_dir, "token"), encoding="utf-8") as file:
            token = file.read().strip()
        request = ("GET /api/v1/services HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
                   % token).encode()
        equal(server.exchange(request, certificate=False).code, 200)
        equal(server.get("/api/v1/services").code, 200)
        names = ("kubeconfig-cert", "kubeconfig-files", "kubeconfig-token", "kubeconfig-tokenfile",
                 "kubeconfig-badca", "kubeconfig-badtoken")
        for name in names:
            with open(os.path.join(server.tls_dir, name), encoding="utf-8") as file:
                equal("server: " + server.url in file.read(), True, name)
        context = ssl.create_default_context(cafile=os.path.join(server.tls_dir, "other-ca.crt"))
        try:
            with socket.create_connection(("127.0.0.1", server.port)) as sock:
                context.wrap_socket(sock, server_hostname="localhost")
            raise AssertionError("the wrong authority was believed")
        except ssl.SSLCertVerificationError:
            pass
        context = ssl.create_default_context(cafile=os.path.join(server.tls_dir, "ca.crt"))
        for name in ("api.test", "192.0.2.1", "::1"):
            with socket.create_connection(("127.0.0.1", server.port)) as sock:
                context.wrap_socket(sock, server_hostname=name).close()
    with Server(plain=False) as server:
        with server.connect() as old:
            server.control("certificate", {"name": "client", "revoke_others": True})
            old.sendall(b"GET /api/v1/services HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            equal(Answer(read_all(old)).code, 401)
        equal(server.get("/api/v1/services").code, 200)
        # Both count until the old one is revoked.
        with server.connect() as old, server.connect() as older:
            for connection, change, code in ((older, {}, 200), (old, {"issue": False, "revoke_others": True}, 401)):
                server.control("certificate", {"name": "client", **change})
                connection.sendall(b"GET /api/v1/services HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                equal(Answer(read_all(connection)).code, code)
                equal(server.get("/api/v1/services").code, 200)
    with Server("--anonymous", plain=False) as server:
        equal(server.exchange(b"GET /api/v1/services HTTP/1.1\r\nHost: x\r\n\r\n",
                              certificate=False).code, 200)


@test
def stops_promptly_with_watches_running():
    with Server() as server:
        streams = [server.stream("/api/v1/services?watch=1") for _ in range(20)]
        started = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        equal(server.process.wait(pace.stretched(5)), 0)
        # The server does not wait for the end of a watch.
        equal(time.monotonic() - started < pace.stretched(1.5), True)
        for stream in streams:
            stream.close()


@test
def many_objects():
    with Server() as server:
        server.control("bulk", {"services": 2000, "endpoints": 20, "slice_size": 10})
        items = server.get("/api/v1/services").json["items"]
        equal(len(items), 2000)
        by_name = {item["metadata"]["name"]: item["spec"]["clusterIP"] for item in items}
        equal((by_name["svc-0"], by_name["svc-1999"]), ("10.100.0.0", "10.100.7.207"))
        slices = server.get("/apis/discovery.k8s.io/v1/endpointslices").json["items"]
        equal(len(slices), 4000)
        last = [s for s in slices if s["metadata"]["name"] == "svc-1999-1"][0]
        equal(last["endpoints"][9]["addresses"], ["10.200.156.63"])


def main():
    print("1..%d" % len(TESTS))
    failed = 0
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print("ok %d - %s" % (number, name), flush=True)
        except Exception:
            failed += 1
            print("not ok %d - %s" % (number, name))
            for line in traceback.format_exc().splitlines():
                print("# " + line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
