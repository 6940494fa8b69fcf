# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The directions in which code may depend on code. Strict: a new dependency is a change of this table.

The line is kube → store → snapshot → sync → plugin → (ABI) → plugins. What stands right may never include
what stands left of it, but for the plain values in base and model, and what lib has for everything.
"""

# Folders that include nothing of the project and that everything but the SDK may include.
FOR_ALL = ("lib",)

# The folders of core, and which others each may include besides itself. There are no cycles.
CORE = {
    "base": set(),
    "model": {"base"},
    "kube": {"base", "model"},
    "store": {"base", "model"},
    "snapshot": {"base", "model", "store"},
    "plugin": {"base"},
    "sync": {"base", "snapshot", "plugin"},
    # Facts about the node, and its tracked flows.
    "node": {"base", "model"},
    "conntrack": {"base", "model", "node", "snapshot"},
    # The configuration, and what applies a change of it.
    "config": {"base", "kube", "node"},
    "reload": {"base", "config", "node"},
    # Format and destination of log lines.
    "logging": {"base", "config", "reload"},
    # What a backend owns on the node, and its removal without the backend's plugin.
    "ownership": {"base"},
    "cleanup": {"base", "node", "ownership"},
    # What clients read from the daemon.
    "observe": {"base", "config", "kube", "model", "plugin", "reload", "snapshot", "store", "sync"},
    # Active and draining backends.
    "lifecycle": {"base", "cleanup", "config", "conntrack", "kube", "node", "observe", "ownership", "plugin", "reload", "snapshot", "sync"},
    # A client of the control socket: shares the lowest layer with the daemon, and none of its stages.
    "ctl": {"base"},
    # The wiring: includes every stage, and is included by none.
    "daemon": {"base", "cleanup", "config", "conntrack", "kube", "lifecycle", "logging", "model", "node", "observe", "ownership",
               "plugin", "reload", "snapshot", "store", "sync"},
}

# Files of core that may include the SDK: prefix of the path → what of it.
SDK_IN_CORE = {
    "core/snapshot/flatten.": ("sluice/abi/",),
    "core/plugin/": ("sluice/abi/", "sluice/sdk/"),
    "core/lifecycle/": ("sluice/abi/", "sluice/sdk/claims.hpp", "sluice/sdk/option_table.hpp"),  # as backends understand them
    "core/ownership/": ("sluice/abi/", "sluice/sdk/claims.hpp"),
    "core/sync/": ("sluice/abi/",),
    "core/cleanup/": ("sluice/abi/", "sluice/sdk/"),
    "core/config/": ("sluice/sdk/nearest.hpp",),  # for words, as backends say them
    "core/daemon/": ("sluice/abi/", "sluice/sdk/option_table.hpp"),
    "core/observe/": ("sluice/abi/",),
}

# Files of core that may include what the plugins share: prefix of the path → prefix of the header.
# Clean-up removes the state of a backend whose plugin file is missing.
PLUGINS_IN_CORE = {"core/cleanup/": "plugins/common/"}

# Files of core that may include names/, which includes nothing of the project: names of kernel objects that clean-up removes
# and plugins write, and the ids of modes.
NAMES_IN_CORE = ("core/cleanup/", "core/config/mode_table.", "core/node/address_events.")

# Third-party libraries: how their headers begin → prefixes of the paths that may include them.
THIRD_PARTY = {
    "boost/asio": ("core/kube/", "core/observe/", "core/ctl/"),
    "boost/beast": ("core/kube/", "core/observe/", "core/ctl/"),
    "boost/dll": ("core/plugin/", "test/abi/"),
    "boost/intrusive/": ("plugins/",),
    "boost/program_options": ("core/config/", "core/ctl/"),
    "cppunit/": ("test/unit/", "test/abi/", "test/precompiled.hpp"),
    "cpprest/": ("core/kube/http/",),
    "pplx/": ("core/kube/http/",),
    "libmnl/": ("core/conntrack/message.", "plugins/nftables/layout/", "test/tools/", "test/unit/nftables/"),
    "libipset/": ("plugins/",),
    "libnftnl/": ("plugins/nftables/kernel/", "plugins/nftables/layout/", "test/tools/", "test/unit/nftables/"),
    "log4cplus/": ("core/base/log.cpp", "core/base/log_event.hpp", "core/logging/logging.cpp", "test/unit/plugin/captured_log.hpp"),
    "netlink/": ("core/node/", "core/cleanup/", "lib/netlink/", "test/unit/cleanup/", "plugins/", "test/unit/ipvs/", "test/unit/node/",
                 "test/unit/common/netlink/", "test/unit/userspace/relay/", "test/fuzz/targets/ipvs"),
    # JSON is read with simdjson, which writes none.
    "nlohmann/": ("core/config/render.cpp", "core/ctl/", "core/daemon/", "core/kube/events/", "core/kube/recording/", "core/lifecycle/",
                  "core/logging/", "core/observe/", "core/ownership/", "core/reload/reload_result.", "test/unit/config/",
                  "test/unit/ctl/", "test/unit/lifecycle/", "test/unit/logging/", "test/unit/observe/", "test/unit/ownership/", "test/precompiled.hpp"),
    "openssl/": ("lib/sha256.cpp", "core/kube/", "test/unit/kube/"),
    "protozero/": ("core/kube/decode/protobuf_reader.cpp",),
    "prometheus/": ("core/observe/metrics/", "test/unit/observe/"),
    "simdjson": ("core/kube/", "core/observe/metrics/label_text.cpp", "core/plugin/metric_declarations.cpp",
                 "test/unit/kube/"),
    "valgrind/": ("test/tools/corescale_instructions.cpp",),
    "yaml-cpp/": ("core/kube/", "core/config/", "core/ctl/output.cpp", "test/unit/kube/", "test/unit/config/",
                  "test/precompiled.hpp"),
    # For the constants; the calls are in lib/inotify.cpp.
    "sys/inotify.h": ("lib/inotify.cpp", "core/kube/manifests/", "core/reload/file_watch.cpp", "test/unit/lib/inotify_test.cpp"),
    # tcp_acceptor.cpp only needs the lowest free descriptor.
    "sys/eventfd.h": ("lib/wake_up.hpp", "plugins/userspace/relay/tcp_acceptor.cpp", "test/unit/"),
    # system_roots.cpp stands in for a function of OpenSSL and calls it.
    "dlfcn.h": ("core/plugin/", "core/kube/http/system_roots.cpp", "test/abi/", "test/unit/plugin/", "test/unit/plugin_library.hpp",
                "test/unit/reference/tables.cpp", "test/unit/thread_check.cpp", "test/plugins/mutant", "test/tools/conformance_", "test/tools/netlinkfaults"),
}

# A library that throws is used in one file only, which turns its exceptions into Status.
ONE_FILE = {"cpprest/": "core/kube/http/", "pplx/": "core/kube/http/"}

# Which part of the tests may include which folders of core; "*" is every folder.
TESTS = {
    "test/fuzz/": {"*"},
    "test/unit/": {"*"},
    "test/abi/": {"*"},
    "test/plugins/": set(),
    # Takes the place of a file of the daemon.
    "test/tools/fault_point": {"base", "lifecycle"},
    "test/tools/conformance_subject": {"plugin"},
    "test/tools/corescale": {"base", "conntrack", "kube", "model", "observe", "snapshot"},
    "test/tools/": set(),
    "test/": set(),
}

# Headers of the kernel and of libc that have no C++ name.
SYSTEM_FOLDERS = {"arpa", "asm", "linux", "net", "netinet", "sys"}
SYSTEM_HEADERS = {
    "byteswap.h", "ctype.h", "cxxabi.h", "dirent.h", "elf.h", "endian.h", "errno.h", "fcntl.h", "fnmatch.h", "glob.h", "grp.h",
    "ifaddrs.h", "inttypes.h", "limits.h", "link.h", "malloc.h", "netdb.h", "poll.h", "pthread.h", "pwd.h", "sched.h",
    "search.h", "semaphore.h", "signal.h", "spawn.h", "stdarg.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h",
    "strings.h", "syslog.h", "termios.h", "time.h", "unistd.h",
}

# Third parties compile the SDK: the ABI may include only three headers of the standard library.
ABI_STANDARD_HEADERS = {"cstddef", "cstdint", "type_traits"}
