# What changes of a scenario that mean nothing, or whose effect is known, do to its results.
retrysim_add_sized_test(metamorphic
  COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/metamorphic_test.py
          --runner $<TARGET_FILE:run_corpus> --program $<TARGET_FILE:retrysim-cli>
  BRIEF --tried 5
  FULL --tried 120
  PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 600 COST 15)
