// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// nftload: sends to the kernel what nftables mode sends for plain Services, and nothing else: no watch, no plan, no
// state, no reading back, so that it measures the cost of the kernel. The namespace must not have a table kube-proxy.
//   nftload SERVICES ENDPOINTS CHANGES
//   nftload touch ADDRESS
// Loads all Services, then replaces one endpoint of the last one CHANGES times, and removes the table; prints times,
// and the growth of kernel memory. The latter is that of the whole machine, including other processes.
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr char kTable[] = "kube-proxy";
constexpr std::size_t kPerTransaction = 20'000;  // elements, as in the backend
constexpr std::size_t kPerMessage = 48'000;      // bytes of elements: an attribute ends at 64 KiB
constexpr std::uint16_t kServicePort = 80;
constexpr std::uint16_t kPodPort = 8080;
constexpr auto kAttributeHeader = static_cast<std::size_t>(NLA_HDRLEN);
constexpr auto kGrace = std::chrono::milliseconds(500);  // the kernel frees removed objects asynchronously

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Builds the messages of a transaction.
class Batch {
 public:
  Batch() { begin(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES); }

  void begin(std::uint16_t type, std::uint16_t flags) {
    begin(static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type), flags, NFPROTO_IPV4, 0);
  }
  Batch& put(std::uint16_t type, const void* data, std::size_t size) {
    const nlattr attribute{static_cast<std::uint16_t>(kAttributeHeader + size), type};
    append(&attribute, sizeof(attribute));
    append(data, size);
    return *this;
  }
  Batch& text(std::uint16_t type, const char* words) { return put(type, words, std::strlen(words) + 1); }
  Batch& number(std::uint16_t type, std::uint32_t value) {
    const std::uint32_t ordered = htonl(value);
    return put(type, &ordered, sizeof(ordered));
  }
  std::size_t nest(std::uint16_t type) {
    put(static_cast<std::uint16_t>(type | NLA_F_NESTED), nullptr, 0);
    return bytes_.size();
  }
  void end(std::size_t nested) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - nested + kAttributeHeader);
    std::memcpy(bytes_.data() + nested - kAttributeHeader, &length, sizeof(length));
  }
  std::size_t size() const { return bytes_.size(); }

  const std::string& finish() {
    begin(NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    close();
    return bytes_;
  }

 private:
  void begin(std::uint16_t type, std::uint16_t flags, std::uint8_t family, std::uint16_t resource) {
    close();
    message_ = bytes_.size();
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = ++sequence_;
    append(&header, sizeof(header));
    const nfgenmsg more{family, NFNETLINK_V0, htons(resource)};
    append(&more, sizeof(more));
  }
  void close() {
    if (bytes_.empty()) return;
    const auto length = static_cast<std::uint32_t>(bytes_.size() - message_);
    std::memcpy(bytes_.data() + message_ + offsetof(nlmsghdr, nlmsg_len), &length, sizeof(length));
  }
  void append(const void* data, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }

  std::string bytes_;
  std::size_t message_ = 0;
  std::uint32_t sequence_ = 0;
};

class Socket {
 public:
  Socket() : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER)) {
    const sockaddr_nl any{AF_NETLINK, 0, 0, 0};
    const int room = 64 << 20;
    if (fd_ < 0 || ::bind(fd_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0)
      fail("netlink socket", errno);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Returns the seconds in the kernel, which queues errors before send() returns.
  double send(Batch batch) {
    const std::string& bytes = batch.finish();
    const double begin = now();
    if (::send(fd_, bytes.data(), bytes.size(), 0) < 0) fail("send", errno);
    const double took = now() - begin;
    alignas(nlmsghdr) char answer[8192];
    const ssize_t size = ::recv(fd_, answer, sizeof(answer), MSG_DONTWAIT);
    if (size < 0) return took;
    const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
    int error = EPROTO;
    if (header->nlmsg_type == NLMSG_ERROR) error = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
    fail("the kernel refused message " + std::to_string(header->nlmsg_seq), error);
  }

 private:
  int fd_;
};

// The address 10.<octet>.0.0 + number in network order, as in the API server of the tests.
std::uint32_t address(unsigned octet, unsigned number) { return htonl((10u << 24 | octet << 16) + number); }

struct FrontendBytes {
  std::uint32_t address;
  std::uint8_t protocol[4] = {IPPROTO_TCP, 0, 0, 0};
  std::uint16_t port[2] = {htons(kServicePort), 0};
};
struct SlotBytes {
  FrontendBytes frontend;
  std::uint32_t slot;
};
struct EndpointBytes {
  std::uint32_t address;
  std::uint16_t port[2] = {htons(kPodPort), 0};
};

// Elements of one set, split into messages.
class Elements {
 public:
  Elements(Batch& batch, const char* set, bool remove = false) : batch_(batch), set_(set), remove_(remove) {}
  ~Elements() { close(); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  template <class KeyBytes>
  void add(const KeyBytes& key, const void* data, std::size_t size, const std::string& comment = {}) {
    const std::size_t element = begin(&key, sizeof(key));
    if (size > 0) {
      const std::size_t nested = batch_.nest(NFTA_SET_ELEM_DATA);
      batch_.put(NFTA_DATA_VALUE, data, size);
      batch_.end(nested);
    }
    if (!comment.empty()) {
      // The format of nft: type 0, length, text with its NUL.
      std::string user{'\0', static_cast<char>(comment.size() + 1)};
      user.append(comment.c_str(), comment.size() + 1);
      batch_.put(NFTA_SET_ELEM_USERDATA, user.data(), user.size());
    }
    batch_.end(element);
  }

  void add_goto(std::uint32_t number, const char* chain) {
    const std::size_t element = begin(&number, sizeof(number));
    const std::size_t data = batch_.nest(NFTA_SET_ELEM_DATA), verdict = batch_.nest(NFTA_DATA_VERDICT);
    batch_.number(NFTA_VERDICT_CODE, static_cast<std::uint32_t>(NFT_GOTO)).text(NFTA_VERDICT_CHAIN, chain);
    batch_.end(verdict);
    batch_.end(data);
    batch_.end(element);
  }

 private:
  std::size_t begin(const void* key, std::size_t size) {
    if (list_ != 0 && batch_.size() - list_ > kPerMessage) close();
    if (list_ == 0) {
      batch_.begin(remove_ ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM, remove_ ? 0 : NLM_F_CREATE);
      batch_.text(NFTA_SET_ELEM_LIST_TABLE, kTable).text(NFTA_SET_ELEM_LIST_SET, set_);
      list_ = batch_.nest(NFTA_SET_ELEM_LIST_ELEMENTS);
    }
    const std::size_t element = batch_.nest(NFTA_LIST_ELEM), nested = batch_.nest(NFTA_SET_ELEM_KEY);
    batch_.put(NFTA_DATA_VALUE, key, size);
    batch_.end(nested);
    return element;
  }
  void close() {
    if (list_ != 0) batch_.end(list_);
    list_ = 0;
  }

  Batch& batch_;
  const char* set_;
  const bool remove_;
  std::size_t list_ = 0;
};

// Builds a rule from expressions.
class Rule {
 public:
  Rule(Batch& batch, const char* chain) : batch_(batch) {
    batch_.begin(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    batch_.text(NFTA_RULE_TABLE, kTable).text(NFTA_RULE_CHAIN, chain);
    list_ = batch_.nest(NFTA_RULE_EXPRESSIONS);
  }
  ~Rule() { batch_.end(list_); }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  // Loads destination, protocol and port into the first registers.
  void frontend() {
    payload(NFT_PAYLOAD_NETWORK_HEADER, 16, 4, NFT_REG32_00);
    begin("meta");
    batch_.number(NFTA_META_DREG, NFT_REG32_01).number(NFTA_META_KEY, NFT_META_L4PROTO);
    end();
    payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, NFT_REG32_02);
  }
  void priority(bool set) {
    begin("meta");
    batch_.number(NFTA_META_KEY, NFT_META_PRIORITY).number(set ? NFTA_META_SREG : NFTA_META_DREG, NFT_REG32_00);
    end();
  }
  void random(unsigned modulus) {
    begin("numgen");
    batch_.number(NFTA_NG_DREG, NFT_REG32_03).number(NFTA_NG_MODULUS, modulus).number(NFTA_NG_TYPE, NFT_NG_RANDOM);
    batch_.number(NFTA_NG_OFFSET, 0);
    end();
  }
  void lookup(const char* set, std::uint32_t into) {
    begin("lookup");
    batch_.text(NFTA_LOOKUP_SET, set).number(NFTA_LOOKUP_SREG, NFT_REG32_00).number(NFTA_LOOKUP_DREG, into);
    end();
  }
  void translate() {
    begin("nat");
    batch_.number(NFTA_NAT_TYPE, NFT_NAT_DNAT).number(NFTA_NAT_FAMILY, NFPROTO_IPV4);
    batch_.number(NFTA_NAT_REG_ADDR_MIN, NFT_REG32_00).number(NFTA_NAT_REG_PROTO_MIN, NFT_REG32_01);
    end();
  }
  void jump(const char* chain) {
    begin("immediate");
    batch_.number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    const std::size_t data = batch_.nest(NFTA_IMMEDIATE_DATA), verdict = batch_.nest(NFTA_DATA_VERDICT);
    batch_.number(NFTA_VERDICT_CODE, static_cast<std::uint32_t>(NFT_JUMP)).text(NFTA_VERDICT_CHAIN, chain);
    batch_.end(verdict);
    batch_.end(data);
    end();
  }

 private:
  void payload(std::uint32_t base, std::uint32_t offset, std::uint32_t length, std::uint32_t into) {
    begin("payload");
    batch_.number(NFTA_PAYLOAD_DREG, into).number(NFTA_PAYLOAD_BASE, base);
    batch_.number(NFTA_PAYLOAD_OFFSET, offset).number(NFTA_PAYLOAD_LEN, length);
    end();
  }
  void begin(const char* name) {
    element_ = batch_.nest(NFTA_LIST_ELEM);
    batch_.text(NFTA_EXPR_NAME, name);
    data_ = batch_.nest(NFTA_EXPR_DATA);
  }
  void end() {
    batch_.end(data_);
    batch_.end(element_);
  }

  Batch& batch_;
  std::size_t list_ = 0, element_ = 0, data_ = 0;
};

class Load {
 public:
  Load(unsigned services, unsigned endpoints)
      : services_(services), endpoints_(endpoints), chain_("endpoints-" + std::to_string(endpoints)) {}

  double in_kernel = 0;
  double longest = 0;
  unsigned transactions = 0;
  std::uint64_t elements = 0;

  void everything() {
    const unsigned step = std::max<unsigned>(1, static_cast<unsigned>(kPerTransaction / (endpoints_ + 2)));
    for (unsigned begin = 0; begin < services_; begin += step) {
      Batch batch;
      if (begin == 0) shape(batch);
      services(batch, begin, std::min(services_, begin + step));
      const double took = socket_.send(std::move(batch));
      in_kernel += took;
      longest = std::max(longest, took);
      ++transactions;
    }
  }

  // Replaces one endpoint of the last Service; returns the seconds in the kernel.
  double change(unsigned number) {
    Batch batch;
    const SlotBytes key{{address(100, services_ - 1)}, 0};
    Elements(batch, "endpoints", true).add(key, nullptr, 0);
    const EndpointBytes to{address(204, number)};
    Elements(batch, "endpoints").add(key, &to, sizeof(to));
    return socket_.send(std::move(batch));
  }

  void remove() {
    Batch batch;
    batch.begin(NFT_MSG_DELTABLE, 0);
    batch.text(NFTA_TABLE_NAME, kTable);
    socket_.send(std::move(batch));
  }

 private:
  void shape(Batch& batch) {
    batch.begin(NFT_MSG_NEWTABLE, NLM_F_CREATE);
    batch.text(NFTA_TABLE_NAME, kTable);
    set(batch, "cluster-ips", 4, 0, 0);
    set(batch, "service-treatments", sizeof(FrontendBytes), 4, 0);
    set(batch, "endpoints", sizeof(SlotBytes), sizeof(EndpointBytes), 0);
    set(batch, "service-chains", 4, 16, NFT_DATA_VERDICT);
    chain(batch, chain_.c_str(), nullptr);
    chain(batch, "services", nullptr);
    {
      Rule rule(batch, chain_.c_str());
      rule.frontend();
      rule.random(endpoints_);
      rule.lookup("endpoints", NFT_REG32_00);
      rule.translate();
    }
    Elements(batch, "service-chains").add_goto(1, chain_.c_str());
    {
      Rule rule(batch, "services");
      rule.frontend();
      rule.lookup("service-treatments", NFT_REG32_00);
      rule.priority(true);
      rule.priority(false);
      rule.lookup("service-chains", NFT_REG_VERDICT);
    }
    for (const auto& [name, hook] :
         {std::pair{"nat-prerouting", NF_INET_PRE_ROUTING}, {"nat-output", NF_INET_LOCAL_OUT}}) {
      const std::uint32_t number = hook;
      chain(batch, name, &number);
      Rule(batch, name).jump("services");
    }
  }

  void set(Batch& batch, const char* name, std::size_t key, std::size_t data, std::uint32_t type) {
    batch.begin(NFT_MSG_NEWSET, NLM_F_CREATE);
    batch.text(NFTA_SET_TABLE, kTable).text(NFTA_SET_NAME, name);
    batch.number(NFTA_SET_FLAGS, data == 0 ? 0 : NFT_SET_MAP).number(NFTA_SET_KEY_TYPE, 0);
    batch.number(NFTA_SET_KEY_LEN, static_cast<std::uint32_t>(key)).number(NFTA_SET_ID, ++sets_);
    if (data > 0) batch.number(NFTA_SET_DATA_TYPE, type).number(NFTA_SET_DATA_LEN, static_cast<std::uint32_t>(data));
  }

  static void chain(Batch& batch, const char* name, const std::uint32_t* hook) {
    batch.begin(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    batch.text(NFTA_CHAIN_TABLE, kTable).text(NFTA_CHAIN_NAME, name);
    if (hook == nullptr) return;
    const std::size_t nested = batch.nest(NFTA_CHAIN_HOOK);
    batch.number(NFTA_HOOK_HOOKNUM, *hook).number(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(-100));
    batch.end(nested);
    batch.text(NFTA_CHAIN_TYPE, "nat");
  }

  void services(Batch& batch, unsigned begin, unsigned end) {
    {
      Elements cluster(batch, "cluster-ips");
      for (unsigned i = begin; i < end; ++i) cluster.add(address(100, i), nullptr, 0);
    }
    {
      Elements frontends(batch, "service-treatments");
      const std::uint32_t number = 1;
      for (unsigned i = begin; i < end; ++i)
        frontends.add(FrontendBytes{address(100, i)}, &number, sizeof(number),
                      "bulk/svc-" + std::to_string(i) + ":http");
    }
    Elements slots(batch, "endpoints");
    for (unsigned i = begin; i < end; ++i) {
      for (unsigned e = 0; e < endpoints_; ++e) {
        const EndpointBytes to{address(200, i * endpoints_ + e)};
        slots.add(SlotBytes{{address(100, i)}, e}, &to, sizeof(to));
      }
    }
    elements += std::uint64_t{end - begin} * (endpoints_ + 2);
  }

  const unsigned services_;
  const unsigned endpoints_;
  const std::string chain_;
  std::uint32_t sets_ = 0;
  Socket socket_;
};

// Kernel memory in MiB that cannot be reclaimed on demand.
double kernel_memory() {
  std::ifstream file("/proc/meminfo");
  double found = 0;
  for (std::string name, rest; file >> name;) {
    double value = 0;
    file >> value;
    std::getline(file, rest);
    if (name == "SUnreclaim:" || name == "VmallocUsed:" || name == "Percpu:") found += value / 1024;
  }
  return found;
}

unsigned parse(const char* word) {
  char* end = nullptr;
  const unsigned long number = std::strtoul(word, &end, 10);
  if (*end != '\0' || number == 0 || number > 200'000)
    throw std::runtime_error(std::string(word) + " is no number from 1 to 200000");
  return static_cast<unsigned>(number);
}

int run(char** words) {
  Load load(parse(words[1]), parse(words[2]));
  const unsigned changes = parse(words[3]);
  const double memory = kernel_memory();
  const double begin = now();
  load.everything();
  const double took = now() - begin;
  std::this_thread::sleep_for(kGrace);  // fixed time: the kernel frees memory after a grace period
  const double grown = kernel_memory() - memory;
  std::vector<double> each;
  for (unsigned i = 0; i < changes; ++i) each.push_back(load.change(i) * 1e6);
  std::sort(each.begin(), each.end());
  const double full = kernel_memory();
  load.remove();
  std::this_thread::sleep_for(kGrace);  // fixed time: the kernel frees memory after a grace period
  std::printf(
      "{\"first_seconds\": %.6f, \"first_kernel_seconds\": %.6f, \"longest_transaction_seconds\": %.6f, "
      "\"transactions\": %u, "
      "\"elements\": %llu, \"change_us_p50\": %.3f, \"change_us_p99\": %.3f, \"kernel_mib\": %.3f, "
      "\"kernel_freed_mib\": %.3f}\n",
      took, load.in_kernel, load.longest, load.transactions, static_cast<unsigned long long>(load.elements),
      each[each.size() / 2], each[each.size() * 99 / 100], grown, full - kernel_memory());
  return 0;
}

// In one transaction.
int touch(const char* text) {
  in_addr address{};
  if (::inet_pton(AF_INET, text, &address) != 1) throw std::runtime_error(std::string(text) + " is no address");
  Batch batch;
  Elements(batch, "cluster-ips", true).add(address, nullptr, 0);
  Elements(batch, "cluster-ips").add(address, nullptr, 0);
  Socket().send(std::move(batch));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool touches = argc == 3 && std::strcmp(argv[1], "touch") == 0;
  if (!touches && argc != 4) {
    std::fprintf(stderr, "usage: nftload SERVICES ENDPOINTS CHANGES | touch ADDRESS\n");
    return 2;
  }
  try {
    return touches ? touch(argv[2]) : run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nftload: %s\n", error.what());
    return 1;
  }
}
