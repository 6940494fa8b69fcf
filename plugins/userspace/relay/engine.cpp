// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/engine.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <latch>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "lib/mutex.hpp"
#include "lib/signals_blocked.hpp"
#include "plugins/userspace/relay/drain_process.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/relay/tcp_relay.hpp"
#include "plugins/userspace/relay/udp_relay.hpp"

namespace sluice::userspace {
namespace {

// Threads that share one listening socket. If all threads did, 10,000 Services on 64 processors would need 640,000
// epoll registrations, and one Service rarely keeps so many threads busy; connections are passed to idle threads in any
// case.
constexpr unsigned kWatchers = 4;

unsigned processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
  return std::max(std::thread::hardware_concurrency(), 1U);
}

struct Worker {
  Worker(TcpShared& shared, std::size_t udp_clients, ThreadStatistics& statistics, unsigned number)
      : client_sockets(number),
        tcp(loop, shared, client_sockets, statistics, number),
        udp(loop, shared.settings, udp_clients, statistics, number, &client_sockets) {}

  EventLoop loop;
  ClientSockets client_sockets;
  TcpRelay tcp;
  UdpRelay udp;
  std::thread thread;
};

// Runs `work` on the thread of the loop. Exceptions must not leave it, so a lack of memory is reported as a shortage.
template <class Work>
void post_watch(Worker& worker, TcpConditions& conditions, Work work) {
  worker.loop.post([&conditions, work = std::move(work)] {
    int error = ENOMEM;
    try {
      error = work();
    } catch (const std::bad_alloc&) {
    }
    if (error != 0) conditions.begins(TcpShortage::kWatch, error);
  });
}

struct Serving {
  ListenerPtr listener;
  std::vector<Worker*> workers;
  std::vector<int> descriptors;
};

}  // namespace

struct Engine::State {
  explicit State(const RelaySettings& settings) : shared(settings) {}

  void start();
  void stop_threads() noexcept;
  void restart();
  // False: the connections remain here.
  bool drain() noexcept;
  std::size_t connections() const noexcept;
  // `count` adjacent workers, from a different start for each serving.
  std::vector<Worker*> pick_workers(ServingId id, std::size_t count) const;
  // Returns when all work posted before is done.
  void wait_for_posted();

  TcpShared shared;
  std::atomic<bool> continues{false};
  std::vector<std::unique_ptr<ThreadStatistics>> statistics;
  std::vector<std::unique_ptr<Worker>> workers;
  lib::Mutex mutex;
  ServingId last_id SLUICE_GUARDED_BY(mutex) = 0;
  std::unordered_map<ServingId, Serving> servings SLUICE_GUARDED_BY(mutex);
  // TCP: the number of servings of a listener.
  std::unordered_map<const Listener*, unsigned> sockets_of SLUICE_GUARDED_BY(mutex);
};

Engine::Engine(const RelaySettings& settings) : state_(std::make_unique<State>(settings)) {
  const unsigned count = settings.threads != 0 ? settings.threads : processors();
  const std::size_t clients = std::max<std::size_t>((settings.max_udp_clients + count - 1) / count, 1);
  for (unsigned i = 0; i < count; ++i) {
    state_->statistics.push_back(std::make_unique<ThreadStatistics>());
    state_->workers.push_back(std::make_unique<Worker>(state_->shared, clients, *state_->statistics.back(), i));
    state_->shared.relays.push_back(&state_->workers.back()->tcp);
  }
  state_->start();
}

Engine::~Engine() {
  state_->stop_threads();
  if (!state_->continues || !state_->drain()) return;
  // The other process has these connections now. Their destructors would reset them there, too. Reachable, for tools
  // that search for leaks.
  static std::vector<State*>& drained = *new std::vector<State*>();
  drained.push_back(state_.release());
}

void Engine::continue_at_end() { state_->continues = true; }

bool Engine::State::drain() noexcept {
  try {
    DrainWork work{{}, [this] { restart(); }, [this] { return connections() == 0; }, shared.settings.stop_drain};
    for (const auto& worker : workers) worker->tcp.add_descriptors(work.sockets);
    return !work.sockets.empty() && drain_in_new_process(work);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Engine::State::restart() {
  for (auto& worker : workers) worker->loop.rearm();
  start();
}

std::size_t Engine::State::connections() const noexcept {
  std::size_t sum = 0;
  for (const auto& worker : workers) sum += worker->tcp.load();
  return sum;
}

void Engine::State::start() {
  const lib::SignalsBlocked blocked;
  try {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Worker& worker = *workers[i];
      worker.thread = std::thread([&worker] { worker.loop.run(); });
      pthread_setname_np(worker.thread.native_handle(), ("sluice-relay" + std::to_string(i)).c_str());
    }
  } catch (...) {
    stop_threads();
    throw;
  }
}

// Stops all threads before any relay is destroyed, as threads pass connections to each other.
void Engine::State::stop_threads() noexcept {
  for (auto& worker : workers) {
    if (worker->thread.joinable()) worker->loop.stop();
  }
  for (auto& worker : workers) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

std::shared_ptr<Engine> Engine::shared(const RelaySettings& settings) {
  static lib::Mutex mutex;
  static std::weak_ptr<Engine> last SLUICE_GUARDED_BY(mutex);
  const lib::Lock lock(mutex);
  std::shared_ptr<Engine> engine = last.lock();
  if (engine == nullptr || !(engine->settings() == settings)) {
    engine = std::make_shared<Engine>(settings);
    last = engine;
  }
  return engine;
}

const RelaySettings& Engine::settings() const noexcept { return state_->shared.settings; }

unsigned Engine::threads() const noexcept { return static_cast<unsigned>(state_->workers.size()); }

unsigned Engine::udp_sockets() const noexcept { return std::min(threads(), kWatchers); }

std::uint64_t Engine::add_report(Report report) { return state_->shared.conditions.add_report(std::move(report)); }

void Engine::remove_report(std::uint64_t id) { state_->shared.conditions.remove_report(id); }

const std::vector<std::unique_ptr<ThreadStatistics>>& Engine::statistics() const noexcept { return state_->statistics; }

std::vector<Worker*> Engine::State::pick_workers(ServingId id, std::size_t count) const {
  std::vector<Worker*> out;
  const std::size_t chosen = std::min(count, workers.size());
  for (std::size_t i = 0; i < chosen; ++i) out.push_back(workers[(id * chosen + i) % workers.size()].get());
  return out;
}

ServingId Engine::serve(std::vector<lib::Fd> sockets, ListenerPtr listener) {
  const lib::Lock lock(state_->mutex);
  const ServingId id = ++state_->last_id;
  Serving& serving = state_->servings[id];
  serving.listener = listener;
  for (const lib::Fd& socket : sockets) serving.descriptors.push_back(socket.get());
  if (listener->protocol() == abi::Protocol::kUdp) {
    serving.workers = state_->pick_workers(id, sockets.size());
    for (std::size_t i = 0; i < serving.workers.size(); ++i) {
      Worker& worker = *serving.workers[i];
      const auto socket = std::make_shared<lib::Fd>(std::move(sockets[i]));
      post_watch(worker, state_->shared.conditions,
                 [&worker, id, socket, listener] { return worker.udp.serve(id, std::move(*socket), listener); });
    }
    return id;
  }
  serving.workers = state_->pick_workers(id, kWatchers);
  ++state_->sockets_of[listener.get()];
  const auto socket =
      std::make_shared<TcpListenSocket>(std::move(sockets.front()), static_cast<unsigned>(serving.workers.size()));
  for (Worker* worker : serving.workers) {
    post_watch(*worker, state_->shared.conditions, [worker, id, socket, listener] {
      worker->tcp.acceptor().serve(id, socket, listener);
      return 0;
    });
  }
  return id;
}

std::vector<int> Engine::descriptors(ServingId id) const {
  const lib::Lock lock(state_->mutex);
  const auto found = state_->servings.find(id);
  return found == state_->servings.end() ? std::vector<int>() : found->second.descriptors;
}

void Engine::State::wait_for_posted() {
  const auto done = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(workers.size()));
  for (auto& worker : workers) worker->loop.post([done] { done->count_down(); });
  done->wait();
}

void Engine::stop(std::span<const ServingId> ids, Ending ending) {
  const lib::Lock lock(state_->mutex);
  const auto gone = std::make_shared<std::vector<ListenerPtr>>();
  bool any = false;
  for (const ServingId id : ids) {
    const auto found = state_->servings.find(id);
    if (found == state_->servings.end()) continue;
    any = true;
    const Serving serving = std::move(found->second);
    state_->servings.erase(found);
    const bool udp = serving.listener->protocol() == abi::Protocol::kUdp;
    for (Worker* worker : serving.workers) {
      worker->loop.post([worker, id, udp, ending] {
        if (udp) {
          worker->udp.stop(id, ending == Ending::kRetired);
        } else {
          worker->tcp.acceptor().stop(id, ending != Ending::kShared);
        }
      });
    }
    if (udp) continue;
    const auto remaining = state_->sockets_of.find(serving.listener.get());
    if (remaining == state_->sockets_of.end() || --remaining->second > 0) continue;
    state_->sockets_of.erase(remaining);
    gone->push_back(serving.listener);
  }
  if (!any) return;
  state_->wait_for_posted();
  // Connections passed between threads have arrived by now, so listener_closed() finds all of them.
  const bool keep_connections = ending != Ending::kServiceGone;
  for (auto& worker : state_->workers) {
    worker->loop.post([one = worker.get(), gone, keep_connections] {
      for (const ListenerPtr& listener : *gone) one->tcp.listener_closed(listener, keep_connections);
    });
  }
}

void Engine::stop_reading(std::span<const ServingId> ids) {
  const lib::Lock lock(state_->mutex);
  for (const ServingId id : ids) {
    const auto found = state_->servings.find(id);
    if (found == state_->servings.end() || found->second.listener->protocol() != abi::Protocol::kUdp) continue;
    for (Worker* worker : found->second.workers) {
      worker->loop.post([worker, id] { worker->udp.stop_reading(id); });
    }
  }
  state_->wait_for_posted();
}

void Engine::reset(const RelayedCount& counted) {
  for (auto& worker : state_->workers) {
    worker->loop.post([one = worker.get(), &counted] { one->tcp.reset(counted); });
  }
  state_->wait_for_posted();
}

void Engine::endpoints_gone(const ListenerPtr& listener, std::vector<EndpointPtr> gone) {
  if (gone.empty()) return;
  const bool udp = listener->protocol() == abi::Protocol::kUdp;
  const auto endpoints = std::make_shared<const std::vector<EndpointPtr>>(std::move(gone));
  for (auto& worker : state_->workers) {
    Worker* const one = worker.get();
    one->loop.post([one, udp, listener, endpoints] {
      if (udp) {
        one->udp.endpoints_gone(*endpoints);
      } else {
        one->tcp.endpoints_gone(listener, *endpoints);
      }
    });
  }
}

}  // namespace sluice::userspace
