// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Values that may cross the boundary between sluiced and a backend.
//
// Everything here is standard layout, trivially copyable and owns nothing. A view
// is valid until the call that received it returns; whoever keeps data copies it.
//
// Growth. There are two sorts of struct, and each says which it is:
//   fixed    stand inside others and never grow. Their reserved bytes may get a meaning, whose zero is "as before".
//   growing  at the tail only. One that is passed alone starts with `struct_size`, an array carries the `stride` of its
//            elements. A reader copies min(its own size, size or stride given) into a zeroed local, so that old and new
//            binaries mix. Who fills a struct of the caller (ApplyResult, Error) writes no byte beyond its
//            `struct_size`, and not that field. Zero in a field means "as before that field existed".
// Reserved members are written as zero and not read.
//
// What is not known: values of enumerations and bits of flags are added in minors. What the reader of an enumeration
// does with one that it does not know stands with each; an unknown flag only tells more, and who passes over it does
// what was right before.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "The ABI of Sluice takes C++17 or later"
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::abi {

// Elsewhere the places of fields would differ. The order of bytes does not matter: what crosses stays in one process.
static_assert(sizeof(void*) == 8 && alignof(void*) == 8 && sizeof(std::size_t) == 8 && alignof(std::uint64_t) == 8,
              "the plugin ABI of Sluice is for 64-bit machines (LP64)");

// "SLC0" as little-endian bytes: the first word of every plugin descriptor, of every major version.
inline constexpr std::uint32_t kMagic = 0x30434C53;
// Must be equal on both sides.
inline constexpr std::uint16_t kMajor = 1;
// Counts additions; a difference is never a reason to refuse.
inline constexpr std::uint16_t kMinor = 0;

// Fixed. UTF-8, not terminated by NUL. `data` may be null when `size` is 0. Names are as the API server gave them: who
// passes them on looks at them first. Texts of a backend are shown with control characters replaced by spaces.
struct StringView {
  const char* data;
  std::uint64_t size;  // bytes
};
static_assert(sizeof(StringView) == 16 && offsetof(StringView, size) == 8);

// Fixed. `count` elements, `stride` bytes apart; the element type is named where used. `data` may be null when `count`
// is 0. It is aligned for the element as its writer knows it, and `stride` is a multiple of that alignment.
struct ArrayView {
  const void* data;
  std::uint64_t count;
  std::uint32_t stride;  // bytes from one element to the next
  std::uint32_t reserved;
};
static_assert(sizeof(ArrayView) == 24 && offsetof(ArrayView, stride) == 16);

// What the caller should do about a result. One that is not known is taken for kInternal. "Kernel" is here, and
// everywhere, also what stands for it in the data plane of the backend.
enum class Code : std::int32_t {
  kOk = 0,
  kRetry = 1,        // nothing is wrong with the request: call again later. From retire() it has its own meaning
  kNeedFull = 2,     // state differs from what the request builds on: send everything
  kInvalid = 3,      // the request or a setting is wrong; repeating it will not help
  kUnsupported = 4,  // this backend or kernel cannot do it
  kDenied = 5,       // privilege is missing
  kKernel = 6,       // the kernel, or a tool that speaks to it, refused
  kInternal = 7,     // defect in the callee
};

// Numbered as humans do. A family for which the descriptor has no feature is never passed.
enum class Family : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };
// Numbered as IANA does. A service port of one that is not known, or not served, is left out
// (Host::service_port_failed).
enum class Protocol : std::uint8_t { kTcp = 6, kUdp = 17, kSctp = 132 };

// Fixed. Network byte order. IPv4 uses the first four bytes, the rest is zero.
struct Address {
  std::uint8_t bytes[16];
};
static_assert(sizeof(Address) == 16);

// Fixed. A canonical CIDR: bits behind `length` are zero.
struct Prefix {
  Address address;
  std::uint8_t length;  // bits: 0..32 or 0..128
  std::uint8_t reserved[7];
};
static_assert(sizeof(Prefix) == 24 && offsetof(Prefix, length) == 16);

// Growing. Filled by the callee in memory of the caller, who has zeroed it. `object` and `message` are UTF-8 and
// NUL-terminated, cut between two characters where too long. With kOk nobody reads it.
struct Error {
  std::uint32_t struct_size;  // set by the caller
  std::int32_t os_errno;      // 0 when no system call was involved
  char object[240];           // what it is about, e.g. "shop/cart:http"; may be empty
  char message[520];          // one sentence: object, action, cause, remedy
};
static_assert(sizeof(Error) == 768 && offsetof(Error, object) == 8 && offsetof(Error, message) == 248);

// Growing. One setting, flattened: key "a.b[0].c". Every key comes once. The value is the scalar as it is written,
// without the quotes; null is "". Keys that begin with "ipvs." or "userspace." come from kube-proxy's own document, and
// only to the backend of that id.
struct Option {
  StringView key;
  StringView value;
};
static_assert(sizeof(Option) == 32 && offsetof(Option, value) == 16);

}  // namespace sluice::abi
