#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests the ABI checks: each forbidden change is made to a copy of the headers, and exactly the listed checks must detect
# it, so that the blind spots of each check are known. The tests must be incomplete for additions. The copy does not have
# the static asserts of the headers, which would fail first. The changes at the end are for released.sh, which detects
# every change.
: "${SLUICE_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${CXX:=g++}"
. "$SLUICE_SRCDIR/test/abi/tap.sh"
. "$SLUICE_SRCDIR/test/abi/compare.sh"

away=$(mktemp -d "${TMPDIR:-/tmp}/sluice-gate-XXXXXX") || exit 99
trap 'chmod -R u+w "$away"; rm -rf "$away"' EXIT
headers=$away/include/sluice/abi
mkdir "$away/include"
cp -r "$SLUICE_SRCDIR/sdk/include/sluice" "$away/include/sluice"
chmod -R u+w "$away"
for header in "$headers"/*.hpp; do
  awk '/^static_assert\(/ { inside = 1 } !inside { print } inside && /\);$/ { inside = 0 }' "$header" >"$away/kept" &&
    cp "$away/kept" "$header" || exit 99
done
! grep -q static_assert "$headers"/*.hpp || exit 99

layout() { layout_holds "$away/include"; }
slots() { slots_hold "$away/include"; }
binary() { describe "$away/include" "$away/now.so" && same_binary "$away/before.so" "$away/now.so"; }
complete() { SLUICE_ABI_HEADERS=$headers sh "$SLUICE_SRCDIR/test/abi/complete.sh"; }
judges="layout slots binary"
if command -v abidiff >/dev/null; then
  describe "$away/include" "$away/before.so" || exit 99
else
  judges="layout slots"
  skip "what libabigail sees" "abidiff is not installed; install abigail-tools"
fi

# detected_by CHECK… FILE SED-SCRIPT: exactly these checks fail for the change.
detected_by() {
  judges_of_change=
  while [ $# -gt 2 ]; do
    judges_of_change="$judges_of_change $1"
    shift
  done
  cp "$headers/$1" "$away/kept"
  sed -i "$2" "$headers/$1"
  result=0
  if cmp -s "$away/kept" "$headers/$1"; then
    echo "the change did not apply: adapt it to the header"
    result=1
  else
    case $judges_of_change in *complete*) selected=complete ;; *) selected=$judges ;; esac
    for judge in $selected; do
      $judge >"$away/$judge.log" 2>&1 && verdict=green || verdict=red
      case " $judges_of_change " in *" $judge "*) wanted=red ;; *) wanted=green ;; esac
      [ "$verdict" = "$wanted" ] && continue
      echo "$judge: $verdict, it should be $wanted"
      tail -n 20 "$away/$judge.log"
      result=1
    done
  fi
  cp "$away/kept" "$headers/$1"
  return $result
}

# The short form has some changes of each sort.
check_long() {
  if [ "${SLUICE_LONG:-0}" != 0 ]; then check "$@"; else skipped=$((skipped + 1)); fi
}
skipped=0

for judge in $judges complete; do check "the headers as they are pass: $judge" "$judge"; done

# Interfaces.
check "an appended method" detected_by slots binary backend.hpp \
  '/virtual void release()/a virtual void more() noexcept = 0;'
check_long "a removed method" detected_by slots binary backend.hpp '/virtual Code verify(/d'
check "a moved method" detected_by slots binary host.hpp \
  '/virtual std::uint64_t now()/d; /virtual void log(/i virtual std::uint64_t now() noexcept = 0;'
for place in "relay.hpp set_relay_ports" "preparation.hpp prepare" "inspection.hpp services" \
  "affinity.hpp import_clients" "affinity.hpp add" "descriptors.hpp names" "backend.hpp add" "host.hpp extension"; do
  check_long "an appended method, ${place% *} after ${place#* }" detected_by slots binary "${place% *}" \
    "/virtual [^(]* \\**${place#* }(/{:a;/;/!{N;ba};a virtual void more() noexcept = 0;
}"
done
check "a changed parameter" detected_by slots binary backend.hpp \
  's/virtual Code probe(Error/virtual Code probe(const Error/'
check "a changed result" detected_by slots binary host.hpp \
  's/virtual std::int32_t log_enabled/virtual std::int64_t log_enabled/'
check_long "a method that became const" detected_by slots binary preparation.hpp \
  's/Error\* error) noexcept/Error* error) const noexcept/'
check "a method that may throw" detected_by slots host.hpp \
  's/virtual std::uint64_t now() noexcept/virtual std::uint64_t now()/'
check "a virtual destructor" detected_by slots binary backend.hpp 's/~Backend() = default/virtual ~Backend() = default/'
check_long "a changed id of an extension" detected_by slots relay.hpp 's|sluice.host.relay/1"|sluice.host.relay/2"|'

# Structs.
check "an appended field" detected_by layout binary transaction.hpp '/kernel_nanoseconds;/a std::uint64_t more;'
for place in "entry.hpp StringView host_version" "node.hpp ArrayView service_cidrs" \
  "affinity.hpp uint32_t remaining_seconds" "types.hpp char message\\[520\\]" "types.hpp StringView value" \
  "service.hpp ArrayView endpoints" "backend.hpp ArrayView claims"; do
  check_long "an appended field, ${place%% *} after ${place#* }" detected_by layout binary "${place%% *}" \
    "/${place#* };/a std::uint64_t more;"
done
check "swapped fields" detected_by layout binary service.hpp \
  '/^struct Endpoint {/,/^}/{/uint16_t port;/d; s/std::uint16_t flags;.*/std::uint16_t flags; std::uint16_t port;/}'
check "swapped one-byte fields" detected_by layout binary service.hpp \
  '/^struct Frontend {/,/^}/{/FrontendKind kind;/d; s/std::uint8_t reserved.*/&\n FrontendKind kind;/}'
check "a field of another type of the same size" detected_by layout binary transaction.hpp \
  's/std::uint64_t objects_owned/double objects_owned/'
check_long "a packed struct" detected_by layout service.hpp 's/^struct ServicePort {/struct [[gnu::packed]] ServicePort {/'
check_long "a struct of another alignment" detected_by layout service.hpp \
  's/^struct Frontend {/struct alignas(8) Frontend {/'
check_long "a field that is called something else" detected_by layout binary node.hpp \
  's/StringView name;/StringView node_name;/'
check "another element of an array" detected_by service.hpp \
  's|// Prefix; empty: all clients|// Address; empty: all clients|'

# Values.
check "a changed value" detected_by layout binary types.hpp 's/kDenied = 5/kDenied = 6/; s/kKernel = 6/kKernel = 5/'
check_long "a removed flag" detected_by layout binary service.hpp '/kEndpointServing = /d'
check_long "a bit that is used for something else" detected_by layout binary entry.hpp \
  's/kFeatureServiceCidrs = 1ull << 4/kFeatureServiceCidrs = 1ull << 5/'
check_long "an enumeration of another width" detected_by layout binary node.hpp \
  's/enum NodeFlag : std::uint32_t/enum NodeFlag : std::uint64_t/'
check_long "another name of the symbol" detected_by layout entry.hpp 's/"sluice_plugin_entry"/"sluice_plugin_entry_1"/'
check_long "another magic" detected_by layout types.hpp 's/0x30434C53/0x31434C53/'
check "another major" detected_by layout types.hpp 's/kMajor = 1;/kMajor = 2;/'

# Additions.
check "a new value without a test" detected_by complete types.hpp 's/kSctp = 132 }/kSctp = 132, kDccp = 33 }/'
check_long "a new value" detected_by binary types.hpp 's/kSctp = 132 }/kSctp = 132, kDccp = 33 }/'
check_long "a new struct without a test" detected_by complete relay.hpp \
  '/^class HostRelay {/i // Growing.\nstruct RelayedPort {\n  std::uint16_t number;\n};'
check_long "a struct that does not say whether it grows" detected_by complete transaction.hpp \
  's|^// Growing. Statistics|// Statistics|'
# Released headers: those of the newest release stand for those of today, which may have a new minor already. They have all
# static asserts here, because released.sh compares all of their code.
mkdir "$away/whole"
cp -r "$SLUICE_SRCDIR/test/abi/released" "$SLUICE_SRCDIR/CHANGELOG.md" "$away/"
newest=$away/released/$(cd "$away/released" && find . -mindepth 1 -maxdepth 1 -type d | sort -V | tail -n 1)
cp -r "$newest/include/sluice" "$away/whole/sluice"
chmod -R u+w "$away"
released() {
  SLUICE_ABI_HEADERS=$away/whole SLUICE_ABI_RELEASED=$away/released SLUICE_CHANGELOG=$away/CHANGELOG.md \
    sh "$SLUICE_SRCDIR/test/abi/released.sh" >"$away/released.log" 2>&1
}
# refused TEXT FILE SED-SCRIPT: with the changed file released.sh fails and prints the text.
refused() {
  cp "$2" "$away/kept"
  sed -i "$3" "$2"
  result=0
  if cmp -s "$away/kept" "$2"; then
    echo "the change did not apply: adapt it to the file"
    result=1
  elif released || ! grep -q -e "$1" "$away/released.log"; then
    echo "it does not say: $1"
    cat "$away/released.log"
    result=1
  fi
  cp "$away/kept" "$2"
  return $result
}
whole=$away/whole/sluice/abi
check "the released headers pass: released" released
check "an addition without a new minor" refused 'an addition takes another kMinor' "$whole/service.hpp" \
  's/^  kNodePort = 4,.*/&\n  kNextKind = 200,/'
check "a new minor that the change log does not have" refused 'says nothing of Version' "$whole/types.hpp" \
  '/ kMinor = /s/= [0-9]*;/= 99;/'
check_long "a minor that is skipped" refused 'not ok .* the next minor is that after' "$whole/types.hpp" \
  '/ kMinor = /s/= [0-9]*;/= 99;/'
# shellcheck disable=SC2016
check_long "a changed released header" refused 'not ok .* is kept as it was' \
  "$newest/include/sluice/abi/node.hpp" '$a // more'
check_long "a file that is not listed" refused 'not ok .* is kept as it was' "$newest/SHA256SUMS" '1d'
check_long "a field that changed its place" refused 'not ok .* the headers of today pass its layout test' "$whole/service.hpp" \
  '/^struct Endpoint {/,/^}/{/uint16_t port;/d; s/std::uint16_t flags;.*/std::uint16_t flags; std::uint16_t port;/}'
[ "$skipped" = 0 ] || skip "$skipped further changes" "long form only"
finish
