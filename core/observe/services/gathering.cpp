// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/gathering.hpp"

#include <stdexcept>
#include <utility>

namespace sluice::observe {

using nlohmann::json;

std::vector<ServiceView> views_in(const json& request, const std::vector<ServiceView>& all) {
  const auto found = request.find("family");
  if (found == request.end()) return all;
  if (*found != json(4) && *found != json(6)) throw std::runtime_error("family must be 4 or 6");
  const lib::Family family = *found == json(4) ? lib::Family::ipv4 : lib::Family::ipv6;
  for (const auto& view : all) {
    if (view.family == family) return {view};
  }
  throw std::runtime_error(std::string(lib::family_name(family)) + " is not served on this node");
}

json Gathering::Part::failure(std::string sentence) const {
  return {{"family", lib::family_name(view.family)}, {"error", std::move(sentence)}};
}

void Gathering::put(std::size_t part, snapshot::Description description) {
  const lib::Lock lock(mutex_);
  parts_[part].description = std::make_shared<const snapshot::Description>(std::move(description));
  answer_if_complete();
}

void Gathering::put(std::size_t part, plugin::InspectionOutcome inspection) {
  const lib::Lock lock(mutex_);
  parts_[part].inspection = std::make_shared<const plugin::InspectionOutcome>(std::move(inspection));
  answer_if_complete();
}

void Gathering::begin() {
  const lib::Lock lock(mutex_);
  answer_if_complete();
}

void Gathering::answer_if_complete() {
  if (answered_) return;
  for (const Part& one : parts_) {
    if (!one.complete()) return;
  }
  answered_ = true;
  reply_.answer([parts = parts_, render = render_] {
    json families = json::array();
    for (const Part& part : parts) families.push_back(render(part));
    return json{{"families", std::move(families)}};
  });
}

json Gathering::late(std::chrono::milliseconds timeout) {
  std::vector<Part> parts;
  {
    const lib::Lock lock(mutex_);
    parts = parts_;
  }
  json families = json::array();
  for (const Part& part : parts) families.push_back(part.complete() ? render_(part) : missing(part, timeout));
  return {{"families", std::move(families)}};
}

json Gathering::missing(const Part& part, std::chrono::milliseconds timeout) const {
  const std::string sentence = "no answer within " + std::to_string(timeout.count() / 1000) + " s: ";
  const std::string call = part.view.in_progress();
  if (!part.inspects || part.inspection || call.empty()) return part.failure(sentence + "sluiced is busy; try again");
  return part.failure(sentence + "the backend is busy with " + call + "; try again" + remedy_);
}

}  // namespace sluice::observe
