// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that can tell what is programmed, in words.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Backend::extension(); what it returns is an `Inspection*`, valid as
// long as the backend.
inline constexpr char kInspection[] = "sluice.backend.inspection/1";

// "sluice.backend.inspection/1".
//
// `sluicectl services` shows it to people. The text is for them: it may change.
// Complete as it is: it will never grow.
class Inspection {
 public:
  // What the kernel has for each service port, read from there during the call, not what the
  // backend remembers. One line for each frontend; a frontend that does not exist has no line.
  // In this form it compares with what the backend was given (`sluicectl services --no-kernel`):
  //
  //   NAME FRONTEND[ at ADDRESSES][ sticky for N s][ masqueraded] -> TARGETS
  //     [; from this node -> TARGETS][; else REASON][; only for PREFIX, PREFIX]
  //
  // NAME       "shop/cart:http", or "shop/cart" for a port without a name
  // FRONTEND   "172.30.0.41:80/tcp", "[fd00::1]:80/udp"; a node port is ":30080/tcp"
  // ADDRESSES  only of a node port, sorted as text: "192.0.2.7, 198.51.100.1",
  //            "every address of this node" or "no address"
  // TARGETS    "10.180.0.1:80, 10.180.2.1:80", sorted as text. What is wrong or special in the
  //            kernel stands in parentheses after a target or after the list
  // REASON     "rejected, no endpoints", "dropped, no endpoints on this node"
  //
  // Without targets for clients from outside of the node the line is "NAME FRONTEND from this
  // node -> TARGETS; else REASON", without any "NAME FRONTEND -> REASON". Last come objects that
  // no Service port wants, "not wanted by any Service: " in front of each.
  //
  // `name` limits the answer to lines that begin with that name, "shop/cart" or "shop/cart:http";
  // empty: everything. kRetry before the first apply() that succeeds. A listing that fails or is
  // cut off is an error, and no line is delivered then. On the apply thread. Limit: 10 s.
  virtual Code services(StringView name, StringSink* lines, Error* error) noexcept = 0;

 protected:
  ~Inspection() = default;
};

}  // namespace sluice::abi
