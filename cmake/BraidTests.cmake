# tests/<layer>/**.cpp -> build/tests/<layer>_tests, linked with that layer.
# build/test_list.txt names what was made, for scripts/test.sh.
find_package(GTest REQUIRED)

file(WRITE "${CMAKE_BINARY_DIR}/test_list.txt" "")

# braid_add_tests(NAME LIBRARY [RECURSIVE]): one executable from tests/NAME.
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
  target_include_directories(${name}_tests PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_definitions(${name}_tests PRIVATE
    BRAID_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name}_tests PRIVATE
    ${library} braid_warnings GTest::gtest_main $<TARGET_NAME_IF_EXISTS:GTest::gmock>)
  set_target_properties(${name}_tests PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
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

foreach(layer IN LISTS braid_layers)
  if(NOT layer STREQUAL "runtime")  # its tests run real kernels
    braid_add_tests(${layer} braid_${layer} RECURSIVE)
  endif()
endforeach()
if(BRAID_TORCH)
  foreach(name runtime kernels parity train_runs e2e_cpp)
    braid_add_tests(${name} braid_kernels RECURSIVE)
    if(TARGET ${name}_tests)
      target_precompile_headers(${name}_tests REUSE_FROM braid_kernels)
    endif()
  endforeach()
  braid_add_tests(cli braid_cli)
endif()
