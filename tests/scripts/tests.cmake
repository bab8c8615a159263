# Tests of the scripts, a unittest program each: <name>_test.py becomes scripts/<name>. A sanitizer
# sees nothing in them: the preset asan leaves out what is labelled no-sanitizer.

file(GLOB script_tests RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
foreach(file IN LISTS script_tests)
  string(REGEX REPLACE "_test\\.py$" "" name ${file})
  # Scenarios of soak are made from what the program lists, whose keys have words in pictures.
  if(name MATCHES "^(corpus|looks|soak|study_pictures)$")
    set(arguments --program $<TARGET_FILE:retrysim-cli>)
  else()
    set(arguments)
  endif()
  add_test(NAME scripts/${name}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/${file} ${arguments})
  set_tests_properties(scripts/${name} PROPERTIES LABELS "unit;no-sanitizer" TIMEOUT 600)
endforeach()

# ctest starts the tests with the highest COST, in seconds, first, so that none is left to run alone
# at the end. From the second time on it knows better.
set_tests_properties(scripts/plot PROPERTIES COST 50)
set_tests_properties(scripts/plot_sweep PROPERTIES COST 20)
# Of the soak itself, which is started by hand.
set_tests_properties(scripts/soak PROPERTIES LABELS "nightly;no-sanitizer")

# A few scenarios of scripts/soak: with sanitizers under the preset asan.
add_test(NAME soak/smoke
         COMMAND ${python} -B ${PROJECT_SOURCE_DIR}/scripts/soaking/runs.py --brief
                 --program $<TARGET_FILE:retrysim-cli> --scenarios 40 --seed 1
                 --out ${PROJECT_BINARY_DIR}/soak)
# With sanitizers it takes longer than any other test.
set_tests_properties(soak/smoke PROPERTIES LABELS cli TIMEOUT 1200 COST 60)
