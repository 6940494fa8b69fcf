# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Credentials and connections to the API server: renewed under a running daemon, with clear errors when they fail."""

import math
import os
import secrets
import shutil

from lib import kubeconfigs, observed
from lib.addresses import E1, E2, NODE2
from lib.apiserver import PORT
from lib.cases import POD, kept, own_daemon
from lib.connect_proxy import ConnectProxy
from lib.metrics import Metrics, scrape
from lib.kubeconfigs import CredentialProgram
from lib.objects import ready

ABOVE_BACKENDS = True

WATCHED = {"services", "endpointslices", "nodes"}


def keys(t):
    return t.bench.source.tls_dir


def path(t, name):
    return os.path.join(t.topology.directory, f"{t.bench.label}-{name}")


def ca_data(t, name="ca.crt"):
    return {"certificate-authority-data": kubeconfigs.data(keys(t), name)}


def with_certificate(t):
    return {"client-certificate": os.path.join(keys(t), "client.crt"), "client-key": os.path.join(keys(t), "client.key")}


def start_with(t, cluster, user, synced=True):
    """Restarts the daemon with a kubeconfig of its own."""
    daemon = t.bench.daemon
    daemon.stop()
    written = kubeconfigs.write(path(t, "kubeconfig"), cluster, user)
    daemon.start(["--kubeconfig", written], t.bench.flags)
    if synced:
        daemon.wait_synced()


def requests_since(t, since):
    return t.bench.source.requests(since)[0]


def now(t):
    return t.bench.source.requests()[1]


def watches(t, since, accepted=lambda one: True):
    """The kinds whose watch was opened and accepted since then."""
    return {one["resource"] for one in requests_since(t, since) if one["verb"] == "watch" and one["code"] == 200 and accepted(one)}


def expect_resumed(t, since):
    """Nothing was listed again, neither in pages nor as a stream."""
    lists = [one for one in requests_since(t, since) if one["verb"] == "list" or "sendInitialEvents" in one["query"]]
    t.require(not lists, f"{len(lists)} lists, first: {lists[:1]}")


def expect_serves(t):
    """A change arrives."""
    service = t.service([ready(E1)])
    t.expect_soon(POD, service.cluster(), kept(E1), seconds=40)
    service.set_endpoints([ready(E2)])
    t.expect_soon(POD, service.cluster(), kept(E2), seconds=10)


def expect_logged(t, *words):
    line = t.bench.daemon.wait_logged(*words, seconds=15)
    t.require(line is not None, f"no line with {words}; the last ones: {t.bench.daemon.log_tail()}")


def expect_not_logged(t, word):
    lines = [line for line in t.bench.daemon.log().splitlines() if word in line]
    t.require(not lines, f"{len(lines)} lines with {word}, first: {lines[:1]}")


def rotate_token(t):
    """Changes the token that the server accepts."""
    fresh = os.path.join(keys(t), "token.fresh")
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(secrets.token_hex(20))
    os.replace(fresh, os.path.join(keys(t), "token"))


def rotate_certificate(t):
    """A new client certificate; returns a predicate for requests with a certificate other than before."""
    before = {one["certificate"]["serial"] for one in requests_since(t, 0) if one["certificate"]}
    t.bench.source.admin("certificate", {"name": "client"})
    return lambda one: one["certificate"] is not None and one["certificate"]["serial"] not in before


# Credential programs.


@own_daemon(None, "a credential program is run again when its token is about to expire")
def program_token_expires(t):
    program = CredentialProgram(path(t, "program"), keys(t))
    start_with(t, ca_data(t), program.user("token", 4))

    def renewed():
        t.bench.source.cut()
        return program.runs() >= 2

    t.wait_until(renewed, "a second run of the program", seconds=20)
    expect_serves(t)
    expect_not_logged(t, "answers 401")


@own_daemon(None, "a rejected token causes one run of the credential program, no new list and no warning")
def program_token_refused(t):
    program = CredentialProgram(path(t, "program"), keys(t))
    start_with(t, ca_data(t), program.user("token"))
    t.require(program.runs() == 1, f"{program.runs()} runs at the start")
    since = now(t)
    rotate_token(t)
    t.bench.source.cut()
    t.wait_until(lambda: watches(t, since) >= WATCHED, "every watch resumed", seconds=20)
    t.require(program.runs() == 2, f"{program.runs()} runs after one rotation")
    scraped = scrape(t)
    calls = scraped.get("rest_client_exec_plugin_call_total", code="0", call_status="no_error")
    t.require(calls == 2, f"{calls} calls of the program are counted")
    t.require(scraped.get("rest_client_exec_plugin_ttl_seconds") == math.inf, "a token has a certificate's time to live")
    t.require(scraped.count("rest_client_requests_total", code="401") > 0, "a refused request that was sent again is not counted")
    # The server may see a watch before the daemon has counted it.
    t.wait_until(lambda: scrape(t).count("rest_client_request_retries_total", code="200", verb="GET") >= 1,
                 "a watch that was sent again is counted")
    expect_resumed(t, since)
    expect_not_logged(t, "answers 401")
    expect_serves(t)


@own_daemon(None, "a credential program returns a new certificate: every watch goes on with it", slow=True)
def program_certificate(t):
    program = CredentialProgram(path(t, "program"), keys(t))
    start_with(t, ca_data(t), program.user("certificate", 4))
    since = now(t)
    with_new = rotate_certificate(t)

    def renewed():
        # One watch is opened again; the others must follow by themselves.
        t.bench.source.admin("cut", {"how": "abrupt", "resource": "services"})
        return watches(t, since, with_new) >= WATCHED

    t.wait_until(renewed, "every watch with the new certificate", seconds=30)
    scraped = scrape(t)
    left = scraped.get("rest_client_exec_plugin_ttl_seconds")
    t.require(0 < left < math.inf, f"the certificate of the program lives for {left} s")
    rotations = scraped.get("rest_client_exec_plugin_certificate_rotation_age_count")
    t.require(rotations == 1, f"{rotations} certificates of the program are counted as replaced")
    expect_resumed(t, since)
    expect_serves(t)


@own_daemon(None, "a failing credential program is reported with its stderr, never with its stdout")
def program_fails(t):
    program = path(t, "program")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho S3CR3T\necho 'cannot reach the identity server' >&2\nexit 7\n")
    os.chmod(program, 0o755)
    user = {"exec": {"apiVersion": kubeconfigs.V1, "command": program, "interactiveMode": "Never"}}
    start_with(t, ca_data(t), user, synced=False)
    expect_logged(t, program, "exit status 7", "cannot reach the identity server")

    def counted():
        answer = observed.metrics(t)  # the source starts before the servers
        return answer.status == 200 and Metrics(answer.body).count(
            "rest_client_exec_plugin_call_total", code="7", call_status="plugin_execution_error") > 0

    t.wait_until(counted, "the failed call in the metrics", seconds=20)
    expect_not_logged(t, "S3CR3T")
    t.bench.daemon.check_alive()


# Files.


@own_daemon(None, "a token file is rotated: the new token is used, without a new list or a warning")
def token_file_rotated(t):
    start_with(t, ca_data(t), {"tokenFile": os.path.join(keys(t), "token")})
    since = now(t)
    rotate_token(t)
    t.bench.source.cut()
    t.wait_until(lambda: watches(t, since) >= WATCHED, "every watch resumed", seconds=20)
    expect_resumed(t, since)
    expect_not_logged(t, "answers 401")
    expect_serves(t)


@own_daemon(None, "a client certificate is rotated on disk: every watch goes on with it, and nothing is listed again")
def client_certificate_rotated(t):
    start_with(t, ca_data(t), with_certificate(t))
    hammered = t.service([ready(E1)])
    t.settle()
    hammer = t.hammer(POD, hammered.cluster())
    since = now(t)
    with_new = rotate_certificate(t)
    # One watch is opened again; the others must follow by themselves.
    t.bench.source.admin("cut", {"how": "abrupt", "resource": "services"})
    t.wait_until(lambda: watches(t, since, with_new) >= WATCHED, "every watch with the new certificate", seconds=20)
    expect_resumed(t, since)
    expect_logged(t, "the client certificate has changed", "CN=system:kube-proxy", "valid until")
    expect_serves(t)
    t.require_unbroken(hammer, "while the certificate was rotated")


@own_daemon(None, "a new client certificate whose key is still missing: the old pair is used, and one line reports it")
def client_certificate_half_rotated(t):
    own = {name: path(t, name) for name in ("client.crt", "client.key")}
    for name, copy in own.items():
        shutil.copy(os.path.join(keys(t), name), copy)
    start_with(t, ca_data(t), {"client-certificate": own["client.crt"], "client-key": own["client.key"]})
    since = now(t)
    with_new = rotate_certificate(t)
    shutil.copy(os.path.join(keys(t), "client.crt"), own["client.crt"])
    t.bench.source.cut()
    t.wait_until(lambda: watches(t, since) >= WATCHED, "every watch resumed", seconds=20)
    t.require(not watches(t, since, with_new), "the new certificate was used without its key")
    # One line each: of the reload that failed, and of the connections, which keep the old pair.
    for speaker in ("reload] reload (", "kube] "):
        expect_logged(t, speaker, "the key does not belong to")
        found = [line for line in t.bench.daemon.log().splitlines() if "the key does not belong to" in line and speaker in line]
        t.require(len(found) == 1, f"{len(found)} lines of {speaker} about the key: {found}")
    shutil.copy(os.path.join(keys(t), "client.key"), own["client.key"])
    # Without any other event: the daemon checks the pair periodically.
    t.wait_until(lambda: watches(t, since, with_new) >= WATCHED, "every watch with the new certificate", seconds=30)
    expect_resumed(t, since)
    expect_serves(t)


@own_daemon(None, "an expired client certificate is reported with subject and expiry, and a renewed one is used")
def client_certificate_expired(t):
    t.bench.source.admin("certificate", {"name": "client", "valid_from": -7200, "valid_until": -60})
    start_with(t, ca_data(t), with_certificate(t), synced=False)
    expect_logged(t, "client.crt (subject CN=system:kube-proxy", "expired at", "renew it")
    expect_logged(t, "connection: ", NODE2.v4, "client certificate", "expired at")
    t.bench.source.admin("certificate", {"name": "client"})
    t.bench.daemon.wait_synced()
    expect_serves(t)


@own_daemon(None, "the CA is rotated: the wrong one is reported, the new file is used")
def ca_rotated(t):
    authority = path(t, "ca.crt")
    shutil.copy(os.path.join(keys(t), "ca.crt"), authority)
    start_with(t, {"certificate-authority": authority}, with_certificate(t))
    since = now(t)
    # The connection of the test itself would break with it.
    t.bench.source.admin("certificate", {"name": "server", "authority": "other-ca"})
    t.bench.source.cut()
    expect_logged(t, "not signed by the CA of " + authority)
    shutil.copy(os.path.join(keys(t), "other-ca.crt"), authority)
    t.wait_until(lambda: "works again" in t.bench.daemon.log(), "the new CA taken", seconds=40)
    updated = scrape(t).get("rest_client_transport_ca_reload_total", result="success", reason="updated")
    t.require(updated == 1, f"{updated} new CA files are counted")
    t.wait_until(lambda: watches(t, since) >= WATCHED, "every watch resumed", seconds=40)
    expect_serves(t)


# Names and trust.


@own_daemon(None, "tls-server-name is verified against the server's certificate")
def tls_server_name(t):
    start_with(t, {**ca_data(t), "tls-server-name": "localhost"}, with_certificate(t))
    expect_serves(t)
    start_with(t, {**ca_data(t), "tls-server-name": "wrong.example"}, with_certificate(t), synced=False)
    expect_logged(t, "not made out to wrong.example", "tls-server-name")


@own_daemon(None, "insecure-skip-tls-verify accepts any server; without it and without a CA the system CAs are used")
def insecure(t):
    start_with(t, {"insecure-skip-tls-verify": True, "tls-server-name": "wrong.example"}, with_certificate(t))
    expect_serves(t)
    start_with(t, {}, with_certificate(t), synced=False)
    expect_logged(t, "not signed by a CA of this system", "certificate-authority")
    t.bench.daemon.environment["SSL_CERT_FILE"] = os.path.join(keys(t), "ca.crt")
    start_with(t, {}, with_certificate(t))
    expect_serves(t)


@own_daemon(None, "impersonation headers are in every request, one header per group")
def impersonation(t):
    since = now(t)
    start_with(t, ca_data(t), {**with_certificate(t), "as": "jane", "as-uid": "7", "as-groups": ["g1", "g2, x"],
                               "as-user-extra": {"a/b": ["1", "2"]}})
    wanted = {"impersonate-user": "jane", "impersonate-uid": "7", "impersonate-group": "g1\ng2, x",
              "impersonate-extra-a%2fb": "1\n2"}
    seen = [{name: one["headers"].get(name) for name in wanted}
            for one in requests_since(t, since) if one["verb"] == "watch" and "impersonate-user" in one["headers"]]
    t.require(seen and all(headers == wanted for headers in seen), f"seen: {seen[:1]}")


# Proxies.


def connect_proxy(t, user_info=None):
    proxy = ConnectProxy(t.topology.namespace("node2"), NODE2.v4, ("127.0.0.1", PORT), user_info)
    t.defer(proxy.close)
    return proxy


@own_daemon(None, "proxy-url: CONNECT carries the host name, and the server behind the proxy is verified")
def proxy_of_the_kubeconfig(t):
    proxy = connect_proxy(t, "me:p@ss")
    url = f"http://me:p%40ss@{NODE2.v4}:{proxy.port}"
    # A name that only the proxy can resolve.
    cluster = {**ca_data(t), "server": f"https://api.invalid:{PORT}", "proxy-url": url, "tls-server-name": "localhost"}
    start_with(t, cluster, with_certificate(t))
    expect_serves(t)
    t.require(set(proxy.requested) == {f"api.invalid:{PORT}"}, f"asked for {set(proxy.requested)}")
    start_with(t, {**cluster, "tls-server-name": "api.invalid"}, with_certificate(t), synced=False)
    expect_logged(t, "not made out to api.invalid")
    start_with(t, {**cluster, "proxy-url": f"http://{NODE2.v4}:{proxy.port}"}, with_certificate(t), synced=False)
    expect_logged(t, f"the proxy http://{NODE2.v4}:{proxy.port}", "407", "user name and password")
    proxy.close()
    start_with(t, cluster, with_certificate(t), synced=False)
    expect_logged(t, f"through the proxy http://{NODE2.v4}:{proxy.port}", "refused")
    expect_not_logged(t, "p@ss")
    expect_not_logged(t, "p%40ss")


@own_daemon(None, "HTTPS_PROXY is used when the kubeconfig has no proxy, except for hosts in NO_PROXY")
def proxy_of_the_environment(t):
    proxy = connect_proxy(t)
    environment = t.bench.daemon.environment
    environment.update({"HTTPS_PROXY": f"{NODE2.v4}:{proxy.port}", "NO_PROXY": "192.168.7.0/24"})
    start_with(t, ca_data(t), with_certificate(t))
    expect_serves(t)
    t.require(set(proxy.requested) == {f"{NODE2.v4}:{PORT}"}, f"asked for {set(proxy.requested)}")
    environment["NO_PROXY"] = "192.168.0.0/24"
    tunnels = len(proxy.requested)
    start_with(t, ca_data(t), with_certificate(t))
    expect_serves(t)
    t.require(len(proxy.requested) == tunnels, f"{len(proxy.requested) - tunnels} tunnels in spite of NO_PROXY")
