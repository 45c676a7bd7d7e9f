# SPDX-License-Identifier: Apache-2.0
# For `pip install .`: builds for the Python that runs pip, with its torch. pip hides an environment's packages from
# builds, by PYTHONPATH.
set(THINPIPE_PYTHON_INTERPRETER ${Python_EXECUTABLE} CACHE FILEPATH "")
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE ${Python_EXECUTABLE} -c
  "import torch; print(torch.utils.cmake_prefix_path, torch._C._GLIBCXX_USE_CXX11_ABI, torch.__version__, torch.version.cuda)"
  OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE error RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "${Python_EXECUTABLE} cannot import torch; install it in this environment first: pip install torch\n${error}")
endif()
if(NOT torch MATCHES "^(.*) True (.*) (.*)$")
  message(FATAL_ERROR "The torch of ${Python_EXECUTABLE} is built with an older ABI of the C++ library than this system's libraries; "
    "install PyTorch 2.6 or newer: pip install --upgrade torch")
endif()
set(prefix ${CMAKE_MATCH_1})
message(STATUS "torch ${CMAKE_MATCH_2} of ${Python_EXECUTABLE}")

if(CMAKE_MATCH_3 STREQUAL None)
  list(PREPEND CMAKE_PREFIX_PATH ${prefix})
  return()
endif()
# The CMake files of a PyTorch for CUDA refuse to work without the CUDA toolkit, which its users seldom have. The package
# needs nothing of the toolkit, because it leaves out the collectives over NCCL.
get_filename_component(TORCH_INSTALL_PREFIX ${prefix}/../.. ABSOLUTE)
set(TORCH_INCLUDE_DIRS ${TORCH_INSTALL_PREFIX}/include ${TORCH_INSTALL_PREFIX}/include/torch/csrc/api/include)
foreach(name torch torch_cpu c10)
  find_library(library ${name} PATHS ${TORCH_INSTALL_PREFIX}/lib NO_DEFAULT_PATH NO_CACHE REQUIRED)
  list(APPEND TORCH_LIBRARIES ${library})
  unset(library)
endforeach()
