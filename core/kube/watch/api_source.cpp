// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/api_source.hpp"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

namespace sluice::kube {
namespace {

std::function<double()> random_numbers() {
  // Different on every node, so that their retries do not coincide.
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

}  // namespace

bool ApiSourceStatus::connected() const {
  return std::all_of(resources.begin(), resources.end(),
                     [](const auto& resource) { return resource.connected || resource.absent; });
}

bool ApiSourceStatus::listed() const {
  return std::all_of(resources.begin(), resources.end(), [](const auto& resource) { return resource.listed || resource.absent; });
}

class ReflectorThread {
 public:
  ReflectorThread(const Resource& resource, Transport& transport, model::EventSink& sink, const lib::Clock& clock,
                  FailureLog& failures, StreamingSupport& streaming, const std::string& accept,
                  const model::WantedDetailsPtr& details)
      : resource_(resource),
        sink_(sink),
        reflector_(resource, {transport, sink_, clock, random_numbers(), failures, streaming, accept, details}) {}

  // As it was made, before a fallback to Endpoints.
  const Resource& resource() const { return resource_; }

  Reflector& reflector() { return reflector_; }
  // Nothing is delivered afterwards. The thread runs until its request ends.
  void end() {
    reflector_.cancel();
    sink_.end();
  }
  bool ended() const { return reflector_.cancelled(); }

  std::thread thread;
  bool finished = false;  // the thread is about to exit; under the mutex of the source

 private:
  // Ends the events of this reflector; the others use the same sink.
  class EndableSink final : public model::EventSink {
   public:
    explicit EndableSink(model::EventSink& next) : next_(next) {}

    void deliver(model::Event event) override {
      const lib::Lock lock(mutex_);
      if (!ended_) next_.deliver(std::move(event));
    }
    // [any thread] No event is delivered afterwards.
    void end() {
      const lib::Lock lock(mutex_);
      ended_ = true;
    }

   private:
    model::EventSink& next_;
    lib::Mutex mutex_;
    bool ended_ SLUICE_GUARDED_BY(mutex_) = false;
  };

  const Resource resource_;
  EndableSink sink_;
  Reflector reflector_;
};

ApiSource::ApiSource(std::unique_ptr<Transport> transport, const ApiSourceOptions& options, model::EventSink& sink,
                     const lib::Clock& clock)
    : transport_(std::move(transport)),
      sink_(sink),
      clock_(clock),
      accept_(options.accept),
      streaming_(options.streaming_lists, clock) {
  const lib::Lock lock(mutex_);
  for (const auto& resource : {services_resource(), endpoint_slices_resource(), node_resource(options.node_name)}) {
    reflectors_.push_back(make_reflector(resource));
  }
  if (options.service_cidrs) service_cidrs_ = make_reflector(service_cidrs_resource());
}

ApiSource::~ApiSource() { stop(); }

std::unique_ptr<ReflectorThread> ApiSource::make_reflector(const Resource& resource) {
  return std::make_unique<ReflectorThread>(resource, *transport_, sink_, clock_, failures_, streaming_, accept_, details_);
}

void ApiSource::start() {
  const lib::Lock lock(mutex_);
  started_ = true;
  for (const auto& one : reflectors_) begin(*one);
  if (service_cidrs_) begin(*service_cidrs_);
}

void ApiSource::begin(ReflectorThread& reflector) {
  reflector.thread = std::thread([this, &reflector] { run(reflector); });
}

void ApiSource::set_service_cidrs(bool wanted) {
  ReflectorThread* ended = nullptr;
  {
    const lib::Lock lock(mutex_);
    if (stopped_) return;
    sweep();
    if (wanted == (service_cidrs_ != nullptr)) return;
    if (wanted) {
      service_cidrs_ = make_reflector(service_cidrs_resource());
      if (started_) begin(*service_cidrs_);
      return;
    }
    ended = service_cidrs_.get();
    ending_.push_back(std::move(service_cidrs_));
  }
  // Without the mutex, because end() waits until the sink has accepted an event that is being delivered.
  ended->end();
  stop_changed_.notify_all();
}

// New reflectors, because a watch cannot be interrupted and a reflector keeps what it has decoded with.
void ApiSource::set_details(const model::WantedDetailsPtr& wanted) {
  std::vector<ReflectorThread*> ended;
  {
    const lib::Lock lock(mutex_);
    if (stopped_) return;
    sweep();
    if (model::same(wanted, details_)) return;
    details_ = wanted;
    for (auto& one : reflectors_) {
      const model::ResourceKind kind = one->resource().kind;
      if (kind != model::ResourceKind::service && kind != model::ResourceKind::endpoint_slice) continue;
      auto next = make_reflector(one->resource());
      ended.push_back(one.get());
      ending_.push_back(std::exchange(one, std::move(next)));
    }
  }
  // Without the mutex, because end() waits until the sink has accepted an event that is being delivered.
  for (ReflectorThread* const one : ended) one->end();
  stop_changed_.notify_all();
  const lib::Lock lock(mutex_);
  if (!started_ || stopped_) return;
  for (const auto& one : reflectors_) {
    if (!one->thread.joinable()) begin(*one);
  }
}

// Destroys reflectors that have ended.
void ApiSource::sweep() {
  std::erase_if(ending_, [](const std::unique_ptr<ReflectorThread>& one) {
    if (one->thread.joinable() && !one->finished) return false;
    if (one->thread.joinable()) one->thread.join();
    return true;
  });
}

void ApiSource::stop() {
  std::vector<std::thread> threads;
  {
    const lib::Lock lock(mutex_);
    stopped_ = true;  // no reflector is added or destroyed any more
    for (const auto& one : reflectors_) threads.push_back(std::move(one->thread));
    if (service_cidrs_) threads.push_back(std::move(service_cidrs_->thread));
    for (const auto& one : ending_) threads.push_back(std::move(one->thread));
  }
  stop_changed_.notify_all();
  transport_->stop();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

void ApiSource::run(ReflectorThread& reflector) {
  lib::UniqueLock lock(mutex_);
  while (!stopped_ && !reflector.ended()) {
    lock.unlock();
    const auto delay = reflector.reflector().step();
    lock.lock();
    const auto until = std::chrono::steady_clock::now() + delay;
    while (!stopped_ && !reflector.ended() && stop_changed_.wait_until(mutex_, until)) {
    }
  }
  reflector.finished = true;
}

ApiSourceStatus ApiSource::status() const {
  const lib::Lock lock(mutex_);
  ApiSourceStatus out;
  for (const auto& one : reflectors_) out.resources.push_back(one->reflector().status());
  if (service_cidrs_) out.resources.push_back(service_cidrs_->reflector().status());
  return out;
}

}  // namespace sluice::kube
