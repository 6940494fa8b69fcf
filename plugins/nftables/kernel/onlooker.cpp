// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/onlooker.hpp"

#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <span>

#include "plugins/common/netlink/error.hpp"

namespace sluice::nftables {
namespace {

constexpr std::size_t kMonitorBuffer = 64 * 1024;  // notifications come in pages
constexpr int kAtOnce = 256;                // somebody who never pauses does not keep us from reading

}  // namespace

Onlooker::Onlooker(abi::Family family, const netlink::OpenWire& open, std::chrono::milliseconds patience)
    : patience_(patience), events_(family, nobody_), wire_(open()), buffer_(kMonitorBuffer) {
  const int error = wire_->listen(NFNLGRP_NFTABLES, true);
  if (error != 0) netlink::fail(error, "nf_tables", "cannot listen to changes of nf_tables while a table is read");
}

bool Onlooker::look() {
  for (int i = 0; i < kAtOnce && !events_.changed() && receive(std::chrono::milliseconds(0)); ++i) {
  }
  return events_.changed();
}

// The kernel tells of transactions one by one, what they did before their generation.
bool Onlooker::untouched(std::uint32_t generation) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + patience_;
  while (!events_.changed()) {
    const std::uint32_t told = events_.generation();
    if (told != 0 && static_cast<std::int32_t>(told - generation) >= 0) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() < 0 || !receive(left)) events_.lost();
  }
  return false;
}

// With who it was, where that has been told by now.
std::string Onlooker::take() {
  for (int i = 0; i < kAtOnce && !events_.complete() && receive(std::chrono::milliseconds(0)); ++i) {
  }
  return events_.take();
}

bool Onlooker::receive(std::chrono::milliseconds patience) {
  const long size = wire_->receive(std::span<char>(buffer_), patience);
  if (size == -EAGAIN) return false;
  if (size == -EINTR) return true;
  if (size >= 0 && size <= static_cast<long>(buffer_.size())) {
    events_.read({buffer_.data(), static_cast<std::size_t>(size)});
  } else {
    events_.lost();
  }
  return true;
}

}  // namespace sluice::nftables
