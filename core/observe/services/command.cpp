// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/command.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "core/observe/services/document.hpp"
#include "core/observe/services/query.hpp"
#include "lib/mutex.hpp"

namespace sluice::observe {
namespace {

using nlohmann::json;

struct Request {
  ServiceQuery query;
  bool kernel = true;
  bool objects = false;
};

// Collects the parts of one answer from the threads of the families.
class Gathering {
 public:
  Gathering(std::vector<ServiceView> views, Request request, ControlReply reply)
      : request_(std::move(request)),
        reply_(std::move(reply)),
        questions_(questions(std::move(views), request_.kernel)),
        parts_(questions_) {}

  bool wanted() const { return reply_.wanted(); }
  const Request& request() const { return request_; }
  const ServiceView& view(std::size_t part) const { return questions_[part].view; }
  std::size_t size() const { return questions_.size(); }
  bool reads_kernel(std::size_t part) const { return questions_[part].reads_kernel; }

  // [any thread] The last part sends the answer.
  void put(std::size_t part, snapshot::Description description) {
    const lib::Lock lock(mutex_);
    parts_[part].description = std::make_shared<const snapshot::Description>(std::move(description));
    answer_if_complete();
  }
  void put(std::size_t part, plugin::InspectionOutcome inspection) {
    const lib::Lock lock(mutex_);
    parts_[part].inspection = std::make_shared<const plugin::InspectionOutcome>(std::move(inspection));
    answer_if_complete();
  }

  // [control thread] The answer after the timeout: complete parts, and errors for the others.
  json late(std::chrono::milliseconds timeout) {
    std::vector<Part> parts;
    {
      const lib::Lock lock(mutex_);
      parts = parts_;
    }
    json families = json::array();
    for (const Part& part : parts)
      families.push_back(part.complete() ? answer(part, request_) : missing(part, timeout));
    return {{"families", std::move(families)}};
  }

 private:
  struct Part {
    ServiceView view;
    bool reads_kernel;
    std::shared_ptr<const snapshot::Description> description;
    std::shared_ptr<const plugin::InspectionOutcome> inspection;

    // A failed inspection needs no description.
    bool complete() const {
      return (!reads_kernel || inspection) && (description || (inspection && !inspection->ok()));
    }
  };

  static std::vector<Part> questions(std::vector<ServiceView> views, bool kernel) {
    std::vector<Part> out;
    for (auto& view : views) {
      const bool reads = kernel && view.inspect != nullptr;
      out.push_back({std::move(view), reads, {}, {}});
    }
    return out;
  }

  void answer_if_complete() SLUICE_REQUIRES(mutex_) {
    for (const Part& one : parts_) {
      if (!one.complete()) return;
    }
    reply_.answer([parts = parts_, request = request_] {
      json families = json::array();
      for (const Part& part : parts) families.push_back(answer(part, request));
      return json{{"families", std::move(families)}};
    });
  }

  static json failure(const Part& part, std::string sentence) {
    return {{"family", lib::family_name(part.view.family)}, {"error", std::move(sentence)}};
  }

  static json answer(const Part& part, const Request& request) {
    if (part.inspection && !part.inspection->ok()) {
      return failure(part, part.inspection->status(part.view.backend, "services").message() +
                               "; use --no-kernel to show the delivered state");
    }
    const FamilyAnswer out{part.view.family, part.view.backend, *part.description,
                           part.inspection ? &part.inspection->lines : nullptr,
                           part.inspection ? &part.inspection->rows : nullptr};
    return request.objects ? services_document(out, request.query) : services_page(out, request.query);
  }

  static json missing(const Part& part, std::chrono::milliseconds timeout) {
    std::string sentence = "no answer within " + std::to_string(timeout.count() / 1000) + " s: ";
    const std::string call = part.view.in_progress();
    if (!part.reads_kernel || part.inspection || call.empty())
      return failure(part, sentence + "sluiced is busy; try again");
    return failure(part, sentence + "the backend is busy with " + call +
                             "; try again, or use --no-kernel to show the delivered state");
  }

  const Request request_;
  const ControlReply reply_;
  const std::vector<Part> questions_;  // without results
  lib::Mutex mutex_;
  std::vector<Part> parts_ SLUICE_GUARDED_BY(mutex_);
};

void ask(std::size_t part, const std::shared_ptr<Gathering>& gathering) {
  const ServiceView& view = gathering->view(part);
  if (gathering->reads_kernel(part)) {
    view.inspect(
        {gathering->request().query.service_name(), [gathering] { return gathering->wanted(); },
         [gathering, part](plugin::InspectionOutcome inspection) { gathering->put(part, std::move(inspection)); },
         gathering->request().objects});
  }
  snapshot::DescribeRequest request;
  request.may_want = [gathering](const model::ObjectName& name) { return gathering->request().query.may_match(name); };
  request.wants = [gathering](const store::ExplainedPort& port, const snapshot::NodeFacts* node) {
    return gathering->request().query.matches(port, node);
  };
  request.not_proxied = gathering->request().query.by_name();
  request.wanted = [gathering] { return gathering->wanted(); };
  request.done = [gathering, part](snapshot::Description description) { gathering->put(part, std::move(description)); };
  view.describe(std::move(request));
}

template <class T>
T value_of(const json& request, const char* key, T otherwise, const char* complaint) {
  const auto found = request.find(key);
  if (found == request.end()) return otherwise;
  if constexpr (std::is_same_v<T, bool>) {
    if (!found->is_boolean()) throw std::runtime_error(complaint);
  } else {
    if (!found->is_string()) throw std::runtime_error(complaint);
  }
  return found->template get<T>();
}

Request read(const json& request) {
  const auto query = ServiceQuery::parse(value_of<std::string>(request, "query", {}, "query must be a string"));
  if (!query) throw std::runtime_error(query.status().message());
  return {*query, value_of(request, "kernel", true, "kernel must be true or false"),
          value_of(request, "objects", false, "objects must be true or false")};
}

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

}  // namespace

ControlServer::Pending ServicesCommand::operator()(const json& request, ControlReply reply) const {
  Request wanted = read(request);
  const auto gathering = std::make_shared<Gathering>(views_in(request, views_()), std::move(wanted), std::move(reply));
  for (std::size_t part = 0; part < gathering->size(); ++part) ask(part, gathering);
  return {timeout_, [gathering, timeout = timeout_] { return gathering->late(timeout); }};
}

}  // namespace sluice::observe
