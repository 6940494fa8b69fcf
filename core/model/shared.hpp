// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An immutable value that copies of an object share, or none. Two compare equal if their values do.
#pragma once

#include <memory>
#include <utility>

namespace sluice::model {

template <class T>
class Shared {
 public:
  Shared() = default;  // none
  explicit Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}

  explicit operator bool() const { return value_ != nullptr; }
  const T* get() const { return value_.get(); }
  const T& operator*() const { return *value_; }  // REQUIRES: there is a value
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.value_ == b.value_ || (a.value_ && b.value_ && *a.value_ == *b.value_);
  }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace sluice::model
