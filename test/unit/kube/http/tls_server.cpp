// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/kube/http/tls_server.hpp"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <stdexcept>

#include "core/kube/access/pem_objects.hpp"

namespace sluice::test {
namespace {

constexpr int kLookMilliseconds = 20;

ssl_ctx_st* make_context(const Pem& pem) {
  SSL_CTX* out = SSL_CTX_new(TLS_server_method());
  const auto certificate_bio = kube::pem_memory(pem.certificate);
  const auto key_bio = kube::pem_memory(pem.key);
  const auto certificate = kube::next_certificate(certificate_bio.get());
  const auto key = kube::private_key(key_bio.get());
  if (SSL_CTX_use_certificate(out, certificate.get()) != 1 || SSL_CTX_use_PrivateKey(out, key.get()) != 1) {
    throw std::runtime_error("the server certificate cannot be used");
  }
  SSL_CTX_set_verify(out, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  return out;
}

std::string common_name(SSL* tls) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(tls), X509_free);
  char name[256] = "";
  if (certificate) {
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof name);
  }
  return name;
}

bool send_all(SSL* tls, const std::string& text) {
  return SSL_write(tls, text.data(), static_cast<int>(text.size())) > 0;
}

}  // namespace

std::string ReceivedRequest::header(const std::string& name) const {
  const auto at = head.find("\r\n" + name + ":");
  if (at == std::string::npos) return {};
  auto begin = head.find(':', at) + 1;
  while (head[begin] == ' ') ++begin;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

TlsServer::TlsServer(const Pem& certificate, std::function<ServerAnswer(const ReceivedRequest&)> answer)
    : answer_(std::move(answer)), context_(make_context(certificate)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0) {
    throw std::runtime_error("no port to listen on");
  }
  port_ = ntohs(address.sin_port);
  threads_.emplace_back([this] { accept_all(); });
}

TlsServer::~TlsServer() {
  stopped_ = true;
  // The first thread adds the others, so it is joined first.
  for (auto& thread : threads_) thread.join();
  SSL_CTX_free(context_);
}

std::vector<ReceivedRequest> TlsServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void TlsServer::accept_all() {
  while (!stopped_) {
    pollfd wait{listener_.get(), POLLIN, 0};
    if (::poll(&wait, 1, kLookMilliseconds) <= 0) continue;
    const int socket = ::accept(listener_.get(), nullptr, nullptr);
    if (socket < 0) continue;
    ++connections_;
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

void TlsServer::serve(int socket) {
  const lib::Fd fd(socket);
  const timeval limit{0, kLookMilliseconds * 1000};
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context_), SSL_free);
  SSL_set_fd(tls.get(), socket);
  if (SSL_accept(tls.get()) != 1) return;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string received;
  bool open_ended = false;
  while (!stopped_) {
    char buffer[4096];
    const int size = SSL_read(tls.get(), buffer, sizeof buffer);
    if (size <= 0 && SSL_get_error(tls.get(), size) == SSL_ERROR_WANT_READ) continue;
    if (size <= 0) return;
    received.append(buffer, static_cast<std::size_t>(size));
    const auto end = received.find("\r\n\r\n");
    if (end == std::string::npos || open_ended) continue;
    const ReceivedRequest request{received.substr(0, end + 2), common_name(tls.get())};
    received.erase(0, end + 4);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const ServerAnswer answer = answer_(request);
    open_ended = answer.stays_open;
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " X\r\nContent-Type: application/json\r\n";
    if (open_ended) {
      char length[32];
      std::snprintf(length, sizeof length, "%zx\r\n", answer.body.size());
      text += "Transfer-Encoding: chunked\r\n\r\n" + (answer.body.empty() ? "" : length + answer.body + "\r\n");
    } else {
      text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body;
    }
    if (!send_all(tls.get(), text)) return;
  }
}

}  // namespace sluice::test
