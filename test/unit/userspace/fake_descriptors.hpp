// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The descriptor store of a daemon, in memory.
#pragma once

#include <fcntl.h>

#include <map>
#include <set>
#include <string>

#include "lib/fd.hpp"
#include "sluice/abi/descriptors.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::test {

class FakeDescriptors final : public abi::HostDescriptors {
 public:
  abi::Code keep(abi::StringView name, std::int32_t fd, abi::Error* error) noexcept override {
    if (refuses) return sdk::fail(error, abi::Code::kRetry, {}, "there is no room");
    ++keeps;
    kept[std::string(sdk::text(name))] = duplicate(fd);
    return abi::Code::kOk;
  }
  std::int32_t take(abi::StringView name) noexcept override {
    const auto found = kept.find(std::string(sdk::text(name)));
    return found == kept.end() ? -1 : duplicate(found->second.get()).release();
  }
  void drop(abi::StringView name) noexcept override { kept.erase(std::string(sdk::text(name))); }
  void names(abi::StringSink* sink) noexcept override {
    for (const auto& [name, descriptor] : kept) sink->add(sdk::view(name));
  }

  std::set<std::string> all() const {
    std::set<std::string> found;
    for (const auto& [name, descriptor] : kept) found.insert(name);
    return found;
  }

  std::map<std::string, lib::Fd> kept;
  std::size_t keeps = 0;
  bool refuses = false;

 private:
  static lib::Fd duplicate(int fd) { return lib::Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }
};

}  // namespace sluice::test
