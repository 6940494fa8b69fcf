// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What BackendHandle passes to abi::InspectionRows for each kind of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/host_services.hpp"
#include "core/plugin/inspected_frontend.hpp"
#include "core/plugin/inspected_rows.hpp"
#include "sluice/sdk/inspection.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {

inline constexpr const char* kNoMemoryForInspection = "out of memory while inspecting the kernel";

// Copies the rows of an inspection, and refuses more than `most` of them, because an incomplete answer
// misleads.
template <class Row>
class RowSink : public abi::InspectionSink {
 public:
  RowSink(abi::Family family, std::size_t most) : family_(family), most_(most) {}
  std::int32_t add(abi::ArrayView rows) noexcept final {
    try {
      for (const Row& row : sdk::range<Row>(rows)) {
        if (count_ == most_) {
          problem_ = "more than " + std::to_string(most_) + " rows are too many to list; ask for one Service";
          return 0;
        }
        if (keep(row)) ++count_;
      }
      return 1;
    } catch (...) {
      problem_ = kNoMemoryForInspection;
      return 0;
    }
  }
  const std::string& problem() const { return problem_; }

 protected:
  ~RowSink() = default;
  abi::Family family() const { return family_; }

 private:
  // Whether the row is in the answer.
  virtual bool keep(const Row& row) = 0;

  const abi::Family family_;
  const std::size_t most_;
  std::size_t count_ = 0;
  std::string problem_;
};

// Frontends, as text and on request as copies.
class FrontendRows final : public RowSink<abi::InspectedFrontend> {
 public:
  FrontendRows(abi::Family family, bool copies) : RowSink(family, kMost), copies_(copies) {}
  std::vector<std::string> take_lines() { return std::move(lines_); }
  std::vector<InspectedFrontend> take_rows() { return std::move(rows_); }

 private:
  static constexpr std::size_t kMost = 500'000;

  bool keep(const abi::InspectedFrontend& row) override {
    lines_.push_back(one_line(sdk::inspection_line(row, family())));
    if (copies_) rows_.push_back(copy(row, family()));
    return true;
  }

  const bool copies_;
  std::vector<std::string> lines_;
  std::vector<InspectedFrontend> rows_;
};

// Rows with a key, selected by it.
template <class Row, class Copy>
class KeyedRows final : public RowSink<Row> {
 public:
  KeyedRows(abi::Family family, const std::function<bool(const InspectedKey&)>& wants)
      : RowSink<Row>(family, kMost), wants_(wants) {}
  std::vector<Copy> take() { return std::move(rows_); }

 private:
  static constexpr std::size_t kMost = 20'000;

  bool keep(const Row& row) override {
    Copy made = copy(row, this->family());
    if (wants_ && !wants_(made.key)) return false;
    rows_.push_back(std::move(made));
    return true;
  }

  const std::function<bool(const InspectedKey&)>& wants_;
  std::vector<Copy> rows_;
};

class StepRows final : public RowSink<abi::InspectedStep> {
 public:
  explicit StepRows(abi::Family family) : RowSink(family, kMost) {}
  std::vector<InspectedStep> take() { return std::move(rows_); }

 private:
  static constexpr std::size_t kMost = 1'000;

  bool keep(const abi::InspectedStep& row) override {
    rows_.push_back(copy(row, family()));
    return true;
  }

  std::vector<InspectedStep> rows_;
};

// Whether exactly the last step has a verdict, and a known one.
inline bool has_one_verdict(const std::vector<InspectedStep>& steps) {
  const auto first = std::find_if(steps.begin(), steps.end(), [](const InspectedStep& step) {
    return step.verdict != abi::InspectedVerdict::kContinues;
  });
  return first != steps.end() && first + 1 == steps.end() && first->verdict <= abi::InspectedVerdict::kNotProxied;
}

}  // namespace sluice::plugin
