#!/bin/bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Demonstrates Sluice on one machine without Kubernetes: installs dependencies, builds,
# makes a node with three pods and an outside client in network namespaces, starts sluiced
# on a folder of ordinary manifests, connects to the virtual IP and shows which pods
# answer. Cleans up afterwards. Needs root.
#   --build-dir DIR  where to build (default: build)
#   --installed      build nothing but what plays pods and clients; the service sluiced.service of this machine is moved
#                    into the namespace of the node, and back
#   --netecho FILE   what plays pods and clients, with --installed
set -euo pipefail
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$src/build
installed=
echo_tool=
while [ $# -gt 0 ]; do
  case $1 in
    --build-dir) build=$2; shift 2 ;;
    --installed) installed=1; shift ;;
    --netecho) echo_tool=$(realpath "$2"); shift 2 ;;
    *) echo "usage: $0 [--build-dir DIR | --installed [--netecho FILE]]" >&2; exit 2 ;;
  esac
done
[ "$(id -u)" = 0 ] || { echo "demo.sh: network namespaces need root; run it with sudo" >&2; exit 1; }

step() {
  if [ -t 1 ]; then printf '\n\033[1m== %s\033[0m\n' "$*"; else printf '\n== %s\n' "$*"; fi
}

if [ -n "$installed" ]; then
  sluiced=/usr/sbin/sluiced
  ctl=/usr/sbin/sluicectl
  # The unit has a /tmp of its own.
  work=$(mktemp -d /run/sluice-demo.XXXXXX)
  chmod 755 "$work"
  state=/run/sluice
  if [ -z "$echo_tool" ]; then
    step "Building what plays pods and clients"
    echo_tool=$work/netecho
    "${CXX:-g++}" -std=c++20 -pthread -o "$echo_tool" "$src"/test/tools/netecho*.cpp
  fi
else
  step "Building (the first time takes three to five minutes on two processors)"
  "$src/packaging/install-deps.sh" build demo
  # Of the tools of the conformance kit, the demo needs one.
  SLUICE_MAKE_VARIABLES="conformanceexec_PROGRAMS=test/tools/netecho" "$src/packaging/build.sh" "$build"
  sluiced=$build/core/sluiced
  ctl=$build/core/sluicectl
  echo_tool=$build/test/tools/netecho
  work=$(mktemp -d /tmp/sluice-demo.XXXXXX)
  state=$work/state
fi

tag=sd$$
spaces=()
daemon=
drop_in=/run/systemd/system/sluiced.service.d/demo.conf
clean_up() {
  status=$?
  trap - EXIT INT TERM
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
  if [ -n "$installed" ]; then
    rm -f "$drop_in"
    systemctl daemon-reload
    systemctl restart sluiced.service || true
  fi
  for space in "${spaces[@]}"; do
    ip netns pids "$space" 2>/dev/null | xargs -r kill 2>/dev/null || true
    ip netns del "$space" 2>/dev/null || true
  done
  rm -rf "$work"
  exit $status
}
trap clean_up EXIT INT TERM

space() {  # a namespace with its loopback up
  ip netns add "$tag-$1"
  spaces+=("$tag-$1")
  ip -n "$tag-$1" link set lo up
}
said() {  # by the daemon
  if [ -n "$installed" ]; then journalctl --unit sluiced.service --since "$begun" --output cat --no-pager; else cat "$work/log"; fi
}
on() { local where=$1; shift; ip netns exec "$tag-$where" "$@"; }

step "Making a node with three pods, and a client outside"
space node
space client
on node sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip link add eth0 netns "$tag-node" type veth peer name eth0 netns "$tag-client"
ip -n "$tag-node" addr add 192.168.50.1/24 dev eth0
ip -n "$tag-node" addr add fd00:50::1/64 dev eth0 nodad
ip -n "$tag-client" addr add 192.168.50.2/24 dev eth0
ip -n "$tag-client" addr add fd00:50::2/64 dev eth0 nodad
ip -n "$tag-node" link set eth0 up
ip -n "$tag-client" link set eth0 up
# As on any node: packets to other addresses need a default route.
ip -n "$tag-node" route add default via 192.168.50.2
ip -n "$tag-node" -6 route add default via fd00:50::2
for i in 1 2 3; do
  space "pod-$i"
  ip link add "veth$i" netns "$tag-node" type veth peer name eth0 netns "$tag-pod-$i"
  ip -n "$tag-node" addr add 10.1.0.1/32 dev "veth$i"
  ip -n "$tag-node" addr add fd00:1::1/128 dev "veth$i" nodad
  ip -n "$tag-node" link set "veth$i" up
  ip -n "$tag-pod-$i" addr add "10.1.0.1$i/32" dev eth0
  ip -n "$tag-pod-$i" addr add "fd00:1::1$i/128" dev eth0 nodad
  ip -n "$tag-pod-$i" link set eth0 up
  ip -n "$tag-node" route add "10.1.0.1$i/32" dev "veth$i"
  ip -n "$tag-node" -6 route add "fd00:1::1$i/128" dev "veth$i"
  ip -n "$tag-pod-$i" route add 10.1.0.1 dev eth0
  ip -n "$tag-pod-$i" route add default via 10.1.0.1
  ip -n "$tag-pod-$i" -6 route add fd00:1::1 dev eth0
  ip -n "$tag-pod-$i" -6 route add default via fd00:1::1
  ip netns exec "$tag-pod-$i" "$echo_tool" serve --name "pod-$i" --port 8080 --tcp --udp &
done

step "Starting sluiced on packaging/demo/manifests"
mkdir "$work/manifests"
cp "$src/packaging/demo/manifests/"*.yaml "$work/manifests/"
options=(--manifests "$work/manifests" --hostname-override demo-node --cluster-cidr "10.1.0.0/16,fd00:1::/64"
  --state-dir "$state" --iptables-min-sync-period 0s)
if [ -n "$installed" ]; then
  systemctl stop sluiced.service
  mkdir -p "${drop_in%/*}"
  printf '%s\n' '[Service]' "NetworkNamespacePath=/run/netns/$tag-node" ExecCondition= ExecStart= "ExecStart=$sluiced ${options[*]}" \
    >"$drop_in"
  systemctl daemon-reload
  begun=$(date '+%F %T')
  systemctl start sluiced.service || { said; exit 1; }
else
  mkdir "$state"
  ip netns exec "$tag-node" "$sluiced" "${options[@]}" >"$work/log" 2>&1 &
  daemon=$!
fi
for _ in $(seq 600); do
  if [ -n "$daemon" ] && ! kill -0 "$daemon" 2>/dev/null; then said; exit 1; fi
  [ "$("$ctl" --state-dir "$state" status -o json 2>/dev/null | grep -oE '"synced": *true' | wc -l)" -ge 3 ] && break
  sleep 0.1  # poll interval
done
said | grep -E -m 6 'sync\]|plugin\]' || true

wrong=0
ask() {  # ask TITLE EXPECTED-REGEX COMMAND…: shows which pods answered and checks it
  local title=$1 expected=$2
  shift 2
  printf '\n%s\n' "$title"
  local answer
  answer=$("$@" || true)
  sed 's/^/    /' <<<"$answer"
  if ! grep -Eq "$expected" <<<"$answer"; then
    echo "    !! expected something like: $expected"
    wrong=1
  fi
}
answered_without() {  # answered_without REGEX WHERE ADDRESS PORT: waits until 20 connections get no such answer, for 200 rounds at most
  for _ in $(seq 200); do
    on "$2" "$echo_tool" ask tcp "$3" "$4" --count 20 --summary | grep -Eq "$1" || return 0
    sleep 0.1  # poll interval
  done
}
step "Which pods answer at the virtual IP?"
ask "60 TCP connections from pod-1 to 10.96.0.80:80" "ok pod-2" on pod-1 "$echo_tool" ask tcp 10.96.0.80 80 --count 60 --summary
ask "60 TCP connections from the node to [fd00:96::80]:80" "ok pod-3" on node "$echo_tool" ask tcp fd00:96::80 80 --count 60 --summary
ask "60 UDP questions from the node to 10.96.0.80:80" "ok pod-1" on node "$echo_tool" ask udp 10.96.0.80 80 --count 60 --summary
ask "60 TCP connections from outside to node port 192.168.50.1:30080" "ok pod-2" \
  on client "$echo_tool" ask tcp 192.168.50.1 30080 --count 60 --summary

step "pod-2 goes away: its two lines leave the manifest"
sed -e '/10\.1\.0\.12/,+1d' -e '/fd00:1::12/,+1d' "$src/packaging/demo/manifests/web.yaml" >"$work/web.new"
mv "$work/web.new" "$work/manifests/web.yaml"
answered_without "ok pod-2" client 192.168.50.1 30080
ask "60 TCP connections from outside" "ok pod-3" on client "$echo_tool" ask tcp 192.168.50.1 30080 --count 60 --summary
if on client "$echo_tool" ask tcp 192.168.50.1 30080 --count 60 --summary | grep -q pod-2; then
  echo "    !! pod-2 still answers"
  wrong=1
fi

step "All pods go away"
sed '/^endpoints:/,/^---/{/^endpoints:/s/$/ []/;/^-/{/^---/!d};/^  nodeName/d}' "$src/packaging/demo/manifests/web.yaml" >"$work/web.new"
mv "$work/web.new" "$work/manifests/web.yaml"
answered_without "ok pod" node 10.96.0.80 80
ask "3 TCP connections from the node" "refused" on node "$echo_tool" ask tcp 10.96.0.80 80 --count 3 --summary

step "Status of the daemon"
"$ctl" --state-dir "$state" status

step "Stopping, and removing every rule (sluiced --cleanup)"
if [ -n "$installed" ]; then systemctl stop sluiced.service
else
  kill "$daemon"
  wait "$daemon" || true
  daemon=
fi
on node "$sluiced" --cleanup --state-dir "$state"
left=$(on node iptables-save | grep KUBE- | grep -vc KUBE-FIREWALL || true)
echo "rules of ours left on the node, but for KUBE-FIREWALL, which kubelet shares: $left"
[ "$left" = 0 ] || wrong=1
if [ "$wrong" = 0 ]; then
  printf '\nEverything answered as it should.\n'
else
  printf '\nSomething did not answer as it should; the log of the daemon:\n'
  said
  exit 1
fi
