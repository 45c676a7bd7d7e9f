# SPDX-License-Identifier: Apache-2.0
"""What the programs say about themselves, and what is made of it."""
