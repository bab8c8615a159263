# Lets the second example of include/retrysim/README.md tour a scenario and an access log of it, and
# looks for a line of each part.

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(
  COMMAND ${PROGRAM} run ${SCENARIO} --set replications=1 --no-reuse --quiet
          --out ${FOLDER}/logged --access-log ${FOLDER}/access.csv
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${TOUR} ${SCENARIO} ${FOLDER}/access.csv
  WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
foreach(line "web: goodput [0-9.]+ 1/s" "max_attempts=1: success rate" "rate [0-9.]+")
  if(NOT said MATCHES "${line}")
    message(FATAL_ERROR "there is no line '${line}' in:\n${said}")
  endif()
endforeach()
foreach(file compare.csv scenario.toml)
  if(NOT EXISTS ${FOLDER}/${file})
    message(FATAL_ERROR "there is no ${file}")
  endif()
endforeach()

# A misspelt key is told with the nearest one.
file(READ ${SCENARIO} text)
file(WRITE ${FOLDER}/misspelt.toml "replicatons = 3\n${text}")
execute_process(COMMAND ${TOUR} ${FOLDER}/misspelt.toml ERROR_VARIABLE told RESULT_VARIABLE status)
if(NOT status EQUAL 3 OR NOT told MATCHES "nearest to replicatons: replications")
  message(FATAL_ERROR "status ${status}: ${told}")
endif()
