// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Memory from the other side of the ABI, as an older or newer release writes it: arrays with
// any stride, structs of any size, any texts. Each is in a block of exactly its size, so that
// the sanitizer reports reads beyond it.
#include <algorithm>
#include <cstring>
#include <memory>

#include "core/plugin/host_services.hpp"
#include "lib/clock.hpp"
#include "sluice/sdk/options.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

class Block {
 public:
  Block(Input& in, std::size_t size) : size_(size), bytes_(std::make_unique<char[]>(size)) {
    const std::string_view given = in.take(size);
    if (!given.empty()) std::memcpy(bytes_.get(), given.data(), given.size());
  }
  char* data() { return bytes_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

// The first `size` bytes of a value are those at `from`, the rest is zero.
template <class T>
bool is_copy(const T& value, const char* from, std::size_t size) {
  const char* const bytes = reinterpret_cast<const char*>(&value);
  return std::memcmp(bytes, from, size) == 0 &&
         std::all_of(bytes + size, bytes + sizeof(T), [](char c) { return c == 0; });
}

template <class T>
void read_array(Input& in) {
  const std::size_t stride = in.below(2 * sizeof(T));
  const std::size_t count = in.below(8);
  Block block(in, stride * count);
  const abi::ArrayView array{block.data(), count, static_cast<std::uint32_t>(stride), 0};
  std::size_t index = 0;
  for (const T& value : sdk::range<T>(array)) {
    FUZZ_REQUIRE(is_copy(value, block.data() + index * stride, std::min(stride, sizeof(T))),
                 "an element is what its writer knew of it, and zeros");
    ++index;
  }
  FUZZ_REQUIRE(index == (stride == 0 ? 0 : count), "all elements are met");
}

template <class T>
void read_struct(Input& in) {
  const auto size = static_cast<std::uint32_t>(sizeof(std::uint32_t) + in.below(2 * sizeof(T)));
  Block block(in, size);
  std::memcpy(block.data(), &size, sizeof size);
  T value = sdk::read(reinterpret_cast<const T*>(block.data()));
  FUZZ_REQUIRE(value.struct_size == sizeof(T), "a copy has the size of the reader");
  value.struct_size = size;
  FUZZ_REQUIRE(is_copy(value, block.data(), std::min<std::size_t>(size, sizeof(T))),
               "a copy is what its writer knew of it, and zeros");
}

abi::StringView text_of(Block& block) { return {block.size() == 0 ? nullptr : block.data(), block.size()}; }

void read_options(Input& in) {
  Block first(in, in.below(16)), second(in, in.below(16)), value(in, in.below(16));
  const abi::Option given[] = {{text_of(first), text_of(value), {}, 0, 0}, {text_of(second), text_of(first), {}, 0, 0}};
  const sdk::Options options(sdk::array(given, 2));
  FUZZ_REQUIRE(options.get(sdk::text(given[0].key)) == sdk::text(given[0].value), "the first value of a key counts");
  FUZZ_REQUIRE(options.has(sdk::text(given[1].key)), "no key is lost");
}

class ReportedText final : public plugin::HostObserver {
 public:
  void resync_requested(std::string reason) override { all += reason; }
  void health_reported(std::string reason) override { all += reason; }
  void event_reported(abi::Severity, const std::string& reason, const std::string& note,
                      const std::optional<plugin::ServicePortName>& regarding) override {
    all += reason + note;
    if (regarding) all += regarding->name_space + regarding->service + regarding->port_name;
  }
  std::string all;
};

void call_host(Input& in) {
  const lib::SteadyClock clock;
  ReportedText reported;
  plugin::HostServices host("print", &reported, nullptr, clock);
  Block text(in, in.below(32)), other(in, in.below(32));
  const abi::ServicePortKey key{text_of(other), text_of(text), text_of(other), static_cast<abi::Protocol>(in.byte()), {}};
  host.event(static_cast<abi::Severity>(in.byte()), text_of(text), text_of(other), &key);
  host.log_enabled(static_cast<abi::Severity>(in.byte()));
  host.metric(static_cast<abi::MetricKind>(in.byte()), text_of(text), text_of(other), 1);
  host.request_resync(text_of(text));
  host.report_unhealthy(text_of(other));
  host.extension(text_of(text));
  const auto size = static_cast<std::uint32_t>(sizeof(std::uint32_t) + in.below(256) * 4);
  Block error(in, size);
  std::memcpy(error.data(), &size, sizeof size);
  host.service_port_failed(&key, reinterpret_cast<const abi::Error*>(error.data()));
  for (const auto& failed : host.take_reports().failed) reported.all += failed.port.printed() + failed.message;
  FUZZ_REQUIRE(is_one_line(reported.all), "text from a plugin is reported on one line");
}

FUZZ_TARGET(abi_views) {
  Input in(input);
  switch (in.below(9)) {
    case 0: return read_array<abi::ServicePort>(in);
    case 1: return read_array<abi::Endpoint>(in);
    case 2: return read_array<abi::Frontend>(in);
    case 3: return read_array<abi::Prefix>(in);
    case 4: return read_struct<abi::Transaction>(in);
    case 5: return read_struct<abi::NodeFacts>(in);
    case 6: return read_struct<abi::Error>(in);
    case 7: return read_options(in);
    default: return call_host(in);
  }
}

}  // namespace
}  // namespace sluice::fuzz
