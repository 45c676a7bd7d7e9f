# SPDX-License-Identifier: Apache-2.0
# `cmake --install BUILD --prefix PREFIX` after a whole build, and `cpack -G DEB` in the build folder. The programs find all
# other files relative to their own path; share/thinpipe has the same folders as the sources.
if(SKBUILD)
  return()  # pip installs the Python package alone
endif()
set(data share/thinpipe)

install(TARGETS thinpipe thinpipe-trainer RUNTIME DESTINATION bin)
if(TARGET thinpipe-polling)
  install(TARGETS thinpipe-polling LIBRARY DESTINATION lib/thinpipe)
endif()
# For a LibTorch in a folder of its own, such as PyTorch's wheel.
set_property(TARGET thinpipe-trainer PROPERTY INSTALL_RPATH_USE_LINK_PATH ON)

install(DIRECTORY topologies experiments plotting DESTINATION ${data} FILES_MATCHING PATTERN "*.json" PATTERN "*.csv"
  PATTERN "*.py" PATTERN "*.mplstyle" PATTERN tests EXCLUDE PATTERN __pycache__ EXCLUDE
  # These make the pages of the sources, from all reference results.
  PATTERN prose* EXCLUDE PATTERN paper_claims.py EXCLUDE)
foreach(folder trainer/external trainer/profiles docs/examples)
  install(DIRECTORY ${folder}/ DESTINATION ${data}/${folder} FILES_MATCHING PATTERN "*.json" PATTERN "*.py"
    PATTERN __pycache__ EXCLUDE)
endforeach()
foreach(file harness/schema/record.schema.json harness/schema/topology.schema.json results/reference/encode-decode.json
    results/reference/noise.json common/support/renamed_names.json harness/reports/page/method_styles.json
    scripts/bundle.py scripts/picture_command.py)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${file} DESTINATION ${data}/${folder})
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/experiment.schema.json DESTINATION ${data})
install(SCRIPT scripts/cmake/install_schema_paths.cmake)

# Scripts that thinpipe starts find the package in share, as in the sources, or in lib if its extension is for their Python.
foreach(folder ${data}/trainer/python lib/thinpipe/python)
  install(DIRECTORY trainer/python/thinpipe DESTINATION ${folder} FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
endforeach()
if(TARGET thinpipe-python)
  install(TARGETS thinpipe-python LIBRARY DESTINATION lib/thinpipe/python/thinpipe)
  install(FILES trainer/python/thinpipe/__main__.py DESTINATION lib/thinpipe/python)
  set_property(TARGET thinpipe-python PROPERTY INSTALL_RPATH_USE_LINK_PATH ON)
endif()
install(SCRIPT scripts/cmake/install_python_links.cmake)

install(FILES LICENSE NOTICE CHANGELOG.md CITATION.cff DESTINATION share/doc/thinpipe)
install(DIRECTORY docs DESTINATION share/doc/thinpipe FILES_MATCHING PATTERN "*.md" PATTERN tests EXCLUDE
  PATTERN examples EXCLUDE)

# The package for the Debian that it is built on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Thinpipe authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0-pthread)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "dataset-fashion-mnist, python3-matplotlib, python3-pandas, iproute2, iperf3, iputils-ping, tcpdump")
if(TARGET thinpipe-python)
  # The extension is for one version of Python.
  execute_process(COMMAND ${THINPIPE_PYTHON_INTERPRETER} -c
    "from sys import version_info as v; print(f'python3 (>= {v[0]}.{v[1]}), python3 (<< {v[0]}.{v[1] + 1})')"
    OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", ${python}")
  # Only suggested, because it recommends compilers.
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3-torch)
endif()
include(CPack)
