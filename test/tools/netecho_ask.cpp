// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netecho ask: makes new connections one after the other and prints one result line each.
// netecho ask-each: does so for each line of the standard input, which has the arguments of one ask, and prints an
// empty line after its results.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "netecho_attempt.hpp"
#include "netecho_commands.hpp"
#include "netecho_options.hpp"

namespace netecho {

int ask(const std::vector<std::string>& words) {
  const Options options(words, {{"--count", "--timeout", "--source", "--bind-dev"}, {"--summary", "--first-syn-only"}, 3});
  Target target;
  target.protocol = parse_protocol(options.positional(0));
  target.address = make_address(options.positional(1), parse_port(options.positional(2)));
  if (options.has("--source")) target.source = parse_source(options.text("--source", ""));
  target.device = options.text("--bind-dev", "");
  target.timeout = options.milliseconds("--timeout", 1000);
  target.first_syn_only = options.has("--first-syn-only");

  std::map<std::string, unsigned> counts;
  const unsigned count = options.number("--count", 1);
  const std::uint16_t first_port = target.source ? target.source->port() : 0;
  for (unsigned i = 0; i < count && !stop_requested; ++i) {
    // Each attempt uses another source port: a tracked UDP flow would lead a repeated one to the same server.
    if (first_port != 0) target.source->set_port(static_cast<std::uint16_t>(first_port + i));
    const std::string line = open_conversation(target).answer.line();
    if (options.has("--summary")) {
      ++counts[line];
    } else {
      std::printf("%s\n", line.c_str());
    }
  }
  for (const auto& [line, times] : counts) std::printf("%u %s\n", times, line.c_str());
  return 0;
}

int ask_each(const std::vector<std::string>& words) {
  const Options none(words, {{}, {}, 0});
  for (std::string line; !stop_requested && std::getline(std::cin, line);) {
    std::istringstream stream(line);
    if (const int status = ask({std::istream_iterator<std::string>(stream), {}}); status != 0) return status;
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace netecho
