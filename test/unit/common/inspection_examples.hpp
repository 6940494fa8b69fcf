// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Service ports for the inspection tests of the backends, and their lines as one text.
#pragma once

#include <cppunit/TestAssert.h>

#include <string>
#include <vector>

#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {

struct InspectionExamples {
  static std::string text(const std::vector<std::string>& all) {
    std::string joined;
    for (const std::string& line : all) joined += line + "\n";
    return joined;
  }
  static ServiceSpec example(int number = 1) {
    ServiceSpec service;
    service.name = "svc" + std::to_string(number);
    service.cluster_ip = "172.30.0.4" + std::to_string(number);
    service.endpoints = {{"10.180.2.1", 80, false}, {"10.180.0.1", 80, true}};
    return service;
  }
  static ServiceSpec balanced() {
    ServiceSpec service = example();
    service.vips = {"1.2.3.4"};
    service.source_ranges = {"203.0.113.0/25"};
    return service;
  }
  // Removes the rules that contain `part`; at least one.
  static void erase_rules(FakeKernel& kernel, const std::string& table, const std::string& chain,
                          const std::string& part) {
    auto& rules = kernel.tables.at(table).at(chain);
    const std::size_t removed =
        std::erase_if(rules, [&](const std::string& rule) { return rule.find(part) != std::string::npos; });
    CPPUNIT_ASSERT_MESSAGE(part, removed != 0);
  }
};

}  // namespace sluice::test
