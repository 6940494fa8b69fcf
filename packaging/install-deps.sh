#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs packages that a fresh Debian 12 lacks. Usage: install-deps.sh build|cluster|demo|package|rpm|test …
# Does nothing, without network access, if all of them are installed.
set -eu

BUILD="autoconf automake libtool make g++ pkg-config gawk
  libcpprest-dev libboost-dev libboost-program-options-dev libboost-system-dev libssl-dev
  liblog4cplus-dev libipset-dev libmnl-dev libnftnl-dev libnl-3-dev libnl-genl-3-dev libnl-route-3-dev libprotozero-dev libsimdjson-dev libyaml-cpp-dev
  nlohmann-json3-dev prometheus-cpp-dev"
DEMO="iproute2 iptables procps"
PACKAGE="debhelper dpkg-dev python3"
RPM="rpm"
# A real cluster, see test/cluster/README.md.
CLUSTER="containerd runc containernetworking-plugins busybox-static mmdebstrap gcc libc6-dev iproute2 iptables nftables conntrack ipset openssl
  python3 util-linux dropbear-bin openssh-client"
TEST="libcppunit-dev ccache codespell conntrack git iproute2 ipset iputils-ping iptables nftables procps python3 python3-jsonschema python3-yaml openssl clang
  libclang-rt-dev libc++-dev libc++abi-dev lld llvm abigail-tools cmake doxygen man-db prometheus util-linux binutils valgrind rustc
  $PACKAGE $RPM lintian mmdebstrap
  haproxy socat nginx libnginx-mod-stream
  qemu-system-x86 busybox-static kmod ipvsadm"
# Tests start their own instances of these servers, so the system services are disabled.
SERVERS="containerd haproxy nginx"

packages=
for set in "$@"; do
  case $set in
    build) packages="$packages $BUILD" ;;
    cluster) packages="$packages $CLUSTER" ;;
    demo) packages="$packages $DEMO" ;;
    package) packages="$packages $PACKAGE" ;;
    rpm) packages="$packages $RPM" ;;
    test) packages="$packages $TEST" ;;
    *) echo "install-deps.sh: unknown set '$set'; use build, cluster, demo, package, rpm or test" >&2; exit 2 ;;
  esac
done

missing=
for package in $packages; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
  echo "install-deps.sh: these packages are missing; run as root, or: apt-get install$missing" >&2
  exit 1
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
apt-get -qq update
# shellcheck disable=SC2086
apt-get -qq -y install --no-install-recommends $missing >/dev/null
for server in $SERVERS; do
  case "$missing " in
    *" $server "*) systemctl --quiet disable "$server.service" 2>/dev/null || true ;;  # without systemd nothing is to do
  esac
done
