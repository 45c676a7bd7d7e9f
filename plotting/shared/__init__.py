# SPDX-License-Identifier: Apache-2.0
"""What the figures and tables of plotting/ share: reading runs and their judgement, styles, cells, and writing."""
