// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Types that are passed between sluiced and a backend.
//
// All types have standard layout, are trivially copyable and own nothing. A view is valid until the call that received it
// returns; the callee must copy data that it keeps.
//
// Growth. Each struct is of one of two sorts:
//   fixed    Embedded in others; never grows. Reserved bytes may get a meaning, with zero for the previous behaviour.
//   growing  Grows at the end only. A struct that is passed alone starts with `struct_size`; an array has the `stride` of
//            its elements. The reader must copy min(its own size, the given size or stride) into a zeroed local, so that
//            old and new binaries are compatible. A callee that fills a struct of the caller (ApplyResult, Error) must
//            not write beyond its `struct_size`, nor change that field. Zero in a field means the behaviour before the
//            field existed.
// Reserved members must be written as zero and must not be read.
//
// Unknown values: minor versions may add enumeration values and flag bits. Each enumeration states how its reader must
// handle an unknown value. An unknown flag may be ignored: the behaviour without it stays correct.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "The ABI of Sluice takes C++17 or later"
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::abi {

// On other machines the offsets of fields would differ. Byte order does not matter, because all data stays in one process.
static_assert(sizeof(void*) == 8 && alignof(void*) == 8 && sizeof(std::size_t) == 8 && alignof(std::uint64_t) == 8,
              "the plugin ABI of Sluice is for 64-bit machines (LP64)");

// "SLC0" as little-endian bytes: the first word of every plugin descriptor in every major version.
inline constexpr std::uint32_t kMagic = 0x30434C53;
// Must be equal in daemon and plugin.
inline constexpr std::uint16_t kMajor = 1;
// Incremented with additions. The daemon never rejects a plugin because of a different minor.
inline constexpr std::uint16_t kMinor = 1;

// Fixed. UTF-8, not NUL-terminated. `data` may be null if `size` is 0. Names are passed unchanged from the API server, so
// a backend must validate them before it passes them to other programs. The daemon replaces control characters in texts
// of a backend by spaces.
struct StringView {
  const char* data;
  std::uint64_t size;  // bytes
};
static_assert(sizeof(StringView) == 16 && offsetof(StringView, size) == 8);

// Fixed. `count` elements, `stride` bytes apart; each use names the element type. `data` may be null if `count` is 0.
// `data` must be aligned for the element type of the writer, and `stride` must be a multiple of that alignment.
struct ArrayView {
  const void* data;
  std::uint64_t count;
  std::uint32_t stride;  // bytes from one element to the next
  std::uint32_t reserved;
};
static_assert(sizeof(ArrayView) == 24 && offsetof(ArrayView, stride) == 16);

// The result of a call, which determines how the caller continues. An unknown value is treated as kInternal. In all
// headers, "kernel" includes any other data plane that the backend programs.
enum class Code : std::int32_t {
  kOk = 0,
  kRetry = 1,        // temporary failure: call again later. Backend::retire() defines its own meaning
  kNeedFull = 2,     // the state differs from the base of the request: a full transaction is required
  kInvalid = 3,      // the request or a setting is invalid; a retry cannot succeed
  kUnsupported = 4,  // not supported by this backend or kernel
  kDenied = 5,       // missing privileges
  kKernel = 6,       // the kernel, or a tool that configures it, reported an error
  kInternal = 7,     // a defect of the callee
};

// The values are the IP versions. A family without its feature in the descriptor is never passed.
enum class Family : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };
// The values are the IANA protocol numbers. A backend must report service ports of an unknown or unsupported protocol with
// Host::service_port_failed().
enum class Protocol : std::uint8_t { kTcp = 6, kUdp = 17, kSctp = 132 };

// Fixed. Network byte order. IPv4 uses the first four bytes; the others must be zero.
struct Address {
  std::uint8_t bytes[16];
};
static_assert(sizeof(Address) == 16);

// Fixed. A canonical CIDR: bits after `length` must be zero.
struct Prefix {
  Address address;
  std::uint8_t length;  // bits: 0..32 or 0..128
  std::uint8_t reserved[7];
};
static_assert(sizeof(Prefix) == 24 && offsetof(Prefix, length) == 16);

// Growing. The caller provides zeroed memory, and the callee fills it. `object` and `message` must be UTF-8 and
// NUL-terminated, truncated between two characters if too long. With kOk it is ignored.
struct Error {
  std::uint32_t struct_size;  // set by the caller
  std::int32_t os_errno;      // 0 if no system call failed
  char object[240];           // the object that failed, for example "shop/cart:http"; may be empty
  char message[520];          // one sentence: object, action, cause, remedy
};
static_assert(sizeof(Error) == 768 && offsetof(Error, object) == 8 && offsetof(Error, message) == 248);

// Since minor 1. An unknown type is treated as kText.
enum class OptionType : std::uint32_t {
  kUndeclared = 0,
  kText = 1,      // any text; create() of the plugin validates it
  kBoolean = 2,   // true or false
  kInteger = 3,   // a decimal number
  kDuration = 4,  // in Go syntax: "1m30s", "250ms", "0"
  kWord = 5,      // one of OptionSpec::words
};

// Since minor 1. Flags of an Option.
enum OptionFlag : std::uint32_t {
  kOptionDefault = 1u << 0,  // the configuration does not contain the key: the value is the declared default
};

// Growing. One flattened setting: key "a.b[0].c". Keys are unique. The value is the scalar as written, without quotes; null
// is "". Keys that begin with "ipvs." or "userspace." come from kube-proxy's document; only the backend with that id
// receives them.
struct Option {
  StringView key;
  StringView value;
  // Since minor 1. Zero for a key that the plugin does not declare in PluginEntry::options.
  OptionType value_type;  // as declared; kText if the daemon does not know the declared type
  std::uint32_t flags;    // OptionFlag
  // kBoolean: 0 or 1. kInteger: the value. kDuration: nanoseconds. kWord: the index in OptionSpec::words.
  std::int64_t number;
};
static_assert(sizeof(Option) == 48 && offsetof(Option, value) == 16 && offsetof(Option, value_type) == 32 &&
              offsetof(Option, number) == 40);

}  // namespace sluice::abi
