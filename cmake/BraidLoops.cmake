# src/braid/runtime/kernels/loops/level/*.cpp, compiled once per instruction set
# into objects of their own; loops.cpp chooses when the program runs. Sets
# braid_loop_objects, and braid_loop_check for scripts/check_loops.py.
# Unoptimised code has no vectors to widen, and would leave inline functions
# that only newer machines can run: it gets one level.
file(GLOB loop_sources CONFIGURE_DEPENDS "${kernels}/loops/level/*.cpp")
set(braid_loop_objects "")
set(braid_loop_check "")
set(loop_levels plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64"
   AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT BRAID_SANITIZE)
  list(APPEND loop_levels v3 v4)
  set_source_files_properties("${kernels}/loops/loops.cpp" PROPERTIES
    COMPILE_DEFINITIONS BRAID_X86_LEVELS)
endif()
set(loop_flags_v3 -march=x86-64-v3)
set(loop_flags_v4 -march=x86-64-v4 -mprefer-vector-width=512)

# braid_add_loops(TARGET LEVEL): the objects of one level.
function(braid_add_loops target level)
  add_library(${target} OBJECT ${loop_sources})
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE BRAID_LEVEL=${level})
  target_compile_options(${target} PRIVATE
    "$<$<CONFIG:Release>:-O3>" -fno-trapping-math -Wno-psabi ${loop_flags_${level}})
  target_link_libraries(${target} PRIVATE braid_warnings)
endfunction()

foreach(level IN LISTS loop_levels)
  braid_add_loops(braid_loops_${level} ${level})
  list(APPEND braid_loop_objects $<TARGET_OBJECTS:braid_loops_${level}>)
  if(NOT level STREQUAL "plain")
    list(APPEND braid_loop_check ${level} $<TARGET_OBJECTS:braid_loops_${level}>)
  endif()
endforeach()
