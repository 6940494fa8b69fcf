// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The results of one flow. Times are seconds of the monotonic clock, so that a test can compare them with its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "relayload_net.hpp"

namespace swaptraffic {

class Tally {
 public:
  explicit Tally(double late_after) : late_after_(late_after) {}

  void sent() { ++sent_; }
  // A connection for one request, which may still fail after the answer. Those of other flows are not counted.
  void opened() { ++open_; }
  void closed() { --open_; }
  // `planned` is the scheduled start.
  void answered(double planned, double time, const std::string& server);
  // A step failed; `error` is an errno.
  void failed(double time, const std::string& step, int error);
  void failed(double time, const std::string& what);
  // The other end closed a connection that it had to keep, `age` seconds after connect() was called.
  void reset(double time, const std::string& step, int error, double age);
  void lost(double planned);
  // Retransmitted TCP segments, which count lost packets independently of the load of the machine.
  void repeated(std::uint64_t segments) { repeated_ += segments; }

  // One document. The slowest answer of the next one is counted from here on.
  [[nodiscard]] std::string json();

 private:
  struct Incident {
    double time;
    std::string what;
  };
  void count_failed(int error);
  void note(double time, const std::string& what);

  double late_after_;
  std::uint64_t sent_ = 0;
  std::uint64_t open_ = 0;
  std::uint64_t ok_ = 0;
  std::uint64_t reset_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t repeated_ = 0;
  double longest_ = 0;
  double slowest_ = 0;  // since the last document
  relayload::Latencies latencies_;
  std::map<std::string, std::uint64_t> failed_;
  std::map<std::string, std::uint64_t> servers_;
  std::vector<Incident> first_failures_;
  std::vector<Incident> first_late_;
};

}  // namespace swaptraffic
