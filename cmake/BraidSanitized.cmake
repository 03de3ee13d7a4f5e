# Kernels and command line once more with ASan and UBSan, linked with the other
# layers and the objects of the tests as they are: those layers have a sanitized
# build of their own (preset fuzz), which has no torch. Nothing here is built by
# default; the target `sanitized` builds all of it:
#   build/sanitized/tests/NAME_tests   runtime, parity, cli; in test_list.txt
#   build/sanitized/tests/braid
# Taken are the files that work on plain memory and text. With BRAID_SANITIZED_ALL
# also the calls of ATen and the verbs, which take three times as long to compile.
option(BRAID_SANITIZED_ALL "Sanitize all kernels and verbs in the target sanitized" OFF)
set(sanitize -g1 -fno-omit-frame-pointer -fsanitize=address,undefined
             -fno-sanitize-recover=all
             -fno-sanitize=vptr)  # torch's classes have no type information
set(sanitized_dir "${CMAKE_BINARY_DIR}/sanitized")
add_custom_target(sanitized)

# braid_sanitize(TARGET LEVEL): -O0 but for loops, as compiling takes longer than
# running.
function(braid_sanitize target level)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${sanitize};${level}>")
  target_link_libraries(${target} PRIVATE braid_warnings)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON SANITIZED ON)
endfunction()

get_target_property(cli_sources braid_cli SOURCES)
if(BRAID_SANITIZED_ALL)
  set(sources ${kernel_sources})
else()
  set(sources ${table_sources} ${cpu_sources})
  list(FILTER cli_sources EXCLUDE REGEX "/cli/verbs/")
endif()
add_library(sanitized_kernels STATIC ${sources})
foreach(level IN LISTS loop_levels)
  braid_add_loops(sanitized_loops_${level} ${level})
  braid_sanitize(sanitized_loops_${level} -O1)
  target_sources(sanitized_kernels PRIVATE $<TARGET_OBJECTS:sanitized_loops_${level}>)
endforeach()
braid_sanitize(sanitized_kernels -O0)
# What is not sanitized comes from the library as it is: it stands behind.
target_link_libraries(sanitized_kernels PUBLIC braid_kernels PRIVATE braid_torch)
target_precompile_headers(sanitized_kernels PRIVATE ${braid_torch_headers})

add_library(sanitized_cli STATIC ${cli_sources})
braid_sanitize(sanitized_cli -O0)
target_link_libraries(sanitized_cli PUBLIC braid_cli CLI11::CLI11)
target_precompile_headers(sanitized_cli PRIVATE ${braid_common_headers} <CLI/CLI.hpp>)
braid_batch(sanitized_cli cli)

# braid_add_sanitized(NAME LIBRARY...): a program of another one's objects.
function(braid_add_sanitized name)
  add_executable(sanitized_${name} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}>)
  target_link_libraries(sanitized_${name} PRIVATE ${ARGN} braid_torch
                        GTest::gtest_main $<TARGET_NAME_IF_EXISTS:GTest::gmock>)
  target_link_options(sanitized_${name} PRIVATE -fsanitize=address,undefined)
  set_target_properties(sanitized_${name} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${sanitized_dir}/tests")
  add_dependencies(sanitized sanitized_${name})
endfunction()
file(WRITE "${sanitized_dir}/test_list.txt" "runtime_tests\nparity_tests\ncli_tests\n")
braid_add_sanitized(runtime_tests sanitized_kernels)
braid_add_sanitized(parity_tests sanitized_kernels)
braid_add_sanitized(cli_tests sanitized_cli sanitized_kernels)
braid_add_sanitized(braid sanitized_cli sanitized_kernels)
