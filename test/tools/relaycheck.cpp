// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// relaycheck: proves that what stands between its two halves loses, doubles and reorders no
// byte, ends each direction when its sender did, and hides no failure.
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
    "Both print one JSON line at their end. With --together no data flows before all connections are there, which\n"
    "is told by the line `all open`, and --hold is over. A third of the connections is closed first by the client, a\n"
    "third by the server, a third by whoever is ready.\n";

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
