// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The fields of a Service and of an endpoint that a backend asks for and that do not affect traffic. One that has to be a
// text and is not does not make the object invalid.

#include <algorithm>
#include <map>

#include "core/kube/decode/decode_object.hpp"

namespace sluice::kube {
namespace {

using Texts = std::map<std::string_view, std::string_view>;

// The text of a field that must not make the object invalid.
std::string_view text_or_none(const JsonField& field) { return field.is_text() ? field.text() : std::string_view(); }

// Those with a wanted prefix. Like in Kubernetes, the last of duplicate keys counts.
Texts wanted_annotations(const JsonField& annotations, const DecodeContext& context) {
  Texts out;
  const auto& wanted = context.details->annotation_prefixes;
  annotations.each_member([&](std::string_view key, const JsonField& value) {
    const bool selected = std::any_of(wanted.begin(), wanted.end(), [&](const base::Symbol& prefixes) {
      return model::has_packed_prefix(prefixes, key);
    });
    if (!selected) return;
    if (value.is_text()) {
      out[key] = value.text();
    } else {
      context.note(value, "is not a text; the annotation is ignored");
    }
  });
  return out;
}

void read_annotations(const JsonField& metadata, const DecodeContext& context, model::ServiceDetails& out) {
  if (context.details->annotation_prefixes.empty()) return;
  const JsonField annotations = metadata.get("annotations");
  const Texts all = wanted_annotations(annotations, context);
  bool too_large = false;
  for (const base::Symbol& prefixes : context.details->annotation_prefixes) {
    model::Annotations selected;
    std::size_t bytes = 0;
    for (const auto& [key, value] : all) {
      if (!model::has_packed_prefix(prefixes, key)) continue;
      bytes += key.size() + value.size();
      if (bytes > model::kMostAnnotationBytes) break;
      selected.push_back({std::string(key), std::string(value)});
    }
    if (bytes > model::kMostAnnotationBytes) {
      too_large = true;
    } else if (!selected.empty()) {
      out.annotations.push_back({prefixes, model::Shared(std::move(selected))});
    }
  }
  // Without the size, so that it is not logged with each change of a value.
  if (too_large) {
    context.note(annotations, "those for the backend have more than " + std::to_string(model::kMostAnnotationBytes) +
                                  " bytes; the backend receives none of this Service; shorten or remove some");
  }
}

}  // namespace

void decode_service_details(const JsonField& metadata, const JsonField& ports, const DecodeContext& context,
                            model::Service& out) {
  if (context.details == nullptr) return;
  model::ServiceDetails details;
  if (context.details->services) {
    const JsonField uid = metadata.get("uid");
    if (const auto text = text_or_none(uid); !text.empty()) details.uid = model::Shared(std::string(text));
    ports.each([&](const JsonField& port) {
      const JsonField protocol = port.get("appProtocol");
      details.app_protocols.emplace_back(text_or_none(protocol));
    });
    const bool none = std::all_of(details.app_protocols.begin(), details.app_protocols.end(),
                                  [](const base::Symbol& protocol) { return protocol.empty(); });
    if (none) details.app_protocols = {};
  }
  read_annotations(metadata, context, details);
  if (details != model::ServiceDetails()) out.details = model::Shared(std::move(details));
}

model::EndpointDetails decode_endpoint_details(const JsonField& entry, const DecodeContext& context) {
  model::EndpointDetails out;
  const JsonField zone = entry.get("zone");
  out.zone = base::Symbol(text_or_none(zone));
  const JsonField target = entry.get("targetRef");
  const JsonField kind = target.get("kind");
  const JsonField name_space = target.get("namespace");
  const JsonField name = target.get("name");
  const JsonField uid = target.get("uid");
  const std::string_view space = text_or_none(name_space);
  if (text_or_none(kind) != "Pod" || (!space.empty() && space != context.name.name_space.text())) return out;
  model::Pod pod{std::string(text_or_none(name)), std::string(text_or_none(uid))};
  if (pod != model::Pod()) out.pod = model::Shared(std::move(pod));
  return out;
}

}  // namespace sluice::kube
