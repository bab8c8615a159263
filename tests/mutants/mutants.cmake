# Deliberate mistakes, which the checks at the end of every run must notice: exit status 70 and a
# message that names it. One program has all mistakes, and makes the one that the environment names
# (mutant.hpp): the ordinary program, in some source files of which a text is replaced. If the text
# is not there (the code has changed), configuring fails.

set(mutant_scenario ${PROJECT_SOURCE_DIR}/scenarios/capacity-dip.toml)

# The code of sim/PART/FILE with all its mutants, as far as they are defined, is the global property
# mutated:PART/FILE; their names are in mutated_files.

# add_mutant(NAME PART FILE TEXT BY MESSAGE): in sim/PART/FILE the text becomes BY, in which MUTANT
# is true for this mutant only; the message must hold MESSAGE.
function(add_mutant name part file text by message)
  set(original ${PROJECT_SOURCE_DIR}/sim/${part}/${file})
  get_property(code GLOBAL PROPERTY mutated:${part}/${file})
  if(NOT code)
    file(READ ${original} code)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
    set_property(GLOBAL APPEND PROPERTY mutated_files ${part}/${file})
  endif()
  string(REPLACE "MUTANT" "is_mutant(\"${name}\")" by "${by}")
  string(REPLACE "${text}" "${by}" changed "${code}")
  if(changed STREQUAL code)
    message(FATAL_ERROR "mutant ${name}: sim/${part}/${file} does not contain\n${text}")
  endif()
  set_property(GLOBAL PROPERTY mutated:${part}/${file} "${changed}")

  add_test(NAME mutants/${name}
           COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/mutants/expect_internal_error.py
                   $<TARGET_FILE:retrysim-mutants> ${name} ${mutant_scenario} "${message}")
  set_tests_properties(mutants/${name} PROPERTIES LABELS "mutants;nightly" TIMEOUT 120)
endfunction()

# The parts with mutants are compiled as a whole, so that the linker takes nothing of them from the
# library.
function(add_mutant_program)
  set(parts)
  get_property(files GLOBAL PROPERTY mutated_files)
  foreach(path IN LISTS files)
    set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${path})
    get_property(code GLOBAL PROPERTY mutated:${path})
    file(CONFIGURE OUTPUT ${mutated} CONTENT "${code}" @ONLY)
    string(REGEX REPLACE "/.*" "" part ${path})
    if(NOT part IN_LIST parts)
      list(APPEND parts ${part})
      get_target_property(${part}_sources retrysim_${part} SOURCES)
    endif()
    list(REMOVE_ITEM ${part}_sources ${PROJECT_SOURCE_DIR}/sim/${path})
    list(APPEND ${part}_sources ${mutated})
  endforeach()

  add_executable(retrysim-mutants EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/sim/cli/main.cpp)
  foreach(part IN LISTS parts)
    add_library(mutants_${part} OBJECT EXCLUDE_FROM_ALL ${${part}_sources})
    target_compile_options(mutants_${part} PRIVATE
      -O0 -DRETRYSIM_FLATTEN=  # it need not be fast
      -include ${CMAKE_CURRENT_SOURCE_DIR}/mutants/mutant.hpp)
    target_link_libraries(mutants_${part} PRIVATE retrysim_flags)
    retrysim_compile_as_one(mutants_${part})
    target_link_libraries(retrysim-mutants PRIVATE mutants_${part})
  endforeach()
  target_link_libraries(retrysim-mutants PRIVATE retrysim_cli retrysim retrysim_flags)
endfunction()

add_mutant(lost-attempt model client/clients.cpp
  "g.recorder->attempt_ended({"
  "if (!MUTANT || r.id != RequestId{7}) g.recorder->attempt_ended({"
  "an attempt was lost or counted twice")

add_mutant(double-refund retry retry_strategy.cpp
  "state.quota->release(static_cast<int>(amount), q.capacity);"
  "state.quota->release((MUTANT ? 2 : 1) * static_cast<int>(amount), q.capacity);"
  "more retry quota was given back than had been taken")

add_mutant(late-arrival model service/services.cpp
  "a.arrived = now;"
  "if (!MUTANT || a.id != AttemptId{7}) a.arrived = now;"
  "Little's law: attempts at the service")

add_mutant(lost-execution model service/services.cpp
  "if (a.in_cohort) a.clients->recorder->executed("
  "if (a.in_cohort && !(MUTANT && a.id % 2 != 0)) a.clients->recorder->executed("
  "more successes than executions")

add_mutant(quota-unwatched model client/clients.cpp
  "const std::int32_t change = note_quota(g, state, before);"
  "const std::int32_t change = MUTANT ? note_quota(g, {}, 0) : note_quota(g, state, before);"
  "levels: the recorder has")

add_mutant(quota-area measure record/client_recorder.cpp
  "area_ns_ += level_"
  "area_ns_ += (MUTANT ? -1 : 1) * level_"
  "the mean level of the retry quota is out of range")

add_mutant(queue-larger-than-ever measure record/service_recorder.cpp
  "std::exchange(queue_max_, queued_)"
  "std::exchange(queue_max_, queued_) / (MUTANT ? 4u : 1u)"
  "the mean of the queue is above its maximum")

add_mutant_program()
