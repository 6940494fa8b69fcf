#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""A test stand-in for kube-apiserver v1.36, as seen by a node's service proxy."""

import argparse
import asyncio
import gc
import os
import signal
import sys

from http_api import ApiServer
from listener import Listener, open_sockets
from objects import Store, seed
from pki import Pki, kubeconfig
from resources import SERVICE_CIDR_VERSIONS


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    transport = parser.add_mutually_exclusive_group(required=True)
    transport.add_argument("--tls-dir", metavar="DIR",
                           help="serve TLS; keys, certificates and kubeconfigs are made in DIR")
    transport.add_argument("--plain", action="store_true",
                           help="serve plain HTTP without authentication")
    parser.add_argument("--listen", metavar="ADDR:PORT", default="127.0.0.1:0",
                        help="port 0 picks a free one (default %(default)s)")
    parser.add_argument("--ready-file", metavar="F", help="written with the URL once ready")
    parser.add_argument("--san", metavar="X", action="append", default=[],
                        help="one more name or address in the server certificate (repeatable)")
    parser.add_argument("--advertise", metavar="HOST",
                        help="host in the announced URL and the kubeconfigs")
    parser.add_argument("--kubeconfig", metavar="F",
                        help="with --plain: write a kubeconfig without credentials")
    parser.add_argument("--anonymous", action="store_true", help="ask for no credentials")
    parser.add_argument("--validate", action="store_true",
                        help="refuse invalid Services, EndpointSlices and names")
    parser.add_argument("--seed", action="store_true",
                        help="start with the objects of the kubernetes Service")
    parser.add_argument("--history", metavar="N", type=int, default=20000,
                        help="changes kept per type to resume watches from (default %(default)s)")
    parser.add_argument("--bookmark-interval", metavar="SECONDS", type=float, default=60.0,
                        help="default %(default)s")
    parser.add_argument("--first-resource-version", metavar="N", type=int, default=500,
                        help="the version at start; older ones count as expired")
    parser.add_argument("--no-clusterip-field-selector", action="store_true",
                        help="refuse spec.clusterIP as a field selector, as older servers do")
    parser.add_argument("--no-protobuf", action="store_true", help="answer in JSON only")
    parser.add_argument("--no-watchlist", action="store_true",
                        help="refuse sendInitialEvents, as older servers do")
    parser.add_argument("--ignore-watchlist", action="store_true",
                        help="do not know sendInitialEvents, as servers before 1.27")
    parser.add_argument("--no-endpointslices", action="store_true",
                        help="404 for all of discovery.k8s.io/v1, as servers before 1.21")
    parser.add_argument("--service-cidrs", choices=sorted(SERVICE_CIDR_VERSIONS), default="v1",
                        help="in which versions servicecidrs are served; 404 for others (default %(default)s)")
    options = parser.parse_args(arguments)
    host, separator, port = options.listen.rpartition(":")
    if not separator or not port.isdigit():
        parser.error("--listen needs ADDR:PORT")
    options.host = host.strip("[]")
    options.port = int(port)
    return options


def announced_url(options, port):
    host = options.advertise or options.host
    if host in ("", "0.0.0.0", "::"):
        host = "127.0.0.1"
    if ":" in host:
        host = "[" + host + "]"
    return "%s://%s:%d" % ("http" if options.plain else "https", host, port)


def write_atomically(path, text):
    temporary = "%s.%d.tmp" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


async def run(options):
    pki = None
    if options.tls_dir:
        sans = ["127.0.0.1", "::1", "localhost"] + options.san
        pki = Pki(options.tls_dir, sans)
    store = Store(options.history, options.first_resource_version, options.validate)
    if options.seed:
        seed(store)
    api = ApiServer(store, options, pki)
    # Stored objects live long and hold no cycles; fewer collector runs keep bulk loads quick.
    gc.set_threshold(50000, 20, 50)
    listener = Listener(api, open_sockets(options.host, options.port), pki)
    api.listener = listener
    listener.start()
    url = announced_url(options, listener.port)
    if pki:
        pki.write_kubeconfigs(url)
    elif options.kubeconfig:
        write_atomically(options.kubeconfig, kubeconfig(url, [], []))
    if options.ready_file:
        write_atomically(options.ready_file, url + "\n")
    print("listening on " + url, flush=True)

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    await listener.stop()


def main(arguments):
    options = parse_options(arguments)
    try:
        asyncio.run(run(options))
    except (OSError, RuntimeError) as error:
        print("apiserver: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
