// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/object_relay.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"

namespace sluice::kube {

ObjectRelay::ObjectRelay(const Resource& resource, model::EventSink& sink, model::WantedDetailsPtr details)
    : kind_(resource.kind),
      object_kind_(resource.object_kind),
      endpoints_(resource.endpoints),
      sink_(&sink),
      details_(std::move(details)),
      problems_(resource.object_kind) {}

void ObjectRelay::begin_list() {
  for (auto& [name, origin] : origins_) origin.in_list = false;
  sink_->deliver(model::ListBegin{kind_});
}

void ObjectRelay::end_list() {
  // The store removes the slices of these when the list ends.
  std::erase_if(origins_, [](const auto& entry) { return !entry.second.in_list; });
  sink_->deliver(model::ListEnd{kind_, details_});
}

bool ObjectRelay::listed(Decoded decoded) {
  // Objects that are not delivered are removed at the end of the list.
  if (std::holds_alternative<Ignored>(decoded.result)) return true;
  return changed(std::move(decoded));
}

bool ObjectRelay::changed(Decoded decoded) {
  if (auto* object = std::get_if<Object>(&decoded.result)) {
    problems_.report(decoded.name, {}, decoded.notes);
    sink_->deliver(model::Upsert{std::move(*object)});
  } else if (auto* made = std::get_if<Slices>(&decoded.result)) {
    problems_.report(decoded.name, {}, decoded.notes);
    deliver_slices(decoded.name, std::move(made->slices));
  } else if (const auto* ignored = std::get_if<Ignored>(&decoded.result)) {
    base::log(base::message::kObjectIgnored,
              object_kind_ + " " + decoded.name.to_string() + " is ignored: " + ignored->reason,
              {{"object", decoded.name.to_string()}, {"reason", ignored->reason}});
    // An earlier version of it may be in the store.
    sink_->deliver(model::Remove{kind_, std::move(decoded.name)});
  } else if (const auto* failed = std::get_if<Failed>(&decoded.result)) {
    problems_.report(decoded.name, failed->to_string(), decoded.notes);
    if (!decoded.name.name.empty()) deliver_unusable(decoded.name);
    return false;
  }
  return true;
}

void ObjectRelay::removed(model::ObjectName name) {
  problems_.forget(name);
  if (endpoints_) {
    deliver_slices(name, {});
  } else {
    sink_->deliver(model::Remove{kind_, std::move(name)});
  }
}

void ObjectRelay::deliver_slices(const model::ObjectName& name, std::vector<model::EndpointSlice> slices) {
  Origin now;
  now.in_list = true;
  for (auto& slice : slices) {
    now.slices.push_back(slice.name);
    sink_->deliver(model::Upsert{std::move(slice)});
  }
  const auto known = origins_.find(name);
  if (known != origins_.end()) {
    for (auto& slice : known->second.slices) {
      if (std::find(now.slices.begin(), now.slices.end(), slice) != now.slices.end()) continue;
      sink_->deliver(model::Remove{kind_, std::move(slice)});
    }
  }
  if (!now.slices.empty()) {
    origins_[name] = std::move(now);
  } else if (known != origins_.end()) {
    origins_.erase(known);
  }
}

void ObjectRelay::deliver_unusable(const model::ObjectName& name) {
  if (!endpoints_) {
    sink_->deliver(model::Unusable{kind_, name});
    return;
  }
  const auto known = origins_.find(name);
  if (known == origins_.end()) return;
  known->second.in_list = true;
  for (const auto& slice : known->second.slices) sink_->deliver(model::Unusable{kind_, slice});
}

}  // namespace sluice::kube
