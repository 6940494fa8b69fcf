// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The file descriptor store of the service manager, with the protocol of sd_notify(3): FDSTORE and FDSTOREREMOVE.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/store_link.hpp"
#include "lib/fd.hpp"

namespace sluice::lifecycle {

class ManagerLink final : public StoreLink {
 public:
  // `address` is a sockaddr_un of its exact length.
  explicit ManagerLink(std::vector<char> address) : address_(std::move(address)) {}

  const char* name() const override { return "service manager"; }
  Opened open() override;
  void close() override { socket_.reset(); }
  int socket() const override { return socket_.get(); }
  std::string store_message(const std::string& name) const override;
  std::string remove_message(const std::string& name) const override;
  bool answers() const override { return false; }
  bool read() override { return true; }
  void settled() override {}

 private:
  const std::vector<char> address_;
  lib::Fd socket_;
};

}  // namespace sluice::lifecycle
