// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One fresh connection (or UDP socket) to a netecho server, and what became of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "netecho_socket.hpp"

namespace netecho {

struct Target {
  Protocol protocol = Protocol::tcp;
  Address address;
  std::optional<Address> source;
  std::string device;  // bind to this interface when not empty
  std::chrono::milliseconds timeout{1000};
  bool first_syn_only = false;  // a TCP connection that a repeated SYN made counts as a timeout
};

enum class Outcome { ok, refused, timeout, unreachable, error };

struct Answer {
  Outcome outcome = Outcome::error;
  std::string server;  // the NAME that answered, when ok
  std::string client;  // our address as that server saw it, when ok
  std::string detail;  // what went wrong, when error

  [[nodiscard]] std::string line() const;  // "ok pod-a 10.0.0.2", "refused", "error …"
};

// An open conversation; `answer` tells how opening it went.
struct Conversation {
  Fd socket;
  Answer answer;
};

[[nodiscard]] std::string_view outcome_name(Outcome outcome);
[[nodiscard]] Conversation open_conversation(const Target& target);
[[nodiscard]] Answer answer_from_errno(int number);

// Sends `text` and waits for one line; nullopt with `failure` filled in when it does not come.
[[nodiscard]] std::optional<std::string> exchange(int socket, std::string_view text, std::chrono::milliseconds timeout,
                                                  Answer& failure);

}  // namespace netecho
