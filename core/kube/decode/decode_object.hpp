// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Between decode.cpp and the decoders of the kinds; nobody else includes this.
#pragma once

#include "core/kube/decode/decode.hpp"
#include "core/kube/decode/json_field.hpp"
#include "core/kube/decode/text.hpp"

namespace sluice::kube {

struct DecodeContext {
  const model::ObjectName& name;
  bool apply_server_defaults;
  std::vector<std::string>& notes;

  // Something of the object is left out.
  void note(const JsonField& field, const std::string& why) const { notes.push_back(field.path() + ": " + why); }
};

using KindResult = std::variant<Object, Ignored, Slices>;

// What is wrong is told through the field's sticky error, which makes the result void.
KindResult decode_service(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_endpoint_slice(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_endpoints(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_node(const JsonField& root, const JsonField& metadata, const DecodeContext& context);
KindResult decode_service_cidr(const JsonField& root, const DecodeContext& context);
// Absent when the port cannot be used; why, where that is worth saying, is a note.
std::optional<model::SlicePort> decode_slice_port(const JsonField& entry, const DecodeContext& context,
                                                  bool name_is_optional);
// Absent, with a note, if an endpoint cannot have this address in this family.
std::optional<base::IpAddress> read_endpoint_address(const JsonField& field, std::optional<base::Family> family,
                                                     const DecodeContext& context);
ApiStatus decode_status(const JsonField& root);

// The rules the API server has for names. They end up in the names of chains and in
// comments of rules, so nothing else may pass.
bool is_dns_label(std::string_view text);
bool is_dns_subdomain(std::string_view text);

}  // namespace sluice::kube
