# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel state of nftables mode on the node, as `nft --json list table` prints it, and the meaning of its numbers."""

import contextlib
import dataclasses
import json
import os
import re

from . import addresses as a
from . import metrics, shell

TABLE = "kube-proxy"
IPX = {a.V4: "ip", a.V6: "ip6"}
CLUSTER_SLOTS, LOCAL_SLOTS = 0x00001, 0x10001  # the first slot of each list
TOKENS = ("affinity-endpoints", "affinity-local-endpoints")  # policy Cluster, policy Local
# Sets with elements that are independent of assigned numbers.
PLAIN = ("cluster-ips", "nodeport-ips", "hairpin-connections", "rejected-services", "rejected-nodeports",
         "dropped-services", "dropped-nodeports", "service-traffic", "nodeport-traffic")
FILLED_BY_THE_KERNEL = ("affinity", "service-traffic", "nodeport-traffic")


@dataclasses.dataclass
class Table:
    handle: int
    sets: dict  # name → {key: data}; keys and data as nft prints them, numbers as int; None without data
    comments: dict  # name → {key: comment}
    specs: dict  # name → other attributes of the set
    chains: dict  # name → texts of its rules, in order
    hooks: dict  # name → (type, hook, priority)
    handles: dict  # name of a chain → handles of its rules

    def elements(self, name):
        return self.sets.get(name, {})


def read(t, family=None):
    """The table of that family; None if it does not exist."""
    done = t.topology.run("node", "nft", "--json", "list", "table", IPX[family or t.family], TABLE, check=False)
    return None if done.returncode != 0 else of_json(done.stdout)


def of_json(text):
    """Parses the output of `nft --json list table`."""
    table = Table(0, {}, {}, {}, {}, {}, {})
    for entry in json.loads(text)["nftables"]:
        (kind, item), = entry.items()
        if kind == "table":
            table.handle = item["handle"]
        elif kind in ("set", "map"):
            _take_set(table, item)
        elif kind == "chain":
            table.chains.setdefault(item["name"], [])
            table.handles.setdefault(item["name"], [])
            if "hook" in item:
                table.hooks[item["name"]] = (item["type"], item["hook"], item["prio"])
        elif kind == "rule":
            table.chains.setdefault(item["chain"], []).append(_text([item["expr"], item.get("comment", "")]))
            table.handles.setdefault(item["chain"], []).append(item["handle"])
    return table


def _take_set(table, listed):
    name = listed["name"]
    elements, comments = table.sets.setdefault(name, {}), table.comments.setdefault(name, {})
    table.specs[name] = {key: value for key, value in listed.items() if key not in ("elem", "handle")}
    for one in listed.get("elem", []):
        key, data = one if "map" in listed else (one, None)
        comment = ""
        if isinstance(key, dict) and "elem" in key:
            comment, key = key["elem"].get("comment", ""), key["elem"]["val"]
        elements[_shown(key)] = None if data is None else _shown(data)
        comments[_shown(key)] = comment


def _text(value):
    return json.dumps(value, sort_keys=True)


def _shown(value):
    """ "172.30.0.41 . tcp . 80 . 0"; verdicts as "goto endpoints-2"; numbers that nft prints as tc priorities, as int."""
    if isinstance(value, dict):
        if "concat" in value:
            return " . ".join(str(_shown(one)) for one in value["concat"])
        (word, more), = value.items()
        return f"{word} {more['target']}" if isinstance(more, dict) and "target" in more else \
            word if more is None else _text(value)
    if value == "none":
        return 0
    found = re.fullmatch(r"([0-9a-f]*):([0-9a-f]*)", value) if isinstance(value, str) else None
    # An IPv6 address contains at least two colons.
    return int(found[1] or "0", 16) << 16 | int(found[2] or "0", 16) if found else value


def frontend(front):
    return f"{front.ip} . {front.protocol} . {front.port}"


def node_port(service):
    return f"{service.protocol} . {service.node_port}"


def _slots(table, name, key):
    """Slot → endpoint of one frontend."""
    prefix = f"{key} . "
    return {int(one[len(prefix):]): data for one, data in table.elements(name).items() if one.startswith(prefix)}


def lists(table, key, node_port=False):  # pylint: disable=redefined-outer-name
    """Sorted endpoints of one frontend (policy Cluster, policy Local). With affinity, the frontend maps to an id with slots."""
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


def slot_problems(table):
    """A sentence for each frontend with a chain of the wrong kind, or a list with a gap, a length that differs from that in the
    chain, or a slot without an endpoint. With affinity all frontends of a service port share the lists: one that the chain does
    not use may exist, without gaps."""
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
                wanted = int(length or 0) or (len(have) if identity is not None else 0)
                if have != list(range(first, first + wanted)):
                    wrong.append(f"{key} ({chain}) has slots {have}")
            wrong += [f"{key} ({chain}): slot {slot} leads to no endpoint" for slot in sorted(slots) if slots[slot] is None]
    return wrong


def chain_of(table, number):
    """The shared chain behind a class number."""
    data = table.elements("service-chains").get(number) or table.elements("service-chains").get(str(number))
    return str(data).removeprefix("goto ")


def meaning(t, family=None):
    """Sorted lines that describe the table independently of its numbers. Tables with the same lines behave the same."""
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
        # Shared chains stay for a while after their last Service has been removed.
        if name in used or not is_shared(name):
            found += [f"chain {name}{hook}", *(f"chain {name} {at}: {rule}" for at, rule in enumerate(rules))]
    return sorted(found)


def _comment(table, name, key):
    comment = table.comments.get(name, {}).get(key)
    return f" ({comment})" if comment else ""


def is_shared(chain):
    return re.match(r"(nodeport-)?(sticky-\d+-)?(external-local|external|local-endpoints|endpoints|local)-\d|firewall-(?!check)",
                    chain) is not None


def lines(t):
    """All elements, sets and chains of both families with their numbers, one per line."""
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
    """The lines that contain one of these addresses."""
    edge = r"[0-9a-f:]" if ":" in addresses[0] else r"[\d.]"
    pattern = re.compile("|".join(rf"(?<!{edge}){re.escape(one)}(?!{edge})" for one in addresses))
    return [line for line in all_lines if pattern.search(line)]


def kernel_writes(t):
    """Number of kernel writes of transactions since the start of the daemon, both families together."""
    return metrics.scrape(t).count("sluice_kernel_writes_total")


def nft(t, text, check=True):
    return t.topology.run("node", "nft", "-f", "-", stdin=text, check=check)


def reload_listing(t, family=None):
    """Loads the output of `nft list table` in an empty namespace and lists it there: (process, first listing, second listing).
    Sluice uses nothing that nft 1.0 cannot read back from its own output."""
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
