# SPDX-License-Identifier: Apache-2.0
# Links to the installed Python package: for scripts that thinpipe starts, and below /usr for every script of Debian's Python.
set(prefix $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
file(MAKE_DIRECTORY ${prefix}/share/thinpipe/trainer)
file(CREATE_LINK ../../../lib/thinpipe/python ${prefix}/share/thinpipe/trainer/python SYMBOLIC)
if(prefix MATCHES "/usr$")
  file(MAKE_DIRECTORY ${prefix}/lib/python3/dist-packages)
  file(CREATE_LINK ../../thinpipe/python/thinpipe ${prefix}/lib/python3/dist-packages/thinpipe SYMBOLIC)
endif()
