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

class InspectionBase : public abi::Inspection {
 public:
  abi::Code services(abi::StringView name, abi::StringSink* lines, abi::Error* error) noexcept final {
    return sdk::guarded(error, [&] {
      inspection::Answer answer(sdk::text(name));
      do_inspect(answer);
      answer.deliver(*lines);
    });
  }

 protected:
  ~InspectionBase() = default;

  virtual void do_inspect(inspection::Answer& answer) = 0;
};

}  // namespace sluice::common
