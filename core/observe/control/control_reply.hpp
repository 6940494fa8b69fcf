// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deferred answers of the control socket, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "lib/mutex.hpp"
#include "lib/status.hpp"
#include "lib/wake_up.hpp"

namespace sluice::observe {

// Builds the result on the control thread; an exception becomes an error answer.
using MakeResult = std::function<nlohmann::json()>;

// Queue of answers for the control thread. Shared by all replies, so it may outlive the server.
class ReplyMailbox {
 public:
  struct Letter {
    std::uint64_t ticket = 0;
    MakeResult make;
  };
  static lib::Result<std::shared_ptr<ReplyMailbox>> make();

  void put(Letter letter);  // any thread
  std::deque<Letter> take_all();
  int fd() const { return wake_.descriptor(); }  // readable while the queue is not empty

 private:
  explicit ReplyMailbox(lib::WakeUp wake) : wake_(std::move(wake)) {}

  const lib::WakeUp wake_;
  lib::Mutex mutex_;
  std::deque<Letter> letters_ SLUICE_GUARDED_BY(mutex_);
};

// Answers one request, once; copies refer to the same request. If the last copy is destroyed without an answer, the
// client receives an error. Any thread.
class ControlReply {
 public:
  ControlReply(std::shared_ptr<ReplyMailbox> mailbox, std::uint64_t ticket)
      : state_(std::make_shared<State>(std::move(mailbox), ticket)) {}

  // Later calls have no effect.
  void answer(MakeResult make) const { state_->answer(std::move(make)); }
  // False when the client has disconnected or its request has timed out.
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
