// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An answer of the control socket that comes later, from another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"

namespace sluice::observe {

// Makes the result, on the control thread; an exception becomes an error answer.
using MakeResult = std::function<nlohmann::json()>;

// Where answers wait for the control thread. Outlives the server as long as somebody may answer.
class ReplyMailbox {
 public:
  struct Letter {
    std::uint64_t ticket = 0;
    MakeResult make;
  };
  static base::Result<std::shared_ptr<ReplyMailbox>> make();

  void put(Letter letter);  // any thread
  std::deque<Letter> take_all();
  int fd() const { return wake_.get(); }  // readable while there is something

 private:
  explicit ReplyMailbox(base::Fd wake) : wake_(std::move(wake)) {}

  const base::Fd wake_;  // eventfd
  std::mutex mutex_;
  std::deque<Letter> letters_;  // under mutex_
};

// The right to answer one request, once. Copies are the same right. When the last one goes without an answer, the
// client is told so. Any thread.
class ControlReply {
 public:
  ControlReply(std::shared_ptr<ReplyMailbox> mailbox, std::uint64_t ticket)
      : state_(std::make_shared<State>(std::move(mailbox), ticket)) {}

  // Only the first call counts.
  void answer(MakeResult make) const { state_->answer(std::move(make)); }
  // False when nobody waits for it any more: the client has gone, or was told that it came too late.
  bool wanted() const { return state_->wanted; }

 private:
  friend class ControlServer;
  struct State {
    State(std::shared_ptr<ReplyMailbox> to, std::uint64_t number) : mailbox(std::move(to)), ticket(number) {}
    ~State();
    void answer(MakeResult make);

    const std::shared_ptr<ReplyMailbox> mailbox;
    const std::uint64_t ticket;
    std::atomic<bool> answered{false};
    std::atomic<bool> wanted{true};
  };
  std::shared_ptr<State> state_;
};

}  // namespace sluice::observe
