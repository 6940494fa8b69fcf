# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Renders a kustomization on machines without kustomize: supports the features used here, and rejects others.
manifests_test.py compares the output with kustomize, if installed."""

import copy
from pathlib import Path

import yaml

FIELDS = {"apiVersion", "kind", "namespace", "resources", "configMapGenerator", "generatorOptions", "images", "patches"}
CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding"}


class CannotRender(Exception):
    """The kustomization has something invalid or unsupported here."""


def render(folder):
    """Returns the objects, in no particular order."""
    folder = Path(folder)
    asked = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    if set(asked) - FIELDS:
        raise CannotRender(f"{folder}: {sorted(set(asked) - FIELDS)} are not known here")
    out = []
    for name in asked.get("resources", []):
        path = folder / name
        out += render(path) if path.is_dir() else _documents(path)
    for one in asked.get("configMapGenerator", []):
        _generate(folder, one, asked, out)
    for one in out:
        if one["kind"] not in CLUSTER_WIDE and "namespace" in asked:
            one["metadata"]["namespace"] = asked["namespace"]
    for patch in asked.get("patches", []):
        out = _patch(patch, out)
    for image in asked.get("images", []):
        for one in out:
            _exchange(image, one)
    return out


def _documents(path):
    # Copied, because a YAML anchor is one object in several places, and a patch changes only one of them.
    return [_apart(one) for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one is not None]


def _apart(value):
    if isinstance(value, dict):
        return {name: _apart(one) for name, one in value.items()}
    return [_apart(one) for one in value] if isinstance(value, list) else value


def _generate(folder, one, asked, out):
    options = asked.get("generatorOptions", {})
    if not options.get("disableNameSuffixHash"):
        raise CannotRender(f"{folder}: a ConfigMap with a hash in its name would restart pods instead of being reloaded")
    data = {name: (folder / name).read_text(encoding="utf-8") for name in one["files"]}
    same = [other for other in out if other["kind"] == "ConfigMap" and other["metadata"]["name"] == one["name"]]
    if one.get("behavior", "create") == "create":
        if same:
            raise CannotRender(f"{folder}: ConfigMap {one['name']} is there already")
        out.append({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
                    "metadata": {"name": one["name"], **({"labels": options["labels"]} if "labels" in options else {})}})
    elif len(same) != 1:
        raise CannotRender(f"{folder}: there is no ConfigMap {one['name']} to {one['behavior']}")
    else:
        same[0]["data"] = {**(same[0]["data"] if one["behavior"] == "merge" else {}), **data}


def _patch(patch, objects):
    content = yaml.safe_load(patch["patch"])
    target = patch["target"]
    chosen = [one for one in objects if one["kind"] == target["kind"] and one["metadata"]["name"] == target["name"]]
    if not chosen:
        raise CannotRender(f"there is no {target} to patch")
    if isinstance(content, dict):
        if content.get("$patch") != "delete":
            raise CannotRender("of strategic merges only deletions are known here")
        return [one for one in objects if one not in chosen]
    for one in chosen:
        for step in content:
            _step(step, one)
    return objects


def _step(step, document):
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
    place = document
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if isinstance(place, list):
        last = len(place) if last == "-" else int(last)
    here = place[last] if (last < len(place) if isinstance(place, list) else last in place) else None
    operation = step["op"]
    if operation == "test":
        if here != step["value"]:
            raise CannotRender(f"{step['path']} is {here}, not {step['value']}")
    elif operation == "add" and isinstance(place, list):
        place.insert(last, copy.deepcopy(step["value"]))
    elif operation == "add" or operation == "replace" and here is not None:
        place[last] = copy.deepcopy(step["value"])
    elif operation == "remove" and here is not None:
        del place[last]
    else:
        raise CannotRender(f"{operation} {step['path']}: not possible")


def _exchange(image, document):
    pod = document.get("spec", {}).get("template", {}).get("spec", {})
    for container in pod.get("initContainers", []) + pod.get("containers", []):
        name = container["image"].partition(":")[0]
        if name == image["name"]:
            container["image"] = f"{image.get('newName', name)}:{image['newTag']}"
