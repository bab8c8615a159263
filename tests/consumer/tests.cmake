# The installed package, as another project uses it: installed into a folder of the build tree,
# then found, built against and run.

set(stage ${PROJECT_BINARY_DIR}/stage)
set(minor ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
add_test(NAME consumer/install
         COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${stage})
set_tests_properties(consumer/install PROPERTIES LABELS consumer FIXTURES_SETUP staged_install)

set(consumer_options
  -DCMAKE_PREFIX_PATH=${stage}
  -DCMAKE_BUILD_TYPE=$<CONFIG>
  -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
  "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}"
  -DCMAKE_CXX_FLAGS_RELEASE=-O0)  # the question is whether it compiles, links and runs
add_test(NAME consumer/build_and_run
         COMMAND ${CMAKE_CTEST_COMMAND}
                 --build-and-test ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_BINARY_DIR}/consumer
                 --build-generator ${CMAKE_GENERATOR} --build-noclean
                 --build-options ${consumer_options} -DRETRYSIM_WANTED=${minor}
                 --test-command consumer)
set_tests_properties(consumer/build_and_run PROPERTIES
  LABELS consumer FIXTURES_REQUIRED staged_install FIXTURES_SETUP built_consumer TIMEOUT 300)

# The first example of the library's page, which says what it prints.
add_test(NAME consumer/first_example
         COMMAND ${PROJECT_BINARY_DIR}/consumer/verdict ${PROJECT_SOURCE_DIR}/scenarios/deploy.toml)
set_tests_properties(consumer/first_example PROPERTIES
  LABELS consumer FIXTURES_REQUIRED built_consumer
  PASS_REGULAR_EXPRESSION
  "^web: 98 % of the requests made during the fault fail; it recovers at once when the fault ends")
# The second one: verdicts, tables, a comparison, and a fit to a log of the program's own.
add_test(NAME consumer/tour
         COMMAND ${CMAKE_COMMAND} -DTOUR=${PROJECT_BINARY_DIR}/consumer/tour
                 -DPROGRAM=$<TARGET_FILE:retrysim-cli>
                 -DSCENARIO=${PROJECT_SOURCE_DIR}/scenarios/deploy.toml
                 -DFOLDER=${PROJECT_BINARY_DIR}/consumer/toured
                 -P ${CMAKE_CURRENT_LIST_DIR}/tour.cmake)
set_tests_properties(consumer/tour PROPERTIES
  LABELS consumer FIXTURES_REQUIRED built_consumer TIMEOUT 300)
add_test(NAME consumer/first_example_is_in_the_readme
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/readme_test.py)
set_tests_properties(consumer/first_example_is_in_the_readme PROPERTIES LABELS consumer)

# A program written for another 0.x must be told, not built.
add_test(NAME consumer/other_version_is_refused
         COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}
                 -B ${PROJECT_BINARY_DIR}/consumer_other -G ${CMAKE_GENERATOR} ${consumer_options}
                 -DRETRYSIM_WANTED=${PROJECT_VERSION_MAJOR}.${next_minor})
set_tests_properties(consumer/other_version_is_refused PROPERTIES
  LABELS consumer FIXTURES_REQUIRED staged_install
  PASS_REGULAR_EXPRESSION "retrysimConfig.cmake, version: ${PROJECT_VERSION}")

add_test(NAME consumer/program_is_installed COMMAND ${stage}/bin/retrysim --version)
set_tests_properties(consumer/program_is_installed PROPERTIES
  LABELS consumer FIXTURES_REQUIRED staged_install
  PASS_REGULAR_EXPRESSION "${PROJECT_VERSION}")

# Who only wants the program needs no Catch2.
add_test(NAME consumer/without_catch2
         COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR}
                 -B ${CMAKE_CURRENT_BINARY_DIR}/without_catch2 -G ${CMAKE_GENERATOR} --fresh
                 -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON)
set_tests_properties(consumer/without_catch2 PROPERTIES LABELS "consumer;no-sanitizer")
