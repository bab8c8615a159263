# The house rules that a program can check.

add_test(NAME tidy/rules COMMAND ${python} ${PROJECT_SOURCE_DIR}/scripts/tidy.py)
set_tests_properties(tidy/rules PROPERTIES LABELS tidy)

# Every public header compiles without any other before it; that takes as long as all test programs.
add_test(NAME tidy/headers_stand_alone
         COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR}
                 --target retrysim_verify_interface_header_sets)
set_tests_properties(tidy/headers_stand_alone PROPERTIES
  LABELS nightly RUN_SERIAL TRUE TIMEOUT 600)

find_program(CLANG_FORMAT NAMES clang-format-14 clang-format)
if(CLANG_FORMAT)
  file(GLOB_RECURSE formatted CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/include/*.hpp ${PROJECT_SOURCE_DIR}/sim/*.[ch]pp
       ${PROJECT_SOURCE_DIR}/tests/*.[ch]pp)
  add_test(NAME tidy/format COMMAND ${CLANG_FORMAT} --dry-run --Werror --ferror-limit=2
                               ${formatted})
  set_tests_properties(tidy/format PROPERTIES LABELS tidy)
endif()
