# Compiling several sources of a target as one: half of the time where all is compiled,
# and longer where one source has changed. So it is for builds that nobody
# edits in: those with sanitizers and CI's. scripts/batches.py says which sources do
# not get in each other's way; those with flags of their own stay alone.
set(BRAID_BATCHES "" CACHE STRING
    "What is compiled several sources as one, a list: layers, cli, tests")
set(braid_batch_size 8)
find_program(braid_batch_python NAMES python3 python)

# braid_batch(TARGET KIND): KIND is an element of BRAID_BATCHES.
function(braid_batch target kind)
  if(NOT braid_batch_python OR NOT kind IN_LIST BRAID_BATCHES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  execute_process(
    COMMAND "${braid_batch_python}" "${CMAKE_SOURCE_DIR}/scripts/batches.py"
            ${braid_batch_size} ${sources}
    OUTPUT_VARIABLE batches OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" batches "${batches}")
  set(number 0)
  foreach(batch IN LISTS batches)
    string(REPLACE "\t" ";" batch "${batch}")
    math(EXPR number "${number} + 1")
    # Named by the target, as another may have put the same sources together.
    set_source_files_properties(${batch} PROPERTIES UNITY_GROUP ${target}_${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
