# What gpusort's headers need, as the target gpusort::dependencies. Used by our own build and, installed, by
# find_package(gpusort), so that an installed gpusort uses the toolkit of the machine it is used on.

if(TARGET gpusort::dependencies)
  return()
endif()

find_package(CUDAToolkit REQUIRED)

add_library(gpusort::dependencies INTERFACE IMPORTED)
# The CUDA runtime that CMake gives the target's own CUDA sources, so that a program never holds two: by default the
# static one, and none where CUDA_RUNTIME_LIBRARY is None.
set(gpusort_runtime $<UPPER_CASE:$<TARGET_PROPERTY:CUDA_RUNTIME_LIBRARY>>)
target_link_libraries(gpusort::dependencies INTERFACE
  CUDA::toolkit
  $<$<STREQUAL:${gpusort_runtime},SHARED>:CUDA::cudart>
  $<$<OR:$<STREQUAL:${gpusort_runtime},STATIC>,$<STREQUAL:${gpusort_runtime},>>:CUDA::cudart_static>
  ${CMAKE_DL_LIBS})

if(TARGET CCCL::CCCL OR GPUSORT_USE_INSTALLED_CCCL OR CCCL_DIR)
  # A project that brings a CCCL of its own means it for us too.
  if(NOT TARGET CCCL::CCCL)
    find_package(CCCL 3.0 REQUIRED CONFIG)
  endif()
  target_link_libraries(gpusort::dependencies INTERFACE CCCL::CCCL)
else()
  # nvcc finds the toolkit's CCCL by itself, a host compiler does not.
  find_path(GPUSORT_CCCL_INCLUDE_DIR thrust/version.h
            HINTS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl NO_DEFAULT_PATH
            DOC "The folder of the CUDA toolkit that holds thrust/, cub/ and cuda/std/")
  if(NOT GPUSORT_CCCL_INCLUDE_DIR)
    message(FATAL_ERROR "gpusort: the CUDA toolkit at ${CUDAToolkit_INCLUDE_DIRS} holds no CCCL (thrust/version.h). "
                        "Install it, or set GPUSORT_USE_INSTALLED_CCCL=ON and CCCL_DIR.")
  endif()
  mark_as_advanced(GPUSORT_CCCL_INCLUDE_DIR)
  # An imported target's include directories are system directories: no warnings from there.
  target_include_directories(gpusort::dependencies INTERFACE ${GPUSORT_CCCL_INCLUDE_DIR})
endif()
