// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netecho: the smallest program that can prove which server a connection reached and which client
// address that server saw. The system tests run it inside network namespaces, as every pod and client.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "netecho_commands.hpp"
#include "netecho_options.hpp"

namespace netecho {

volatile std::sig_atomic_t stop_requested = 0;

namespace {

constexpr const char* kUsage =
    "usage: netecho serve --name NAME --port P... [--tcp] [--udp] [--sctp] [--address IP...] [--ready-file FILE]\n"
    "       netecho ask PROTO ADDR PORT [--count N] [--timeout MS] [--source IP[:PORT]] [--bind-dev DEV] [--summary]\n"
    "                   [--first-syn-only]\n"
    "       netecho ask-each <LINES; each has the arguments of one ask\n"
    "       netecho hammer PROTO ADDR PORT --seconds S [--interval MS] [--timeout MS] [--source IP]\n"
    "                      [--count-file FILE]\n"
    "       netecho hold PROTO ADDR PORT [--seconds S] [--interval MS] [--timeout MS]\n"
    "       netecho plan [--at-once N] <QUESTIONS; each is PROTO ADDR PORT SOURCE[:PORT] TIMEOUT-MS\n"
    "PROTO is tcp, udp or sctp (hold: tcp or udp). With a source port, ask uses PORT, PORT+1, ... in turn.\n"
    "With --first-syn-only a TCP connection that a repeated SYN made is a timeout.\n"
    "serve answers `NAME peer-ip peer-port local-ip local-port`.\n";

void on_stop(int) { stop_requested = 1; }

void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop;  // no SA_RESTART: blocking calls must return, so that the loops can end
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("no command");
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "serve") return serve(rest);
  if (words[0] == "ask") return ask(rest);
  if (words[0] == "ask-each") return ask_each(rest);
  if (words[0] == "hammer") return hammer(rest);
  if (words[0] == "hold") return hold(rest);
  if (words[0] == "plan") return plan(rest);
  throw UsageError("unknown command " + words[0]);
}

}  // namespace
}  // namespace netecho

int main(int argc, char** argv) {
  netecho::install_signals();
  try {
    return netecho::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const netecho::UsageError& error) {
    std::fprintf(stderr, "netecho: %s\n%s", error.what(), netecho::kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "netecho: %s\n", error.what());
    return 1;
  }
}
