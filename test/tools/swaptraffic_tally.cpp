// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "swaptraffic_tally.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace swaptraffic {
namespace {

constexpr std::size_t kFirst = 20;  // the number of incidents of a kind that are reported one by one

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

// Servers send their name, so the text may contain anything.
std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
  }
  return made + "\"";
}

std::string counts(const std::map<std::string, std::uint64_t>& tally) {
  std::string text;
  for (const auto& [name, count] : tally) {
    text += (text.empty() ? "" : ", ") + quoted(name) + ": " + std::to_string(count);
  }
  return "{" + text + "}";
}

}  // namespace

void Tally::answered(double planned, double time, const std::string& server) {
  const double took = time - planned;
  ++ok_;
  ++servers_[server];
  latencies_.add(took);
  longest_ = std::max(longest_, took);
  slowest_ = std::max(slowest_, took);
  if (took <= late_after_) return;
  ++late_;
  if (first_late_.size() < kFirst) first_late_.push_back({planned, number(took * 1000)});
}

void Tally::count_failed(int error) {
  const char* name = strerrorname_np(error);
  ++failed_[name != nullptr ? name : std::to_string(error)];
}

void Tally::failed(double time, const std::string& step, int error) {
  count_failed(error);
  note(time, step + ": " + std::strerror(error));
}

void Tally::failed(double time, const std::string& what) {
  ++failed_[what];
  note(time, what);
}

void Tally::reset(double time, const std::string& step, int error, double age) {
  ++reset_;
  std::string what = "closed while it was to " + step;
  if (error == 0) {
    ++failed_[what];
  } else {
    count_failed(error);
    what = step + ": " + std::strerror(error);
  }
  note(time, what + ", " + number(age) + " s after connect()");
}

void Tally::lost(double planned) {
  ++lost_;
  note(planned, "no answer");
}

void Tally::note(double time, const std::string& what) {
  if (first_failures_.size() < kFirst) first_failures_.push_back({time, what});
}

std::string Tally::json() {
  relayload::Latencies sorted = latencies_;  // percentile() sorts, so it needs a copy
  std::string text = "{\"sent\": " + std::to_string(sent_) + ", \"open\": " + std::to_string(open_) +
                     ", \"ok\": " + std::to_string(ok_) +
                     ", \"failed\": " + counts(failed_) + ", \"reset\": " + std::to_string(reset_) +
                     ", \"lost\": " + std::to_string(lost_) + ", \"late\": " + std::to_string(late_) +
                     ", \"repeated\": " + std::to_string(repeated_) +
                     ", \"p50_ms\": " + number(sorted.percentile(50)) +
                     ", \"p99_ms\": " + number(sorted.percentile(99)) + ", \"max_ms\": " + number(longest_ * 1000) +
                     ", \"slowest_ms\": " + number(std::exchange(slowest_, 0.0) * 1000) +
                     ", \"servers\": " + counts(servers_) + ", \"first_failures\": [";
  for (const Incident& incident : first_failures_) {
    text += (&incident == first_failures_.data() ? "" : ", ") + ("{\"t\": " + number(incident.time)) +
            ", \"what\": " + quoted(incident.what) + "}";
  }
  text += "], \"first_late\": [";
  for (const Incident& incident : first_late_) {
    text += (&incident == first_late_.data() ? "" : ", ") + ("{\"t\": " + number(incident.time)) +
            ", \"ms\": " + incident.what + "}";
  }
  return text + "]}";
}

}  // namespace swaptraffic
