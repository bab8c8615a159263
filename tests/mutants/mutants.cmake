# Programs with a deliberate mistake, which the checks at the end of every run must notice: exit
# status 70 and a message that names it. A mutant is the ordinary program with one source file in
# which one text is replaced; if the text is not there (the code has changed), configuring fails.

set(mutant_scenario ${PROJECT_SOURCE_DIR}/scenarios/capacity-dip.toml)

set(mutant_options -O0 -DRETRYSIM_FLATTEN=)  # they need not be fast

# The files that have mutants. Of each part the others are compiled once, as one file.
set(mutated_in_model client/clients.cpp service/services.cpp)
set(mutated_in_retry retry_strategy.cpp)
set(mutated_in_measure record/client_recorder.cpp record/service_recorder.cpp)

function(add_mutant_objects target)
  add_library(${target} OBJECT ${ARGN})
  target_compile_options(${target} PRIVATE ${mutant_options})
  target_link_libraries(${target} PRIVATE retrysim_flags)
endfunction()

# add_mutant(NAME PART FILE TEXT BY MESSAGE): in sim/PART/FILE the text becomes BY; the message must
# hold MESSAGE.
function(add_mutant name part file text by message)
  set(original ${PROJECT_SOURCE_DIR}/sim/${part}/${file})
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
  file(READ ${original} code)
  string(REPLACE "${text}" "${by}" changed "${code}")
  if(changed STREQUAL code)
    message(FATAL_ERROR "mutant ${name}: sim/${part}/${file} does not contain\n${text}")
  endif()
  file(CONFIGURE OUTPUT ${mutated} CONTENT "${changed}" @ONLY)

  # The rest of the part, so that the linker takes nothing of it from the library.
  if(NOT file IN_LIST mutated_in_${part})
    message(FATAL_ERROR "mutant ${name}: mutated_in_${part} lacks ${file}")
  endif()
  set(rest ${part}_without_mutants)
  if(NOT TARGET ${rest})
    get_target_property(sources retrysim_${part} SOURCES)
    foreach(other IN LISTS mutated_in_${part})
      list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/sim/${part}/${other})
      string(REPLACE / - object ${part}_${other})
      add_mutant_objects(${object} ${PROJECT_SOURCE_DIR}/sim/${part}/${other})
    endforeach()
    add_mutant_objects(${rest} ${sources})
    retrysim_compile_as_one(${rest})
  endif()
  set(others ${mutated_in_${part}})
  list(REMOVE_ITEM others ${file})
  list(TRANSFORM others PREPEND ${part}_)
  list(TRANSFORM others REPLACE / -)

  add_executable(mutant-${name} ${mutated})
  target_compile_options(mutant-${name} PRIVATE ${mutant_options})
  target_link_libraries(mutant-${name} PRIVATE
    ${rest} ${others} retrysim_cli retrysim retrysim_flags)
  add_test(NAME mutants/${name}
           COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/mutants/expect_internal_error.py
                   $<TARGET_FILE:mutant-${name}> ${mutant_scenario} "${message}")
  set_tests_properties(mutants/${name} PROPERTIES LABELS mutants TIMEOUT 120)
endfunction()

add_mutant(lost-attempt model client/clients.cpp
  "g.recorder->attempt_ended({"
  "if (r.id != RequestId{7}) g.recorder->attempt_ended({"
  "an attempt was lost or counted twice")

add_mutant(double-refund retry retry_strategy.cpp
  "state.quota->release(static_cast<int>(amount), q.capacity);"
  "state.quota->release(2 * static_cast<int>(amount), q.capacity);"
  "more retry quota was given back than had been taken")

add_mutant(late-arrival model service/services.cpp
  "a.arrived = state_.now;"
  "if (a.id != AttemptId{7}) a.arrived = state_.now;"
  "Little's law: attempts at the service")

add_mutant(lost-execution model service/services.cpp
  "if (a.in_cohort) a.clients->recorder->executed("
  "if (a.in_cohort && a.id % 2 == 0) a.clients->recorder->executed("
  "more successes than executions")

add_mutant(quota-unwatched model client/clients.cpp
  "const std::int32_t change = note_quota(g, state, before);"
  "const std::int32_t change = note_quota(g, {}, before - before);"
  "levels: the recorder has")

add_mutant(quota-area measure record/client_recorder.cpp
  "area_ns_ += level_"
  "area_ns_ -= level_"
  "the mean level of the retry quota is out of range")

add_mutant(queue-larger-than-ever measure record/service_recorder.cpp
  "std::exchange(queue_max_, queued_)"
  "std::exchange(queue_max_, queued_) / 4"
  "the mean of the queue is above its maximum")
