// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Interface between decode.cpp and decode_<kind>.cpp; internal to this folder.
#pragma once

#include "core/kube/decode/decode.hpp"
#include "core/kube/decode/json_field.hpp"
#include "core/kube/decode/text.hpp"

namespace sluice::kube {

struct DecodeContext {
  const model::ObjectName& name;
  bool apply_server_defaults;
  const model::WantedDetails* details;  // null: none
  std::vector<std::string>& notes;

  // Notes that a part of the object is ignored.
  void note(const JsonField& field, const std::string& why) const { notes.push_back(field.path() + ": " + why); }
};

using KindResult = std::variant<Object, Ignored, Slices>;

// Errors are reported through the field's sticky error; the result is then not used.
KindResult decode_service(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_endpoint_slice(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_endpoints(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_node(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_service_cidr(const JsonField& root, const DecodeContext& context);
// Absent if the port cannot be used, with a note if the reason is an error.
std::optional<model::SlicePort> decode_slice_port(const JsonField& entry, const DecodeContext& context,
                                                  bool name_is_optional);
// Absent, with a note, if an endpoint cannot have this address in this family.
std::optional<lib::IpAddress> read_endpoint_address(const JsonField& field, std::optional<lib::Family> family,
                                                    const DecodeContext& context);
// The details of a Service and of one endpoint (targetRef and zone), as far as the context wants them.
void decode_service_details(const JsonField& metadata, const JsonField& ports, const DecodeContext& context,
                            model::Service& out);
model::EndpointDetails decode_endpoint_details(const JsonField& entry, const DecodeContext& context);
inline bool wants_endpoint_details(const DecodeContext& context) {
  return context.details != nullptr && context.details->endpoints;
}
ApiStatus decode_status(const JsonField& root);

// The API server's rules for names. Enforced here because the names end up in chain names and rule comments.
bool is_dns_label(std::string_view text);
bool is_dns_subdomain(std::string_view text);

}  // namespace sluice::kube
