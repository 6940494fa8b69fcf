// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The extensions of a backend, as base classes beside sdk::BackendBase: the do_… methods may throw.
#pragma once

#include "plugins/common/inspection/rows.hpp"
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
      const std::string_view name = sdk::text(wanted.name);
      switch (wanted.kind) {
        case abi::InspectionKind::kInspectFrontends:
          return answer(name).deliver(*sink);
        case abi::InspectionKind::kInspectCounters: {
          inspection::CounterRows rows(name);
          do_count(rows);
          return rows.deliver(*sink);
        }
        case abi::InspectionKind::kInspectDrift: {
          inspection::DriftRows rows(name);
          do_find_drift(rows);
          return rows.deliver(*sink);
        }
        case abi::InspectionKind::kInspectExplanation: {
          if (wanted.packet == nullptr) throw sdk::Failure(abi::Code::kInvalid, {}, "an explanation needs a packet");
          inspection::Explanation steps(packet(sdk::read(wanted.packet)));
          do_explain(steps);
          return steps.deliver(*sink);
        }
      }
      throw sdk::Failure(abi::Code::kUnsupported, {}, "this kind of inspection is not supported");
    });
  }

 protected:
  explicit InspectionBase(abi::Family family) : inspected_family_(family) {}
  ~InspectionBase() = default;

  // All read the kernel and change nothing. They throw sdk::Failure.
  virtual void do_inspect(inspection::Answer& answer) = 0;
  virtual void do_count(inspection::CounterRows& rows) = 0;
  virtual void do_find_drift(inspection::DriftRows& rows) = 0;
  virtual void do_explain(inspection::Explanation& steps) = 0;
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
  inspection::Packet packet(const abi::InspectedPacket& from) const {
    return {inspected_family_,
            from.client,
            from.address,
            from.port,
            from.protocol,
            (from.flags & abi::kPacketOfNode) != 0,
            (from.flags & abi::kPacketOfPod) != 0};
  }

  const abi::Family inspected_family_;
};

}  // namespace sluice::common
