# SPDX-License-Identifier: Apache-2.0
# Below /usr, links the installed Python package for every script of Debian's Python.
set(prefix $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
if(prefix MATCHES "/usr$")
  file(MAKE_DIRECTORY ${prefix}/lib/python3/dist-packages)
  file(CREATE_LINK ../../thinpipe/python/thinpipe ${prefix}/lib/python3/dist-packages/thinpipe SYMBOLIC)
endif()
