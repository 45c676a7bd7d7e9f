# SPDX-License-Identifier: Apache-2.0
"""Numbers in prose that follow from records: how a page marks them, and how they are computed and written."""
