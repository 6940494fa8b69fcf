// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts failures to errors of the ABI: texts are copied into memory of the caller, and guarded() catches exceptions.
#pragma once

#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sluice/abi/types.hpp"

namespace sluice::sdk {

namespace detail {

// Copies as much as fits, NUL-terminated, without splitting a UTF-8 character.
inline void copy_text(char* to, std::size_t capacity, std::string_view from) noexcept {
  if (capacity == 0) return;
  std::size_t size = from.size() < capacity ? from.size() : capacity - 1;
  if (size < from.size()) {
    while (size > 0 && (static_cast<unsigned char>(from[size]) & 0xC0) == 0x80) --size;
  }
  if (size != 0) std::memcpy(to, from.data(), size);
  to[size] = '\0';
}

inline std::size_t capacity(const abi::Error& error, std::size_t offset, std::size_t size) noexcept {
  if (error.struct_size <= offset) return 0;
  return error.struct_size - offset < size ? error.struct_size - offset : size;
}

}  // namespace detail

// Fills `error`, which may be null. `object` names the object that failed and may be empty.
inline void set_error(abi::Error* error, std::string_view object, std::string_view message,
                      int os_errno = 0) noexcept {
  if (error == nullptr) return;
  if (error->struct_size >= offsetof(abi::Error, object)) error->os_errno = os_errno;
  detail::copy_text(error->object, detail::capacity(*error, offsetof(abi::Error, object), sizeof(error->object)),
                    object);
  detail::copy_text(error->message, detail::capacity(*error, offsetof(abi::Error, message), sizeof(error->message)),
                    message);
}

// The same, as the return statement of a method: return fail(error, Code::kKernel, …).
inline abi::Code fail(abi::Error* error, abi::Code code, std::string_view object, std::string_view message,
                      int os_errno = 0) noexcept {
  set_error(error, object, message, os_errno);
  return code;
}

inline abi::Error empty_error() noexcept {
  abi::Error error{};
  error.struct_size = sizeof(error);
  return error;
}

// An exception with the code for the daemon. Must not leave the plugin.
class Failure : public std::exception {
 public:
  Failure(abi::Code code, std::string object, std::string message, int os_errno = 0)
      : code_(code), object_(std::move(object)), message_(std::move(message)), os_errno_(os_errno) {}

  abi::Code code() const noexcept { return code_; }
  const std::string& object() const noexcept { return object_; }
  int os_errno() const noexcept { return os_errno_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  abi::Code code_;
  std::string object_;
  std::string message_;
  int os_errno_;
};

// Runs `body`, which returns a Code or nothing (kOk), and catches all exceptions. A Failure keeps its code; every other
// exception is a defect of the plugin, kInternal.
template <class F>
abi::Code guarded(abi::Error* error, F&& body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      body();
      return abi::Code::kOk;
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    set_error(error, failure.object(), failure.what(), failure.os_errno());
    return failure.code() == abi::Code::kOk ? abi::Code::kInternal : failure.code();
  } catch (const std::system_error& caught) {
    const bool system = caught.code().category() == std::system_category() ||
                        caught.code().category() == std::generic_category();
    set_error(error, {}, caught.what(), system ? caught.code().value() : 0);
  } catch (const std::exception& caught) {
    set_error(error, {}, caught.what());
  } catch (...) {
    set_error(error, {}, "an exception of unknown type");
  }
  return abi::Code::kInternal;
}

}  // namespace sluice::sdk
