// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Values of options from flags and documents, and as text. A member's type decides how its value is read; the named
// readers are for the fields with a form of their own.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/config/flags.hpp"
#include "core/config/option.hpp"
#include "core/config/yaml_node.hpp"

namespace sluice::config {

// The option of each field of a document by name; null for apiVersion and kind.
using Fields = std::map<std::string_view, const Option*>;
const Fields& fields_of(Document document);

// Empty texts and empty lists keep the default.
void read_field(const ConfigNode& node, const Option& option, Draft& draft);
// REQUIRES: the option has a flag. An empty value is ignored, as in kube-proxy.
void apply_flag(const Flags& flags, const Option& option, Draft& draft);

// With its place; the place is empty for a default.
Sourced<Value> value_of(const Option& option, const Draft& draft);
// In Go's format, as in flags.
std::string value_text(const Value& value);
// For --help and /flagz.
std::string default_text(const Option& option);

namespace option_readers {

void read_feature_gates(const ConfigNode& map, const Option& option, Draft& draft);
void read_flush_frequency(const ConfigNode& node, const Option& option, Draft& draft);
void read_sections(const ConfigNode& map, const Option& option, Draft& draft);
void read_vmodule(const ConfigNode& list, const Option& option, Draft& draft);

}  // namespace option_readers
}  // namespace sluice::config
