# Sweeps that are killed, spread over MPI ranks, and sharded. The full size, which the project's
# figures come from, is sweep_interruptions.py --points 10000.

foreach(check killed mpi shards)
  add_test(NAME sweep/${check}
           COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/sweep_interruptions.py
                   --program $<TARGET_FILE:retrysim-cli> --check ${check} --points 200)
  set_tests_properties(sweep/${check} PROPERTIES
    LABELS sweep TIMEOUT 300 SKIP_RETURN_CODE 77)
endforeach()
