// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Values that may cross the boundary between sluiced and a backend.
//
// Everything here is standard layout, trivially copyable and owns nothing. A view
// is valid until the call that received it returns; whoever keeps data copies it.
// Growth: structs grow at the tail only. A struct passed alone starts with
// `struct_size`; an array carries the `stride` of its elements. A reader copies
// min(its own size, size or stride given) into a zeroed local, so old and new
// binaries mix. Zero in a field always means "as before that field existed".
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::abi {

// "SLC0" as little-endian bytes: the first word of every plugin descriptor.
inline constexpr std::uint32_t kMagic = 0x30434C53;
// Must be equal on both sides. 0 is the draft: it may change between releases.
inline constexpr std::uint16_t kMajor = 0;
// Additive only; a difference is never a reason to refuse.
inline constexpr std::uint16_t kMinor = 7;

// UTF-8 text, not terminated by NUL. `data` may be null when `size` is 0.
struct StringView {
  const char* data;
  std::uint64_t size;  // bytes
};
static_assert(sizeof(StringView) == 16 && offsetof(StringView, size) == 8);

// `count` elements, `stride` bytes apart. The element type is named where used.
struct ArrayView {
  const void* data;
  std::uint64_t count;
  std::uint32_t stride;  // bytes from one element to the next
  std::uint32_t reserved;
};
static_assert(sizeof(ArrayView) == 24 && offsetof(ArrayView, stride) == 16);

// What the caller should do about a result. Values are only ever added where
// they flow towards code with a default branch; treat an unknown one as kInternal.
enum class Code : std::int32_t {
  kOk = 0,
  kRetry = 1,        // nothing is wrong with the request: call again after the retry interval
  kNeedFull = 2,     // state differs from what the request builds on: send everything
  kInvalid = 3,      // the request or a setting is wrong; repeating it will not help
  kUnsupported = 4,  // this backend or kernel cannot do it
  kDenied = 5,       // privilege is missing
  kKernel = 6,       // the kernel, or a tool that speaks to it, refused
  kInternal = 7,     // defect in the callee
};

// IP families are numbered as humans do; protocols as IANA does (6, 17, 132).
enum class Family : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };
enum class Protocol : std::uint8_t { kTcp = 6, kUdp = 17, kSctp = 132 };

// Network byte order. IPv4 uses the first four bytes, the rest is zero.
struct Address {
  std::uint8_t bytes[16];
};
static_assert(sizeof(Address) == 16);

// A canonical CIDR: bits behind `length` are zero.
struct Prefix {
  Address address;
  std::uint8_t length;  // bits: 0..32 or 0..128
  std::uint8_t reserved[7];
};
static_assert(sizeof(Prefix) == 24 && offsetof(Prefix, length) == 16);

// Filled by the callee in memory of the caller. `object` and `message` are
// NUL-terminated, cut where too long.
struct Error {
  std::uint32_t struct_size;  // set by the caller
  std::int32_t os_errno;      // 0 when no system call was involved
  char object[240];           // what it is about, e.g. "shop/cart:http"; may be empty
  char message[520];          // one sentence: object, action, cause, remedy
};
static_assert(sizeof(Error) == 768 && offsetof(Error, object) == 8 && offsetof(Error, message) == 248);

// One setting of the backend's own configuration section, flattened:
// key "a.b[0].c", value as text.
struct Option {
  StringView key;
  StringView value;
};
static_assert(sizeof(Option) == 32 && offsetof(Option, value) == 16);

}  // namespace sluice::abi
