// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/services_command.hpp"

#include <mutex>
#include <stdexcept>
#include <utility>

#include "core/app/told_lines.hpp"

namespace sluice::app {
namespace {

using nlohmann::json;
using serve::ControlReply;
using serve::MakeResult;

// The parts of one answer, as they come from the threads of the families.
class Gathering {
 public:
  Gathering(const std::vector<ServiceView>& views, ControlReply reply) : reply_(std::move(reply)) {
    for (const auto& view : views) parts_.push_back({view, nullptr});
  }

  bool wanted() const { return reply_.wanted(); }

  // [any thread] The last one answers.
  void put(std::size_t part, MakeResult make) {
    const std::lock_guard lock(mutex_);
    parts_[part].make = std::move(make);
    for (const Part& one : parts_) {
      if (!one.make) return;
    }
    reply_.answer([parts = parts_] { return page(parts); });
  }

  // [control thread] What there is, and why there is no more.
  json late(std::chrono::milliseconds patience) {
    std::vector<Part> parts;
    {
      const std::lock_guard lock(mutex_);
      parts = parts_;
    }
    for (Part& part : parts) {
      if (part.make) continue;
      const std::string call = part.view.in_progress();
      part.make = [family = part.view.family, call, patience, reads = bool(part.view.inspect)] {
        const std::string time = std::to_string(patience.count() / 1000) + " s";
        std::string sentence = "no answer within " + time + ": ";
        sentence += call.empty() ? "the thread that has to give it is busy" : "the backend is busy with " + call;
        if (reads) sentence += "; try again, or ask for what the backend has been told (--told)";
        return json{{"family", base::family_name(family)}, {"error", std::move(sentence)}};
      };
    }
    return page(parts);
  }

 private:
  struct Part {
    ServiceView view;
    MakeResult make;
  };
  static json page(const std::vector<Part>& parts) {
    json families = json::array();
    for (const Part& part : parts) families.push_back(part.make());
    return {{"families", std::move(families)}};
  }

  const ControlReply reply_;
  std::mutex mutex_;
  std::vector<Part> parts_;  // under mutex_
};

json kernel_part(const ServiceView& view, const plugin::InspectionOutcome& seen) {
  if (!seen.ok()) {
    return {{"family", base::family_name(view.family)}, {"error", seen.status(view.backend, "services").message()}};
  }
  return {
      {"family", base::family_name(view.family)}, {"backend", view.backend}, {"view", "kernel"}, {"lines", seen.lines}};
}

void ask(const ServiceView& view, std::size_t part, const std::string& name, bool told,
         const std::shared_ptr<Gathering>& gathering) {
  if (view.inspect && !told) {
    view.inspect({name, [gathering] { return gathering->wanted(); },
                  [gathering, part, view](plugin::InspectionOutcome seen) {
                    const auto shared = std::make_shared<const plugin::InspectionOutcome>(std::move(seen));
                    gathering->put(part, [view, shared] { return kernel_part(view, *shared); });
                  }});
    return;
  }
  view.told([gathering, part, view, name](std::vector<snapshot::ServicePortPtr> ports, std::uint64_t generation) {
    const auto shared = std::make_shared<const std::vector<snapshot::ServicePortPtr>>(std::move(ports));
    gathering->put(part, [view, name, generation, shared] {
      return json{{"family", base::family_name(view.family)},
                  {"backend", view.backend},
                  {"view", "told"},
                  {"generation", generation},
                  {"lines", told_lines(*shared, name)}};
    });
  });
}

std::string name_in(const json& request) {
  const auto found = request.find("name");
  if (found == request.end()) return {};
  if (!found->is_string()) throw std::runtime_error("name is no text");
  return found->get<std::string>();
}

bool told_in(const json& request) {
  const auto found = request.find("told");
  if (found == request.end()) return false;
  if (!found->is_boolean()) throw std::runtime_error("told is neither true nor false");
  return found->get<bool>();
}

std::vector<ServiceView> views_in(const json& request, const std::vector<ServiceView>& all) {
  const auto found = request.find("family");
  if (found == request.end()) return all;
  if (*found != json(4) && *found != json(6)) throw std::runtime_error("family is neither 4 nor 6");
  const base::Family family = *found == json(4) ? base::Family::ipv4 : base::Family::ipv6;
  for (const auto& view : all) {
    if (view.family == family) return {view};
  }
  throw std::runtime_error(std::string(base::family_name(family)) + " is not served on this node");
}

}  // namespace

serve::ControlServer::Pending ServicesCommand::operator()(const json& request, ControlReply reply) const {
  const std::string name = name_in(request);
  const bool told = told_in(request);
  const auto views = views_in(request, views_());
  const auto gathering = std::make_shared<Gathering>(views, std::move(reply));
  for (std::size_t part = 0; part < views.size(); ++part) ask(views[part], part, name, told, gathering);
  return {patience_, [gathering, patience = patience_] { return gathering->late(patience); }};
}

}  // namespace sluice::app
