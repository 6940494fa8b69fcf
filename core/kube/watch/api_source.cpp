// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/api_source.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "core/kube/watch/endable.hpp"

namespace sluice::kube {
namespace {

std::function<double()> random_numbers() {
  // Different on every node, or their retries would meet.
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

}  // namespace

bool ApiSourceStatus::connected() const {
  return std::all_of(resources.begin(), resources.end(), [](const auto& resource) { return resource.connected || resource.absent; });
}

bool ApiSourceStatus::listed() const {
  return std::all_of(resources.begin(), resources.end(), [](const auto& resource) { return resource.listed || resource.absent; });
}

class Follower {
 public:
  Follower(const Resource& resource, Transport& transport, model::EventSink& sink, const base::Clock& clock,
           FailureLog& failures, StreamingSupport& streaming)
      : transport_(transport), sink_(sink), reflector_(resource, {transport_, sink_, clock, random_numbers(), failures, streaming}) {}

  Reflector& reflector() { return reflector_; }
  // Nothing is delivered afterwards. The thread goes on for as long as its request takes.
  void end() {
    ended_ = true;
    transport_.end();
    sink_.end();
  }
  bool ended() const { return ended_; }

  std::thread thread;
  bool over = false;  // the thread has nothing left to do; under the mutex of the source

 private:
  std::atomic<bool> ended_{false};
  EndableTransport transport_;
  EndableSink sink_;
  Reflector reflector_;
};

ApiSource::ApiSource(std::unique_ptr<Transport> transport, const ApiSourceOptions& options, model::EventSink& sink,
                     const base::Clock& clock)
    : transport_(std::move(transport)),
      sink_(sink),
      clock_(clock),
      streaming_(options.streaming_lists, clock) {
  for (const auto& resource : {services_resource(), endpoint_slices_resource(), node_resource(options.node_name)}) {
    followers_.push_back(follower(resource));
  }
  if (options.service_cidrs) service_cidrs_ = follower(service_cidrs_resource());
}

ApiSource::~ApiSource() { stop(); }

std::unique_ptr<Follower> ApiSource::follower(const Resource& resource) {
  return std::make_unique<Follower>(resource, *transport_, sink_, clock_, failures_, streaming_);
}

void ApiSource::start() {
  const std::lock_guard lock(mutex_);
  started_ = true;
  for (const auto& one : followers_) begin(*one);
  if (service_cidrs_) begin(*service_cidrs_);
}

void ApiSource::begin(Follower& follower) {
  follower.thread = std::thread([this, &follower] { run(follower); });
}

void ApiSource::set_service_cidrs(bool wanted) {
  Follower* ended = nullptr;
  {
    const std::lock_guard lock(mutex_);
    sweep();
    if (stopped_ || wanted == (service_cidrs_ != nullptr)) return;
    if (wanted) {
      service_cidrs_ = follower(service_cidrs_resource());
      if (started_) begin(*service_cidrs_);
      return;
    }
    ended = service_cidrs_.get();
    leaving_.push_back(std::move(service_cidrs_));
  }
  // Without the mutex: it may be telling the sink something, which takes as long as the sink needs.
  ended->end();
  stop_changed_.notify_all();
}

// Lets go of those that have ended meanwhile.
void ApiSource::sweep() {
  std::erase_if(leaving_, [](const std::unique_ptr<Follower>& one) {
    if (one->thread.joinable() && !one->over) return false;
    if (one->thread.joinable()) one->thread.join();
    return true;
  });
}

void ApiSource::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_changed_.notify_all();
  transport_->stop();
  // From here on nothing is added.
  const auto join = [](const std::unique_ptr<Follower>& one) {
    if (one && one->thread.joinable()) one->thread.join();
  };
  for (const auto& one : followers_) join(one);
  join(service_cidrs_);
  for (const auto& one : leaving_) join(one);
}

void ApiSource::run(Follower& follower) {
  std::unique_lock lock(mutex_);
  while (!stopped_ && !follower.ended()) {
    lock.unlock();
    const auto delay = follower.reflector().step();
    lock.lock();
    stop_changed_.wait_for(lock, delay, [&] { return stopped_ || follower.ended(); });
  }
  follower.over = true;
}

ApiSourceStatus ApiSource::status() const {
  const std::lock_guard lock(mutex_);
  ApiSourceStatus out;
  for (const auto& one : followers_) out.resources.push_back(one->reflector().status());
  if (service_cidrs_) out.resources.push_back(service_cidrs_->reflector().status());
  return out;
}

}  // namespace sluice::kube
