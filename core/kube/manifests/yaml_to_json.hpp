// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A YAML stream as one JSON text a document. Plain scalars are typed by the core
// schema of YAML 1.2, quoted ones are texts. What Kubernetes' own reader refuses is
// refused: duplicate keys, keys that are no scalars; merge keys are not offered.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.hpp"

namespace sluice::kube {

struct YamlDocument {
  int number = 0;  // from 1; empty documents count
  int line = 0;    // from 1
  std::string json;
};

struct YamlError {
  int document = 0;
  int line = 0;
  std::string problem;
};

struct YamlStream {
  std::vector<YamlDocument> documents;  // those in front of the error, without empty ones
  std::vector<YamlError> errors;        // at most one: a broken stream cannot be read on
};

YamlStream yaml_to_json(const std::string& text);

}  // namespace sluice::kube
