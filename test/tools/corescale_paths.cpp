// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "corescale_paths.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "core/kube/watch/answer_reader.hpp"
#include "corescale_objects.hpp"
#include "corescale_rig.hpp"

namespace corescale {
namespace {

namespace kube = sluice::kube;
namespace lib = sluice::lib;
namespace model = sluice::model;

constexpr std::size_t kChanges = 10;
constexpr std::size_t kCountedShorter = 10;  // how much smaller the sizes are while instructions are counted
constexpr std::size_t kChunk = 16'384;  // bytes of a body that arrive at once

template <class Work>
Phase phase(std::string name, Work&& work) {
  settle_heap();  // so that no phase pays for what an earlier one has freed
  const Meter meter;
  work();
  return {std::move(name), meter.read()};
}

std::vector<Phase> whole_life(const Shape& shape) {
  const Objects objects(shape);
  Rig rig(shape);
  std::vector<Phase> out;
  out.push_back(phase("first full transaction", [&] {
    rig.list(objects);
    rig.take(true);
  }));
  out.push_back(phase("change of one endpoint", [&] {
    for (std::size_t i = 0; i < kChanges; ++i) {
      rig.deliver(model::Upsert{objects.slice(shape.services / 2, 0, i % 2 == 0)});
      rig.take(false);
    }
  }));
  out.push_back(phase("full resync", [&] { rig.take(true); }));
  out.push_back(phase("list without a change", [&] {
    rig.list(objects);
    rig.take(false);
  }));
  out.push_back(phase("removal of everything", [&] {
    rig.remove(objects);
    rig.take(false);
  }));
  rig.list(objects);
  rig.take(false);
  out.push_back(phase("empty list", [&] {
    rig.list_nothing();
    rig.take(false);
  }));
  return out;
}

std::vector<Phase> decoding(std::size_t endpoints, kube::Encoding encoding) {
  const Objects objects({.endpoints = endpoints});
  const std::string body = objects.slice_list(encoding);
  return {phase("list of slices", [&] {
    kube::Decoder decoder;
    std::size_t decoded = 0;
    kube::ListReader reader(
        decoder, model::ResourceKind::endpoint_slice, [] {},
        [&](kube::Decoded one) {
          const auto* const object = std::get_if<kube::Object>(&one.result);
          if (object == nullptr) throw std::runtime_error("a slice is not decoded");
          decoded += std::get<model::EndpointSlice>(*object).endpoints.size();
          return lib::Status();
        });
    const std::string type(encoding == kube::Encoding::json ? kube::kJsonType : kube::kProtobufType);
    bool good = reader.on_head({200, type, {}}).ok();
    for (std::string_view rest = body; good && !rest.empty(); rest.remove_prefix(std::min(kChunk, rest.size()))) {
      good = reader.on_body(rest.substr(0, kChunk)).ok();
    }
    if (!good || !reader.finish() || decoded != endpoints) throw std::runtime_error("the list is not decoded");
  })};
}

}  // namespace

std::vector<Path> core_paths(bool full, bool counted) {
  const auto sizes = [&](std::size_t largest, std::size_t shorter) {
    if (!full) largest /= shorter;
    if (counted) largest /= kCountedShorter;
    return std::vector<std::size_t>{largest / 4, largest / 2, largest};
  };
  const std::size_t services = (full ? 5000 : 1000) / (counted ? kCountedShorter : 1);
  return {
      {"endpoints of one Service",
       sizes(50'000, 1),
       [](std::size_t size) { return whole_life({.endpoints = size}); },
       {"endpoint", 120, 160}},
      {"endpoints of many Services",
       sizes(250'000, 5),
       [services](std::size_t size) { return whole_life({.services = services, .endpoints = size}); },
       {"endpoint", 120, 160}},
      {"Services of one namespace",
       sizes(100'000, 4),
       [](std::size_t size) { return whole_life({.services = size, .endpoints = size, .of_namespace = size}); },
       {"Service", 1700, 2000}},
      {"Services with 10 endpoints",
       sizes(10'000, 1),
       [](std::size_t size) { return whole_life({.services = size, .endpoints = 10 * size}); },
       {"Service", 2200, 2800}},
      {"Services with details",
       sizes(10'000, 1),
       [](std::size_t size) { return whole_life({.services = size, .endpoints = size, .details = true}); },
       {"Service", 2800, 3500}},
      {"Services with 10 endpoints and details",
       sizes(10'000, 1),
       [](std::size_t size) { return whole_life({.services = size, .endpoints = 10 * size, .details = true}); },
       {"Service", 5700, 7100}},
      {"Services with the same external IP",
       sizes(40'000, 4),
       [](std::size_t size) { return whole_life({.services = size, .endpoints = size, .same_external = true}); },
       {"Service", 0, 0}},
      {"UDP endpoints of one Service with a health check",
       sizes(50'000, 1),
       [](std::size_t size) {
         return whole_life({.endpoints = size, .protocol = model::Protocol::udp, .health_check = true});
       },
       {"endpoint", 0, 0}},
      {"ports of one Service with a health check",
       sizes(20'000, 1),
       [](std::size_t size) { return whole_life({.endpoints = 1, .ports = size, .health_check = true}); },
       {"port", 0, 0}},
      {"JSON",
       sizes(50'000, 2),
       [](std::size_t size) { return decoding(size, kube::Encoding::json); },
       {"endpoint", 0, 0}},
      {"protobuf",
       sizes(50'000, 2),
       [](std::size_t size) { return decoding(size, kube::Encoding::protobuf); },
       {"endpoint", 0, 0}},
  };
}

std::vector<Path> known_paths() {
  const std::vector<std::size_t> sizes{2000, 4000, 8000};
  const auto searched = [](std::size_t size) {
    return std::vector{phase("search of a list for each of its elements", [&] {
      std::vector<std::size_t> list;
      for (std::size_t i = 0; i < size; ++i) {
        if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
      }
    })};
  };
  const auto copied = [](std::size_t size) {
    return std::vector{phase("copy of all for each", [&] {
      std::vector<char> all;
      for (std::size_t i = 0; i < size; ++i) {
        all.push_back('x');
        all = std::vector<char>(all);
      }
    })};
  };
  const auto filled = [](std::size_t size) {
    return std::vector{phase("one block for each", [&] {
      std::vector<std::string> all;
      for (std::size_t i = 0; i < size; ++i) all.emplace_back(100, 'x');
    })};
  };
  return {{"quadratic in time", sizes, searched, {}},
          {"quadratic in allocated bytes", sizes, copied, {}},
          {"linear", sizes, filled, {}}};
}

}  // namespace corescale
