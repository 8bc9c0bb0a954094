# How our own tests, examples and benchmarks are compiled. Nothing here reaches a user's target.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Without a GPU nothing is timed: host code as it is costs more seconds to optimise than to run.
if(GPUSORT_INTERPRET_TESTS)
  string(REPLACE "-O3" "-O0" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
endif()

set(gpusort_foreign_cccl OFF)
if(GPUSORT_USE_INSTALLED_CCCL OR CCCL_DIR)
  set(gpusort_foreign_cccl ON)
endif()

add_library(gpusort_development INTERFACE)
target_link_libraries(gpusort_development INTERFACE gpusort::gpusort)
target_compile_options(gpusort_development INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;-Xcompiler=-Wall,-Wextra,-Werror;-Werror=all-warnings>
  # A newer CCCL deprecates names that the toolkit's has no replacement for.
  $<$<BOOL:${gpusort_foreign_cccl}>:-Wno-deprecated-declarations>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${GPUSORT_LINE_INFO}>>:-lineinfo>)

# One nvcc takes a core and, over Thrust, up to two gigabytes; ninja by itself would start two more than there are cores.
cmake_host_system_information(RESULT gpusort_cores QUERY NUMBER_OF_LOGICAL_CORES)
set_property(GLOBAL APPEND PROPERTY JOB_POOLS gpusort_nvcc=${gpusort_cores})

# What ci/gpu.sh builds in place of everything.
add_custom_target(gpusort_host_tests)
add_custom_target(gpusort_gpu_tests)
add_custom_target(gpusort_examples)

# gpusort_add_program(NAME name GROUP custom_target SOURCES file... [LIBRARIES target...])
function(gpusort_add_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;GROUP" "SOURCES;LIBRARIES")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE gpusort_development ${arg_LIBRARIES})
  set_target_properties(${arg_NAME} PROPERTIES JOB_POOL_COMPILE gpusort_nvcc)
  if(arg_GROUP)
    add_dependencies(${arg_GROUP} ${arg_NAME})
  endif()
endfunction()

# gpusort_compile_to_ptx(name [OPTIMISED | NEVER_RUN]): what no GPU will run need not be assembled, nor optimised as well, which would take three
# times as long; and what is not interpreted either need not be optimised at all.
function(gpusort_compile_to_ptx name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;NEVER_RUN" "" "")
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES 90-virtual)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-no-compress>)
  if(NOT arg_OPTIMISED)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=$<IF:$<BOOL:${arg_NEVER_RUN}>,max,mid>>)
  endif()
endfunction()

# gpusort_missing(what consequence): a library that is not here costs what needs it, or the whole build.
function(gpusort_missing what consequence)
  if(GPUSORT_REQUIRE_ALL)
    message(FATAL_ERROR "${what} not found (GPUSORT_REQUIRE_ALL is ON)")
  endif()
  message(STATUS "${what} not found: ${consequence}")
endfunction()
