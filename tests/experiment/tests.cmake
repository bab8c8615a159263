# Sweeps that are killed, spread over MPI ranks, and sharded; all commands that are stopped. Every
# night as many points as the project's figures come from. And all commands over ranks.

foreach(check killed mpi shards)
  retrysim_add_sized_test(sweep/${check}
    COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/sweep_interruptions.py
            --program $<TARGET_FILE:retrysim-cli> --check ${check}
    BRIEF --points 100 --kills 3
    FULL --points 10000 --kills 50
    PROPERTIES LABELS sweep TIMEOUT 900 SKIP_RETURN_CODE 77)
endforeach()
set_tests_properties(sweep/mpi PROPERTIES COST 20)
retrysim_add_sized_test(experiment/interruptions
  COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/interruptions.py
          --program $<TARGET_FILE:retrysim-cli>
  BRIEF --cuts 1 --every 2
  FULL --cuts 20
  PROPERTIES LABELS "sweep;no-sanitizer" TIMEOUT 900 COST 20)
retrysim_add_sized_test(experiment/ranks
  COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/ranks.py --program $<TARGET_FILE:retrysim-cli>
  BRIEF --every 6
  FULL --every 1
  PROPERTIES LABELS sweep TIMEOUT 900 COST 20 SKIP_RETURN_CODE 77)

# Standard streams that are closed or full, limits and signals; writers of one folder at once.
add_test(NAME experiment/standard_streams
         COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/standard_streams.py
                 --program $<TARGET_FILE:retrysim-cli>)
set_tests_properties(experiment/standard_streams PROPERTIES LABELS cli TIMEOUT 900)
retrysim_add_sized_test(experiment/result_replacement
  COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/result_replacement.py
          --program $<TARGET_FILE:retrysim-cli>
  BRIEF --rounds 3 --every 4
  FULL --rounds 250
  PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 900 COST 20)

# Whatever the machine does to the commands that write: killed, two writers of one place, a disk
# that is full or must not be written to, little memory, a clock that is set back. Some commands for
# each; every night all of them, with 200 kills of each and 1,000 pairs of writers in all.
foreach(check killed two_writers full_disk read_only memory clock)
  set(moments 30)
  if(check STREQUAL "killed")
    set(moments 200)
  elseif(check STREQUAL "two_writers")
    set(moments 80)
  endif()
  retrysim_add_sized_test(machine/${check}
    COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/machine_faults.py
            --program $<TARGET_FILE:retrysim-cli> --check ${check}
    BRIEF --moments 1 --commands 3
    FULL --moments ${moments}
    PROPERTIES LABELS "sweep;no-sanitizer" TIMEOUT 900 COST 5 SKIP_RETURN_CODE 77)
endforeach()
