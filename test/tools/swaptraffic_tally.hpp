// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What came of one flow. Times are seconds of the monotonic clock, so that whoever started the program can lay its own
// beside them.
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
  // Answered: `planned` is when it was to begin.
  void answered(double planned, double time, const std::string& server);
  // A step of it failed; `error` is an errno.
  void failed(double time, const std::string& step, int error);
  void failed(double time, const std::string& what);
  // The other end ended a connection that it was to keep.
  void reset(double time, const std::string& step, int error);
  void lost(double planned);
  // Segments that TCP had to send again: packets lost on the way, whatever else the machine was busy with.
  void repeated(std::uint64_t segments) { repeated_ += segments; }

  // One document. The next one counts its slowest answer from here on.
  [[nodiscard]] std::string json();

 private:
  struct Moment {
    double time;
    std::string what;
  };
  void note(double time, const std::string& what);

  double late_after_;
  std::uint64_t sent_ = 0;
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
  std::vector<Moment> first_failures_;
  std::vector<Moment> first_late_;
};

}  // namespace swaptraffic
