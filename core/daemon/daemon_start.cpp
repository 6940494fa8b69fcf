// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How the daemon starts, and in which order its parts stop.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <tuple>

#include "core/base/log_messages.hpp"
#include "core/daemon/backend_start.hpp"
#include "core/daemon/build_info.hpp"
#include "core/daemon/daemon.hpp"
#include "core/lifecycle/holder_link.hpp"
#include "core/lifecycle/holder_process.hpp"

namespace sluice::daemon {
namespace {

// How long the shutdown waits for the service manager to store descriptors.
constexpr std::chrono::seconds kDescriptorTimeout{2};

}  // namespace

lib::Status Daemon::start() {
  reports_.start_trace().configured();
  base::log(base::message::kDaemonStarting,
            std::string("sluiced ") + kVersion + " on node " + node_name_ + ", backend " + settings_.get()->backend,
            {{"version", kVersion}, {"node", node_name_}, {"backend", settings_.get()->backend}});
  return parts_.start();
}

// Consumers stop before producers, so that no callback reaches a stopped object.
StartList Daemon::parts() {
  return StartList({
      {{}, [this] { descriptors_.stop(kDescriptorTimeout); }},
      // First, so that no later change of the file is missed. Stops with the reloads.
      {[this] { return reloads_.start_file_watch(); }, {}},
      {[this] { return state_dir_.open(); }, {}},
      // Before the backend takes kept sockets; after the lock, because the holder obeys one daemon.
      {[this] {
         use_holder();
         return lib::Status();
       },
       {}},
      // Starts with the source, and stops after all that sends to it or takes from it.
      {{}, [this] { delivery_.store().stop(); }},
      {[this] { return node_.start_address_monitor(); }, [this] { node_.stop_address_monitor(); }},
      // Before the backend, which reads some of it (BEH 11.5).
      {[this] {
         node_.apply_kernel_settings();
         return lib::Status();
       },
       {}},
      // The source lists while the backend is loaded and probed.
      {[this] {
         reports_.start_trace().prepared();
         return delivery_.start(*settings_.get());
       },
       {}},
      {[this] { return start_backend(); }, [this] { backends_.stop(); }},
      // Stops after the source, which owns its transport.
      {{}, [this] { reports_.events().stop(); }},
      {{}, [this] { delivery_.stop_source(); }},
      {[this] {
         reports_.service_health().start();
         return lib::Status();
       },
       [this] { reports_.service_health().stop(); }},
      {[this] { return servers_.start(); }, [this] { servers_.stop(); }},
      {[this] {
         reloads_.start();
         return lib::Status();
       },
       [this] { reloads_.stop(); }},
  });
}

void Daemon::use_holder() {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(settings_.get()->holder_timeout);
  const std::string path = state_dir_.holder_socket();
  descriptors_.use_holder(std::make_unique<lifecycle::HolderLink>(lifecycle::HolderLink::Options{
                              .path = path,
                              .timeout = timeout,
                              .start = [path, timeout] { return lifecycle::start_holder(path, timeout); },
                              // All processes of a container end with its process 1.
                              .may_start = ::getpid() != 1}),
                          timeout.count() > 0);
}

lib::Status Daemon::start_backend() {
  // start() reports an error of the servers after the backend has started.
  BackendStart backend(backends_, delivery_, node_, reports_.start_trace(), notifier_, clock_,
                       [this] { std::ignore = servers_.start(); });
  if (auto status = backend.run(*settings_.get()); !status.ok()) return status;
  servers_.state().set_complete();
  // Not earlier: a daemon that fails to start does not wait until its events are sent.
  reports_.starting(kVersion);
  return {};
}

}  // namespace sluice::daemon
