// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An observer of an API client that keeps reports as lines of text. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "core/kube/http/client_observer.hpp"

namespace sluice::test {

class NotedObserver final : public kube::ClientObserver {
 public:
  // All lines since the last call.
  std::string take() {
    const std::lock_guard lock(mutex_);
    std::string out = text_.str();
    text_.str("");
    return out;
  }

  void answered(const kube::AnsweredRequest& request) override {
    const auto bytes = [](const std::string& name, const std::optional<std::uint64_t>& count) {
      return count ? name + std::to_string(*count) : std::string();
    };
    note(request.host, " ", request.method, " ", request.status, " ", request.seconds,
         bytes(" sent ", request.request_bytes), bytes(" received ", request.answer_bytes),
         request.again ? " again" : "");
  }
  void waited(std::string_view host, std::string_view method, double seconds) override {
    note(host, " ", method, " waited ", seconds);
  }
  void pool_used(kube::PoolUse use) override {
    note(use == kube::PoolUse::hit ? "hit" : use == kube::PoolUse::miss ? "miss" : "uncacheable");
  }
  void pools_kept(int change) override { note("pools kept ", change); }
  void exec_plugin_called(int code, std::string_view status) override { note(status, " ", code); }
  void exec_certificate_expires(const void*, std::optional<std::chrono::system_clock::time_point> when) override {
    if (!when) return note("no certificate");
    note("expires ", std::chrono::duration_cast<std::chrono::seconds>(when->time_since_epoch()).count());
  }
  void exec_certificate_rotated(double age_seconds) override { note("rotated after ", age_seconds); }
  void ca_reloaded(bool success, std::string_view reason) override { note(success ? "success " : "failure ", reason); }

 private:
  template <class... Parts>
  void note(const Parts&... parts) {
    const std::lock_guard lock(mutex_);
    (text_ << ... << parts) << "\n";
  }

  std::mutex mutex_;
  std::ostringstream text_;
};

}  // namespace sluice::test
