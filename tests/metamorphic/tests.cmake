# What changes of a scenario that mean nothing, or whose effect is known, do to its results.
add_test(NAME metamorphic
         COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/metamorphic_test.py
                 --runner $<TARGET_FILE:run_corpus> --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(metamorphic PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 600 COST 40)
