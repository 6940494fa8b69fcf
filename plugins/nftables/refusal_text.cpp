// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/refusal_text.hpp"

#include <cerrno>

#include "lib/netlink/error.hpp"
#include "plugins/common/netfilter/drift.hpp"

namespace sluice::nftables {
namespace {

const char* meaning(int error) noexcept {
  switch (error) {
    case ENFILE:
      return "; the set is full";
    case ENOSPC:
      return "; there is no room left";
    case EBUSY:
      return "; it is in use";
    case ENOENT:
      return "; something it refers to is not there, or the kernel lacks a module";
    case EEXIST:
      return "; it is there already, with another value";
    case EOPNOTSUPP:
      return "; this kernel cannot do that";
    case EPERM:
    case EACCES:
      return "; run it with the capability CAP_NET_ADMIN";
    default:
      return "";
  }
}

}  // namespace

std::string refusal_text(const Refusal& refusal) {
  return "the kernel refuses " + refusal.what + ": " + lib::netlink::error_text(refusal.error) + meaning(refusal.error);
}

std::string refusal_text(const std::vector<Refusal>& refusals) {
  netfilter::Drift all;
  for (const Refusal& refusal : refusals) {
    all.add([&] { return refusal_text(refusal); });
  }
  return all.describe();
}

bool shows_foreign_change(const Refusal& refusal) noexcept {
  return refusal.error == ENOENT || refusal.error == EEXIST || refusal.error == EBUSY;
}

}  // namespace sluice::nftables
