// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/kube/recorded.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sluice::test {
namespace {

std::filesystem::path folder() {
  const char* data = std::getenv("SLUICE_TEST_DATA");
  if (data == nullptr) throw std::runtime_error("SLUICE_TEST_DATA is not set; run make check");
  return std::filesystem::path(data) / "fixtures" / "apiserver-v1.36";
}

std::string without_chunks(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t line_end = text.find("\r\n", at);
    if (line_end == std::string::npos) break;
    const std::size_t size = std::stoul(text.substr(at, line_end - at), nullptr, 16);
    if (size == 0) break;
    out += text.substr(line_end + 2, size);
    at = line_end + 2 + size + 2;
  }
  return out;
}

std::string header(const std::string& head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

}  // namespace

RecordedResponse recorded(const std::string& name) {
  const auto path = folder() / (name + ".response");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("the recording " + path.string() + " is missing");
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const std::size_t split = all.find("\r\n\r\n");
  const std::string head = all.substr(0, split + 2);
  RecordedResponse out;
  out.name = name;
  out.status = std::stoi(head.substr(head.find(' ')));
  out.content_type = header(head, "Content-Type");
  out.content_encoding = header(head, "Content-Encoding");
  out.body = all.substr(split + 4);
  if (header(head, "Transfer-Encoding") == "chunked") out.body = without_chunks(out.body);
  return out;
}

std::vector<RecordedResponse> all_recorded() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".response") names.push_back(entry.path().stem().string());
  }
  if (names.empty()) throw std::runtime_error("there are no recordings in " + folder().string());
  std::sort(names.begin(), names.end());
  std::vector<RecordedResponse> out;
  for (const auto& name : names) out.push_back(recorded(name));
  return out;
}

}  // namespace sluice::test
