#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the manifests in packaging/kubernetes without a cluster: that they are valid, that their parts fit together, and
that the pages about them name existing things. Prints TAP. Each check is first tested with broken manifests."""

import copy
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import yaml

sys.dont_write_bytecode = True
SRC = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SRC / "test/lint"))

import kustomize  # noqa: E402
import schema  # noqa: E402
from tap import Tap  # noqa: E402

FOLDER = SRC / "packaging/kubernetes"
PAGES = SRC / "docs/kubernetes"
KUBE_PROXY = "kube-proxy"  # the ConfigMap that kubeadm makes
HEALTH_PORT = 10256  # unless the configuration says otherwise

# Changes to a valid DaemonSet that an API server rejects or silently ignores.
BROKEN = {
    "a field with a wrong letter": lambda pod, main: pod.update(hostNetWork=True),
    "a field at the wrong place": lambda pod, main: main.update(hostNetwork=True),
    "a number for text": lambda pod, main: main["env"][0].update(name=1),
    "text for a switch": lambda pod, main: main["securityContext"].update(readOnlyRootFilesystem="true"),
    "a number for a label": lambda pod, main: pod["nodeSelector"].update(a=1),
    "a word that is none": lambda pod, main: main.update(imagePullPolicy="Sometimes"),
    "a capability with CAP_": lambda pod, main: main["securityContext"]["capabilities"]["add"].append("CAP_NET_RAW"),
    "a quantity that is none": lambda pod, main: main["resources"]["requests"].update(memory="64 MB"),
    "a mount without its volume": lambda pod, main: pod["volumes"].pop(0),
    "a volume of two sources": lambda pod, main: pod["volumes"][0].update(emptyDir={}),
    "a probe of no port": lambda pod, main: main["ports"][0].update(name="health"),
    "a probe of two kinds": lambda pod, main: main["livenessProbe"].update(exec={"command": ["true"]}),
    "two containers of one name": lambda pod, main: main.update(name=pod["initContainers"][0]["name"]),
    "no name": lambda pod, main: main.pop("name"),
    "an object for a list": lambda pod, main: pod.update(tolerations={"operator": "Exists"}),
}


def overlays():
    return ["base"] + sorted(f"overlays/{one.name}" for one in (FOLDER / "overlays").iterdir())


def of_kind(objects, kind):
    return [one for one in objects if one["kind"] == kind]


def pod_of(objects):
    return of_kind(objects, "DaemonSet")[0]["spec"]["template"]["spec"]


def invalid(objects):
    return [f"{one.get('kind')}: {sentence}" for one in objects for sentence in schema.problems(one)]


def missed(daemon_set):
    """The errors that the schema does not find."""
    for what, change in BROKEN.items():
        broken = copy.deepcopy(daemon_set)
        pod = broken["spec"]["template"]["spec"]
        change(pod, pod["containers"][0])
        if not schema.problems(broken):
            yield what
    broken = copy.deepcopy(daemon_set)
    broken["spec"]["selector"]["matchLabels"]["k8s-app"] = "other"
    if not schema.problems(broken):
        yield "a selector that does not choose its own pods"


def unfitting(objects):
    """References between objects that do not match."""
    pod = pod_of(objects)
    account = of_kind(objects, "ServiceAccount")[0]["metadata"]
    subjects = [(one["kind"], one["name"], one["namespace"]) for one in of_kind(objects, "ClusterRoleBinding")[0]["subjects"]]
    if subjects != [("ServiceAccount", account["name"], account["namespace"])] or pod["serviceAccountName"] != account["name"]:
        yield f"the binding is about {subjects}, the pod runs as {pod['serviceAccountName']}"
    role = of_kind(objects, "ClusterRoleBinding")[0]["roleRef"]["name"]
    if role not in [one["metadata"]["name"] for one in of_kind(objects, "ClusterRole")]:
        yield f"there is no role {role}"
    for one in objects:
        if one["kind"] not in kustomize.CLUSTER_WIDE and one["metadata"].get("namespace") != "kube-system":
            yield f"{one['kind']} is not in kube-system, where the priority of the pod is allowed everywhere"
    maps = {one["metadata"]["name"]: one["data"] for one in of_kind(objects, "ConfigMap")}
    wanted = next(one["configMap"]["name"] for one in pod["volumes"] if "configMap" in one)
    if wanted not in maps and wanted != KUBE_PROXY:
        yield f"there is no ConfigMap {wanted}"
    for container in pod["initContainers"] + pod["containers"]:
        yield from unfitting_container(container, maps.get(wanted, {"config.conf": "", "kubeconfig.conf": ""}))


def unfitting_container(container, files):
    mounts = {one["mountPath"]: one for one in container["volumeMounts"]}
    ports = {one["name"]: one["containerPort"] for one in container.get("ports", [])}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        get = container.get(probe, {}).get("httpGet")
        # /healthz is 503 as well on a node that is about to be removed: a rollout would wait, the daemon be killed.
        path = "/readyz" if probe == "readinessProbe" else "/livez"
        if get and (ports.get(get["port"], get["port"]), get["path"]) != (HEALTH_PORT, path):
            yield f"{container['name']}: {probe} asks port {get['port']} for {get['path']}"
    for one in mounts.values():
        if "subPath" in one or "subPathExpr" in one:
            yield f"{container['name']}: {one['mountPath']} is a subPath, whose content never changes"
    named = [word.partition("=")[2] for word in container["command"] if word.startswith("--config=")]
    named += re.findall(r"^ *kubeconfig: (\S+)", files.get("config.yaml", ""), re.M)
    for path in named:
        folder, _, name = path.rpartition("/")
        if mounts.get(folder, {}).get("name") != "config" or name not in files:
            yield f"{container['name']}: {path} is no file of the ConfigMap"


def unsafe(objects):
    """Privileges of the main container beyond the intended ones."""
    pod = pod_of(objects)
    main = pod["containers"][0]["securityContext"]
    if main.get("privileged") or main.get("allowPrivilegeEscalation") is not False or not main.get("readOnlyRootFilesystem"):
        yield "privileged, or may become so, or can write to its image"
    if main["capabilities"].get("drop") != ["ALL"]:
        yield "does not drop what runtimes give by default"
    if set(main["capabilities"]["add"]) - {"NET_ADMIN", "NET_RAW", "NET_BIND_SERVICE"}:
        yield f"capabilities {main['capabilities']['add']}"
    for one in pod["volumes"]:
        path = one.get("hostPath", {}).get("path")
        if path not in (None, "/run/sluice", "/run/xtables.lock", "/lib/modules"):
            yield f"sees {path} of the node"
    for word in ("hostPID", "hostIPC"):
        if pod.get(word):
            yield word
    for one in of_kind(objects, "ClusterRole"):
        for rule in one["rules"]:
            if "*" in rule["verbs"] + rule["resources"] + rule["apiGroups"] or "secrets" in rule["resources"]:
                yield f"role: {rule}"


def broken_objects(objects, change):
    out = copy.deepcopy(objects)
    change({one["kind"]: one for one in out}, pod_of(out))
    return out


def blind(check, objects, changes):
    """The errors that the check does not find."""
    return [what for what, change in changes.items() if not list(check(broken_objects(objects, change)))]


UNFITTING = {
    "another account": lambda by, pod: pod.update(serviceAccountName="default"),
    "a binding of another namespace": lambda by, pod: by["ClusterRoleBinding"]["subjects"][0].update(namespace="default"),
    "another role": lambda by, pod: by["ClusterRoleBinding"]["roleRef"].update(name="admin"),
    "another ConfigMap": lambda by, pod: pod["volumes"][0]["configMap"].update(name="other"),
    "a subPath": lambda by, pod: pod["containers"][0]["volumeMounts"][0].update(subPath="config.yaml"),
    "another folder": lambda by, pod: pod["containers"][0]["volumeMounts"][0].update(mountPath="/etc/other"),
    "a file that is not there": lambda by, pod: by["ConfigMap"]["data"].pop("kubeconfig"),
    "the health of the node": lambda by, pod: pod["containers"][0]["readinessProbe"]["httpGet"].update(path="/healthz"),
    "the port of metrics": lambda by, pod: pod["containers"][0]["livenessProbe"]["httpGet"].update(port=10249),
}
UNSAFE = {
    "privileged": lambda by, pod: pod["containers"][0]["securityContext"].update(privileged=True),
    "another capability": lambda by, pod: pod["containers"][0]["securityContext"]["capabilities"]["add"].append("SYS_ADMIN"),
    "default capabilities": lambda by, pod: pod["containers"][0]["securityContext"]["capabilities"].pop("drop"),
    "all of the node": lambda by, pod: pod["volumes"][1]["hostPath"].update(path="/"),
    "every verb": lambda by, pod: by["ClusterRole"]["rules"][0].update(verbs=["*"]),
}


def differences(name, objects):
    """Between the output of kustomize itself and ours."""
    program = ["kubectl", "kustomize"] if shutil.which("kubectl") else ["kustomize", "build"]
    done = subprocess.run([*program, str(FOLDER / name)], capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"{' '.join(program)}: {done.stderr.strip()}"]
    theirs = list(yaml.safe_load_all(done.stdout))
    return [f"{one['kind']} {one['metadata']['name']} is not the same" for one in objects if one not in theirs] + \
        [f"{one['kind']} {one['metadata']['name']} is theirs only" for one in theirs if one not in objects]


def absent_from_pages():
    """Paths and overlays that a page names and that do not exist."""
    pages = sorted(PAGES.glob("*.md")) + [SRC / "docs/migrating.md"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for path in re.findall(r"(?<![\w/-])(?:packaging|overlays)/[\w./-]+", text):
            if not any((folder / path.rstrip(".")).exists() for folder in (SRC, FOLDER)):
                yield f"{page.name}: {path}"
        for path in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not (page.parent / path).exists():
                yield f"{page.name}: link to {path}"
    named = " ".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    yield from (f"no page says anything of {one}" for one in overlays() if one not in named)


def unrenderable_in_pages():
    """Overlays shown in pages, in a folder beside a copy of ours."""
    found = 0
    for page in sorted(PAGES.glob("*.md")):
        for block in re.findall(r"^( +)(apiVersion: kustomize.*\n(?:(?:\1.*)?\n)*)", page.read_text(encoding="utf-8"), re.M):
            found += 1
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(FOLDER, Path(folder, "kubernetes"))
                mine = Path(folder, "mine")
                mine.mkdir()
                for name in ("config.yaml", "kubeconfig"):  # copied and edited, as the pages say
                    shutil.copy(FOLDER / "base" / name, mine)
                (mine / "kustomization.yaml").write_text(textwrap.dedent(block[0] + block[1]), encoding="utf-8")
                yield from (f"{page.name}: {sentence}" for sentence in sentences_about(mine))
    if found < 4:
        yield f"only {found} are found in the pages"


def sentences_about(mine):
    try:
        asked = yaml.safe_load((mine / "kustomization.yaml").read_text(encoding="utf-8"))
        objects = kustomize.render(mine)
    except (kustomize.CannotRender, yaml.YAMLError, OSError, KeyError) as error:
        return [f"{type(error).__name__}: {error}"]
    out = invalid(objects + [asked]) + list(unfitting(objects))
    wanted = {f"{one['newName']}:{one['newTag']}" for one in asked["images"]}
    images = {one["image"] for one in pod_of(objects)["initContainers"] + pod_of(objects)["containers"]}
    return out + [f"the image is {one}" for one in images - wanted]


def main():
    tap = Tap()
    rendered, refused = {}, []
    for name in overlays():
        try:
            rendered[name] = kustomize.render(FOLDER / name)
        except (kustomize.CannotRender, yaml.YAMLError, LookupError) as error:
            refused.append(f"{name}: {type(error).__name__}: {error}")
    tap.check("every overlay can be rendered", refused)
    if "base" not in rendered:
        return tap.finish()
    base = rendered["base"]
    tap.check("the schema finds errors in a DaemonSet", missed(of_kind(base, "DaemonSet")[0]))
    tap.check("the check of references finds dangling ones", blind(unfitting, base, UNFITTING))
    tap.check("the check of privileges finds unintended ones", blind(unsafe, base, UNSAFE))
    version = re.search(r"AC_INIT\(\[sluice\], *\[([^]]+)\]", (SRC / "configure.ac").read_text(encoding="utf-8")).group(1)
    for name, objects in rendered.items():
        files = [yaml.safe_load((FOLDER / name / "kustomization.yaml").read_text(encoding="utf-8"))]
        tap.check(f"{name}: valid by the schema", invalid(objects + files))
        tap.check(f"{name}: all references match", unfitting(objects))
        tap.check(f"{name}: least privilege", unsafe(objects))
        images = {one["image"] for one in pod_of(objects)["initContainers"] + pod_of(objects)["containers"]}
        tap.check(f"{name}: the image is of this version", images - {f"sluice:{version}"})
        if shutil.which("kubectl") or shutil.which("kustomize"):
            tap.check(f"{name}: kustomize renders the same objects", differences(name, objects))
        else:
            tap.count += 1
            print(f"ok {tap.count} - {name}: kustomize renders the same objects # SKIP neither kubectl nor kustomize is installed")
    tap.check("pages name existing paths and every overlay", absent_from_pages())
    tap.check("overlays shown in pages can be rendered and are valid", unrenderable_in_pages())
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
