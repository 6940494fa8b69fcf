// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The interface of the daemon for a backend. Implemented by sluiced.
#pragma once

#include "sluice/abi/service.hpp"

namespace sluice::abi {

// An unknown value is treated as kInfo.
enum class Severity : std::int32_t { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };
// A metric of an unknown kind is dropped and counted.
enum class MetricKind : std::uint32_t {
  kCounterAdd = 0,
  kGaugeSet = 1,
  kHistogramObserve = 2,
  kCounterSet = 3,  // the total of a counter that is kept elsewhere, for example in the kernel
};

// Valid from create() until release() returns. Every method may be called from any thread, unless it says otherwise. It
// does not block, and never calls the backend on the same stack.
class Host {
 public:
  // Logs one line; `text` must not contain a newline. Debug text is dropped below verbosity 4. Text that begins with
  // "[id] " has a message id: up to 58 lower-case letters, digits and '-'. The daemon removes it from the text and
  // writes it as the key "id" of JSON lines.
  virtual void log(Severity severity, StringView text) noexcept = 0;

  // Returns 1 if lines of this severity are logged, otherwise 0, so that a backend can skip building the text. The result
  // may change with each reload. Cheap.
  virtual std::int32_t log_enabled(Severity severity) noexcept = 0;

  // Adds to, sets or observes a metric. `labels` is `name="value",…` or empty; it must contain ip_family if values differ
  // by family.
  virtual void metric(MetricKind kind, StringView name, StringView labels, double value) noexcept = 0;

  // Sends a Kubernetes event: of type Warning for kError and kWarning, otherwise Normal. `reason` must be in
  // UpperCamelCase, `note` a sentence; the daemon truncates them to the limits of Kubernetes. `regarding`: the event is
  // about the Service of this port; null: about the node. All arguments are copied.
  virtual void event(Severity severity, StringView reason, StringView note,
                     const ServicePortKey* regarding) noexcept = 0;

  // Returns CLOCK_MONOTONIC in nanoseconds.
  virtual std::uint64_t now() noexcept = 0;

  // Requests a full transaction, because the backend found drift in kernel state; the daemon may call verify() first.
  // Pending requests are merged.
  virtual void request_resync(StringView reason) noexcept = 0;

  // Reports that the backend is unhealthy until further notice. Status and metrics show the last `reason` of the family.
  // An empty reason means that the backend is healthy again.
  virtual void report_unhealthy(StringView reason) noexcept = 0;

  // Reports the reason why a service port, or some of its frontends, is not programmed, although apply() continues. Must
  // be called during apply(), on the apply thread, and again in each apply() whose transaction is full or names the
  // service port. A null `error` means that the service port is served now, although this transaction does not name it.
  // The last of several reports counts. Outside apply(), or if `key` is null, the report is dropped. Both arguments are
  // copied. While service ports are not programmed, the daemon retries them: after a minute, then with exponential
  // backoff up to an hour, which restarts when their set changes.
  virtual void service_port_failed(const ServicePortKey* key, const Error* error) noexcept = 0;

  // Returns an extension by id ("sluice.host.<name>/<revision>"), or null if the id is unknown. The id determines the
  // type of the pointer, which is the same for each call and valid until release() returns.
  virtual void* extension(StringView id) noexcept = 0;

 protected:
  ~Host() = default;
};

}  // namespace sluice::abi
