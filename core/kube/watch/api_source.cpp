// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/api_source.hpp"

#include <algorithm>
#include <random>
#include <utility>

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

ApiSource::ApiSource(std::unique_ptr<Transport> transport, const ApiSourceOptions& options, model::EventSink& sink,
                     const base::Clock& clock)
    : transport_(std::move(transport)), streaming_(options.streaming_lists, clock) {
  std::vector<Resource> wanted{services_resource(), endpoint_slices_resource(), node_resource(options.node_name)};
  if (options.service_cidrs) wanted.push_back(service_cidrs_resource());
  for (const auto& resource : wanted) {
    reflectors_.push_back(std::make_unique<Reflector>(
        resource, ReflectorContext{*transport_, sink, clock, random_numbers(), failures_, streaming_}));
  }
}

ApiSource::~ApiSource() { stop(); }

void ApiSource::start() {
  for (const auto& reflector : reflectors_) {
    threads_.emplace_back([this, &reflector = *reflector] { run(reflector); });
  }
}

void ApiSource::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_changed_.notify_all();
  transport_->stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void ApiSource::run(Reflector& reflector) {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    lock.unlock();
    const auto delay = reflector.step();
    lock.lock();
    stop_changed_.wait_for(lock, delay, [this] { return stopped_; });
  }
}

ApiSourceStatus ApiSource::status() const {
  ApiSourceStatus out;
  for (const auto& reflector : reflectors_) out.resources.push_back(reflector->status());
  return out;
}

}  // namespace sluice::kube
