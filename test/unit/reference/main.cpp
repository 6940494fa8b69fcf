// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// reference DOCS                 writes the generated parts of the documents in DOCS
// reference --check DOCS         reports parts that differ, as TAP
// reference --check-help FILE    compares the output of `sluiced --help` in FILE with the table of flags, as TAP
//
// In Markdown a part stands between <!-- generated: NAME --> and <!-- end of the generated part -->, in a manual page
// between .\" generated: NAME and .\" end of the generated part.
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "lib/files.hpp"
#include "test/unit/reference/parts.hpp"

namespace sluice::reference {
namespace {

struct Marks {
  std::string before_name;
  std::string after_name;
  std::string end;
};

const Marks kMarkdown{"<!-- generated: ", " -->\n", "<!-- end of the generated part -->\n"};
const Marks kManual{".\\\" generated: ", "\n", ".\\\" end of the generated part\n"};

std::string file_text(const std::string& path) {
  const auto text = lib::read_file(path);
  if (!text.ok()) throw std::runtime_error(text.status().message());
  return *text;
}

Parts all_parts() {
  Parts out = option_parts();
  for (Parts more : {manual_parts(), table_parts(), error_parts()}) out.merge(more);
  return out;
}

// The document with its parts rendered; the names of the parts are added to `used`.
std::string rendered(const std::string& path, const std::string& text, const Parts& parts,
                     std::set<std::string>& used) {
  const Marks& marks = path.ends_with(".md") ? kMarkdown : kManual;
  std::string out;
  std::size_t at = 0;
  for (std::size_t mark = 0; (mark = text.find(marks.before_name, at)) != std::string::npos;) {
    const std::size_t name_at = mark + marks.before_name.size();
    const std::size_t name_end = text.find(marks.after_name, name_at);
    const std::size_t begin = name_end + marks.after_name.size();
    const std::size_t end = name_end == std::string::npos ? name_end : text.find(marks.end, begin);
    if (end == std::string::npos) throw std::runtime_error(path + ": a generated part has no end");
    const std::string name = text.substr(name_at, name_end - name_at);
    const auto part = parts.find(name);
    if (part == parts.end()) throw std::runtime_error(path + ": there is no part '" + name + "'");
    used.insert(name);
    out += text.substr(at, begin - at) + part->second();
    at = end;
  }
  return out + text.substr(at);
}

std::vector<std::string> documents(const std::string& folder) {
  std::set<std::string> out;
  for (const char* below : {"reference", "man"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + below)) {
      if (entry.is_regular_file()) out.insert(entry.path().string());
    }
  }
  return {out.begin(), out.end()};
}

std::string first_difference(const std::string& is, const std::string& wanted) {
  std::istringstream left(is);
  std::istringstream right(wanted);
  std::string a;
  std::string b;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(left, a));
    const bool more_right = static_cast<bool>(std::getline(right, b));
    if (!more_left && !more_right) return "no difference";
    if (more_left == more_right && a == b) continue;
    return "line " + std::to_string(line) + " is '" + (more_left ? a : "") + "', not '" + (more_right ? b : "") +
           "'; run make reference";
  }
}

class Tap {
 public:
  void result(const std::string& name, const std::vector<std::string>& problems) {
    std::cout << (problems.empty() ? "ok " : "not ok ") << ++count_ << " - " << name << "\n";
    for (const std::string& problem : problems) std::cout << "#   " << problem << "\n";
    failed_ = failed_ || !problems.empty();
  }
  int finish() const {
    std::cout << "1.." << count_ << "\n";
    return failed_ ? 1 : 0;
  }

 private:
  int count_ = 0;
  bool failed_ = false;
};

int write(const std::string& folder) {
  const Parts parts = all_parts();
  std::set<std::string> used;
  for (const std::string& path : documents(folder)) {
    const std::string text = file_text(path);
    const std::string wanted = rendered(path, text, parts, used);
    if (wanted == text) continue;
    if (const auto status = lib::write_file_atomically(path, wanted); !status.ok()) {
      throw std::runtime_error(status.message());
    }
    std::cout << path << "\n";
  }
  return 0;
}

int check(const std::string& folder) {
  const Parts parts = all_parts();
  std::set<std::string> used;
  Tap tap;
  for (const std::string& path : documents(folder)) {
    const std::string text = file_text(path);
    const std::string wanted = rendered(path, text, parts, used);
    if (wanted == text && text.find("generated: ") == std::string::npos) continue;
    std::vector<std::string> problems;
    if (wanted != text) problems.push_back(first_difference(text, wanted));
    tap.result(std::filesystem::relative(path, folder).string() + " has the tables of the code", problems);
  }
  std::vector<std::string> unused;
  for (const auto& [name, part] : parts) {
    if (!used.contains(name)) unused.push_back(name);
  }
  tap.result("each part is in a document", unused);
  return tap.finish();
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 1) return write(words[0]);
  if (words.size() == 2 && words[0] == "--check") return check(words[1]);
  if (words.size() == 2 && words[0] == "--check-help") {
    Tap tap;
    tap.result("sluiced --help has the table of flags", compare_help(file_text(words[1])));
    return tap.finish();
  }
  std::cerr << "usage: reference [--check] DOCS | reference --check-help FILE\n";
  return 2;
}

}  // namespace
}  // namespace sluice::reference

int main(int argc, char** argv) {
  try {
    return sluice::reference::run({argv + 1, argv + argc});
  } catch (const std::exception& failure) {
    std::cerr << "reference: " << failure.what() << "\n";
    return 1;
  }
}
