# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Converts plain comments of headers to Doxygen comments. The licence is removed; the comment after it documents the
# file. Line numbers do not change.
1,2s,^// .*,,
3s,^$,/// \\file,
# Escape placeholders such as <table>, which are not tags.
\,^[[:space:]]*//,s,<,\\<,g
s,^\([[:space:]]*\)//$,\1///,
s,^\([[:space:]]*\)// ,\1/// ,
# A comment after a member or a value.
s,^\([[:space:]]*[^[:space:]/"][^/"]*[;{,)}][[:space:]]*\)// ,\1///< ,
