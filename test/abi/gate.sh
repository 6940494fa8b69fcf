#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# The gate guards itself: each forbidden change of an interface, made to a copy of the headers, must turn the tests of
# slots and layout red, and what is new must be missed in them. The copy is without the asserts of the headers, which would
# be red first.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-gate-XXXXXX") || exit 99
trap 'chmod -R u+w "$away"; rm -rf "$away"' EXIT
cp -r "$SLUICE_SRCDIR/sdk/include/sluice" "$away/sluice"
chmod -R u+w "$away"
cflags=$(pkg-config --cflags cppunit) && libs=$(pkg-config --libs cppunit) || exit 99
for header in "$away"/sluice/abi/*.hpp; do
  awk '/^static_assert\(/ { inside = 1 } !inside { print } inside && /\);$/ { inside = 0 }' "$header" >"$away/kept" &&
    cp "$away/kept" "$header" || exit 99
done
! grep -q static_assert "$away"/sluice/abi/*.hpp || exit 99
runner=$away/main.o
$CXX -std=c++20 -O0 $cflags -I"$SLUICE_SRCDIR" -c "$SLUICE_SRCDIR/test/unit/main.cpp" -o "$runner" || exit 99

# passes: compiles and runs the tests of layout and slots on the headers in $away.
passes() {
  $CXX -std=c++20 -fsyntax-only -I"$away" "$SLUICE_SRCDIR/test/abi/layout_test.cpp" >"$away/log" 2>&1 &&
    $CXX -std=c++20 -O0 $cflags -I"$away" "$SLUICE_SRCDIR/test/abi/slots_test.cpp" "$runner" $libs -o "$away/slots" \
      >>"$away/log" 2>&1 && "$away/slots" >>"$away/log" 2>&1
}

# complete: nothing of the headers in $away is missing in those two.
complete() {
  SLUICE_ABI_HEADERS=$away/sluice/abi sh "$SLUICE_SRCDIR/test/abi/complete.sh" >"$away/log" 2>&1
}

# turns_red FILE SED-SCRIPT; is_missed: the same for complete().
turns_red() { refused_by passes "$@"; }
is_missed() { refused_by complete "$@"; }
refused_by() {
  test=$1
  shift
  cp "$away/sluice/abi/$1" "$away/kept"
  sed -i "$2" "$away/sluice/abi/$1"
  if cmp -s "$away/kept" "$away/sluice/abi/$1"; then
    echo "the change did not apply: adapt it to the header"
    result=1
  elif $test; then
    echo "the gate stayed green"
    result=1
  else
    result=0
  fi
  cp "$away/kept" "$away/sluice/abi/$1"
  return $result
}

check "the headers as they are pass" passes
check "nothing of them is missing in the tests" complete
check "an appended method turns it red" turns_red backend.hpp \
  '/virtual void release()/a virtual void more() noexcept = 0;'
check "a removed method turns it red" turns_red backend.hpp '/virtual Code verify(/d'
check "a moved method turns it red" turns_red host.hpp \
  '/virtual std::uint64_t now()/d; /virtual void log(/i virtual std::uint64_t now() noexcept = 0;'
check "an appended method of an extension turns it red" turns_red relay.hpp \
  '/virtual void set_relay_ports(/a virtual void more() noexcept = 0;'
check "an appended method of the backend's extension turns it red" turns_red preparation.hpp \
  '/virtual Code prepare(/a virtual void more() noexcept = 0;'
check "an appended method of the inspection turns it red" turns_red inspection.hpp \
  '/virtual Code services(/a virtual void more() noexcept = 0;'
check "an appended method of the affinity turns it red" turns_red affinity.hpp \
  '/virtual Code import_clients(/a virtual void more() noexcept = 0;'
check "an appended method of what receives clients turns it red" turns_red affinity.hpp \
  '/virtual void add(/a virtual void more() noexcept = 0;'
check "an appended field of a client turns it red" turns_red affinity.hpp \
  '/uint32_t remaining_seconds;/a std::uint64_t more;'
check "an appended method of the kept descriptors turns it red" turns_red descriptors.hpp \
  '/virtual void names(/a virtual void more() noexcept = 0;'
check "an appended field of what create() is given turns it red" turns_red entry.hpp \
  '/StringView host_version;/a std::uint64_t more;'
check "an appended field of the node turns it red" turns_red node.hpp '/ArrayView service_cidrs;/a std::uint64_t more;'
check "a changed id of an extension turns it red" turns_red relay.hpp 's|sluice.host.relay/1"|sluice.host.relay/2"|'
check "a changed parameter turns it red" turns_red backend.hpp \
  's/virtual Code probe(Error/virtual Code probe(const Error/'
check "a virtual destructor turns it red" turns_red backend.hpp \
  's/~Backend() = default/virtual ~Backend() = default/'
check "swapped fields turn it red" turns_red service.hpp \
  '/^struct Endpoint {/,/^}/{/uint16_t port;/d; s/std::uint16_t flags;.*/std::uint16_t flags; std::uint16_t port;/}'
check "swapped one-byte fields turn it red" turns_red service.hpp \
  '/^struct Frontend {/,/^}/{/FrontendKind kind;/d; s/std::uint8_t reserved.*/&\n FrontendKind kind;/}'
check "a changed value of an enumeration turns it red" turns_red types.hpp \
  's/kDenied = 5/kDenied = 6/; s/kKernel = 6/kKernel = 5/'
check "an appended field turns it red" turns_red transaction.hpp '/kernel_nanoseconds;/a std::uint64_t more;'
check "a method that may throw turns it red" turns_red host.hpp \
  's/virtual std::uint64_t now() noexcept/virtual std::uint64_t now()/'
check "a changed result turns it red" turns_red host.hpp \
  's/virtual std::int32_t log_enabled/virtual std::int64_t log_enabled/'
check "a method that became const turns it red" turns_red preparation.hpp \
  's/Error\* error) noexcept/Error* error) const noexcept/'
check "a field of another type of the same size turns it red" turns_red transaction.hpp \
  's/std::uint64_t objects_owned/double objects_owned/'
check "a removed flag turns it red" turns_red service.hpp '/kEndpointServing = /d'
check "a bit that is used for something else turns it red" turns_red entry.hpp \
  's/kFeatureServiceCidrs = 1ull << 4/kFeatureServiceCidrs = 1ull << 5/'
check "an enumeration of another width turns it red" turns_red node.hpp \
  's/enum NodeFlag : std::uint32_t/enum NodeFlag : std::uint64_t/'
check "a packed struct turns it red" turns_red service.hpp \
  's/^struct ServicePort {/struct [[gnu::packed]] ServicePort {/'
check "a new value without a test is missed" is_missed types.hpp 's/kSctp = 132 }/kSctp = 132, kDccp = 33 }/'
check "a new struct without a test is missed" is_missed relay.hpp \
  '/^class HostRelay {/i // Growing.\nstruct RelayedPort {\n  std::uint16_t number;\n};'
check "a struct that does not say whether it grows is noticed" is_missed transaction.hpp \
  's|^// Growing. What one|// What one|'
finish
