// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The transport over TLS, with cpprestsdk below it. api_client.cpp is the one file that
// knows that library: its exceptions end there.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/kube/credentials.hpp"
#include "core/kube/transport.hpp"

namespace sluice::kube {

struct ApiClientOptions {
  std::string version;  // for the User-Agent
  // The time without a byte after which a connection counts as dead. A quiet watch has
  // a bookmark about every 60 s.
  std::chrono::seconds list_idle{60};
  std::chrono::seconds watch_idle{100};
};

class ApiClient final : public Transport {
 public:
  ApiClient(ConnectionConfig config, ApiClientOptions options);
  ~ApiClient() override;

  base::Status get(const Request& request, ResponseSink& sink) override;
  void stop() override;
  std::string server() const override;

  const ConnectionConfig& config() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::kube
