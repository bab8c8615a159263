# `import retrysim`, beside the program: the same question must give the same bytes.

if(NOT TARGET retrysim_python)
  return()
endif()
retrysim_add_sized_test(python/package
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python MPLBACKEND=Agg
          ${python} -B ${CMAKE_CURRENT_LIST_DIR}/package_test.py
          --program $<TARGET_FILE:retrysim-cli> --root ${PROJECT_SOURCE_DIR}
  BRIEF --every 6
  FULL --every 1
  PROPERTIES LABELS "cli;no-sanitizer" TIMEOUT 900 COST 30)
