# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a header with the commit of SOURCE and whether the tree differs from it. Runs at each build; the file
# changes only if its content does. For sources without Git, such as those in a container, the variable THINPIPE_COMMIT of
# the environment has what `git describe --always --abbrev=40 --exclude='*' --dirty` printed.
cmake_policy(VERSION 3.24)
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(dirty false)
if(failed)
  set(commit "unknown")
  if("$ENV{THINPIPE_COMMIT}" MATCHES "^([0-9a-f]+)(-dirty)?$")
    set(commit ${CMAKE_MATCH_1})
    if(CMAKE_MATCH_2)
      set(dirty true)
    endif()
  endif()
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes)
  if(changes)
    set(dirty true)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#pragma once

namespace thinpipe {

inline constexpr const char* git_commit = \"@commit@\";
inline constexpr bool git_dirty = @dirty@;

}  // namespace thinpipe
")
