# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Keys, certificates and kubeconfigs of a cluster, signed by a certificate authority of its own."""

import base64
import json
import os

from . import shell
from .layout import KUBERNETES_IP

DAYS = "30"
# Users of the API server, without the nodes: name and subject.
USERS = {
    "admin": "/O=system:masters/CN=admin",
    "kcm": "/O=system:masters/CN=kube-controller-manager",
    "scheduler": "/O=system:masters/CN=kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
}
KUBELET_CLIENT = "/O=system:masters/CN=apiserver-kubelet-client"
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


def node_subject(name):
    return f"/O=system:nodes/CN=system:node:{name}"


def server_alternatives(layout):
    """The subjectAltName of the API server."""
    ips = ["127.0.0.1", *layout.control_plane_ips, *layout.each(KUBERNETES_IP)]
    return ",".join([f"IP:{ip}" for ip in ips] + [f"DNS:{name}" for name in SERVER_NAMES])


def kubeconfig(layout, user, embedded=False):
    """A kubeconfig as JSON, which is YAML, too. It names the files of the certificates, or has them `embedded`."""
    def credential(name, file):
        if not embedded:
            return {name: str(layout.pki / file)}
        return {f"{name}-data": base64.b64encode((layout.pki / file).read_bytes()).decode("ascii")}

    server = {"server": layout.server} | credential("certificate-authority", "ca.crt")
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
        "clusters": [{"name": "cluster", "cluster": server}],
        "users": [{"name": user, "user": credential("client-certificate", f"{user}.crt") | credential("client-key", f"{user}.key")}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": user}}],
    }, indent=1) + "\n"


def create(layout):
    layout.pki.mkdir(mode=0o700, parents=True, exist_ok=True)
    _key(layout, "ca")
    _openssl("req", "-x509", "-new", "-key", layout.pki / "ca.key", "-out", layout.pki / "ca.crt", "-subj", "/CN=cluster-ca",
             "-days", DAYS)
    _key(layout, "sa")
    _openssl("pkey", "-in", layout.pki / "sa.key", "-pubout", "-out", layout.pki / "sa.pub")
    issue(layout, "apiserver", "/CN=kube-apiserver", server_alternatives(layout))
    issue(layout, "kubelet-client", KUBELET_CLIENT)
    users = USERS | {name: node_subject(name) for name in layout.nodes}
    for user, subject in users.items():
        issue(layout, user, subject)
        layout.kubeconfig(user).write_text(kubeconfig(layout, user), encoding="utf-8")


def issue(layout, name, subject, alternatives=""):
    """Creates NAME.key and NAME.crt."""
    _key(layout, name)
    request = _openssl("req", "-new", "-key", layout.pki / f"{name}.key", "-subj", subject)
    extensions = layout.pki / f"{name}.ext"
    extensions.write_text("basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth,serverAuth\n" +
                          (f"subjectAltName={alternatives}\n" if alternatives else ""), encoding="ascii")
    _openssl("x509", "-req", "-CA", layout.pki / "ca.crt", "-CAkey", layout.pki / "ca.key", "-set_serial",
             str(int.from_bytes(os.urandom(8), "big")), "-days", DAYS, "-extfile", extensions,
             "-out", layout.pki / f"{name}.crt", stdin=request)
    extensions.unlink()


def _key(layout, name):
    """Elliptic curves, because a key takes milliseconds."""
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", layout.pki / f"{name}.key")


def _openssl(*words, stdin=None):
    return shell.run(["openssl", *(str(word) for word in words)], stdin=stdin).stdout
