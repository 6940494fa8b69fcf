// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/control/reload_command.hpp"

#include <chrono>
#include <stdexcept>

namespace sluice::observe {
namespace {

using nlohmann::json;

constexpr int kUsual = 600;
constexpr int kLongest = 24 * 3600;

std::chrono::seconds patience_of(const json& request) {
  const auto given = request.find("timeout_seconds");
  if (given == request.end()) return std::chrono::seconds(kUsual);
  const bool number = given->is_number_integer();
  const auto value = number ? given->get<std::int64_t>() : 0;
  if (value < 1 || value > kLongest) {
    throw std::invalid_argument("timeout_seconds is no number from 1 to " + std::to_string(kLongest));
  }
  return std::chrono::seconds(value);
}

}  // namespace

ControlServer::SlowHandler reload_command(reload::Reloader& reloader) {
  return [&reloader](const json& request, ControlReply reply) {
    const auto patience = patience_of(request);
    reloader.request("sluicectl reload", [reply = std::move(reply)](const reload::ReloadResult& result) {
      reply.answer([answer = reload::reload_json(result)] { return answer; });
    });
    return ControlServer::Pending{patience, [&reloader] {
                                    json out = reload::reload_json(reloader.status());
                                    out["result"] = "running";
                                    return out;
                                  }};
  };
}

}  // namespace sluice::observe
