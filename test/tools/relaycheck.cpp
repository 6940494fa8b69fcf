// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// relaycheck: proves that a relay between client and server does not lose, duplicate or reorder bytes, ends each
// direction when its sender does, and does not hide failures.
#include "relaycheck_commands.hpp"

#include <csignal>
#include <cstdio>
#include <exception>

#include "netecho_options.hpp"
#include "relaycheck_loop.hpp"

namespace relaycheck {

volatile std::sig_atomic_t stop_requested = 0;

namespace {

constexpr const char* kUsage =
    "usage: relaycheck serve --port P... [--ready-file FILE]\n"
    "       relaycheck connect ADDR PORT [--connections N] [--total N] [--up BYTES] [--down BYTES] [--vary]\n"
    "                  [--together] [--hold MS] [--timeout MS] [--read-rate B/S] [--server-read-rate B/S]\n"
    "                  [--pauses PER-MILLE] [--seed N]\n"
    "Both print one JSON line at their end. With --together no data is sent before all connections are open, which\n"
    "the line `all open` reports, and --hold has expired. The client closes a third of the connections first, the\n"
    "server another third, and either side the rest.\n";

void on_stop(int) { stop_requested = 1; }

int run(const std::vector<std::string>& words) {
  if (words.empty()) throw netecho::UsageError("no command");
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "serve") return serve(rest);
  if (words[0] == "connect") return connect(rest);
  throw netecho::UsageError("unknown command " + words[0]);
}

}  // namespace
}  // namespace relaycheck

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, relaycheck::on_stop);
  std::signal(SIGINT, relaycheck::on_stop);
  try {
    return relaycheck::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const netecho::UsageError& error) {
    std::fprintf(stderr, "relaycheck: %s\n%s", error.what(), relaycheck::kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "relaycheck: %s\n", error.what());
    return 1;
  }
}
