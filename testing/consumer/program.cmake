# The consumer itself, once gpusort::gpusort is there: one file for nvcc, one for the host compiler, strict warnings.

add_executable(consumer ${CMAKE_CURRENT_LIST_DIR}/main.cu ${CMAKE_CURRENT_LIST_DIR}/host.cpp)
target_link_libraries(consumer PRIVATE gpusort::gpusort)
target_compile_options(consumer PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion,-Werror;-Werror=all-warnings>)
