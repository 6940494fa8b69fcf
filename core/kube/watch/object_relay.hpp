// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Delivers decoded objects to the store and logs errors of objects. Independent of lists, watches and versions. If
// Endpoints replace EndpointSlices, it keeps track of the slices made of each. Not thread-safe.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/kube/decode/decode.hpp"
#include "core/kube/watch/object_problems.hpp"
#include "core/kube/watch/resource.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

class ObjectRelay {
 public:
  // `details`: what the objects are decoded with. The sink must outlive the relay.
  ObjectRelay(const Resource& resource, model::EventSink& sink, model::WantedDetailsPtr details = nullptr);

  void begin_list();
  void end_list();
  // An object in a list. Returns whether the object is valid.
  bool listed(Decoded decoded);
  // A new or changed object. Returns whether the object is valid.
  bool changed(Decoded decoded);
  void removed(model::ObjectName name);

 private:
  struct Origin {
    std::vector<model::ObjectName> slices;
    bool in_list = false;  // in the current list, or in the last one
  };

  void deliver_slices(const model::ObjectName& name, std::vector<model::EndpointSlice> slices);
  void deliver_unusable(const model::ObjectName& name);

  model::ResourceKind kind_;
  std::string object_kind_;
  bool endpoints_;
  model::EventSink* sink_;
  model::WantedDetailsPtr details_;
  ObjectProblems problems_;
  std::unordered_map<model::ObjectName, Origin> origins_;
};

}  // namespace sluice::kube
