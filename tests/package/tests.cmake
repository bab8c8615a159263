# The manual pages, the completion, and the Debian package, which is made from this build tree.

add_test(NAME package/manual
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/manual_test.py
                 --program $<TARGET_FILE:retrysim-cli>)
add_test(NAME package/completion
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/completion_test.py
                 --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR})
set_tests_properties(package/manual package/completion PROPERTIES
  LABELS cli TIMEOUT 600 SKIP_RETURN_CODE 77)

# Where there is dpkg, every night: elsewhere the package cannot be made. What it installs is tested
# by consumer/*, too.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS)
  add_test(NAME package/make
           COMMAND ${CMAKE_CPACK_COMMAND} -G DEB --config ${PROJECT_BINARY_DIR}/CPackConfig.cmake)
  set_tests_properties(package/make PROPERTIES FIXTURES_SETUP debian_package)
  add_test(NAME package/works
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/package_test.py
                   --folder ${PROJECT_BINARY_DIR}/package --root ${PROJECT_SOURCE_DIR}
                   --version ${PROJECT_VERSION})
  set_tests_properties(package/works PROPERTIES FIXTURES_REQUIRED debian_package)
  set_tests_properties(package/make package/works PROPERTIES
    LABELS "nightly;no-sanitizer" TIMEOUT 600)
endif()

# All packages of a release, made from a checkout of HEAD and tried, with the builds that they need.
if(DPKG_SHLIBDEPS AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  add_test(NAME nightly/packages
           COMMAND ${PROJECT_SOURCE_DIR}/scripts/packages --dirty
                   --out ${PROJECT_BINARY_DIR}/packages)
  set_tests_properties(nightly/packages PROPERTIES
    LABELS "nightly;no-sanitizer" TIMEOUT 7200 PROCESSORS 2)
endif()

# The program as one file is another build, of some minutes: every night.
set(static_build ${PROJECT_BINARY_DIR}/static)
add_test(NAME package/static_build
         COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${PROJECT_SOURCE_DIR} ${static_build}
                 --build-generator ${CMAKE_GENERATOR} --build-makeprogram ${CMAKE_MAKE_PROGRAM}
                 --build-target retrysim-cli --build-noclean
                 --build-options -DCMAKE_BUILD_TYPE=Release -DRETRYSIM_STATIC=ON
                   -DRETRYSIM_TESTS=OFF -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER})
set_tests_properties(package/static_build PROPERTIES FIXTURES_SETUP static_program)
add_test(NAME package/static
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/static_test.py
                 --static ${static_build}/retrysim --program $<TARGET_FILE:retrysim-cli>
                 --root ${PROJECT_SOURCE_DIR})
set_tests_properties(package/static PROPERTIES FIXTURES_REQUIRED static_program)
set_tests_properties(package/static_build package/static PROPERTIES
  LABELS "nightly;no-sanitizer" TIMEOUT 3600)
