// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Base64 with padding, as kubeconfigs and HTTP use it.
#pragma once

#include <string>

#include "lib/status.hpp"

namespace sluice::kube {

std::string base64_encode(const std::string& bytes);
// Fails unless `text` is base64. White space is skipped.
lib::Result<std::string> base64_decode(const std::string& text);

}  // namespace sluice::kube
