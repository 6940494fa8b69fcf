// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// swaptraffic: steady traffic of several kinds at once, with a fixed schedule. A hanging operation does not delay
// others, and latencies are measured from the scheduled start, so that even short outages of a proxy are counted. `run`
// prints one JSON document at its start, at its end and after each SIGUSR1.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "netecho_options.hpp"
#include "relayload_net.hpp"
#include "swaptraffic_commands.hpp"

namespace swaptraffic {

volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t progress_requested = 0;

namespace {

constexpr const char* kUsage =
    "usage: swaptraffic serve --name NAME --port P... [--ready-file FILE]    TCP and UDP, answers NAME@CLIENT and what was asked\n"
    "       swaptraffic run [--seconds S] FLOW...    until SIGTERM without --seconds\n"
    "FLOW is KIND,NAME=VALUE,... with to=ADDRESS and port=P, and:\n"
    "  label=TEXT     its name in the result\n"
    "  from=ADDRESS   what to send from; from-port=P the first of `count` ports, for udp-fixed\n"
    "  every=MS       between two connections (5) or requests (50 held, 20 UDP) of this flow or, with UDP, of a socket\n"
    "  count=N        held connections (4), sockets (1)\n"
    "  late=MS        what takes longer is late (100)\n"
    "  patience=MS    what takes longer has failed (5000 new, 15000 held) or is lost (1000 UDP)\n"
    "  expect=A/B     an answer from another server is a failure\n"
    "  client=ADDRESS an answer to another address of the client is a failure\n"
    "KIND is tcp-new (connect, ask, be answered, close), tcp-held (requests on open connections) or udp-fixed.\n";

void on_stop(int) { stop_requested = 1; }
void on_progress(int) { progress_requested = 1; }

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // no SA_RESTART: blocking calls must return
  sigaction(number, &action, nullptr);
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) throw netecho::UsageError("no command");
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "serve") return serve(rest);
  if (words[0] == "run") return run(rest);
  throw netecho::UsageError("unknown command " + words[0]);
}

}  // namespace
}  // namespace swaptraffic

int main(int argc, char** argv) {
  swaptraffic::handle(SIGTERM, swaptraffic::on_stop);
  swaptraffic::handle(SIGINT, swaptraffic::on_stop);
  swaptraffic::handle(SIGUSR1, swaptraffic::on_progress);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    relayload::raise_descriptor_limit();
    return swaptraffic::dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const netecho::UsageError& error) {
    std::fprintf(stderr, "swaptraffic: %s\n%s", error.what(), swaptraffic::kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swaptraffic: %s\n", error.what());
    return 1;
  }
}
