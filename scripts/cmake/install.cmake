# `cmake --install`: the program with its manual, completion, scenarios and pictures; the library
# with its headers, and the files that make find_package(retrysim) work.

install(TARGETS retrysim-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The manual is made of the program's help, by help2man. Debian wants it compressed.
find_program(RETRYSIM_GZIP gzip REQUIRED)
find_program(RETRYSIM_HELP2MAN help2man)
set(manual ${PROJECT_BINARY_DIR}/manual)
set(plot_page ${PROJECT_SOURCE_DIR}/scripts/plotting/retrysim-plot.1)
if(RETRYSIM_HELP2MAN)
  set(write_manual ${PROJECT_SOURCE_DIR}/scripts/manual $<TARGET_FILE:retrysim-cli> ${manual})
else()
  message(STATUS "help2man is not installed: retrysim will have no manual pages")
  set(write_manual ${CMAKE_COMMAND} -E true)
endif()
add_custom_command(OUTPUT ${manual}.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
  COMMAND ${write_manual}
  COMMAND ${CMAKE_COMMAND} -E copy ${plot_page} ${manual}
  COMMAND ${RETRYSIM_GZIP} -9 -n -r ${manual}
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}.stamp
  DEPENDS retrysim-cli ${plot_page} ${PROJECT_SOURCE_DIR}/scripts/manual
  COMMENT "Writing the manual pages" VERBATIM)
add_custom_target(retrysim_manual ALL DEPENDS ${manual}.stamp)
add_custom_target(installable DEPENDS retrysim-cli retrysim retrysim_manual)
foreach(section 1 5 7)
  install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
          FILES_MATCHING PATTERN "*.${section}.gz")
endforeach()

# Bash loads the file that is called like the command.
foreach(command retrysim retrysim-plot)
  install(FILES scripts/completion.bash RENAME ${command}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()

set(retrysim_data_dir ${CMAKE_INSTALL_DATADIR}/retrysim)
install(DIRECTORY scenarios DESTINATION ${retrysim_data_dir}
        FILES_MATCHING PATTERN "*.toml" PATTERN "*.csv" PATTERN "*.schema.json")
# The tutorial links pages that are not installed: only the words stay.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS scenarios/tutorial.md)
file(READ scenarios/tutorial.md tutorial)
string(REGEX REPLACE "\\[([^]\n]+)\\]\\([^:)\n]+\\)" "\\1" tutorial "${tutorial}")
file(WRITE ${PROJECT_BINARY_DIR}/tutorial.md "${tutorial}")
install(FILES ${PROJECT_BINARY_DIR}/tutorial.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# plot.py as a command: Python finds its modules beside the file that the link leads to.
install(PROGRAMS scripts/plot.py DESTINATION ${retrysim_data_dir})
install(DIRECTORY scripts/plotting DESTINATION ${retrysim_data_dir}
        FILES_MATCHING PATTERN "*.py" PATTERN "looks.json" PATTERN "__pycache__" EXCLUDE)
file(RELATIVE_PATH plot_target
     ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/retrysim/plot.py)
file(CREATE_LINK ${plot_target} ${PROJECT_BINARY_DIR}/retrysim-plot SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/retrysim-plot DESTINATION ${CMAKE_INSTALL_BINDIR})

install(TARGETS retrysim EXPORT retrysimTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(retrysim_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/retrysim)
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
