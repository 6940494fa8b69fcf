# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Certificates, the bearer token and ready-made kubeconfigs, made with the openssl command."""

import base64
import ipaddress
import os
import secrets
import subprocess

import certificates

CLIENT_SUBJECT = "/O=system:nodes-proxier/CN=system:kube-proxy"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Pki:
    def __init__(self, directory, sans):
        self.directory = directory
        self.sans = sans
        # The serial number of the only accepted client certificate; None: any certificate of these authorities.
        self.only_client = None
        os.makedirs(directory, exist_ok=True)
        # The authorities and all credentials survive a restart with the same folder, and can be those of a copied folder.
        if not os.path.exists(self.path("ca.key")):
            self.authority("ca")
            self.authority("other-ca")
            self.issue("client")
        if self._names_of_server() != sans:
            self.issue("server")
            self.write("server.names", "\n".join(sans).encode())
        if not os.path.exists(self.path("token")):
            self.write("token", secrets.token_hex(20).encode(), private=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, data, private=False):
        temporary = self.path(name + ".tmp")
        mode = 0o600 if private else 0o644
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(data)
        os.replace(temporary, self.path(name))

    def token(self):
        """Read at every use, so that a test can rotate it by replacing the file."""
        return self.read("token").decode().strip()

    @staticmethod
    def openssl(*arguments):
        result = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError("openssl %s: %s" % (arguments[0], result.stderr.strip()))
        return result.stdout

    def authority(self, name):
        self.openssl("req", "-x509", *KEY, "-days", "3650", "-subj", "/CN=sluice-test-" + name,
                     "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                     "-keyout", self.path(name + ".key"), "-out", self.path(name + ".crt"))

    def issue(self, name, authority="ca", valid_from=None, valid_until=None):
        """A new key and certificate for `server` or `client`; the times are seconds from now."""
        subject, usage, sans = {"client": (CLIENT_SUBJECT, "clientAuth", []),
                                "server": ("/CN=kube-apiserver", "serverAuth", self.sans)}[name]
        extensions = ["basicConstraints=CA:FALSE", "keyUsage=digitalSignature",
                      "extendedKeyUsage=" + usage]
        if sans:
            extensions.append("subjectAltName=" + ",".join(map(alternative_name, sans)))
        self.write(name + ".ext", "\n".join(extensions).encode())
        fresh = self.path(name + ".new")
        self.openssl("req", *KEY, "-subj", subject, "-keyout", fresh + ".key", "-out", fresh + ".csr")
        certificates.sign(self.openssl, fresh + ".csr", self.path(authority), self.path(name + ".ext"),
                          fresh + ".crt", valid_from, valid_until)
        for ending in (".key", ".crt"):
            os.replace(fresh + ending, self.path(name + ending))
        os.unlink(self.path(name + ".ext"))
        os.unlink(fresh + ".csr")

    def _names_of_server(self):
        """The names in the server's certificate, or None."""
        try:
            return self.read("server.names").decode().split("\n")
        except FileNotFoundError:
            return None

    def revoke_others(self):
        """Revokes all client certificates except the one in the folder."""
        said = self.openssl("x509", "-in", self.path("client.crt"), "-noout", "-serial")
        self.only_client = said.strip().partition("=")[2]

    def accepts(self, names):
        """`names` as from wire.Connection.certificate_names(), of a certificate that one of these authorities signed."""
        return names is not None and self.only_client in (None, names["serial"])

    def data(self, name):
        return base64.b64encode(self.read(name)).decode()

    def write_kubeconfigs(self, url):
        ca = "certificate-authority-data: " + self.data("ca.crt")
        cert = ["client-certificate-data: " + self.data("client.crt"),
                "client-key-data: " + self.data("client.key")]
        variants = {
            "kubeconfig-cert": (ca, cert),
            "kubeconfig-files": ("certificate-authority: ca.crt",
                                 ["client-certificate: client.crt", "client-key: client.key"]),
            "kubeconfig-token": (ca, ["token: " + self.token()]),
            "kubeconfig-tokenfile": (ca, ["tokenFile: token"]),
            "kubeconfig-badca": ("certificate-authority-data: " + self.data("other-ca.crt"), cert),
            "kubeconfig-badtoken": (ca, ["token: not-a-token"]),
        }
        for name, (authority, user) in variants.items():
            text = kubeconfig(url, [authority], user)
            self.write(name, text.encode(), private=True)


def alternative_name(value):
    try:
        return "IP:%s" % ipaddress.ip_address(value)
    except ValueError:
        return "DNS:" + value


def kubeconfig(url, cluster, user):
    lines = ["apiVersion: v1", "kind: Config", "clusters:", "- name: test", "  cluster:",
             "    server: " + url]
    lines += ["    " + line for line in cluster]
    lines += ["users:", "- name: kube-proxy"]
    if user:
        lines.append("  user:")
        lines += ["    " + line for line in user]
    else:
        lines.append("  user: {}")
    lines += ["contexts:", "- name: test", "  context:", "    cluster: test",
              "    user: kube-proxy", "current-context: test"]
    return "\n".join(lines) + "\n"
