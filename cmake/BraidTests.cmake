# tests/<layer>/**.cpp -> build/tests/<layer>_tests, linked with that layer.
# build/test_list.txt names what was made, for scripts/test.sh.
find_package(GTest REQUIRED)

file(WRITE "${CMAKE_BINARY_DIR}/test_list.txt" "")

# The repository's folder, in a header that only few include: on the command line
# it would keep clones from sharing what they compiled.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/tests/source_dir.h" CONTENT
"#pragma once
inline constexpr const char* kSourceDir = \"@CMAKE_SOURCE_DIR@\";
" @ONLY)

# braid_precompile_tests(TARGET FIRST [HEADER...]): the common headers, GoogleTest
# and others, compiled by the target FIRST and used by all that name it. -O0:
# compiling tests takes longer than running them, and what they test is optimised.
function(braid_precompile_tests target first)
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O0>")
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE
      ${braid_common_headers} <gtest/gtest.h> <gmock/gmock.h> ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# braid_add_tests(NAME LIBRARY [RECURSIVE] [TORCH]): one executable from
# tests/NAME; TORCH where tests include torch.
function(braid_add_tests name library)
  if(NOT TARGET ${library})
    return()
  endif()
  set(folder "${CMAKE_SOURCE_DIR}/tests/${name}")
  if("RECURSIVE" IN_LIST ARGN)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  else()
    file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  target_include_directories(${name}_tests PRIVATE
    "${CMAKE_SOURCE_DIR}/tests" "${CMAKE_BINARY_DIR}/generated/tests")
  target_link_libraries(${name}_tests PRIVATE
    ${library} braid_warnings GTest::gtest_main $<TARGET_NAME_IF_EXISTS:GTest::gmock>)
  set_target_properties(${name}_tests PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if("TORCH" IN_LIST ARGN)
    target_link_libraries(${name}_tests PRIVATE braid_torch)
    braid_precompile_tests(${name}_tests runtime_tests <ATen/ATen.h>)
  else()
    braid_precompile_tests(${name}_tests base_tests)
  endif()
  braid_batch(${name}_tests tests)
  add_test(NAME ${name} COMMAND ${name}_tests)
  file(APPEND "${CMAKE_BINARY_DIR}/test_list.txt" "${name}_tests\n")
endfunction()

# tests/tools/*.cpp -> build/tests/<name>: programs that the Python tests call.
file(GLOB tools CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/tools/*.cpp")
foreach(tool IN LISTS tools)
  cmake_path(GET tool STEM name)
  add_executable(${name} ${tool})
  target_link_libraries(${name} PRIVATE braid_io braid_warnings)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endforeach()

# tests/guest/*.cpp -> build/tests/libguest.so, which a test loads into Python. It
# stays loaded: torch's tensors remember the allocator that they were made by.
if(BRAID_TORCH)
  file(GLOB guest_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/guest/*.cpp")
  add_library(guest SHARED ${guest_sources})
  target_link_libraries(guest PRIVATE braid_kernels braid_warnings)
  target_link_options(guest PRIVATE -Wl,-z,nodelete)
  set_target_properties(guest PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endif()

foreach(layer IN LISTS braid_layers)
  if(NOT layer STREQUAL "runtime")  # its tests run real kernels
    braid_add_tests(${layer} braid_${layer} RECURSIVE)
  endif()
endforeach()
if(BRAID_TORCH)
  target_sources(train_tests PRIVATE ${braid_no_torch})  # they bring a device of their own
  foreach(name runtime parity)
    braid_add_tests(${name} braid_kernels RECURSIVE TORCH)
  endforeach()
  foreach(name train_runs e2e_cpp)
    braid_add_tests(${name} braid_kernels RECURSIVE)
  endforeach()
  braid_add_tests(cli braid_cli RECURSIVE)
endif()
