// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The pages /statusz and /flagz, as in Kubernetes components (BEH 10.3): text by default, or JSON for a client that
// names the kind and its version in Accept. Pure.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/observe/http/http_message.hpp"

namespace sluice::observe {

struct StatusPage {
  std::chrono::system_clock::time_point started;  // of the process
  std::chrono::system_clock::time_point now;
  std::string version;             // of this build
  std::string emulation_version;   // of Kubernetes, "1.36"
  std::vector<std::string> paths;  // in order
};

// `accept` is the header of the request. Answers 406 if it accepts neither form.
HttpResponse statusz(const StatusPage& page, const std::string& accept);
HttpResponse flagz(const std::map<std::string, std::string>& flags, const std::string& accept);

}  // namespace sluice::observe
