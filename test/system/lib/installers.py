# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The kube-proxy configurations of cluster installers (test/fixtures/installers), prepared for a daemon under test."""

import base64
import json
import os
import pathlib
import re
import shlex

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "installers"


class Recording:
    """The way in which one installer starts kube-proxy."""

    def __init__(self, name):
        self.name = name
        self._folder = FOLDER / name
        members = json.loads((self._folder / "recording.json").read_text(encoding="utf-8"))
        self.modes = members["modes"]
        self.pods = members["pods"]
        self.files = members["files"]  # path in the pod → name in the folder
        self._pod = members.get("pod")
        self._secrets = members["secrets"]
        self._command = members.get("command")

    def text(self, name, mode):
        """A file of the recording; the variant for this mode if there is one."""
        stem, dot, ending = name.rpartition(".")
        for_mode = self._folder / f"{stem}-{mode}{dot}{ending}"
        return (for_mode if for_mode.exists() else self._folder / name).read_text(encoding="utf-8")

    def pod_for(self, mode):
        """The specification of its pod in this mode."""
        return json.loads(json.dumps(self._pod).replace("=MODE", f"={mode}"))

    def flags(self, mode, node_name):
        """The arguments that kubelet passes to the program in the container."""
        words = self._command
        if words is None:
            container = self.pod_for(mode)["containers"][0]
            words = [*container["command"], *container.get("args", [])]
            if words[0] == "/bin/sh":
                words = shlex.split(words[2].partition(" 1>>")[0])[1:]
        return [word.replace("$(NODE_NAME)", node_name) for word in words[1:]]

    def lay_out(self, folder, mode, node_name, keys, server, pods):
        """Writes the files below `folder` with the server, the credentials (`keys` is a folder of test/apiserver) and the pod range
        of the test; returns flags with the paths of these files."""
        places = {place: os.path.join(folder, place.lstrip("/")) for place in (*self.files, *self._secrets)}

        def placed(text):
            for place, there in places.items():
                text = text.replace(place, there)
            return re.sub(r"https://[\w.-]+(:\d+)?", server, text.replace(self.pods, pods))

        contents = {place: _with_credentials(placed(self.text(name, mode)), keys) for place, name in self.files.items()}
        contents |= {place: pathlib.Path(keys, name).read_text(encoding="ascii") for place, name in self._secrets.items()}
        for place, content in contents.items():
            os.makedirs(os.path.dirname(places[place]), exist_ok=True)
            pathlib.Path(places[place]).write_text(content, encoding="utf-8")
        return [placed(word) for word in self.flags(mode, node_name)]


def _with_credentials(text, keys):
    """Inserts the credentials that an installer writes into the kubeconfig itself."""
    token = pathlib.Path(keys, "token").read_text(encoding="ascii").strip()
    authority = base64.b64encode(pathlib.Path(keys, "ca.crt").read_bytes()).decode()
    return text.replace("token: TOKEN", f"token: {token}").replace("CA_CERT_BUNDLE", authority)


def recordings():
    return [Recording(path.parent.name) for path in sorted(FOLDER.glob("*/recording.json"))]
