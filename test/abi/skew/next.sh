#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# next.sh FROM TO: copies the headers of the ABI and changes them like a next minor in which everything that may grow has
# grown: a field next_NAME at the end of each growing struct, a value, a flag, an interface on either side, a new kMinor.
set -e
mkdir -p "$2/sluice/abi"
for header in "$1"/sluice/abi/*.hpp; do
  # Remove the size asserts, which are for the old sizes.
  awk '
    /^static_assert\(sizeof\(/ { inside = 1 }
    inside { if (/\);$/) inside = 0; next }
    /^\/\/ Growing\./ { growing = 1 }
    /^struct / { name = $2 }
    /^};/ { if (growing && name != "") print "  std::uint64_t next_" tolower(name) ";"; growing = 0; name = "" }
    { print }' "$header" >"$2/sluice/abi/$(basename "$header")"
done
minor=$(sed -n 's/.* kMinor = \([0-9]*\);.*/\1/p' "$2/sluice/abi/types.hpp")
sed -i "s/kMinor = $minor;/kMinor = $((minor + 1));/" "$2/sluice/abi/types.hpp"
sed -i 's/^  kNodePort = 4,.*/&\n  kNextKind = 200,/; s/^  kSessionAffinity = 1u << 5,.*/&\n  kNextFlag = 1u << 31,/' \
  "$2/sluice/abi/service.hpp"
cat >>"$2/sluice/abi/relay.hpp" <<'END'

namespace sluice::abi {

inline constexpr char kHostNext[] = "sluice.host.next/1";
class HostNext {
 public:
  virtual void send(StringView text) noexcept = 0;

 protected:
  ~HostNext() = default;
};
inline constexpr char kBackendNext[] = "sluice.backend.next/1";
class BackendNext {
 public:
  virtual void send(StringView text) noexcept = 0;

 protected:
  ~BackendNext() = default;
};

}  // namespace sluice::abi
END
for wanted in "types.hpp next_error" "types.hpp next_option" "service.hpp next_frontend" "service.hpp next_endpoint" \
  "service.hpp next_serviceport" "service.hpp kNextKind" "service.hpp kNextFlag" "node.hpp next_nodefacts" \
  "transaction.hpp next_transaction" "transaction.hpp next_applyresult" "backend.hpp next_handover" \
  "entry.hpp next_createargs" "entry.hpp next_pluginentry" "affinity.hpp next_affinityclient" \
  "inspection.hpp next_inspectedfrontend" "inspection.hpp next_inspectedpacket" \
  "inspection.hpp next_inspectedcounters" "inspection.hpp next_inspecteddrift" "inspection.hpp next_inspectedstep"; do
  grep -q "${wanted#* }" "$2/sluice/abi/${wanted% *}" || {
    echo "adapt next.sh to the headers: there is no $wanted"
    exit 1
  }
done
