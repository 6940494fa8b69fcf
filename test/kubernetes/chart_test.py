#!/usr/bin/python3
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the Helm chart packaging/helm/sluice without a cluster, and prints TAP.

  chart_test.py [--builddir DIR]

Without helm: values against their schema, templates, table of values, and the committed output of helm (chart/rendered): that
it is of the current chart, valid, and the same as the tested manifests in packaging/kubernetes. With helm (SLUICE_HELM, or in
PATH) in addition: that helm renders the same, accepts the chart, and rejects unusable values. With --builddir, the daemon of
that build tree checks the rendered configurations. Each check is first tested with broken input.
"""

import argparse
import copy
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import yaml

sys.dont_write_bytecode = True
SRC = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SRC / "test/lint"))

import chart  # noqa: E402
import chart_daemon  # noqa: E402
import kustomize  # noqa: E402
import schema  # noqa: E402
import templates  # noqa: E402
from chart_refusals import REFUSED, SCHEMA_REFUSES  # noqa: E402
from manifests_test import invalid, of_kind, unfitting, unsafe  # noqa: E402
from tap import Tap  # noqa: E402

# Value set → folder of the manifests that were tested with pods.
STOCK = {"base": "base", **{name: f"overlays/{name}" for name in ("iptables", "ipvs", "userspace", "k3s", "kind", "kubeadm")}}
LABELS = {"app.kubernetes.io/name": "sluice", "app.kubernetes.io/instance": "sluice", "app.kubernetes.io/part-of": "sluice",
          "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/version": None, "app.kubernetes.io/component": None}
OPERATOR = {  # errors in objects of kinds that only the chart has
    "Service": lambda one: one["spec"]["ports"][0].pop("port"),
    "ServiceMonitor": lambda one: one["spec"].update(podMetricsEndpoints=[]),
    "PodMonitor": lambda one: one["spec"]["podMetricsEndpoints"][0].update(Interval="30s"),
    "PrometheusRule": lambda one: one.update(spec={"groups": [{"name": "a", "rules": [{"alert": "A"}]}]}),
}
BROKEN_TEMPLATES = {
    "a block without end": '{{ if .Values.mode }}a',
    "an end without block": "{{ end }}",
    "an action without end": "{{ .Values.mode }",
    "a value that is not there": "{{ .Values.moed }}",
    "a value of another object": "{{ .Values.image.mode }}",
    "a template that is not there": '{{ include "sluice.title" . }}',
    "a function that is none": "{{ toYml .Values.config }}",
    "a parenthesis": '{{ (eq .Values.mode "ipvs" }}',
}


class ChartTap(Tap):
    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}")


def merged(base, values):
    out = copy.deepcopy(base)
    for name, value in values.items():
        out[name] = merged(out[name], value) if isinstance(value, dict) and isinstance(out.get(name), dict) else value
    return out


def schema_errors(values):
    validator = jsonschema.Draft7Validator(json.loads((chart.CHART / "values.schema.json").read_text(encoding="utf-8")))
    return [f"{'.'.join(map(str, one.path))}: {one.message}" for one in validator.iter_errors(values)]


def undeclared(values, properties, where=""):
    """Values without a place in the schema, and the reverse."""
    for name in set(values) ^ (set(properties) - {"global"}):
        yield f"{where}{name} is only in {'values.yaml' if name in values else 'the schema'}"
    for name, value in values.items():
        inner = properties.get(name, {}).get("properties")
        if inner and isinstance(value, dict):
            yield from undeclared(value, inner, f"{where}{name}.")


def template_errors(values, extra=None):
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted((chart.CHART / "templates").iterdir())}
    defined = set().union(*map(templates.defined_in, files.values()))
    files = {"broken": extra} if extra else files
    return [sentence for name, text in files.items() for sentence in templates.problems(name, text, values, defined)]


def foreign_hosts():
    """Default images with a registry."""
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text(encoding="utf-8"))
    return [f"image.repository is {values['image']['repository']}"] if values["image"]["repository"] else []


def wrong_links():
    for name, source in chart.SOURCES.items():
        file = chart.CHART / name
        if not file.is_symlink() or file.resolve() != source:
            yield f"{name} is no link to {source.relative_to(SRC)}"


def without_labels(objects):
    for one in objects:
        have = one["metadata"]["labels"]
        for name, value in LABELS.items():
            if name not in have or value not in (None, have[name]):
                yield f"{one['kind']} {one['metadata']['name']}: {name} is {have.get(name)}"


def of_each_pool(objects):
    """The objects as if each DaemonSet were the only one."""
    for daemon_set in of_kind(objects, "DaemonSet"):
        yield [daemon_set, *(one for one in objects if one["kind"] != "DaemonSet")]


def comparable(objects):
    """What matters of an installation, by name. Not compared: labels, selectors, the image, and the metrics port."""
    out = {}
    for one in objects:
        if one["kind"] == "DaemonSet":
            spec = copy.deepcopy(one["spec"])
            del spec["selector"], spec["template"]["metadata"]
            for container in spec["template"]["spec"]["initContainers"] + spec["template"]["spec"]["containers"]:
                container["image"] = "sluice"
                container["ports"] = [port for port in container.get("ports", []) if port["name"] != "metrics"]
            out["DaemonSet"] = spec
        elif one["kind"] == "ConfigMap":
            out["ConfigMap"] = {name: list(yaml.safe_load_all(text)) for name, text in one["data"].items()}
            for document in out["ConfigMap"]["config.yaml"]:
                document.pop("metricsBindAddress", None)
        elif one["kind"] in ("ClusterRole", "ClusterRoleBinding", "ServiceAccount"):
            out[one["kind"]] = {name: value for name, value in one.items() if name != "metadata"}
            out[f"name of {one['kind']}"] = one["metadata"]["name"], one["metadata"].get("namespace")
    return out


def not_as_tested(objects, folder):
    tested = comparable(kustomize.render(SRC / "packaging/kubernetes" / folder))
    mine = comparable(objects)
    return [f"{name}: {mine.get(name)}\n  tested: {tested.get(name)}" for name in sorted({*tested, *mine})
            if tested.get(name) != mine.get(name)]


def unselected(objects):
    """The Service and the monitors must find the pods, by labels and by the name of the port."""
    pods = [one["spec"]["template"] for one in of_kind(objects, "DaemonSet")]
    for pod in pods:
        ports = [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
        for kind, path in (("Service", "selector"), ("PodMonitor", "selector.matchLabels")):
            for one in of_kind(objects, kind):
                wanted = one["spec"]
                for step in path.split("."):
                    wanted = wanted[step]
                if not wanted.items() <= pod["metadata"]["labels"].items():
                    yield f"{kind} does not select the pods"
                asked = [port["targetPort"] for port in one["spec"].get("ports", [])] + \
                    [endpoint["port"] for endpoint in one["spec"].get("podMetricsEndpoints", [])]
                yield from (f"{kind}: no pod has port {name}" for name in asked if name not in ports)
    services = [one["metadata"]["labels"].items() for one in of_kind(objects, "Service")]
    for one in of_kind(objects, "ServiceMonitor"):
        if not any(one["spec"]["selector"]["matchLabels"].items() <= labels for labels in services):
            yield "ServiceMonitor selects no Service"


def shared_nodes(objects):
    """Pairs of DaemonSets that may both have a pod on one node."""
    chosen = []
    for one in of_kind(objects, "DaemonSet"):
        pod = one["spec"]["template"]["spec"]
        terms = pod.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
        excluded = {(rule["key"], value) for term in terms.get("nodeSelectorTerms", []) for rule in term["matchExpressions"]
                    for value in rule["values"] if rule["operator"] == "NotIn"}
        chosen.append((one["metadata"]["name"], pod["nodeSelector"], excluded))
    for number, (name, labels, excluded) in enumerate(chosen):
        for other, theirs, others_excluded in chosen[:number]:
            apart = any(theirs.get(key, value) != value for key, value in labels.items())
            if not apart and not excluded & set(theirs.items()) and not others_excluded & set(labels.items()):
                yield f"{other} and {name}"


def same_selectors(objects):
    selectors = [json.dumps(one["spec"]["selector"], sort_keys=True) for one in of_kind(objects, "DaemonSet")]
    return [] if len(set(selectors)) == len(selectors) else ["two DaemonSets have one selector"]


def check_inputs(tap, defaults):
    declared = json.loads((chart.CHART / "values.schema.json").read_text(encoding="utf-8"))
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text(encoding="utf-8"))
    version = re.search(r"AC_INIT\(\[sluice\], *\[([^]]+)\]", (SRC / "configure.ac").read_text(encoding="utf-8")).group(1)
    tap.check("the chart has the version of the release", [f"{name}: {about[name]}" for name in ("version", "appVersion")
                                                           if about[name] != version])
    tap.check("every value is in the schema", undeclared(defaults, declared["properties"]))
    tap.check("the schema accepts the default values", schema_errors(defaults))
    tap.check("the schema rejects wrong values", [what for what, values in SCHEMA_REFUSES.items()
                                                  if not schema_errors(merged(defaults, values))])
    done = subprocess.run([sys.executable, "-B", str(chart.CHART.parent / "values_table.py"), "--check"], capture_output=True,
                          text=True, check=False)
    tap.check("the README has the current table of values", done.stdout.splitlines() + done.stderr.splitlines())
    tap.check("every value has a description", re.findall(r"^\| `\S+` \| .* \|  \|$",
                                                          (chart.CHART / "README.md").read_text(encoding="utf-8"), re.M))
    tap.check("the check of templates finds errors", [what for what, text in BROKEN_TEMPLATES.items()
                                                      if not template_errors(defaults, text)])
    tap.check("templates are balanced and use existing templates, functions and values", template_errors(defaults))
    tap.check("no image is set by default", foreign_hosts())
    tap.check("alerts and dashboard are links to their sources", wrong_links())


def check_checks(tap, rendered):
    """The checks of rendered objects find errors."""
    blind = []
    for kind, change in OPERATOR.items():
        one = copy.deepcopy(next(one for objects in rendered.values() for one in of_kind(objects, kind)))
        change(one)
        blind += [] if schema.problems(one) else [kind]
    tap.check("the schema of manifests finds errors in the kinds of the chart", blind)
    blind = []
    for name, change in (("an environment variable", lambda pod: pod["containers"][0]["env"].pop()),
                         ("a capability", lambda pod: pod["containers"][0]["securityContext"]["capabilities"]["add"].pop()),
                         ("a volume", lambda pod: pod["volumes"].pop()),
                         ("a toleration", lambda pod: pod["tolerations"].pop())):
        objects = copy.deepcopy(rendered["base"])
        change(of_kind(objects, "DaemonSet")[0]["spec"]["template"]["spec"])
        blind += [] if not_as_tested(objects, "base") else [name]
    tap.check("the comparison with the tested manifests finds differences", blind)
    objects = copy.deepcopy(rendered["pools"])
    del of_kind(objects, "DaemonSet")[0]["spec"]["template"]["spec"]["affinity"]
    tap.check("the check of nodes finds two DaemonSets on one node", [] if list(shared_nodes(objects)) else ["it does not"])


def check_rendered(tap, name, objects, first):
    tap.check(f"{name}: the rendered manifests are of the current chart",
              [] if chart.digest(name) in first else [f"run test/kubernetes/chart.py; {first}"])
    tap.check(f"{name}: valid by the schema", invalid(objects))
    pools = list(of_each_pool(objects))
    tap.check(f"{name}: all references match", [sentence for one in pools for sentence in unfitting(one)])
    tap.check(f"{name}: least privilege", [sentence for one in pools for sentence in unsafe(one)])
    tap.check(f"{name}: every object has the recommended labels", without_labels(objects))
    tap.check(f"{name}: Service and monitors select the pods", unselected(objects))
    tap.check(f"{name}: at most one daemon on a node", [*shared_nodes(objects), *same_selectors(objects)])
    if name in STOCK:
        tap.check(f"{name}: the same as packaging/kubernetes/{STOCK[name]}", not_as_tested(objects, STOCK[name]))


def differing(name, objects):
    """Between the committed manifests and those of helm."""
    try:
        theirs = chart.objects(chart.elided(chart.render(chart.values_of(name))))
    except chart.CannotRender as error:
        return [str(error)]
    return [f"{one['kind']} {one['metadata']['name']} is not the same" for one in theirs if one not in objects] + \
        [f"{one['kind']} {one['metadata']['name']} is not rendered" for one in objects if one not in theirs]


def changed_sources():
    """Alerts and dashboard in the output of helm, compared with their sources."""
    objects = chart.objects(chart.render(chart.values_of("monitoring")))
    alerts = chart.SOURCES["files/alerts.yaml"].read_text(encoding="utf-8")
    url = chart.values_of("monitoring")["prometheusRule"]["runbookURL"]
    if of_kind(objects, "PrometheusRule")[0]["spec"] != yaml.safe_load(alerts.replace("/usr/share/doc/sluice/runbooks/", url)):
        yield "alerts"
    dashboard = json.loads(chart.SOURCES["files/grafana-dashboard.json"].read_text(encoding="utf-8"))
    if json.loads(of_kind(objects, "ConfigMap")[-1]["data"]["sluice.json"]) != dashboard:
        yield "dashboard"


def accepted(what, values, sentences):
    """Unusable values that helm renders, or rejects with other words."""
    try:
        chart.render(merged(chart.values_of("pools" if "pools" in values else "base"), values))
    except chart.CannotRender as error:
        return [f"{what}: no '{one}' in {error}" for one in sentences if one not in str(error)]
    return [f"{what}: is accepted"]


def packed():
    """The chart as an archive, which has no links."""
    with tempfile.TemporaryDirectory() as folder:
        done = chart.run_helm("package", str(chart.CHART), "--destination", folder)
        if done.returncode:
            return [done.stderr]
        values = json.dumps(chart.values_of("monitoring"))
        archive = str(next(Path(folder).glob("*.tgz")))
        done = chart.run_helm("template", chart.RELEASE, archive, "--namespace", chart.NAMESPACE, "--values", "-", stdin=values)
        return [] if chart.objects(done.stdout) == chart.objects(chart.render(chart.values_of("monitoring"))) else [done.stderr]


def with_helm(tap, rendered):
    titles = {
        "helm lint accepts the chart": lambda: (lambda done: [] if done.returncode == 0 else [done.stdout, done.stderr])(
            chart.run_helm("lint", "--strict", str(chart.CHART), "--values", str(chart.VALUES / "base.yaml"))),
        **{f"{name}: helm renders the committed manifests": lambda name=name: differing(name, rendered[name])
           for name in rendered},
        "helm renders alerts and dashboard of packaging/monitoring": lambda: list(changed_sources()),
        "helm packs the chart": packed,
        **{f"helm rejects {what}": lambda what=what, case=case: accepted(what, *case) for what, case in REFUSED.items()},
    }
    for title, check in titles.items():
        if chart.helm():
            tap.check(title, check())
        else:
            tap.skip(title, "helm is not installed, and SLUICE_HELM is not set")


def with_daemon(tap, rendered, build):
    """Of each set and pool."""
    broken = {"config.yaml": "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmoed: ipvs\n",
              "kubeconfig": ""}
    titles = {"the daemon rejects a misspelled field": lambda: [] if chart_daemon.rejected(build, broken) else ["it does not"]}
    for name, objects in rendered.items():
        data = [one["data"] for one in of_kind(objects, "ConfigMap") if "config.yaml" in one["data"]]
        titles[f"{name}: the daemon accepts the configuration"] = lambda data=data: [
            line for one in data for line in chart_daemon.rejected(build, one)]
    for title, check in titles.items():
        if build:
            tap.check(title, check())
        else:
            tap.skip(title, "no --builddir")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--builddir", metavar="DIR", help="build tree of Sluice")
    build = parser.parse_args().builddir
    tap = ChartTap()
    defaults = yaml.safe_load((chart.CHART / "values.yaml").read_text(encoding="utf-8"))
    check_inputs(tap, defaults)
    rendered, first = {}, {}
    for name in chart.sets():
        tap.check(f"{name}: the schema accepts the values", schema_errors(merged(defaults, chart.values_of(name))))
        first[name], text = chart.read(name)
        rendered[name] = chart.objects(text)
    check_checks(tap, rendered)
    for name, objects in rendered.items():
        check_rendered(tap, name, objects, first[name])
    with_daemon(tap, {name: objects for name, objects in rendered.items() if of_kind(objects, "ConfigMap")}, build)
    with_helm(tap, rendered)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
