# SPDX-License-Identifier: Apache-2.0
# Finds the CUDA toolkit where it is wanted and there; sets EXACTILE_HAS_CUDA. The runtime is linked statically and finds
# the driver at run time, so what is built here starts on machines without either.
set(EXACTILE_HAS_CUDA FALSE)
if(NOT EXACTILE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  list(APPEND CMAKE_PREFIX_PATH /usr/local/cuda) # where NVIDIA's installer puts it
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(CMAKE_CUDA_COMPILER nvcc HINTS /usr/local/cuda/bin)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${EXACTILE_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know it of newer compilers
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    find_package(CUDAToolkit 12.1 REQUIRED) # the assembler of 12.0 does not know st.async
    # Constexpr functions of the public headers are used on the device.
    string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra")
    set(EXACTILE_HAS_CUDA TRUE)
  elseif(EXACTILE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "EXACTILE_CUDA=ON, but there is no nvcc: set CMAKE_CUDA_COMPILER or CUDACXX to it")
  endif()
endif()
