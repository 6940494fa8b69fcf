# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the guest's kernel."""

import re

# Lines of the console after which the kernel's results are not reliable, and lines of guest/init.
TROUBLE = re.compile(r"Kernel panic|\bBUG:|\bOops\b|WARNING: (?:CPU|.* at .*CPU#)|kernel BUG at|general protection fault|"
                     r"KASAN:|UBSAN:|refcount_t:|list_(?:add|del) corruption|unregister_netdevice: waiting|hung_task|"
                     r"blocked for more than|Out of memory: Killed|^sluice: ")
