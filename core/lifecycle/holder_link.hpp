// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The daemon's connection to the descriptor holder, which it starts when the first descriptor is to be stored.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/passed_descriptors.hpp"
#include "core/lifecycle/holder_message.hpp"
#include "core/lifecycle/store_link.hpp"
#include "lib/fd.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

class HolderLink final : public StoreLink {
 public:
  struct Options {
    std::string path;                           // of the holder's socket
    std::chrono::milliseconds timeout;          // without a daemon
    std::function<lib::Status()> start;         // returns when a new holder listens at `path`
    std::chrono::milliseconds patience{5'000};  // for each answer
    bool may_start = true;                      // false: a new holder would end with this process
  };

  explicit HolderLink(Options options) : options_(std::move(options)) {}
  ~HolderLink() override;

  // Before the first open(): the descriptors of an earlier process; none if no holder runs. The connection is kept,
  // unless the holder has another version: that holder ends after the next one has everything. The state directory
  // must be locked.
  std::vector<base::PassedDescriptor> take();
  // Ends a running holder at once.
  void end();

  const char* name() const override { return "descriptor holder"; }
  Opened open() override;
  void close() override;
  int socket() const override { return socket_.get(); }
  std::string store_message(const std::string& name) const override;
  std::string remove_message(const std::string& name) const override;
  bool answers() const override { return true; }
  bool read() override;
  void settled() override;

  // [any thread]
  bool connected() const { return connected_; }
  // 0: no holder is connected, or it is in another PID namespace.
  pid_t process() const { return process_; }

 private:
  // The answer; nothing if there is none.
  std::optional<holding::Message> greet(int socket) const;
  std::optional<std::vector<base::PassedDescriptor>> take_from(int socket) const;
  void use(lib::Fd socket);
  static void reap(pid_t ended);

  const Options options_;
  lib::Fd socket_;
  lib::Fd old_;  // a holder that the current one replaces
  std::atomic<bool> connected_{false};
  std::atomic<pid_t> process_{0};
  bool start_failure_logged_ = false;
  bool refusal_logged_ = false;
};

}  // namespace sluice::lifecycle
