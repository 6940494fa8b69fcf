// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: built when the ABI had minor 5. Knows the structs as they were then, reads no more of what it
// is given than it knows, and has no base class that would read it for it. Says in its error what it was given.
#include <cstdio>
#include <cstring>

#include "sluice/abi/entry.hpp"

namespace {

namespace abi = sluice::abi;
using abi::Code;
using abi::Error;

// As minor 5 had it.
struct CreateArgs5 {
  std::uint32_t struct_size;
  abi::Family family;
  std::uint8_t reserved[3];
  abi::Host* host;
  abi::StringView config;
  abi::ArrayView options;
  abi::StringView state_dir;
};
static_assert(sizeof(CreateArgs5) == 72 && offsetof(CreateArgs5, state_dir) == offsetof(abi::CreateArgs, state_dir));

class Minor5 final : public abi::Backend {
 public:
  explicit Minor5(const CreateArgs5& args) : args_(args) {}

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
  const void* extension(abi::StringView) noexcept override { return nullptr; }
  void release() noexcept override { delete this; }

 private:
  const CreateArgs5 args_;
};

Code create(const abi::CreateArgs* args, abi::Backend** out, Error* error) noexcept {
  CreateArgs5 known{};
  if (args->struct_size < sizeof(known)) {
    std::snprintf(error->message, sizeof(error->message), "less than minor 5 gave");
    return Code::kInvalid;
  }
  std::memcpy(&known, args, sizeof(known));
  *out = new Minor5(known);
  return Code::kOk;
}

}  // namespace

SLUICE_PLUGIN_ENTRY = {abi::kMagic, abi::kMajor, 5, 64, 0, abi::kFeatureIpv4 | abi::kFeatureTcp | abi::kFeatureDelta,
                       abi::kHostFeatureNone, "minor5", "1.0.0", __VERSION__, &create};
