// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: built with an older ABI minor. It has the structs of that version, reads only their fields, and does
// not use the base class of the SDK. Its error message contains the received arguments.
#include <cstdio>
#include <cstring>

#include "sluice/abi/entry.hpp"

namespace {

namespace abi = sluice::abi;
using abi::Code;
using abi::Error;

// CreateArgs without the fields that were added later.
struct OlderCreateArgs {
  std::uint32_t struct_size;
  abi::Family family;
  std::uint8_t reserved[3];
  abi::Host* host;
  abi::ArrayView options;
  abi::StringView state_dir;
};
static_assert(sizeof(OlderCreateArgs) == 56 && offsetof(OlderCreateArgs, state_dir) == offsetof(abi::CreateArgs, state_dir));

class OlderMinor final : public abi::Backend {
 public:
  explicit OlderMinor(const OlderCreateArgs& args) : args_(args) {}

  Code probe(Error*) noexcept override { return Code::kOk; }
  Code apply(const abi::Transaction*, abi::ApplyResult*, Error*) noexcept override { return Code::kOk; }
  Code verify(Error* error) noexcept override {
    std::snprintf(error->message, sizeof(error->message), "given %u bytes, state in %.*s", args_.struct_size,
                  static_cast<int>(args_.state_dir.size), args_.state_dir.data);
    return Code::kNeedFull;
  }
  Code claims(abi::StringSink*, Error*) noexcept override { return Code::kOk; }
  Code retire(const abi::Handover*, Error*) noexcept override { return Code::kOk; }
  Code cleanup(Error*) noexcept override { return Code::kOk; }
  void* extension(abi::StringView) noexcept override { return nullptr; }
  void release() noexcept override { delete this; }

 private:
  const OlderCreateArgs args_;
};

Code create(const abi::CreateArgs* args, abi::Backend** out, Error* error) noexcept {
  OlderCreateArgs known{};
  if (args->struct_size < sizeof(known)) {
    std::snprintf(error->message, sizeof(error->message), "less than any daemon gave");
    return Code::kInvalid;
  }
  std::memcpy(&known, args, sizeof(known));
  *out = new OlderMinor(known);
  return Code::kOk;
}

}  // namespace

SLUICE_PLUGIN_ENTRY = {abi::kMagic, abi::kMajor, 0, 64, 0, abi::kFeatureIpv4 | abi::kFeatureDelta,
                       abi::kHostFeatureNone, "older_minor", "1.0.0", __VERSION__, &create, {}, {}, {}};
