// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A small HTTPS server on a loopback port. It requests a client certificate and accepts any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/fd.hpp"
#include "test/unit/kube/pem.hpp"

struct ssl_ctx_st;

namespace sluice::test {

struct ReceivedRequest {
  std::string head;    // request line and headers, as received
  std::string client;  // common name of the client's certificate, if any
  std::string header(const std::string& name) const;
};

struct ServerAnswer {
  int status = 200;
  std::string body;
  bool stays_open = false;  // like a watch: the body does not end until the client disconnects
};

class TlsServer {
 public:
  // `answer` is called on the threads of the connections.
  TlsServer(const Pem& certificate, std::function<ServerAnswer(const ReceivedRequest&)> answer);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::vector<ReceivedRequest> requests() const;
  int connections() const { return connections_; }

 private:
  void accept_all();
  void serve(int socket);

  const std::function<ServerAnswer(const ReceivedRequest&)> answer_;
  ssl_ctx_st* context_;
  lib::Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_;
  std::vector<ReceivedRequest> requests_;
  std::list<std::thread> threads_;  // the first one accepts
};

}  // namespace sluice::test
