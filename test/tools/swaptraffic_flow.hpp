// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One kind of traffic towards one address. All flows share a thread and an epoll instance.
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
  double every = 0;  // this and the following in seconds; 0: as the kind has it
  double late = 0.1;
  double patience = 0;
  std::size_t count = 0;
  std::vector<std::string> expect;  // empty: anybody
};

// Throws netecho::UsageError.
FlowOptions parse_flow(const std::string& word);

// What a flow sees of epoll: tags hold the number of the flow in their highest byte.
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

  // Everything after `begin` is planned from there.
  virtual void begin(double begin) = 0;
  // Begins what is due, while `more`, and gives up what has waited too long.
  virtual void advance(double time, bool more) = 0;
  // When advance() has something to do next.
  [[nodiscard]] virtual double due() const = 0;
  // `tag` is what was registered.
  virtual void handle(std::uint64_t tag, std::uint32_t events, double time) = 0;
  // Nothing that has begun waits for its end.
  [[nodiscard]] virtual bool quiet() const = 0;

  [[nodiscard]] const FlowOptions& options() const { return options_; }
  [[nodiscard]] Tally& tally() { return tally_; }

 protected:
  // A non-blocking socket that connects; a negative errno. `port` is its own, 0: any.
  [[nodiscard]] int dial(int type, std::uint16_t port) const;
  // Segments that this TCP socket has sent again, so far.
  [[nodiscard]] static std::uint64_t repetitions(int fd);
  // Counts an answer, "SERVER WHAT", once it is known to be the right one.
  void answered(double planned, double time, std::string_view server);

  FlowOptions options_;
  Tally tally_;
};

// REQUIRES: Registry is of that flow.
std::unique_ptr<Flow> make_tcp_new(FlowOptions options, Registry registry);
std::unique_ptr<Flow> make_tcp_held(FlowOptions options, Registry registry);
std::unique_ptr<Flow> make_udp_fixed(FlowOptions options, Registry registry);

}  // namespace swaptraffic
