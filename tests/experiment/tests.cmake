# Sweeps that are killed, spread over MPI ranks, and sharded; searches and races that are stopped.
# The full size of the sweeps, which the project's figures come from, is sweep_interruptions.py
# --points 10000. And all commands over ranks.

foreach(check killed mpi shards)
  add_test(NAME sweep/${check}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/sweep_interruptions.py
                   --program $<TARGET_FILE:retrysim-cli> --check ${check} --points 200)
  set_tests_properties(sweep/${check} PROPERTIES
    LABELS sweep TIMEOUT 900 SKIP_RETURN_CODE 77)
endforeach()
set_tests_properties(sweep/mpi PROPERTIES COST 20)
foreach(command tip choose)
  add_test(NAME experiment/${command}_interruptions
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/${command}_interruptions.py
                   --program $<TARGET_FILE:retrysim-cli>)
  set_tests_properties(experiment/${command}_interruptions PROPERTIES
    LABELS "sweep;no-sanitizer" TIMEOUT 900 COST 20)
endforeach()
add_test(NAME experiment/ranks
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/ranks.py --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(experiment/ranks PROPERTIES
  LABELS sweep TIMEOUT 900 COST 30 SKIP_RETURN_CODE 77)

# Standard streams that are closed or full, limits and signals; writers of one folder at once.
foreach(check standard_streams result_replacement)
  add_test(NAME experiment/${check}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/${check}.py
                   --program $<TARGET_FILE:retrysim-cli>)
  set_tests_properties(experiment/${check} PROPERTIES LABELS cli TIMEOUT 900)
endforeach()
set_tests_properties(experiment/result_replacement PROPERTIES LABELS "cli;no-sanitizer" COST 40)
