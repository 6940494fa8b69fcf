// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The extensions of a backend, as base classes beside sdk::BackendBase: the do_… methods may throw.
#pragma once

#include "plugins/common/inspection/service_line.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/abi/preparation.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::common {

class PreparationBase : public abi::Preparation {
 public:
  abi::Code prepare(const abi::NodeFacts* node, abi::Error* error) noexcept final {
    return sdk::guarded(error, [&] { do_prepare(sdk::read(node)); });
  }

 protected:
  ~PreparationBase() = default;

  virtual void do_prepare(const abi::NodeFacts& node) = 0;
};

class AffinityBase : public abi::Affinity {
 public:
  abi::Code export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept final {
    return sdk::guarded(error, [&] { do_export(*sink); });
  }
  abi::Code import_clients(abi::ArrayView clients, abi::Error* error) noexcept final {
    return sdk::guarded(error, [&] { do_import(clients); });
  }

 protected:
  ~AffinityBase() = default;

  virtual void do_export(abi::AffinitySink& sink) = 0;
  virtual void do_import(const abi::ArrayView& clients) = 0;
};

class InspectionBase : public abi::Inspection, public abi::InspectionRows {
 public:
  abi::Code services(abi::StringView name, abi::StringSink* lines, abi::Error* error) noexcept final {
    return sdk::guarded(error, [&] { answer(sdk::text(name)).deliver(*lines); });
  }
  abi::Code inspect(const abi::InspectionQuery* query, abi::InspectionSink* sink, abi::Error* error) noexcept final {
    return sdk::guarded(error, [&] {
      const abi::InspectionQuery wanted = sdk::read(query);
      if (wanted.kind != abi::InspectionKind::kInspectFrontends) {
        throw sdk::Failure(abi::Code::kUnsupported, {}, "this kind of inspection is not supported");
      }
      answer(sdk::text(wanted.name)).deliver(*sink);
    });
  }

 protected:
  explicit InspectionBase(abi::Family family) : inspected_family_(family) {}
  ~InspectionBase() = default;

  virtual void do_inspect(inspection::Answer& answer) = 0;
  // Null for the id of another extension.
  void* inspection_extension(std::string_view id) {
    if (id == abi::kInspection) return static_cast<abi::Inspection*>(this);
    return id == abi::kInspectionRows ? static_cast<abi::InspectionRows*>(this) : nullptr;
  }

 private:
  inspection::Answer answer(std::string_view name) {
    inspection::Answer made(name, inspected_family_);
    do_inspect(made);
    return made;
  }

  const abi::Family inspected_family_;
};

}  // namespace sluice::common
