# `cmake --install`: the program, the library with its headers, and the files that make
# find_package(retrysim) work.

set(retrysim_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/retrysim)

install(TARGETS retrysim-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS retrysim EXPORT retrysimTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT retrysimTargets NAMESPACE retrysim:: DESTINATION ${retrysim_package_dir})

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/retrysimConfig.cmake.in
  ${PROJECT_BINARY_DIR}/retrysimConfig.cmake
  INSTALL_DESTINATION ${retrysim_package_dir})
# While the first number is 0, a new second number may break programs.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/retrysimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/retrysimConfig.cmake ${PROJECT_BINARY_DIR}/retrysimConfigVersion.cmake
  DESTINATION ${retrysim_package_dir})
