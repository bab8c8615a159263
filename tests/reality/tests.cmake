# Tests of the pieces of scripts/reality, every night; none of them depends on how fast the machine
# is.

add_test(NAME reality/tool COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/reality_test.py
                                   --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(reality/tool PROPERTIES LABELS "nightly;no-sanitizer" TIMEOUT 120)
