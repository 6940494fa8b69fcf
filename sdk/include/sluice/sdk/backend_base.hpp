// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The base class of a backend. It catches exceptions, reads structs by their size, and deletes the object in release().
// An author overrides the do_… methods, which may throw (Failure for a specific code), or fill `error` and return a code.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "sluice/abi/entry.hpp"
#include "sluice/sdk/deadline.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/logger.hpp"
#include "sluice/sdk/metrics.hpp"
#include "sluice/sdk/options.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

class BackendBase : public abi::Backend {
 public:
  BackendBase(const BackendBase&) = delete;
  BackendBase& operator=(const BackendBase&) = delete;

  abi::Code probe(abi::Error* error) noexcept final {
    return guarded(error, [&] { return do_probe(error); });
  }
  abi::Code apply(const abi::Transaction* transaction, abi::ApplyResult* result, abi::Error* error) noexcept final {
    abi::ApplyResult filled{};
    filled.struct_size = sizeof(filled);
    const abi::Code code = guarded(error, [&] {
      const abi::Transaction given = read(transaction);
      const abi::NodeFacts node = read(given.node);
      deadline_ = Deadline(given, *host_);
      return do_apply(given, node, filled, error);
    });
    deadline_ = Deadline();
    if (result != nullptr) {
      filled.struct_size = result->struct_size < sizeof(filled) ? result->struct_size : sizeof(filled);
      const std::uint32_t size_of_caller = result->struct_size;
      std::memcpy(static_cast<void*>(result), &filled, filled.struct_size);
      result->struct_size = size_of_caller;
    }
    return code;
  }
  abi::Code verify(abi::Error* error) noexcept final {
    return guarded(error, [&] { return do_verify(error); });
  }
  abi::Code claims(abi::StringSink* sink, abi::Error* error) noexcept final {
    return guarded(error, [&] { return do_claims(*sink, error); });
  }
  abi::Code retire(const abi::Handover* handover, abi::Error* error) noexcept final {
    return guarded(error, [&] { return do_retire(read(handover), error); });
  }
  abi::Code cleanup(abi::Error* error) noexcept final {
    return guarded(error, [&] { return do_cleanup(error); });
  }
  void* extension(abi::StringView id) noexcept final {
    void* found = nullptr;
    guarded(nullptr, [&] { found = do_extension(text(id)); });
    return found;
  }
  void release() noexcept final { delete this; }

 protected:
  explicit BackendBase(const abi::CreateArgs& args)
      : family_(args.family), host_(args.host), log_(args.host), metrics_(args.host, args.family) {}
  // Must join threads and close descriptors, and keep kernel state.
  virtual ~BackendBase() = default;

  virtual abi::Code do_probe(abi::Error* error) = 0;
  // `transaction` and `node` are copies. Their views are valid during the call. A call that may be long should call
  // deadline().check() between its steps.
  virtual abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node,
                             abi::ApplyResult& result, abi::Error* error) = 0;
  virtual abi::Code do_verify(abi::Error* error) = 0;
  virtual abi::Code do_claims(abi::StringSink& sink, abi::Error* error) = 0;
  virtual abi::Code do_retire(const abi::Handover& handover, abi::Error* error) = 0;
  virtual abi::Code do_cleanup(abi::Error* error) = 0;
  // Must return a pointer to the interface of `id`, not to the class that implements it.
  virtual void* do_extension(std::string_view) { return nullptr; }

  abi::Family family() const noexcept { return family_; }
  abi::Host& host() const noexcept { return *host_; }
  const Logger& log() const noexcept { return log_; }
  // Of the apply() in progress; otherwise without a limit. The reference is always the same.
  const Deadline& deadline() const noexcept { return deadline_; }
  const Metrics& metrics() const noexcept { return metrics_; }

 private:
  abi::Family family_;
  abi::Host* host_;
  Logger log_;
  Deadline deadline_;
  Metrics metrics_;
};

// Whether another backend serves the family until the first apply() (abi::kCreatePredecessorServes). `args` must be those
// that create() below passes, in which the flag is not set if the daemon does not know it.
inline bool predecessor_serves(const abi::CreateArgs& args) noexcept {
  return (args.flags & abi::kCreatePredecessorServes) != 0;
}

// Implements PluginEntry::create for a class whose constructor takes const CreateArgs&. An exception of the constructor
// becomes the error of create().
template <class B>
abi::Code create(const abi::CreateArgs* args, abi::Backend** out, abi::Error* error) noexcept {
  *out = nullptr;
  return guarded(error, [&] { *out = std::make_unique<B>(read(args)).release(); });
}

}  // namespace sluice::sdk
