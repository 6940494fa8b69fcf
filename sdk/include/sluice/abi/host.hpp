// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon offers to a backend. Implemented by sluiced.
#pragma once

#include "sluice/abi/service.hpp"

namespace sluice::abi {

// One that is not known is taken for kInfo.
enum class Severity : std::int32_t { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };
// A value of a kind that is not known is dropped, and counted.
enum class MetricKind : std::uint32_t {
  kCounterAdd = 0,
  kGaugeSet = 1,
  kHistogramObserve = 2,
  kCounterSet = 3,  // a counter that somebody else keeps, such as the kernel: its whole value
};

// Valid from create() until release() returns. Every method may be
// called from any thread, does not block, and never calls the backend back on the
// same stack.
class Host {
 public:
  // One line, no line feed. Debug text is dropped below verbosity 4.
  virtual void log(Severity severity, StringView text) noexcept = 0;

  // Whether lines of this severity are kept now, 0 or 1: a text that nobody reads need not be made. It may change with
  // each reload. Cheap.
  virtual std::int32_t log_enabled(Severity severity) noexcept = 0;

  // Adds to, sets or observes a metric. `labels` is `name="value",…` or empty; ip_family is one of them where values
  // differ by family.
  virtual void metric(MetricKind kind, StringView name, StringView labels, double value) noexcept = 0;

  // An event for operators, as Kubernetes has them: Warning for kError and kWarning, Normal otherwise. `reason` in
  // UpperCamelCase, `note` a sentence; the daemon cuts what is longer than Kubernetes takes. `regarding`: it is about
  // the Service of this port; null: about the node. Copied.
  virtual void event(Severity severity, StringView reason, StringView note,
                     const ServicePortKey* regarding) noexcept = 0;

  // CLOCK_MONOTONIC in nanoseconds.
  virtual std::uint64_t now() noexcept = 0;

  // Asks for a full transaction soon, because kernel state was found damaged; the daemon may call verify() first.
  // Asking often is asking once.
  virtual void request_resync(StringView reason) noexcept = 0;

  // The backend cannot do its work until further notice: status and metrics say so, with the last `reason` of the
  // family. An empty reason takes it back.
  virtual void report_unhealthy(StringView reason) noexcept = 0;

  // During apply(), on the apply thread: a service port is not served, or not at all of its frontends, although apply()
  // goes on; why. To be told anew in each apply() whose transaction names it or is full. `error` null: it is served by
  // now, although this transaction does not name it. Of several reports about one the last counts. Outside apply(), and
  // with a null `key`, the report is dropped. Both are copied. While any is left out, the daemon sends transactions that
  // name them again: after a minute, then after twice as long each time, at most an hour; from the start when there are
  // others.
  virtual void service_port_failed(const ServicePortKey* key, const Error* error) noexcept = 0;

  // Further interfaces by id ("sluice.host.<name>/<revision>"); null when unknown. The same pointer each time, valid
  // until release() returns; the id names its type.
  virtual void* extension(StringView id) noexcept = 0;

 protected:
  ~Host() = default;
};

}  // namespace sluice::abi
