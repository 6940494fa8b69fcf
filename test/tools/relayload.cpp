// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// relayload: client and server for load tests of a proxy. One thread, epoll, and few system calls, so that the proxy is
// the bottleneck. Each command except serve prints one line of JSON.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "netecho_options.hpp"
#include "relayload_commands.hpp"
#include "relayload_net.hpp"

namespace relayload {

volatile std::sig_atomic_t stop_requested = 0;

namespace {

constexpr const char* kUsage =
    "usage: relayload serve --port P [--address IP]...          TCP and UDP\n"
    "       relayload throughput ADDR PORT [--streams N] [--seconds S] [--direction up|down|both]\n"
    "       relayload connections ADDR PORT [--parallel N] [--seconds S] [--keep]   connect, 1 byte, answer, close\n"
    "                 --keep: requests on connections that stay open; `connections` counts the answers\n"
    "       relayload latency ADDR PORT [--open N] [--seconds S] [--rate PER_S] [--every MS]\n"
    "                 N connections are open, each asks every MS; others connect, ask and close, PER_S a second\n"
    "       relayload idle ADDR PORT [--open N]   says when all are open, holds them until its input ends\n"
    "       relayload udp ADDR PORT [--clients N] [--size BYTES] [--seconds S] [--window N] [--fresh] [--patient]\n"
    "                 N unanswered datagrams a client at most; 0: no limit; --fresh: each request is a new client;\n"
    "                 --patient: goes on until there was an answer\n"
    "All but serve: --source IP... (used in turn). serve does as the first byte says: e echo, u count, d send, b "
    "both.\n";

void on_stop(int) { stop_requested = 1; }

int run(const std::vector<std::string>& words) {
  if (words.empty()) throw netecho::UsageError("no command");
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "serve") return serve(rest);
  if (words[0] == "throughput") return throughput(rest);
  if (words[0] == "connections") return connections(rest);
  if (words[0] == "latency") return latency(rest);
  if (words[0] == "idle") return idle(rest);
  if (words[0] == "udp") return udp(rest);
  throw netecho::UsageError("unknown command " + words[0]);
}

}  // namespace
}  // namespace relayload

int main(int argc, char** argv) {
  struct sigaction action {};
  action.sa_handler = relayload::on_stop;  // no SA_RESTART: blocking calls must return
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    relayload::raise_descriptor_limit();
    return relayload::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const netecho::UsageError& error) {
    std::fprintf(stderr, "relayload: %s\n%s", error.what(), relayload::kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "relayload: %s\n", error.what());
    return 1;
  }
}
