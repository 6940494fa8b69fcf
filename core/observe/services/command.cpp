// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/command.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "core/observe/services/document.hpp"
#include "core/observe/services/query.hpp"
#include "core/observe/services/request_value.hpp"

namespace sluice::observe {
namespace {

using nlohmann::json;

struct Request {
  ServiceQuery query;
  bool kernel = true;
  bool objects = false;
};

constexpr const char* kWithoutKernel = "use --no-kernel to show the delivered state";

json services_answer(const Gathering::Part& part, const Request& request) {
  if (part.inspection && !part.inspection->ok()) {
    return part.failure(part.inspection->status(part.view.backend, "services").message() + "; " + kWithoutKernel);
  }
  const FamilyAnswer out{part.view.family, part.view.backend, *part.description,
                         part.inspection ? &part.inspection->lines : nullptr,
                         part.inspection ? &part.inspection->rows : nullptr};
  return request.objects ? services_document(out, request.query) : services_page(out, request.query);
}

void ask(std::size_t part, const std::shared_ptr<Gathering>& gathering, const std::shared_ptr<const Request>& asked) {
  const ServiceView& view = gathering->question(part).view;
  const auto wanted = [gathering] { return gathering->wanted(); };
  if (gathering->question(part).inspects) {
    view.inspect({{asked->query.service_name(), asked->objects}, wanted,
                  [gathering, part](plugin::InspectionOutcome out) { gathering->put(part, std::move(out)); }});
  }
  snapshot::DescribeRequest request;
  request.may_want = [asked](const model::ObjectName& name) { return asked->query.may_match(name); };
  request.wants = [asked](const store::ExplainedPort& port, const snapshot::NodeFacts* node) {
    return asked->query.matches(port, node);
  };
  request.not_proxied = asked->query.by_name();
  request.wanted = wanted;
  request.done = [gathering, part](snapshot::Description description) { gathering->put(part, std::move(description)); };
  view.describe(std::move(request));
}

Request read(const json& request) {
  const auto query = ServiceQuery::parse(request_value<std::string>(request, "query", {}, "query must be a string"));
  if (!query) throw std::runtime_error(query.status().message());
  return {*query, request_value(request, "kernel", true, "kernel must be true or false"),
          request_value(request, "objects", false, "objects must be true or false")};
}

}  // namespace

ControlServer::Pending ServicesCommand::operator()(const json& request, ControlReply reply) const {
  const auto asked = std::make_shared<const Request>(read(request));
  std::vector<Gathering::Part> parts;
  for (ServiceView& view : views_in(request, views_())) {
    const bool inspects = asked->kernel && view.inspect != nullptr;
    parts.push_back({std::move(view), inspects, true});
  }
  const auto render = [asked](const Gathering::Part& part) { return services_answer(part, *asked); };
  const auto gathering = std::make_shared<Gathering>(std::move(parts), render, std::string(", or ") + kWithoutKernel,
                                                     std::move(reply));
  for (std::size_t part = 0; part < gathering->size(); ++part) ask(part, gathering, asked);
  gathering->begin();
  return {timeout_, [gathering, timeout = timeout_] { return gathering->late(timeout); }};
}

}  // namespace sluice::observe
