# SPDX-License-Identifier: Apache-2.0
# Tests and benchmarks.
#
# THINPIPE_TESTS chooses which tests a build has:
#   unit     tests of the code itself; ./check.sh builds them with sanitizers
#   system   tests that run whole programs; ./check.sh builds them optimised
#   all      both
#   OFF      none
#
# Labels: unit; system; measured: judges rates or times of the emulated network, and no two of these run at a time;
# slow: only ./check.sh --full runs it.
set(THINPIPE_TESTS all CACHE STRING "Tests to build: all, unit, system or OFF")
set_property(CACHE THINPIPE_TESTS PROPERTY STRINGS all unit system OFF)
foreach(kind unit system)
  string(TOUPPER ${kind} kind_in_capitals)
  if(THINPIPE_TESTS STREQUAL kind OR THINPIPE_TESTS STREQUAL "all")
    set(THINPIPE_${kind_in_capitals}_TESTS ON)
  else()
    set(THINPIPE_${kind_in_capitals}_TESTS OFF)
  endif()
endforeach()
if(THINPIPE_TESTS AND NOT THINPIPE_TESTS MATCHES "^(all|unit|system)$")
  message(FATAL_ERROR "THINPIPE_TESTS is \"${THINPIPE_TESTS}\"; choose all, unit, system or OFF")
endif()

if(THINPIPE_TESTS OR THINPIPE_BENCHMARKS)
  find_package(GTest REQUIRED)
endif()
if(THINPIPE_TESTS)
  find_package(rapidcheck REQUIRED)
  find_program(THINPIPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED
    DOC "Python with matplotlib and pandas, for the figures and the tests of the report's files")
  include(GoogleTest)
  enable_testing()
endif()

# thinpipe_register_test(NAME [SYSTEM] [MEASURED] [SLOW] [TIMEOUT seconds] [ENVIRONMENT ...] COMMAND ...): registers a
# program that is one test. Exit status 77 means that it was skipped; its output gives the reason.
function(thinpipe_register_test name)
  cmake_parse_arguments(ARG "SYSTEM;MEASURED;SLOW" "TIMEOUT;WORKING_DIRECTORY" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  thinpipe_test_properties(properties)
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${ARG_WORKING_DIRECTORY})
  cmake_language(EVAL CODE "set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 ${properties})")
  if(ARG_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
endfunction()

# Sets `out` to the properties for the caller's ARG_SYSTEM, ARG_MEASURED, ARG_SLOW and ARG_TIMEOUT, as CMake code.
macro(thinpipe_test_properties out)
  set(labels unit)
  if(ARG_SYSTEM)
    set(labels system)
  endif()
  set(${out} "TIMEOUT ${ARG_TIMEOUT}")
  if(ARG_MEASURED)
    list(APPEND labels measured)
    string(APPEND ${out} " RESOURCE_LOCK measured PROCESSORS 2")  # ./check.sh runs one test more than there are cores
  endif()
  if(ARG_SLOW)
    list(APPEND labels slow)
  endif()
  string(APPEND ${out} " LABELS \"${labels}\"")
endmacro()

# Tests of optimised programs need not be optimised themselves.
set(THINPIPE_TEST_OPTIONS $<$<CONFIG:Release>:-O0>)

# thinpipe_test(NAME SOURCES... LIBS... [HEADERS target] [SYSTEM] [MEASURED] [TIMEOUT seconds] [WHOLE | WHOLE_IF_SANITISED
# [SHARDS n]] [MAY_SKIP patterns...] [SLOW_CASES patterns...]): adds one GoogleTest program, compiled with the precompiled
# headers of `target`. Each case is a test of its own in CTest, unless the program is WHOLE: a process that loads LibTorch
# takes a second to start, so such a program is one test, or one per shard. WHOLE_IF_SANITISED: likewise, for the start
# of hundreds of sanitised processes. None of the cases of a whole program may skip, except MAY_SKIP, which stay tests of
# their own. SLOW_CASES run only in ./check.sh --full.
function(thinpipe_test name)
  cmake_parse_arguments(ARG "SYSTEM;MEASURED;WHOLE;WHOLE_IF_SANITISED" "HEADERS;TIMEOUT;SHARDS"
    "SOURCES;LIBS;MAY_SKIP;SLOW_CASES" ${ARGN})
  if(ARG_WHOLE_IF_SANITISED AND THINPIPE_SANITIZE)
    set(ARG_WHOLE ON)
  endif()
  if((ARG_SYSTEM AND NOT THINPIPE_SYSTEM_TESTS) OR (NOT ARG_SYSTEM AND NOT THINPIPE_UNIT_TESTS))
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} thinpipe_testing thinpipe_flags GTest::gtest_main GTest::gmock)
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS thinpipe_testing)
    target_compile_options(${name} PRIVATE ${THINPIPE_TEST_OPTIONS})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${ARG_HEADERS})
  thinpipe_compile_in_groups(${name})
  list(JOIN ARG_SLOW_CASES ":" slow_cases)
  foreach(tier quick slow)
    set(filter "*")
    if(ARG_SLOW_CASES)
      set(filter "-${slow_cases}")
    endif()
    set(suffix "")
    set(ARG_SLOW OFF)
    if(tier STREQUAL "slow")
      if(NOT ARG_SLOW_CASES)
        break()
      endif()
      set(filter "${slow_cases}")
      set(suffix "_slow")
      set(ARG_SLOW ON)
    endif()
    thinpipe_test_properties(properties)
    if(NOT ARG_WHOLE)
      thinpipe_discover_cases(${name}${suffix}_cases "${filter}")
      continue()
    endif()
    if(ARG_MAY_SKIP AND tier STREQUAL "quick")
      list(JOIN ARG_MAY_SKIP ":" may_skip)
      thinpipe_discover_cases(${name}_skippable_cases "${may_skip}")
      set(excluded ${ARG_MAY_SKIP} ${ARG_SLOW_CASES})
      list(JOIN excluded ":" excluded)
      set(filter "-${excluded}")
    endif()
    thinpipe_add_shards(${name}${suffix})
  endforeach()
endfunction()

macro(thinpipe_discover_cases cases_name case_filter)
  set(cases ${cases_name})
  gtest_discover_tests(${name} TEST_PREFIX "${name}." TEST_LIST ${cases} TEST_FILTER "${case_filter}"
    DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES)
  # Set here, because gtest_discover_tests would split a property that is a list.
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${cases}.cmake)
  file(CONFIGURE OUTPUT ${file} @ONLY
    CONTENT "if(@cases@)\n  set_tests_properties(\${@cases@} PROPERTIES @properties@)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endmacro()

macro(thinpipe_add_shards test)
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test_name ${test})
    if(ARG_SHARDS GREATER 1)
      set(test_name ${test}.${shard})
    endif()
    add_test(NAME ${test_name} COMMAND ${name} --gtest_brief=1 "--gtest_filter=${filter}")
    cmake_language(EVAL CODE "set_tests_properties(${test_name} PROPERTIES ${properties})")
    set_tests_properties(${test_name} PROPERTIES FAIL_REGULAR_EXPRESSION "SKIPPED"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endmacro()

# thinpipe_benchmark(NAME SOURCES... LIBS...): adds one Google Benchmark program, as part of the target "benchmarks".
if(THINPIPE_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
add_custom_target(benchmarks)
function(thinpipe_benchmark name)
  if(NOT THINPIPE_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} thinpipe_testing thinpipe_flags benchmark::benchmark_main)
  add_dependencies(benchmarks ${name})
endfunction()

# thinpipe_fuzz(NAME SOURCES... [LIBS...] SEEDS globs...): adds one libFuzzer program, fuzz/NAME, and its seeds in
# fuzz/seeds/NAME/. Each line of a seed *.jsonl is a seed.
function(thinpipe_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;SEEDS" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE thinpipe_support thinpipe_flags ${ARG_LIBS})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  file(GLOB seeds ${ARG_SEEDS})
  if(NOT seeds)
    message(FATAL_ERROR "there are no seeds to start fuzzing ${name} with: ${ARG_SEEDS}")
  endif()
  set(number 0)
  foreach(seed IN LISTS seeds)  # numbered: some have the same name
    math(EXPR number "${number} + 1")
    set(copy ${CMAKE_BINARY_DIR}/fuzz/seeds/${name}/${number})
    if(seed MATCHES "\\.jsonl$")
      file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/seeds/${name})
      execute_process(COMMAND split --lines=1 --suffix-length=4 ${seed} ${copy}- COMMAND_ERROR_IS_FATAL ANY)
    else()
      configure_file(${seed} ${copy} COPYONLY)
    endif()
  endforeach()
endfunction()
