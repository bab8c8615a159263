# Published incidents and measurements: the figures of the page are what the program predicts.

add_test(NAME production/cases
         COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/cases.py
                 --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(production/cases PROPERTIES LABELS "validation;no-sanitizer" TIMEOUT 300)
