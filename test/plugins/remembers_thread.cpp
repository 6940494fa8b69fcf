// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: a thread_local variable has a destructor, which keeps the code mapped until the calling thread ends.
#include <string>

#include "zoo.hpp"

struct Remembered {
  ~Remembered() { text.clear(); }
  std::string text;
};
thread_local Remembered g_remembered;

class RemembersThread final : public zoo::PlainBackend {
 public:
  using PlainBackend::PlainBackend;

 private:
  zoo::abi::Code do_probe(zoo::abi::Error*) override {
    g_remembered.text += "x";
    return zoo::abi::Code::kOk;
  }
};

SLUICE_PLUGIN_ENTRY = zoo::entry("remembers_thread", &zoo::sdk::create<RemembersThread>);
