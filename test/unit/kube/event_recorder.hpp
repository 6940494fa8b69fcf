// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A sink that keeps events as short lines: "begin Service", "upsert Service demo/web", "remove Service demo/web",
// "end Service".
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/event.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {

class EventRecorder final : public model::EventSink {
 public:
  void deliver(model::Event event) override {
    std::string line = std::visit([](const auto& value) { return describe(value); }, event);
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    events_.push_back(std::move(event));
    more_.notify_all();
  }

  // Waits until there are events that take() has not returned yet; gives up after a generous timeout.
  void wait_for_more() {
    std::unique_lock lock(mutex_);
    more_.wait_for(lock, stretched(std::chrono::seconds(20)), [this] { return !lines_.empty(); });
  }

  // The events since the last call.
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }
  std::string take_text() {
    std::string out;
    for (const auto& line : take()) out += (out.empty() ? "" : ", ") + line;
    return out;
  }
  // The last delivered object of this type.
  template <class T>
  T last() const {
    const std::lock_guard lock(mutex_);
    for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
      const auto* upsert = std::get_if<model::Upsert>(&*it);
      if (upsert != nullptr && std::holds_alternative<T>(upsert->object)) return std::get<T>(upsert->object);
    }
    return {};
  }

  // Of the last end of a list of this kind.
  model::WantedDetailsPtr last_list_details(model::ResourceKind kind) const {
    const std::lock_guard lock(mutex_);
    for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
      const auto* end = std::get_if<model::ListEnd>(&*it);
      if (end != nullptr && end->kind == kind) return end->details;
    }
    return nullptr;
  }

 private:
  static std::string describe(const model::ListBegin& e) {
    return "begin " + std::string(model::resource_kind_name(e.kind));
  }
  static std::string describe(const model::ListEnd& e) {
    return "end " + std::string(model::resource_kind_name(e.kind));
  }
  static std::string describe(const model::Remove& e) {
    return "remove " + std::string(model::resource_kind_name(e.kind)) + " " + e.name.to_string();
  }
  static std::string describe(const model::Unusable& e) {
    return "unusable " + std::string(model::resource_kind_name(e.kind)) + " " + e.name.to_string();
  }
  static std::string describe(const model::Upsert& e) {
    if (const auto* service = std::get_if<model::Service>(&e.object))
      return "upsert Service " + service->name.to_string();
    if (const auto* slice = std::get_if<model::EndpointSlice>(&e.object)) {
      return "upsert EndpointSlice " + slice->name.to_string();
    }
    if (const auto* service_cidr = std::get_if<model::ServiceCidr>(&e.object)) {
      return "upsert ServiceCIDR " + service_cidr->name;
    }
    return "upsert Node " + std::get<model::Node>(e.object).name;
  }

  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> lines_;
  std::vector<model::Event> events_;
};

}  // namespace sluice::test
