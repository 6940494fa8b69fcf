// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/control/reload_command.hpp"

#include <chrono>
#include <stdexcept>

namespace sluice::observe {
namespace {

using nlohmann::json;

constexpr int kDefaultTimeout = 600;
constexpr int kMaxTimeout = 24 * 3600;

std::chrono::seconds timeout_of(const json& request) {
  const auto given = request.find("timeout_seconds");
  if (given == request.end()) return std::chrono::seconds(kDefaultTimeout);
  const bool number = given->is_number_integer();
  const auto value = number ? given->get<std::int64_t>() : 0;
  if (value < 1 || value > kMaxTimeout) {
    throw std::invalid_argument("timeout_seconds must be an integer from 1 to " + std::to_string(kMaxTimeout));
  }
  return std::chrono::seconds(value);
}

}  // namespace

ControlServer::SlowHandler reload_command(reload::Reloader& reloader) {
  return [&reloader](const json& request, ControlReply reply) {
    const auto timeout = timeout_of(request);
    reloader.request("sluicectl reload", [reply = std::move(reply)](const reload::ReloadResult& result) {
      reply.answer([answer = reload::reload_json(result)] { return answer; });
    });
    return ControlServer::Pending{timeout, [&reloader] {
                                    json out = reload::reload_json(reloader.status());
                                    out["result"] = "running";
                                    return out;
                                  }};
  };
}

}  // namespace sluice::observe
