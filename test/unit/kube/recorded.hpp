// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Recorded responses of a real API server, with complete bodies.
#pragma once

#include <string>
#include <vector>

namespace sluice::test {

struct RecordedResponse {
  std::string name;
  int status = 0;
  std::string content_type;
  std::string content_encoding;
  std::string body;
};

// Fails if there are no recordings.
RecordedResponse recorded(const std::string& name);
std::vector<RecordedResponse> all_recorded();

}  // namespace sluice::test
