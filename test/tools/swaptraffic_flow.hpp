// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One kind of traffic to one address. All flows share a thread and an epoll instance.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayload_net.hpp"
#include "swaptraffic_tally.hpp"

namespace swaptraffic {

struct FlowOptions {
  std::string kind;
  std::string label;
  relayload::Address to;
  std::optional<relayload::Address> from;  // its port is 0
  std::uint16_t from_port = 0;
  double every = 0;  // this and the following in seconds; 0: the default of the kind
  double late = 0.1;
  double patience = 0;
  std::size_t count = 0;
  std::vector<std::string> expect;  // empty: any server
  std::string client;               // its address at the server; empty: any
};

// Throws netecho::UsageError.
FlowOptions parse_flow(const std::string& word);

// The epoll interface of a flow: the highest byte of a tag is the number of the flow.
class Registry {
 public:
  Registry(relayload::Epoll& epoll, std::uint8_t flow) : epoll_(epoll), base_(std::uint64_t{flow} << 56) {}
  void add(int fd, std::uint32_t events, std::uint64_t tag) { epoll_.add(fd, events, base_ | tag); }

 private:
  relayload::Epoll& epoll_;
  std::uint64_t base_;
};

class Flow {
 public:
  explicit Flow(FlowOptions options) : options_(std::move(options)), tally_(options_.late) {}
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // The schedule starts at `begin`.
  virtual void begin(double begin) = 0;
  // Starts operations that are due, if `more`, and ends those that exceed their timeout.
  virtual void advance(double time, bool more) = 0;
  // The time of the next advance().
  [[nodiscard]] virtual double due() const = 0;
  // `tag` is the registered one.
  virtual void handle(std::uint64_t tag, std::uint32_t events, double time) = 0;
  // Whether no operation is in progress.
  [[nodiscard]] virtual bool quiet() const = 0;

  [[nodiscard]] const FlowOptions& options() const { return options_; }
  [[nodiscard]] Tally& tally() { return tally_; }

 protected:
  // A non-blocking, connecting socket, or a negative errno. `port` is the source port, 0: any.
  [[nodiscard]] int dial(int type, std::uint16_t port) const;
  // The number of retransmitted segments of this TCP socket.
  [[nodiscard]] static std::uint64_t repetitions(int fd);
  // Counts a valid answer, "SERVER@CLIENT WHAT"; `from` is the part before the blank.
  void answered(double planned, double time, std::string_view from);

  FlowOptions options_;
  Tally tally_;
};

// REQUIRES: the Registry belongs to that flow.
std::unique_ptr<Flow> make_tcp_new(FlowOptions options, Registry registry);
std::unique_ptr<Flow> make_tcp_held(FlowOptions options, Registry registry);
std::unique_ptr<Flow> make_udp_fixed(FlowOptions options, Registry registry);

}  // namespace swaptraffic
