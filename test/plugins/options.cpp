// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: declares an option of each type, one that takes effect at a start only, and one of a type that this
// daemon does not know. create() rejects long names, and names with loud. probe() logs the received options. With
// BAD_OPTIONS the table has a mistake.
#include "zoo.hpp"

namespace {

namespace abi = zoo::abi;
namespace sdk = zoo::sdk;
namespace option = sdk::option;
using namespace std::chrono_literals;

#ifdef BAD_OPTIONS
constexpr const char* kDefaultThreads = "65";
constexpr const char* kName = "bad_options";
#else
constexpr const char* kDefaultThreads = "4";
constexpr const char* kName = "options";
#endif

constexpr abi::OptionSpec of_newer_type(abi::OptionSpec spec) {
  spec.value_type = static_cast<abi::OptionType>(99);
  return spec;
}

constexpr abi::OptionSpec kOptions[] = {
    option::word("colour", "green", "red|green|blue", "The colour."),
    of_newer_type(option::text("future", "soon", "", "Of a newer type.")),
    option::boolean("loud", "false", "Whether it is loud."),
    option::list(3, option::text("names[]", "a, b", "a letter", "Some names.")),
    option::duration("pause", "1m30s", 1ms, 24h, "The pause."),
    option::restart(option::integer("threads", kDefaultThreads, 1, 64, "threads", "The threads.")),
};

class WithOptions final : public zoo::PlainBackend {
 public:
  explicit WithOptions(const abi::CreateArgs& args) : PlainBackend(args), options_(args.options, sdk::array(kOptions)) {
    for (const abi::Option& one : sdk::range<abi::Option>(args.options)) {
      received_ += " " + std::string(sdk::text(one.key)) + "=" + std::string(sdk::text(one.value)) + "/" +
                   std::to_string(static_cast<unsigned>(one.value_type)) + "/" + std::to_string(one.number) +
                   (one.flags == abi::kOptionDefault ? "/default" : "");
    }
    for (const sdk::OptionValue& name : options_.list("names")) {
      if (name.text.size() != 1) options_.reject(name);
    }
    if (options_.boolean("loud") && options_.has("names[0]")) {
      throw sdk::Failure(abi::Code::kInvalid, "names", "cannot be combined with loud: true; remove one of them");
    }
  }

 private:
  abi::Code do_probe(abi::Error*) override {
    log().info("received" + received_ + ", threads " + std::to_string(options_.integer("threads")));
    return abi::Code::kOk;
  }

  const sdk::Options options_;
  std::string received_;
};

}  // namespace

SLUICE_PLUGIN_ENTRY = zoo::entry(kName, &sdk::create<WithOptions>, sdk::array(kOptions));
