// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Told of every request to the API server. Any thread; must return at once.
#pragma once

#include <string_view>

namespace sluice::kube {

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // `host` is "10.0.0.1:6443". `status` is 0 where no answer came. `seconds` until the
  // body was there, or the head of a watch.
  virtual void answered(std::string_view host, std::string_view method, int status, double seconds) = 0;
  // A request waited for the client's own limit, perhaps not at all.
  virtual void waited(std::string_view host, std::string_view method, double seconds) = 0;
};

}  // namespace sluice::kube
