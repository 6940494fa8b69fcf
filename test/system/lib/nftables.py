# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""What mode nftables has in the node's kernel, as `nft --json list table` tells it: which numbers it uses, and what they mean."""

import contextlib
import dataclasses
import json
import os
import re

from . import addresses as a
from . import figures, shell

TABLE = "kube-proxy"
IPX = {a.V4: "ip", a.V6: "ip6"}
CLUSTER_SLOTS, LOCAL_SLOTS = 0x00001, 0x10001  # the first ones
TOKENS = ("affinity-endpoints", "affinity-local-endpoints")  # of policy Cluster, of policy Local
# Sets whose elements mean what they say; those of the others are numbers.
PLAIN = ("cluster-ips", "nodeport-ips", "hairpin-connections", "rejected-services", "rejected-nodeports",
         "dropped-services", "dropped-nodeports", "service-traffic", "nodeport-traffic")
FILLED_BY_THE_KERNEL = ("affinity", "service-traffic", "nodeport-traffic")


@dataclasses.dataclass
class Table:
    handle: int
    sets: dict  # name → {key: data}; keys and data as nft shows them, numbers as numbers; no data: None
    comments: dict  # name → {key: comment}
    specs: dict  # name → what else is said of the set
    chains: dict  # name → texts of its rules, in their order
    hooks: dict  # name → (type, hook, priority)
    handles: dict  # name of a chain → handles of its rules

    def elements(self, name):
        return self.sets.get(name, {})


def read(t, family=None):
    """The table of that family; None when there is none."""
    done = t.topology.run("node", "nft", "--json", "list", "table", IPX[family or t.family], TABLE, check=False)
    return None if done.returncode != 0 else of_json(done.stdout)


def of_json(text):
    """The table in what `nft --json list table` prints."""
    table = Table(0, {}, {}, {}, {}, {}, {})
    for entry in json.loads(text)["nftables"]:
        (kind, said), = entry.items()
        if kind == "table":
            table.handle = said["handle"]
        elif kind in ("set", "map"):
            _take_set(table, said)
        elif kind == "chain":
            table.chains.setdefault(said["name"], [])
            table.handles.setdefault(said["name"], [])
            if "hook" in said:
                table.hooks[said["name"]] = (said["type"], said["hook"], said["prio"])
        elif kind == "rule":
            table.chains.setdefault(said["chain"], []).append(_text([said["expr"], said.get("comment", "")]))
            table.handles.setdefault(said["chain"], []).append(said["handle"])
    return table


def _take_set(table, said):
    name = said["name"]
    elements, comments = table.sets.setdefault(name, {}), table.comments.setdefault(name, {})
    table.specs[name] = {key: value for key, value in said.items() if key not in ("elem", "handle")}
    for one in said.get("elem", []):
        key, data = one if "map" in said else (one, None)
        comment = ""
        if isinstance(key, dict) and "elem" in key:
            comment, key = key["elem"].get("comment", ""), key["elem"]["val"]
        elements[_shown(key)] = None if data is None else _shown(data)
        comments[_shown(key)] = comment


def _text(value):
    return json.dumps(value, sort_keys=True)


def _shown(value):
    """ "172.30.0.41 . tcp . 80 . 0"; verdicts as "goto endpoints-2"; what nft takes for a priority of traffic control, as a number."""
    if isinstance(value, dict):
        if "concat" in value:
            return " . ".join(str(_shown(one)) for one in value["concat"])
        (word, more), = value.items()
        return f"{word} {more['target']}" if isinstance(more, dict) and "target" in more else \
            word if more is None else _text(value)
    if value == "none":
        return 0
    found = re.fullmatch(r"([0-9a-f]*):([0-9a-f]*)", value) if isinstance(value, str) else None
    # An IPv6 address has two colons.
    return int(found[1] or "0", 16) << 16 | int(found[2] or "0", 16) if found else value


def frontend(front):
    return f"{front.ip} . {front.protocol} . {front.port}"


def node_port(service):
    return f"{service.protocol} . {service.node_port}"


def _slots(table, name, key):
    """Slot → endpoint, of one frontend."""
    prefix = f"{key} . "
    return {int(one[len(prefix):]): data for one, data in table.elements(name).items() if one.startswith(prefix)}


def lists(table, key, node_port=False):  # pylint: disable=redefined-outer-name
    """Endpoints of one frontend (policy Cluster, policy Local), sorted. With affinity the frontend leads to an id that has them."""
    number = table.elements("affinity-nodeports" if node_port else "affinity-services").get(key)
    slots = _slots(table, "nodeport-endpoints" if node_port else "endpoints", key)
    if number is not None:
        slots = {slot: _of_token(table, key, data) for slot, data in _id_slots(table, number).items()}
    return (sorted(map(str, (data for slot, data in slots.items() if slot < LOCAL_SLOTS))),
            sorted(map(str, (data for slot, data in slots.items() if slot >= LOCAL_SLOTS))))


def _id_slots(table, number):
    found = {}
    for key, data in table.elements("affinity-slots").items():
        word, _, slot = str(key).rpartition(" . ")
        if _shown(word) == number or word == str(number):
            found[int(slot)] = data
    return found


def _of_token(table, key, token, maps=TOKENS):
    protocol = key.split(" . ")[-2] if key.count(" . ") == 2 else key.split(" . ")[0]
    found = (table.elements(name).get(f"{protocol} . {token}") for name in maps)
    return next((endpoint for endpoint in found if endpoint is not None), None)


CHAIN = re.compile(r"(nodeport-)?(sticky-\d+-)?(?:(?:endpoints|external)-(?P<all>\d+)|local-endpoints-(?P<local>\d+)|"
                   r"external-local-(?P<either>\d+)-(?P<outside>\d+))")


def is_dense(table):
    """A sentence for every frontend whose chain is of the wrong kind, or whose lists have a hole, another length than the chain
    chooses from, or a slot that leads to no endpoint; none: all is well. With affinity the lists are those of all frontends of
    a service port: one the chain does not ask may be there, without holes."""
    wrong = []
    for name, where, ids in (("service-treatments", "endpoints", "affinity-services"),
                             ("nodeport-treatments", "nodeport-endpoints", "affinity-nodeports")):
        for key, number in table.elements(name).items():
            chain, identity, slots = chain_of(table, number), table.elements(ids).get(key), _slots(table, where, key)
            found = CHAIN.fullmatch(chain)
            if not found or bool(found[1]) != (where == "nodeport-endpoints") or bool(found[2]) != (identity is not None):
                wrong.append(f"{key} goes to chain {chain}")
                continue
            if identity is not None:
                if slots:
                    wrong.append(f"{key} ({chain}) has slots {sorted(slots)} without affinity")
                slots = {slot: _of_token(table, key, token, [TOKENS[slot >= LOCAL_SLOTS]])
                         for slot, token in _id_slots(table, identity).items()}
            for first, length in ((CLUSTER_SLOTS, found["all"] or found["either"]), (LOCAL_SLOTS, found["local"] or found["outside"])):
                have = sorted(slot for slot in slots if (slot >= LOCAL_SLOTS) == (first == LOCAL_SLOTS))
                asked = int(length or 0) or (len(have) if identity is not None else 0)
                if have != list(range(first, first + asked)):
                    wrong.append(f"{key} ({chain}) has slots {have}")
            wrong += [f"{key} ({chain}): slot {slot} leads to no endpoint" for slot in sorted(slots) if slots[slot] is None]
    return wrong


def chain_of(table, number):
    """The shared chain behind a class number."""
    data = table.elements("service-chains").get(number) or table.elements("service-chains").get(str(number))
    return str(data).removeprefix("goto ")


def meaning(t, family=None):
    """What clients meet, line by line and sorted, whatever numbers say it. Two tables with the same lines are the same."""
    table = read(t, family)
    if table is None:
        return ["there is no table"]
    found = [f"set {name} has {key}{_comment(table, name, key)}" for name in PLAIN for key in table.elements(name)]
    used = set()
    for name, at_node in (("service-treatments", False), ("nodeport-treatments", True)):
        for key, number in table.elements(name).items():
            chain = chain_of(table, number)
            used.add(chain)
            cluster, local = lists(table, key, at_node)
            found.append(f"{name} {key} goes to {chain}: {', '.join(cluster)} | {', '.join(local)}{_comment(table, name, key)}")
    for key, number in table.elements("firewalled-services").items():
        chain = str(table.elements("firewall-chains").get(number)).removeprefix("goto ")
        used.add(chain)
        found.append(f"firewalled-services {key} goes to {chain}")
    for name in table.sets:
        found.append(f"there is {name}")
    for name, rules in table.chains.items():
        hook = f" {table.hooks[name]}" if name in table.hooks else ""
        # Chains that Services share stay a while when none does any more.
        if name in used or not is_shared(name):
            found += [f"chain {name}{hook}", *(f"chain {name} {at}: {rule}" for at, rule in enumerate(rules))]
    return sorted(found)


def _comment(table, name, key):
    said = table.comments.get(name, {}).get(key)
    return f" ({said})" if said else ""


def is_shared(chain):
    return re.match(r"(nodeport-)?(sticky-\d+-)?(external-local|external|local-endpoints|endpoints|local)-\d|firewall-(?!check)",
                    chain) is not None


def lines(t):
    """All elements, sets and chains of both families with their numbers, one a line."""
    found = []
    for family in a.FAMILIES:
        table = read(t, family)
        if table is None:
            continue
        for name, elements in table.sets.items():
            if name not in FILLED_BY_THE_KERNEL:
                found += [f"{family} {name} {key} : {data}" for key, data in elements.items()]
        found += [f"{family} {name} {at}: {rule}" for name, rules in table.chains.items() for at, rule in enumerate(rules)]
        found += [f"{family} {name}" for name in [*table.sets, *table.chains]]
    return sorted(found)


def about(all_lines, *addresses):
    """The lines that name one of these addresses."""
    edge = r"[0-9a-f:]" if ":" in addresses[0] else r"[\d.]"
    pattern = re.compile("|".join(rf"(?<!{edge}){re.escape(one)}(?!{edge})" for one in addresses))
    return [line for line in all_lines if pattern.search(line)]


def kernel_writes(t):
    """What transactions have written since the daemon's start, both families together."""
    return figures.scrape(t).count("sluice_kernel_writes_total")


def nft(t, text, check=True):
    return t.topology.run("node", "nft", "-f", "-", stdin=text, check=check)


def loads_again(t, family=None):
    """Loads what `nft list table` prints into an empty namespace, and lists it there: (exit status and errors, whether it is the same).
    What nft 1.0 cannot print so that it reads it again is none of ours."""
    ipx = IPX[family or t.family]
    text = t.topology.run("node", "nft", "-s", "list", "table", ipx, TABLE).stdout
    name = f"{t.topology.namespace('node')}-again"
    with _namespace(name):
        done = shell.run(["ip", "netns", "exec", name, "nft", "-f", "-"], stdin=text, check=False)
        again = shell.run(["ip", "netns", "exec", name, "nft", "-s", "list", "table", ipx, TABLE], check=False).stdout
    return done, text, again


@contextlib.contextmanager
def _namespace(name):
    shell.run(["ip", "netns", "add", name])
    try:
        yield
    finally:
        shell.run(["ip", "netns", "del", name], check=False)


LONG = os.environ.get("SLUICE_LONG", "0") != "0"
