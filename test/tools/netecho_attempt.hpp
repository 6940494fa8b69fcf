// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One new connection (or UDP socket) to a netecho server, and its result.
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
  std::string device;  // bind to this interface if not empty
  std::chrono::milliseconds timeout{1000};
  bool first_syn_only = false;  // a TCP connection with a retransmitted SYN counts as a timeout
};

enum class Outcome { ok, refused, timeout, unreachable, error };

struct Answer {
  Outcome outcome = Outcome::error;
  std::string server;  // the NAME of the server, if ok
  std::string client;  // the client address that the server received, if ok
  std::string detail;  // the reason, if error

  [[nodiscard]] std::string line() const;  // "ok pod-a 10.0.0.2", "refused", "error …"
};

// An open conversation; `answer` is the result of opening it.
struct Conversation {
  Fd socket;
  Answer answer;
};

[[nodiscard]] std::string_view outcome_name(Outcome outcome);
[[nodiscard]] Conversation open_conversation(const Target& target);
[[nodiscard]] Answer answer_from_errno(int number);

// Sends `text` and waits for one line; returns nullopt and fills `failure` if it does not arrive.
[[nodiscard]] std::optional<std::string> exchange(int socket, std::string_view text, std::chrono::milliseconds timeout,
                                                  Answer& failure);

}  // namespace netecho
