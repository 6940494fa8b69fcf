#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The daemon validates declared options with file and line, adds these to errors of create(), lists the options in --help,
# and rejects a reload that changes an option which needs a restart.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${SLUICE_BUILDDIR:=$PWD}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-options-XXXXXX") || exit 99
daemon=
finished() {
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null
  rm -rf "$away"
}
trap finished EXIT
sluiced=$SLUICE_BUILDDIR/core/sluiced
mkdir "$away/plugins"
for name in options bad_options good; do
  cp "$SLUICE_BUILDDIR/test/plugins/.libs/$name.so" "$away/plugins/" || exit 99
done
chmod 644 "$away"/plugins/*
cat >"$away/objects.yaml" <<'END'
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {addresses: [{type: InternalIP, address: 127.0.0.1}]}
END

# configured LINE…: the section begins in line 7.
configured() {
  cat >"$away/config.yaml" <<END
apiVersion: sluice.dev/v1alpha1
kind: SluiceConfiguration
backend: options
manifests: $away/objects.yaml
backends:
  options:
END
  printf '    %s\n' "$@" >>"$away/config.yaml"
}
has() {
  grep -Fq -- "$1" "$2" && return
  echo "there is no line: $1"
  cat "$2"
  return 1
}
checked() { "$sluiced" --config "$away/config.yaml" --plugin-dir "$away/plugins" --hostname-override node-1 --check >"$away/out" 2>&1; }
rejected() {
  if checked; then cat "$away/out"; return 1; fi
  for line in "$@"; do has "error: $away/config.yaml:$line" "$away/out" || return 1; done
}
usable() {
  checked && return
  cat "$away/out"
  return 1
}

configured 'colour: pink' 'names: [a, b,' '  c, d]' 'thread: 2' 'threads: 65' 'pause: 1' 'loud: "yes"'
check "--check reports all problems of the section with file and line" rejected \
  "7: backends.options.colour: 'pink' is not a valid value; allowed: red, green or blue" \
  "9: backends.options.names[3]: the list is too long; allowed: a list of at most 3 elements, each a letter" \
  "10: backends.options.thread: unknown setting; did you mean threads?" \
  "11: backends.options.threads: '65' is not a valid value; allowed: a number of threads from 1 to 64" \
  "12: backends.options.pause: '1' is not a valid value; allowed: a duration from 1ms to 24h" \
  "13: backends.options.loud: 'yes' is not a valid value; allowed: true or false"
check "each problem is one error" sh -c "[ \"\$(grep -c '^error: ' '$away/out')\" = 6 ]"
check "a start reports the same" sh -c "
  ! '$sluiced' --config '$away/config.yaml' --plugin-dir '$away/plugins' --hostname-override node-1 --state-dir '$away/state' \
    2>'$away/start' && grep -q '11: backends.options.threads:' '$away/start'"
configured 'colour: blue' 'future: anything' 'names: [x]' 'threads: 4'
check "valid options are usable" usable

"$sluiced" --plugin-dir "$away/plugins" --help >"$away/help" 2>"$away/errors"
check "--help succeeds, and writes no error" test "$?" = 0 -a ! -s "$away/errors"
check "--help lists declared options" has 'Options of backend options (section backends.options of the configuration file):' "$away/help"
check "--help has values, default and reload class" has \
  'The threads. Values: a number of threads from 1 to 64. Default: 4. A change needs a restart.' "$away/help"
check "--help names a plugin that cannot be loaded" has \
  "Options of backend bad_options: not known: plugin $away/plugins/bad_options.so: options check: option 'threads': its default" \
  "$away/help"
check "--help names a plugin without a table" has 'Options of backend good: not declared by the plugin' "$away/help"

# waits TEXT: until the log has it.
waits() {
  for _ in $(seq 600); do
    grep -Fq -- "$1" "$away/log" && return
    kill -0 "$daemon" || break
    sleep 0.1  # poll interval
  done
  has "$1" "$away/log"
}
if ! unshare --net true 2>/dev/null; then
  skip "a reload that changes an option of the class restart" "no network namespace can be made"
else
  # refuses_to_start TEXT [FLAG]
  refuses_to_start() {
    text=$1
    shift
    ! timeout 60 unshare --net "$sluiced" --config "$away/config.yaml" --plugin-dir "$away/plugins" --hostname-override node-1 \
      --state-dir "$away/state" "$@" 2>"$away/start" && has "$text" "$away/start"
  }
  configured 'names: [a,' '  bcd]'
  check "a start reports a value that only create() rejects with file and line" refuses_to_start \
    "$away/config.yaml:8: backends.options.names[1]: 'bcd' is not a valid value; allowed: a letter"
  check "--init-only reports it, too" refuses_to_start "$away/config.yaml:8: backends.options.names[1]:" --init-only
  configured 'colour: blue' 'future: anything' 'names: [x]' 'threads: 4'
  unshare --net "$sluiced" --config "$away/config.yaml" --plugin-dir "$away/plugins" --hostname-override node-1 \
    --state-dir "$away/state" >"$away/log" 2>&1 &
  daemon=$!
  check "create() receives typed values and defaults" waits \
    'received colour=blue/5/2 future=anything/1/0 names[0]=x/1/0 threads=4/3/4 loud=false/2/0/default pause=1m30s/4/90000000000/default'
  check "the daemon runs" waits 'options (IPv4): generation'
  configured 'colour: red' 'threads: 8'
  check "a reload that changes an option of the class restart is rejected" waits \
    "keeping the running configuration: backends.options.threads: the running value is '4'; restart sluiced to apply '8'"
  configured 'colour: pink' 'threads: 0'
  check "a reload reports all problems of the section" waits "config.yaml:8: backends.options.threads: '0' is not a valid value"
  configured 'names: [a]' 'loud: true'
  check "a reload reports a combination that only create() rejects with file and line" waits \
    "$away/config.yaml:7: backends.options.names: cannot be combined with loud: true"
  configured 'colour: red' 'threads: 004'
  check "another spelling of the running value is applied, with other options" waits 'received colour=red/5/0'
  kill "$daemon"
  wait "$daemon"
  daemon=
fi
finish
