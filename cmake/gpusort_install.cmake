# install(): the headers, and what find_package(gpusort) reads.

include(CMakePackageConfigHelpers)

set(gpusort_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/gpusort)

install(DIRECTORY gpusort DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
install(TARGETS gpusort EXPORT gpusort)
install(EXPORT gpusort NAMESPACE gpusort:: FILE gpusort-targets.cmake DESTINATION ${gpusort_package_dir})

configure_package_config_file(cmake/gpusort-config.cmake.in ${PROJECT_BINARY_DIR}/gpusort-config.cmake
                              INSTALL_DESTINATION ${gpusort_package_dir} NO_SET_AND_CHECK_MACRO)
# Headers alone: the width of a pointer where they were installed does not matter.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gpusort-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/gpusort-config.cmake ${PROJECT_BINARY_DIR}/gpusort-config-version.cmake
              cmake/gpusort_dependencies.cmake
        DESTINATION ${gpusort_package_dir})
