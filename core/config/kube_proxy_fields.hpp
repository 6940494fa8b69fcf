// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The fields of KubeProxyConfiguration v1alpha1: full name, type, and member of the draft. For documents.cpp.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "core/config/yaml_node.hpp"

namespace sluice::config {

using FieldReader = std::function<void(const ConfigNode&, Draft&)>;
using Fields = std::map<std::string_view, FieldReader>;

// By full name: "iptables.syncPeriod".
const Fields& kube_proxy_fields();

// Readers for members of the draft. Empty texts and empty lists keep the default.
namespace field_readers {

FieldReader text(Sourced<std::string> Draft::*member);
FieldReader boolean(Sourced<bool> Draft::*member);
FieldReader decimal(Sourced<double> Draft::*member);
FieldReader texts(std::vector<Sourced<std::string>> Draft::*member);
// Zero keeps the default, too.
FieldReader period(Sourced<Duration> Draft::*member);
void ignored(const ConfigNode& node, Draft& draft);

}  // namespace field_readers
}  // namespace sluice::config
