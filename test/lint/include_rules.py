# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""The directions in which code may depend on code. Strict: a new dependency is a change of this table.

The line is kube → store → snapshot → sync → plugin → (ABI) → plugins. What stands right may never include
what stands left of it, but for the plain values in base and model.
"""

# The folders of core, and which others each may include besides itself.
CORE = {
    "base": set(),
    "model": {"base"},
    "kube": {"base", "model"},
    "store": {"base", "model"},
    "snapshot": {"base", "model", "store"},
    "plugin": {"base"},
    "sync": {"base", "snapshot", "plugin"},
    # The exchange of backends: sees the line from the snapshots on.
    "swap": {"base", "snapshot", "sync", "plugin"},
    "node": {"base", "model"},
    "serve": {"base"},
    # A client of the socket: shares the lowest layer with the daemon, and none of its stages.
    "ctl": {"base"},
    # The wiring: sees every stage, is seen by none.
    "app": {"base", "model", "kube", "store", "snapshot", "plugin", "sync", "swap", "node", "serve"},
}

# Files of core that may include the SDK: prefix of the path → what of it.
SDK_IN_CORE = {
    "core/snapshot/flatten.": ("sluice/abi/",),
    "core/plugin/": ("sluice/abi/", "sluice/sdk/"),
    "core/swap/": ("sluice/abi/", "sluice/sdk/claims.hpp"),  # their grammar, as backends understand it
    "core/sync/": ("sluice/abi/",),
    "core/app/cleanup/": ("sluice/abi/", "sluice/sdk/"),
    "core/app/config/": ("sluice/sdk/nearest.hpp",),  # for words, as backends say them
    "core/app/": ("sluice/abi/", "sluice/sdk/claims.hpp"),
}

# Files of core that may include what the plugins share: prefix of the path → prefix of the header.
# Clean-up takes away what a backend made whose file is gone.
PLUGINS_IN_CORE = {"core/app/cleanup/": "plugins/common/"}

# Third-party libraries: how their headers begin → prefixes of the paths that may include them.
THIRD_PARTY = {
    "boost/asio": ("core/kube/", "core/serve/", "core/ctl/"),
    "boost/beast": ("core/kube/", "core/serve/", "core/ctl/"),
    "boost/dll": ("core/plugin/", "test/abi/"),
    "boost/intrusive/": ("plugins/",),
    "boost/program_options": ("core/app/", "core/ctl/"),
    "cppunit/": ("test/unit/", "test/abi/", "test/precompiled.hpp"),
    "cpprest/": ("core/kube/http/",),
    "pplx/": ("core/kube/http/",),
    "libmnl/": ("core/node/conntrack_", "plugins/nftables/layout/", "test/tools/", "test/unit/nftables/"),
    "libipset/": ("plugins/",),
    "libnftnl/": ("plugins/nftables/kernel/", "plugins/nftables/layout/", "test/tools/", "test/unit/nftables/"),
    "log4cplus/": ("core/base/log.cpp", "core/app/logging.cpp", "test/unit/plugin/captured_log.hpp", "test/unit/app/"),
    "netlink/": ("core/node/", "core/app/cleanup/", "test/unit/app/cleanup_", "plugins/", "test/unit/ipvs/", "test/unit/node/",
                 "test/fuzz/targets/ipvs"),
    # JSON is read with simdjson, which writes none.
    "nlohmann/": ("core/app/", "core/serve/", "core/ctl/", "core/kube/recording/", "core/kube/events/",
                  "test/unit/app/", "test/unit/serve/", "test/unit/ctl/", "test/precompiled.hpp"),
    # The hash is part of the names of kube-proxy's chains.
    "openssl/": ("core/base/sha256.cpp", "core/kube/", "test/unit/kube/", "plugins/common/netfilter/base32_hash.cpp"),
    "prometheus/": ("core/app/metrics/", "test/unit/app/"),
    "simdjson": ("core/kube/", "test/unit/kube/"),
    "yaml-cpp/": ("core/kube/", "core/app/", "core/ctl/output.cpp", "test/unit/kube/", "test/unit/app/"),
    # system_roots.cpp stands in for a function of OpenSSL and calls it.
    "dlfcn.h": ("core/plugin/", "core/kube/http/system_roots.cpp", "test/abi/", "test/unit/plugin/", "test/unit/plugin_library.hpp",
                "test/plugins/mutant", "test/tools/conformance_", "test/tools/netlinkfaults"),
}

# A library that throws is met in one file only, which turns its exceptions into Status.
ONE_FILE = {"cpprest/": "core/kube/http/", "pplx/": "core/kube/http/"}

# Which part of the tests may look at which folders of core; "*" is every folder but app.
TESTS = {
    "test/unit/app/": {"*", "app"},
    "test/fuzz/": {"*", "app"},
    "test/unit/": {"*"},
    "test/abi/": {"*"},
    "test/plugins/": set(),
    # Takes the place of a file of the daemon.
    "test/tools/fault_point": {"base", "swap"},
    "test/tools/conformance_subject": {"plugin"},
    "test/tools/": set(),
    "test/": set(),
}

# Headers of the kernel and of libc that have no C++ name.
SYSTEM_FOLDERS = {"arpa", "asm", "linux", "net", "netinet", "sys"}
SYSTEM_HEADERS = {
    "byteswap.h", "cxxabi.h", "dirent.h", "elf.h", "endian.h", "errno.h", "fcntl.h", "fnmatch.h", "glob.h", "grp.h",
    "ifaddrs.h", "limits.h", "link.h", "malloc.h", "netdb.h", "poll.h", "pthread.h", "pwd.h", "sched.h", "semaphore.h", "signal.h",
    "spawn.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "strings.h", "syslog.h", "termios.h", "time.h", "unistd.h",
}

# The SDK itself is what others compile: the boundary needs three headers of the standard library.
ABI_STANDARD_HEADERS = {"cstddef", "cstdint", "type_traits"}
