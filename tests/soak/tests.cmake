# A few scenarios of scripts/soak: with sanitizers under the preset asan.

# The program of the soak: the function main of retrysim under another name, and a server.
add_library(soak_main OBJECT ${PROJECT_SOURCE_DIR}/sim/cli/main.cpp)
target_compile_definitions(soak_main PRIVATE main=retrysim_main)
target_link_libraries(soak_main PRIVATE retrysim_cli retrysim test_flags)
add_executable(soak_server ${CMAKE_CURRENT_LIST_DIR}/server.cpp)
target_link_libraries(soak_server PRIVATE soak_main retrysim_cli retrysim test_flags)
add_dependencies(fast_test_programs soak_server)

set(smoke_scenarios 40)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(smoke_scenarios 15)
endif()
add_test(NAME soak/smoke
         COMMAND ${python} -B ${PROJECT_SOURCE_DIR}/scripts/soaking/runs.py --brief
                 --program $<TARGET_FILE:soak_server> --scenarios ${smoke_scenarios} --seed 1
                 --out ${PROJECT_BINARY_DIR}/soak)
# With sanitizers it takes longer than any other test.
set_tests_properties(soak/smoke PROPERTIES LABELS cli TIMEOUT 1200 COST 60)

add_test(NAME soak/leak
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/leak_test.py
                 --server $<TARGET_FILE:soak_server>)
set_tests_properties(soak/leak PROPERTIES LABELS cli TIMEOUT 300)

# Of the scripts themselves; the soak is started by hand.
add_test(NAME scripts/soak
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/soak_test.py
                 --program $<TARGET_FILE:retrysim-cli> --server $<TARGET_FILE:soak_server>)
set_tests_properties(scripts/soak PROPERTIES LABELS "nightly;no-sanitizer" TIMEOUT 600)
