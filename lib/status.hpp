// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Errors as values: a code for the program and a sentence for the operator. Exceptions of libraries are caught in the
// file that uses the library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::lib {

enum class StatusCode {
  ok,
  invalid,      // bad input: configuration, object, request
  not_found,    // the named object does not exist
  denied,       // missing privilege or credentials
  unavailable,  // temporary, retry: network, server, lock
  expired,      // the state the request builds on is gone: list again, or do a full resync
  unsupported,  // not supported by this build, backend or kernel
  kernel,       // rejected by the kernel, or by a tool that configures it
  internal,     // a bug
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message, int os_errno = 0)
      : code_(code), os_errno_(os_errno), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::ok; }
  StatusCode code() const { return code_; }
  int os_errno() const { return os_errno_; }
  const std::string& message() const { return message_; }

  // The same error with "`what`: " before its message.
  Status prefixed(std::string_view what) const {
    if (ok()) return *this;
    return {code_, std::string(what) + ": " + message_, os_errno_};
  }

 private:
  StatusCode code_ = StatusCode::ok;
  int os_errno_ = 0;
  std::string message_;
};

inline Status invalid(std::string message) { return {StatusCode::invalid, std::move(message)}; }
inline Status not_found(std::string message) { return {StatusCode::not_found, std::move(message)}; }
inline Status unavailable(std::string message) { return {StatusCode::unavailable, std::move(message)}; }

// "action: strerror(errno)" with a code that fits the errno.
Status errno_status(std::string_view action, int os_errno);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // REQUIRES: !status.ok()
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: ok()
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // ok if there is a value.
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace sluice::lib
