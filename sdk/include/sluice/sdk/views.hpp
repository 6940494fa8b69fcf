// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads and creates views of the ABI. Views do not own their data.
#pragma once

#include <cstring>
#include <iterator>
#include <string_view>

#include "sluice/abi/types.hpp"

namespace sluice::sdk {

inline std::string_view text(abi::StringView v) noexcept {
  return v.data == nullptr ? std::string_view() : std::string_view(v.data, v.size);
}

constexpr abi::StringView view(std::string_view s) noexcept { return abi::StringView{s.data(), s.size()}; }

// Copies a struct that starts with `struct_size`. Fields that an older writer does not have are zero; fields that a newer
// writer added are dropped.
template <class T>
T read(const T* from) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T copy{};
  if (from == nullptr) return copy;
  const std::size_t size = from->struct_size < sizeof(T) ? from->struct_size : sizeof(T);
  std::memcpy(&copy, static_cast<const void*>(from), size);
  copy.struct_size = sizeof(T);
  return copy;
}

// The elements of an array as copies. It uses the stride of the writer, so that elements may be shorter or longer than
// this T.
template <class T>
class Range {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = T;

    iterator() = default;
    iterator(const Range* range, std::size_t index) noexcept : at_(range->at_), index_(index) {}
    T operator*() const noexcept { return load(at_, index_); }
    iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.index_ == b.index_; }
    friend bool operator!=(const iterator& a, const iterator& b) noexcept { return a.index_ != b.index_; }

   private:
    abi::ArrayView at_{};
    std::size_t index_ = 0;
  };

  explicit Range(const abi::ArrayView& array) noexcept : at_(array) {
    if (at_.data == nullptr || at_.stride == 0) at_.count = 0;
  }

  std::size_t size() const noexcept { return static_cast<std::size_t>(at_.count); }
  bool empty() const noexcept { return at_.count == 0; }
  // REQUIRES: index < size()
  T operator[](std::size_t index) const noexcept { return load(at_, index); }
  iterator begin() const noexcept { return iterator(this, 0); }
  iterator end() const noexcept { return iterator(this, size()); }

 private:
  static T load(const abi::ArrayView& array, std::size_t index) noexcept {
    T value{};
    const char* from = static_cast<const char*>(array.data) + index * array.stride;
    std::memcpy(&value, from, array.stride < sizeof(T) ? array.stride : sizeof(T));
    return value;
  }

  abi::ArrayView at_;
};

template <class T>
Range<T> range(const abi::ArrayView& array) noexcept {
  return Range<T>(array);
}

template <class T>
constexpr abi::ArrayView array(const T* data, std::size_t count) noexcept {
  return abi::ArrayView{data, count, static_cast<std::uint32_t>(sizeof(T)), 0};
}

// All elements of an array, which must live as long as the view is used.
template <class T, std::size_t N>
constexpr abi::ArrayView array(const T (&all)[N]) noexcept {
  return array(all, N);
}

}  // namespace sluice::sdk
