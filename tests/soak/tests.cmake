# Tests of scripts/soak, and a few of its scenarios: with sanitizers under the preset asan.

add_test(NAME soak/tool COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/soak_test.py
                                --program $<TARGET_FILE:retrysim-cli>)
add_test(NAME soak/smoke
         COMMAND ${python} -B ${PROJECT_SOURCE_DIR}/scripts/soak_runs.py --brief
                 --program $<TARGET_FILE:retrysim-cli> --scenarios 40 --seed 1
                 --out ${PROJECT_BINARY_DIR}/soak)
set_tests_properties(soak/tool PROPERTIES LABELS "unit;no-sanitizer" TIMEOUT 600 COST 15)
set_tests_properties(soak/smoke PROPERTIES LABELS cli TIMEOUT 1200)
