// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Collects the parts of one answer about Services from the threads of the families: the description by the store, and
// the inspection of the kernel by the backend.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/observe/control/control_server.hpp"
#include "core/snapshot/description.hpp"
#include "core/sync/sync_loop.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"

namespace sluice::observe {

// Sources of the answer for one family. The callbacks do nothing when the backend is gone.
struct ServiceView {
  lib::Family family = lib::Family::ipv4;
  std::string backend;                                   // its id
  std::function<void(sync::SyncLoop::Inspect)> inspect;  // empty: the backend cannot read the kernel
  std::function<void(snapshot::DescribeRequest)> describe;
  std::function<std::string()> in_progress;  // the running backend call, or empty
};

// The views of the family that a request names, or all. Throws std::runtime_error.
std::vector<ServiceView> views_in(const nlohmann::json& request, const std::vector<ServiceView>& all);

class Gathering {
 public:
  // One family, and what has come in for it.
  struct Part {
    ServiceView view;
    bool inspects = false;
    bool describes = false;
    std::shared_ptr<const snapshot::Description> description{};
    std::shared_ptr<const plugin::InspectionOutcome> inspection{};

    // A failed inspection needs no description.
    bool complete() const {
      const bool failed = inspection && !inspection->ok();
      return failed || ((!inspects || inspection) && (!describes || description));
    }
    // {"family","error"}
    nlohmann::json failure(std::string sentence) const;
  };
  using Render = std::function<nlohmann::json(const Part&)>;

  // `parts`: without results. `render`: the answer of a complete part, on any thread. `remedy`: ends the sentence about
  // a backend that does not answer in time, "or use …".
  Gathering(std::vector<Part> parts, Render render, std::string remedy, ControlReply reply)
      : render_(std::move(render)),
        remedy_(std::move(remedy)),
        reply_(std::move(reply)),
        questions_(std::move(parts)),
        parts_(questions_) {}

  // [any thread] False: the client has disconnected.
  bool wanted() const { return reply_.wanted(); }
  std::size_t size() const { return questions_.size(); }
  const Part& question(std::size_t part) const { return questions_[part]; }

  // Call once after all parts were asked: if none of them asks anything, this sends the answer.
  void begin();
  // [any thread] The last part sends the answer, {"families":[...]}.
  void put(std::size_t part, snapshot::Description description);
  void put(std::size_t part, plugin::InspectionOutcome inspection);

  // [control thread] The answer after the timeout: complete parts, and errors for the others.
  nlohmann::json late(std::chrono::milliseconds timeout);

 private:
  void answer_if_complete() SLUICE_REQUIRES(mutex_);
  nlohmann::json missing(const Part& part, std::chrono::milliseconds timeout) const;

  const Render render_;
  const std::string remedy_;
  const ControlReply reply_;
  const std::vector<Part> questions_;
  lib::Mutex mutex_;
  std::vector<Part> parts_ SLUICE_GUARDED_BY(mutex_);
  bool answered_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::observe
