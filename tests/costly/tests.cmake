# Limits on time and memory in scenarios in which one thing is very dear: instructions between two
# looks, the most memory, and whether imports are linear. By hand, with a clock: by_clock.py, three
# hundred random ones.

if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Together all of small.py. Those of the night take ten seconds to minutes under callgrind.
  set(work crash slower growing hedges least_connections relapses expired held tokens loops
      operations errors)
  set(work_of_the_night fan_out fan_out_of_slow unfinished faults balancers alternatives
      stages_of_alternatives fallbacks bins)
  foreach(check work memory import fit_memory)
    add_test(NAME costly/${check}
             COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/${check}_test.py
                     $<TARGET_FILE:retrysim-cli> ${${check}})
    set_tests_properties(costly/${check} PROPERTIES
      LABELS "costly;no-sanitizer" SKIP_RETURN_CODE 77 TIMEOUT 1200 COST 40)
  endforeach()
  add_test(NAME costly/work_of_the_night
           COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/work_test.py
                   $<TARGET_FILE:retrysim-cli> ${work_of_the_night})
  set_tests_properties(costly/work_of_the_night PROPERTIES
    LABELS "nightly;no-sanitizer" SKIP_RETURN_CODE 77 TIMEOUT 3600)
endif()
