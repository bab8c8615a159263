# The npm package, which scripts/npm builds: skipped where it has not. A few scenarios and commands
# each time; all of them, the stories of the command line and a browser every night.

set(npm_package ${PROJECT_SOURCE_DIR}/build/npm/package)
retrysim_add_sized_test(npm/package
  COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/npm_test.py
          --native $<TARGET_FILE:retrysim-cli> --package ${npm_package}
          --source ${PROJECT_SOURCE_DIR}
  FULL --full
  PROPERTIES LABELS "npm;no-sanitizer" TIMEOUT 900 SKIP_RETURN_CODE 77 COST 30)
