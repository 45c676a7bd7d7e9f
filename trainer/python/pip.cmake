# For `pip install .`: builds for the Python that runs pip, with its torch. pip hides an environment's packages from
# builds, by PYTHONPATH.
set(THINPIPE_PYTHON_INTERPRETER ${Python_EXECUTABLE} CACHE FILEPATH "")
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE ${Python_EXECUTABLE} -c
  "import torch; print(torch.utils.cmake_prefix_path, torch._C._GLIBCXX_USE_CXX11_ABI, torch.__version__)"
  OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE error RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "${Python_EXECUTABLE} cannot import torch; install it in this environment first: pip install torch\n${error}")
endif()
if(NOT torch MATCHES "^(.*) True (.*)$")
  message(FATAL_ERROR "The torch of ${Python_EXECUTABLE} is built with an older ABI of the C++ library than this system's libraries; "
    "install PyTorch 2.6 or newer: pip install --upgrade torch")
endif()
list(PREPEND CMAKE_PREFIX_PATH ${CMAKE_MATCH_1})
message(STATUS "torch ${CMAKE_MATCH_2} of ${Python_EXECUTABLE}")
