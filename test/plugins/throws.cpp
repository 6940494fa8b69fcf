// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: every method throws another type; the SDK must catch the exceptions.
#include <new>
#include <stdexcept>

#include "zoo.hpp"

class Thrower final : public zoo::PlainBackend {
 public:
  using PlainBackend::PlainBackend;

 private:
  using Code = zoo::abi::Code;
  using Error = zoo::abi::Error;
  Code do_probe(Error*) override { throw std::runtime_error("from probe"); }
  Code do_apply(const zoo::abi::Transaction&, const zoo::abi::NodeFacts&, zoo::abi::ApplyResult&, Error*) override {
    throw zoo::sdk::Failure(Code::kKernel, "shop/cart:http", "from apply", 28);
  }
  Code do_verify(Error*) override { throw 42; }
  Code do_claims(zoo::abi::StringSink& sink, Error*) override {
    sink.add(zoo::sdk::view("half/a/list"));
    throw std::logic_error("from claims");
  }
  Code do_retire(const zoo::abi::Handover&, Error*) override {
    throw std::system_error(std::make_error_code(std::errc::no_such_device), "from retire");
  }
  Code do_cleanup(Error*) override { throw zoo::sdk::Failure(Code::kOk, "", "a failure that calls itself ok"); }
  void* do_extension(std::string_view) override { throw std::bad_alloc(); }
};

SLUICE_PLUGIN_ENTRY = zoo::entry("throws", &zoo::sdk::create<Thrower>);
