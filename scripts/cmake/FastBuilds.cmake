# SPDX-License-Identifier: Apache-2.0
# Makes builds fast: a compiler cache and a fast linker if they are installed, and files compiled in groups.

# Configured per compilation, so that users need no configuration. Paths below the source folder are hashed relative to
# the build folder, so that a clone elsewhere finds in the cache what this one has compiled.
option(THINPIPE_CCACHE "Use ccache if it is installed" ON)
if(THINPIPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(THINPIPE_CCACHE_PROGRAM ccache)
  if(THINPIPE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${THINPIPE_CCACHE_PROGRAM})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-fpch-preprocess)  # otherwise ccache cannot see which precompiled header a file uses
    endif()
  endif()
endif()

# Programs name source files relative to the sources, so that an installed one holds no path of this machine. ccache does
# it too, unless CCACHE_DISABLE is set, and finds a file whatever path follows the option.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

option(THINPIPE_MOLD "Link with mold if it is installed" ON)
if(THINPIPE_MOLD)
  find_program(THINPIPE_MOLD_PROGRAM mold)
  include(CheckCXXSourceCompiles)
  if(THINPIPE_MOLD_PROGRAM)
    set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=mold)
    check_cxx_source_compiles("int main() {}" THINPIPE_MOLD_WORKS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(THINPIPE_MOLD_WORKS)
      add_link_options(-fuse-ld=mold)
    endif()
  endif()
endif()

# Most of the compile time goes into library templates, which every file would instantiate again. A group instantiates
# them once, but a change of one file recompiles the whole group: good for a build from scratch, bad for daily work.
# Groups do not cross folders, so files in different folders may use the same local name.
option(THINPIPE_UNITY "Compile the files of a folder in groups: fast from scratch, slow after an edit" OFF)
set(THINPIPE_UNITY_FILES 16)

# Call it once the target has all its sources. Files with properties of their own are compiled separately. CMake's
# UNITY_BUILD names the files of a group by absolute paths. __FILE__ in every GoogleTest case would contain them, and a
# clone in another folder would recompile all tests.
function(thinpipe_compile_in_groups target)
  if(NOT THINPIPE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  set(groups "")
  foreach(source IN LISTS sources)
    thinpipe_has_properties(${source} alone)
    if(alone OR NOT source MATCHES "\\.cc$")
      continue()
    endif()
    get_filename_component(file ${source} ABSOLUTE)
    file(RELATIVE_PATH file ${PROJECT_SOURCE_DIR} ${file})
    get_filename_component(folder ${file} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR batch "${count_${folder}} / ${THINPIPE_UNITY_FILES}")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    list(APPEND groups ${folder}_${batch})
    string(APPEND files_of_${folder}_${batch} "#include \"${file}\"\n")
    list(REMOVE_ITEM sources ${source})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/groups/${target}/${group}.cc)
    file(CONFIGURE OUTPUT ${path} CONTENT "${files_of_${group}}" @ONLY)  # does not touch an unchanged file
    list(APPEND sources ${path})
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
endfunction()

function(thinpipe_has_properties source out)
  set(${out} OFF PARENT_SCOPE)
  foreach(name COMPILE_DEFINITIONS COMPILE_OPTIONS SKIP_PRECOMPILE_HEADERS)
    get_source_file_property(value ${source} ${name})
    if(value)
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
