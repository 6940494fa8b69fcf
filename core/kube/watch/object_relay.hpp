// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a reflector reads, told to the store; what is wrong with single objects, told to
// the log. Knows what decoded objects mean, nothing of lists, watches and versions. Where
// Endpoints stand for EndpointSlices it remembers which slices each was made into. One
// thread.
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
  // The sink outlives the relay.
  ObjectRelay(const Resource& resource, model::EventSink& sink);

  void begin_list();
  void end_list();
  // An object as a list has it. These two say whether the object could be used.
  bool listed(Decoded decoded);
  // An object that is new or has changed.
  bool changed(Decoded decoded);
  void removed(model::ObjectName name);

 private:
  struct Origin {
    std::vector<model::ObjectName> slices;
    bool in_list = false;  // the running list, or the last
  };

  void tell_slices(const model::ObjectName& name, std::vector<model::EndpointSlice> slices);
  void tell_unusable(const model::ObjectName& name);

  model::ResourceKind kind_;
  std::string object_kind_;
  bool endpoints_;
  model::EventSink* sink_;
  ObjectProblems problems_;
  std::unordered_map<model::ObjectName, Origin> origins_;
};

}  // namespace sluice::kube
