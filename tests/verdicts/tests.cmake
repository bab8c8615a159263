# The first line of `run` against a judgement from the raw time series: all 60 scenarios take about
# a minute (first_line.py --table).

add_test(NAME verdicts/first_line
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/first_line.py
                 --program $<TARGET_FILE:retrysim-cli> --scenarios 15)
add_test(NAME verdicts/loops
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/first_line.py
                 --program $<TARGET_FILE:retrysim-cli> --loops)
add_test(NAME verdicts/graphs
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/first_line.py
                 --program $<TARGET_FILE:retrysim-cli> --graphs --scenarios 10)
add_test(NAME verdicts/figures
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/figures.py
                 --program $<TARGET_FILE:retrysim-cli> --scenarios 15)
add_test(NAME verdicts/culprits
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/culprits.py
                 --program $<TARGET_FILE:retrysim-cli>)
add_test(NAME verdicts/culprits_of_loops
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/culprits.py
                 --program $<TARGET_FILE:retrysim-cli> --loops)
add_test(NAME verdicts/comparisons
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/comparisons.py
                 --program $<TARGET_FILE:retrysim-cli> --scenarios 20)
add_test(NAME verdicts/agreement
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/agreement.py
                 --program $<TARGET_FILE:retrysim-cli> --scenarios 20)
set_tests_properties(verdicts/first_line verdicts/loops verdicts/graphs verdicts/figures
                     verdicts/agreement verdicts/culprits verdicts/culprits_of_loops
                     verdicts/comparisons
                     PROPERTIES LABELS "validation;no-sanitizer" TIMEOUT 300)
