// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts each document of a YAML stream to JSON. Plain scalars are typed by the YAML 1.2 core schema, quoted ones are
// strings. Like Kubernetes, rejects duplicate keys and keys that are not scalars. Merge keys are not supported.
#pragma once

#include <string>
#include <vector>

#include "lib/status.hpp"

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
  std::vector<YamlDocument> documents;  // documents before the error, without empty ones
  std::vector<YamlError> errors;        // at most one: the parser cannot continue after an error
};

YamlStream yaml_to_json(const std::string& text);

}  // namespace sluice::kube
