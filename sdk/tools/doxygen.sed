# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Headers as Doxygen reads them: their comments are plain ones. The licence is no text for
# readers; what follows it is of the file. Lines keep their numbers.
1,2s,^// .*,,
3s,^$,/// \\file,
# What stands for something, <table>, is no tag.
\,^[[:space:]]*//,s,<,\\<,g
s,^\([[:space:]]*\)//$,\1///,
s,^\([[:space:]]*\)// ,\1/// ,
# Behind a member or a value.
s,^\([[:space:]]*[^[:space:]/"][^/"]*[;{,)}][[:space:]]*\)// ,\1///< ,
