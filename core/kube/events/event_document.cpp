// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/events/event_document.hpp"

#include <nlohmann/json.hpp>

#include "lib/rfc3339.hpp"

namespace sluice::kube {
namespace {

using WallTime = std::chrono::system_clock::time_point;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostName = 253;
constexpr std::size_t kMostWord = 128;   // reason, action, reporting instance
constexpr std::size_t kMostNote = 1024;

// MicroTime: six digits always.
std::string micro_time(WallTime at) { return lib::rfc3339(at, lib::Fraction::microseconds); }

std::string word(std::string_view text) { return std::string(cut_text(text, kMostWord)); }

// An event about an object without a namespace is in namespace default.
std::string name_space_of(const Regarding& regarding) {
  return regarding.name_space.empty() ? "default" : regarding.name_space;
}

std::string path_of(const Regarding& regarding) {
  return "/apis/events.k8s.io/v1/namespaces/" + name_space_of(regarding) + "/events";
}

Json series_of(const EventWrite& write) {
  return {{"count", write.count}, {"lastObservedTime", micro_time(write.last)}};
}

// Object names may contain invalid UTF-8: replace it instead of throwing.
std::string text_of(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string_view cut_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string event_name(const Regarding& regarding, WallTime at) {
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  char suffix[24];
  const int length = std::snprintf(suffix, sizeof suffix, ".%llx", static_cast<unsigned long long>(nanos));
  std::string out(cut_text(regarding.name, kMostName - static_cast<std::size_t>(length)));
  while (!out.empty() && (out.back() == '.' || out.back() == '-')) out.pop_back();
  return out + suffix;
}

Request create_request(const EventWrite& write, const std::string& node_name) {
  const Regarding& about = write.event.regarding;
  Json regarding = {{"kind", about.kind}, {"name", about.name}, {"apiVersion", "v1"}};
  if (!about.name_space.empty()) regarding["namespace"] = about.name_space;
  Json document = {
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata", {{"name", write.name}, {"namespace", name_space_of(about)}}},
      {"eventTime", micro_time(write.first)},
      {"reportingController", kReportingController},
      {"reportingInstance", word(std::string(kReportingController) + "-" + node_name)},
      {"action", word(write.event.action)},
      {"reason", word(write.event.reason)},
      {"regarding", std::move(regarding)},
      {"note", std::string(cut_text(write.event.note, kMostNote))},
      {"type", write.event.type == ClusterEvent::Type::normal ? "Normal" : "Warning"},
  };
  if (write.count > 1) document["series"] = series_of(write);
  Request out;
  out.method = "POST";
  out.path = path_of(about);
  out.content_type = kJsonType;
  out.body = text_of(document);
  return out;
}

Request series_request(const EventWrite& write) {
  Request out;
  out.method = "PATCH";
  out.path = path_of(write.event.regarding) + "/" + write.name;
  out.content_type = "application/strategic-merge-patch+json";
  out.body = text_of({{"series", series_of(write)}});
  return out;
}

}  // namespace sluice::kube
