// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// swaptraffic run: the loop around all flows.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "netecho_options.hpp"
#include "relayload_net.hpp"
#include "swaptraffic_commands.hpp"
#include "swaptraffic_flow.hpp"

namespace swaptraffic {
namespace {

constexpr double kLead = 0.05;  // from the start to the first scheduled operation

class Run {
 public:
  explicit Run(const std::vector<std::string>& words) {
    if (words.empty() || words.size() > 200) throw netecho::UsageError("run needs 1 to 200 flows");
    for (const std::string& word : words) {
      FlowOptions options = parse_flow(word);
      const Registry registry(epoll_, static_cast<std::uint8_t>(flows_.size()));
      if (options.kind == "tcp-new") flows_.push_back(make_tcp_new(std::move(options), registry));
      else if (options.kind == "tcp-held") flows_.push_back(make_tcp_held(std::move(options), registry));
      else if (options.kind == "udp-fixed") flows_.push_back(make_udp_fixed(std::move(options), registry));
      else throw netecho::UsageError(word + ": unknown kind");
    }
  }

  void go(double seconds) {
    begin_ = relayload::now() + kLead;
    const double end = seconds > 0 ? begin_ + seconds : std::numeric_limits<double>::infinity();
    for (const auto& flow : flows_) flow->begin(begin_);
    print(false);  // signals are handled from here on
    while (stop_requested == 0 && relayload::now() < end) step(true, end);
    // Wait for operations in progress, which have timeouts.
    while (!std::all_of(flows_.begin(), flows_.end(), [](const auto& flow) { return flow->quiet(); })) {
      step(false, std::numeric_limits<double>::infinity());
    }
    print(true);
  }

 private:
  void step(bool more, double end) {
    double next = end;
    for (const auto& flow : flows_) {
      flow->advance(relayload::now(), more);
      next = std::min(next, flow->due());
    }
    // A signal that arrives here is handled with the next scheduled operation, within a fraction of a second.
    for (const epoll_event& event : epoll_.wait(std::clamp(next - relayload::now(), 0.0, 0.5))) {
      flows_[event.data.u64 >> 56]->handle(event.data.u64 & ((std::uint64_t{1} << 56) - 1), event.events,
                                           relayload::now());
    }
    if (progress_requested != 0) {
      progress_requested = 0;
      print(false);
    }
  }

  void print(bool done) {
    std::string text;
    for (const auto& flow : flows_) {
      text += (text.empty() ? "" : ", ") + ("\"" + flow->options().label) + "\": " + flow->tally().json();
    }
    std::printf("{\"begin\": %.3f, \"seconds\": %.3f, \"done\": %s, \"flows\": {%s}}\n", begin_,
                relayload::now() - begin_, done ? "true" : "false", text.c_str());
    std::fflush(stdout);
  }

  relayload::Epoll epoll_;
  std::vector<std::unique_ptr<Flow>> flows_;
  double begin_ = 0;
};

}  // namespace

int run(const std::vector<std::string>& words) {
  std::vector<std::string> flows;
  double seconds = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--seconds" && i + 1 < words.size()) seconds = relayload::parse_seconds(words[++i]);
    else if (words[i].starts_with("--")) throw netecho::UsageError("unknown option " + words[i]);
    else flows.push_back(words[i]);
  }
  Run(flows).go(seconds);
  return 0;
}

}  // namespace swaptraffic
