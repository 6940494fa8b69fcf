// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads the fields of the two kinds of documents. For file.cpp.
#pragma once

#include <string_view>

#include "core/config/yaml_node.hpp"

namespace sluice::config {

inline constexpr std::string_view kKubeProxyApi = "kubeproxy.config.k8s.io/v1alpha1";
inline constexpr std::string_view kKubeProxyKind = "KubeProxyConfiguration";
inline constexpr std::string_view kSluiceApi = "sluice.dev/v1alpha1";
inline constexpr std::string_view kSluiceKind = "SluiceConfiguration";

// `strict`: warnings about fields are errors.
void read_kube_proxy_document(const ConfigNode& document, bool strict, Draft& draft);
void read_sluice_document(const ConfigNode& document, Draft& draft);

}  // namespace sluice::config
