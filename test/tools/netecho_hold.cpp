// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netecho hold: one conversation kept alive by a line every interval; exit 1 as soon as it breaks.
#include <chrono>
#include <cstdio>
#include <thread>

#include "netecho_attempt.hpp"
#include "netecho_commands.hpp"
#include "netecho_options.hpp"

namespace netecho {
namespace {

using Clock = std::chrono::steady_clock;

int broken(unsigned lines, const std::string& why) {
  std::printf("broken after %u lines: %s\n", lines, why.c_str());
  return 1;
}

}  // namespace

int hold(const std::vector<std::string>& words) {
  const Options options(words, {{"--seconds", "--interval", "--timeout"}, {}, 3});
  Target target;
  target.protocol = parse_protocol(options.positional(0));
  if (target.protocol == Protocol::sctp) throw UsageError("hold knows tcp and udp");
  target.address = make_address(options.positional(1), parse_port(options.positional(2)));
  target.timeout = options.milliseconds("--timeout", 3000);
  const auto interval = options.milliseconds("--interval", 100);
  const auto end = Clock::now() + std::chrono::seconds(options.number("--seconds", 86400));

  const Conversation conversation = open_conversation(target);
  if (conversation.answer.outcome != Outcome::ok) return broken(0, conversation.answer.line());
  std::printf("established %s %s\n", conversation.answer.server.c_str(), conversation.answer.client.c_str());
  std::fflush(stdout);

  unsigned lines = 0;
  while (!stop_requested && Clock::now() < end) {
    Answer failure;
    const std::string text = "line " + std::to_string(lines) + "\n";
    const auto reply = exchange(conversation.socket.get(), text, target.timeout, failure);
    if (!reply) {
      if (stop_requested) break;
      return broken(lines, failure.line());
    }
    if (!reply->starts_with(conversation.answer.server + " ")) return broken(lines, "answered by " + *reply);
    ++lines;
    std::this_thread::sleep_for(interval);  // fixed time: the rate of --interval
  }
  std::printf("held %u lines\n", lines);
  return 0;
}

}  // namespace netecho
