# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Random mutations of configuration files: of bytes, lines, values, types, fields, documents, aliases and size. A mutated file
may still be a valid configuration."""

import os
import re

# Replacements for values.
VALUES = (b"", b"-1", b"0", b"1", b"null", b"~", b"true", b"no", b"[]", b"{}", b"[[]]", b"[null]", b"{a: b}", b"99999999999999999999",
          b"-9223372036854775809", b"2147483648", b"0x10", b"1e400", b".nan", b"1h", b"-1s", b"1ns", b"300000000h", b"1", b"''", b'""',
          b"'", b'"', b'"\\x00"', b'"\\ud800"', b"\xff\xfe", b"\x00", b"!!binary x", b"!!int ten", b"!!map [a]", b"|", b">-", b"- -", b"\t",
          b"? a", b"@", b"`", b"%", b"#", b"ipvs", b"nftables", b"iptables", b"userspace", b"auto", b"nonsense", b"0.0.0.0/0", b"::/0",
          b"256.0.0.1", b"10.0.0.0/33", b"[::]:0", b"127.0.0.1:99999", b"127.0.0.1:10249", b"ClusterCIDR", b"BridgeInterface", b"../..",
          b"\xe2\x80\xa8", b"a" * 300)
BYTES = (b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\r", b"\x85", b"\xe2\x80\xa8", b"\x1b", b"\x7f", b":", b"-", b"&", b"*", b"!", b"|",
         b"%", b"@", b"{", b"}", b"[", b"]", b",", b"'", b'"', b"\t", b"#", b"?")
# Name and value in a block map or a flow map.
FIELD = re.compile(rb"(?m)(?<![\w.-])([A-Za-z]\w*):[ ]+([^\n,{}\[\]]+)")
NAME = re.compile(rb"(?m)(?<![\w./-])([A-Za-z]\w*):(?=[ \n])")
MANIFESTS = re.compile(rb"manifests[\"']?[ \t]*:[ \t]*[\"']?([^\s\"',}]*)")


def mutate(rng, texts):
    """The names of the applied mutations, and the mutated bytes of one of these texts."""
    while True:
        good = rng.choice(texts)
        text, ways = good, []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            way = rng.choice(WAYS)
            text = way(rng, text)
            ways.append(way.__name__)
        if text != good and not _leads_elsewhere(text, good):
            return ways, text


def _leads_elsewhere(text, good):
    """Whether the file is valid but reads Services from another existing folder, which would remove all Services."""
    known = set(MANIFESTS.findall(good))
    return any(one not in known and (one.startswith(b"*") or os.path.exists(one)) for one in MANIFESTS.findall(text))


# Bytes.


def one_byte(rng, text):
    at = rng.randrange(len(text) + 1)
    return text[:at] + bytes([rng.randrange(256)]) + text[at + 1:]


def foreign_bytes(rng, text):
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(BYTES) * rng.choice((1, 1, 1, 2, 40)) + text[at:]


def lost_bytes(rng, text):
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.choice((1, 1, 2, 10, 100)):]


def cut_off(rng, text):
    return text[:rng.randrange(len(text) + 1)]


def repeated_bytes(rng, text):
    at = rng.randrange(len(text) + 1)
    end = at + rng.choice((1, 5, 50, 500))
    return text[:end] + text[at:end] * rng.choice((1, 2, 20)) + text[end:]


def other_line_ends(rng, text):
    return text.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n \n", b"\n\t")))


def other_encoding(rng, text):
    name = rng.choice(("utf-16", "utf-16-be", "utf-32", "utf-8-sig", "cp037"))
    return text.decode("utf-8", "replace").encode(name, "replace")


# Lines.


def _lines(change):
    def way(rng, text):
        lines = text.split(b"\n")
        change(rng, lines, rng.randrange(len(lines)))
        return b"\n".join(lines)
    way.__name__ = change.__name__
    return way


@_lines
def lost_line(_rng, lines, where):
    del lines[where]


@_lines
def line_twice(rng, lines, where):
    lines.insert(rng.randrange(len(lines) + 1), lines[where])


@_lines
def lines_exchanged(rng, lines, where):
    other = rng.randrange(len(lines))
    lines[where], lines[other] = lines[other], lines[where]


@_lines
def other_indentation(rng, lines, where):
    lines[where] = rng.choice((b" ", b"  ", b"   ", b"\t", b"- ", b"")) + lines[where].lstrip(b" " if rng.random() < 0.5 else b"")


@_lines
def lines_joined(_rng, lines, where):
    if where + 1 < len(lines):
        lines[where] += b" " + lines.pop(where + 1)


@_lines
def lines_lost(rng, lines, where):
    del lines[where:where + rng.randrange(1, 12)]


# Values and names.


def _at_one(pattern, group, change):
    """Changes the text of that group in a random match."""
    def way(rng, text):
        found = list(pattern.finditer(text))
        if not found:
            return text
        one = rng.choice(found)
        return text[:one.start(group)] + change(rng, one.group(group), text) + text[one.end(group):]
    way.__name__ = change.__name__
    return way


def other_value(rng, _value, _text):
    return rng.choice(VALUES)


def value_of_another(rng, _value, text):
    return rng.choice(FIELD.findall(text))[1]


def other_type(rng, value, _text):
    value = value.strip()
    return rng.choice((b"[" + value + b"]", b"{a: " + value + b"}", b'"' + value + b'"', b"'" + value + b"'", b"!!str " + value,
                          b"!!seq " + value, b"[" + value + b", " + value + b"]", b"{? " + value + b"}", b"-" + value, value + value))


def misspelt_name(rng, name, _text):
    at = rng.randrange(len(name))
    return rng.choice((name[:at] + name[at + 1:], name[:at] + name[at:at + 1] + name[at:], name.swapcase(), name + b" ",
                          b"'" + name + b"'", b"[" + name + b"]", b"null", b"<<"))


def name_of_another(rng, _name, text):
    return rng.choice(NAME.findall(text))


def field_twice(rng, text):
    found = list(FIELD.finditer(text))
    if not found:
        return text
    one = rng.choice(found)
    again = one.group(1) + b": " + rng.choice((one.group(2), rng.choice(VALUES)))
    block = text.rfind(b"\n", 0, one.start()) + 1
    indented = text[block:one.start()]
    between = b"\n" + indented if not indented.strip() else b", "
    return text[:one.end()] + between + again + text[one.end():]


def field_more(rng, text):
    """Adds a known or an unknown field at the start of a document."""
    name = rng.choice(NAME.findall(text) or [b"a"]) if rng.random() < 0.8 else b"nosuchfield"
    return _into_document(rng, text, name + b": " + rng.choice(VALUES) + b"\n")


def _into_document(rng, text, lines):
    documents = text.split(b"---\n")
    where = rng.randrange(len(documents))
    documents[where] = lines + documents[where]
    return b"---\n".join(documents)


# Documents and aliases.


def documents_mixed(rng, text):
    documents = text.split(b"---\n")
    how = rng.randrange(7)
    if how == 0:
        documents.reverse()
    elif how == 1:
        del documents[rng.randrange(len(documents))]
    elif how == 2:
        documents.append(rng.choice(documents))
    elif how == 3:
        documents.insert(rng.randrange(len(documents) + 1), rng.choice((b"", b"a\n", b"- a\n", b"null\n", b"...\n", b"%YAML 9.9\n")))
    elif how == 4:
        return b"".join(documents)
    elif how == 5:
        return b"...\n".join(documents)
    else:
        documents *= rng.choice((2, 50))
    return b"---\n".join(documents)


def aliases(rng, text):
    how = rng.randrange(6)
    found = list(FIELD.finditer(text))
    if how < 3 and len(found) > 1:
        one, other = sorted(rng.sample(found, 2), key=lambda match: match.start())
        # The anchor is before the alias, after it, or missing.
        named, referring = ((one, other), (other, one), (None, other))[how]
        for match, new in sorted(((match, new) for match, new in ((named, b"&x "), (referring, b"*x")) if match is not None),
                                 key=lambda pair: -pair[0].start()):
            end = match.start(2) if new == b"&x " else match.end(2)
            text = text[:match.start(2)] + new + text[end:]
        return text
    lines = (b"a: &a [*a]\n", b"a: &a {b: *a}\n<<: *a\n", b"<<: &b {mode: userspace}\n",
             b"".join(b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10) if n else b"1") for n in range(12)))
    return _into_document(rng, text, rng.choice(lines))


# Size.


def huge(rng, text):
    lines = rng.choice((
        lambda: b"mode: " + b"a" * 3_000_000 + b"\n",
        lambda: b"a" * 2_000_000 + b": 1\n",
        lambda: b"nodePortAddresses: [" + b"10.0.0.0/8, " * 60_000 + b"]\n",
        lambda: b"a: " + b"[" * 100_000 + b"\n",
        lambda: b"a: " + b"[" * 5_000 + b"]" * 5_000 + b"\n",
        lambda: b"a: " + b"{a: " * 5_000 + b"}" * 5_000 + b"\n",
        lambda: b"- " * 100_000 + b"\n",
        lambda: b"a:\n" + b"".join(b" " * n + b"a:\n" for n in range(1, 1500)),
        lambda: b"".join(b"field%d: 1\n" % n for n in range(40_000)),
        lambda: b"mode: iptables\n" * 40_000,
        lambda: b"---\n" * 40_000,
        lambda: b"# " + b"a" * 3_000_000 + b"\n",
        lambda: b"\n" * 1_000_000,
        lambda: b" " * 2_000_000 + b"a: 1\n",
        lambda: b"\x00" * 1_000_000,
    ))()
    return _into_document(rng, text, lines)


_OFTEN = (_at_one(FIELD, 2, other_value), _at_one(FIELD, 2, value_of_another), _at_one(FIELD, 2, other_type),
          _at_one(NAME, 1, misspelt_name), _at_one(NAME, 1, name_of_another), field_twice, field_more, one_byte, foreign_bytes, lost_bytes,
          repeated_bytes, lost_line, line_twice, lines_exchanged, other_indentation, lines_joined, lines_lost)
_SELDOM = (cut_off, other_line_ends, other_encoding, documents_mixed, aliases, huge)
WAYS = _OFTEN * 2 + _SELDOM
NAMES = sorted({way.__name__ for way in WAYS})
