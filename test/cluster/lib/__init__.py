# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Building blocks of a Kubernetes cluster in namespaces. The modules of test/system/lib belong to this package, too."""

import os

# A module of this folder precedes one of test/system/lib with the same name, so their names must differ.
__path__.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "system", "lib"))
