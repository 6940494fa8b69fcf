// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that can describe the programmed state as text.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Backend::extension(), which returns an `Inspection*`. It is valid until the backend is released.
inline constexpr char kInspection[] = "sluice.backend.inspection/1";

// "sluice.backend.inspection/1".
//
// `sluicectl services` prints it. The text is for people and may change. This class never grows.
class Inspection {
 public:
  // Adds one line for each frontend that exists in the kernel. The backend must read it from the kernel during the call,
  // not from its memory. The format allows a comparison with the delivered state (`sluicectl services --no-kernel`):
  //
  //   NAME FRONTEND[ at ADDRESSES][ sticky for N s][ masqueraded] -> TARGETS
  //     [; from this node -> TARGETS][; else REASON][; only for PREFIX, PREFIX]
  //
  // NAME       "shop/cart:http", or "shop/cart" for an unnamed port
  // FRONTEND   "172.30.0.41:80/tcp", "[fd00::1]:80/udp"; a node port is ":30080/tcp"
  // ADDRESSES  for node ports only, sorted as text: "192.0.2.7, 198.51.100.1",
  //            "every address of this node" or "no address"
  // TARGETS    "10.180.0.1:80, 10.180.2.1:80", sorted as text. Deviations in the kernel are in
  //            parentheses after a target or after the list
  // REASON     "rejected, no endpoints", "dropped, no endpoints on this node"
  //
  // Without targets for clients outside of the node, the line is "NAME FRONTEND from this
  // node -> TARGETS; else REASON"; without any targets it is "NAME FRONTEND -> REASON". Objects
  // that belong to no service port come last, each prefixed by "not wanted by any Service: ".
  //
  // `name` selects the lines that begin with that name, "shop/cart" or "shop/cart:http"; empty: all lines. Must return
  // kRetry before the first successful apply(). An incomplete listing is an error, and no line must be added then.
  // Called on the apply thread. Limit: 10 s.
  virtual Code services(StringView name, StringSink* lines, Error* error) noexcept = 0;

 protected:
  ~Inspection() = default;
};

}  // namespace sluice::abi
