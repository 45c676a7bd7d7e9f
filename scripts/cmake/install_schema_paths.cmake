# SPDX-License-Identifier: Apache-2.0
# Lets installed experiments name the installed schema instead of the build's.
set(data $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/thinpipe)
file(GLOB experiments ${data}/experiments/*.json)
foreach(experiment IN LISTS experiments)
  file(READ ${experiment} text)
  string(REPLACE "../build/release/experiment.schema.json" "../experiment.schema.json" text "${text}")
  file(WRITE ${experiment} "${text}")
endforeach()
