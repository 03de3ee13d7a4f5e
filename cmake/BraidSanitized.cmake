# The kernels and the command line once more with ASan and UBSan, linked with the
# other layers and the objects of the tests as they are: those layers have a
# sanitized build of their own (preset fuzz), which has no torch. Nothing here is
# built by default; the target `sanitized` builds all of it:
#   build/sanitized/tests/NAME_tests   runtime, parity, cli; in test_list.txt
#   build/sanitized/tests/braid
set(sanitize -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined
             -fno-sanitize-recover=all
             -fno-sanitize=vptr)  # torch's classes have no type information
set(sanitized_dir "${CMAKE_BINARY_DIR}/sanitized")
add_custom_target(sanitized)

function(braid_sanitize target)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${sanitize}>")
  target_link_libraries(${target} PRIVATE braid_warnings)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON SANITIZED ON)
endfunction()

get_target_property(kernel_layer braid_kernels INTERFACE_LINK_LIBRARIES)
list(FILTER kernel_layer INCLUDE REGEX "^braid_")
add_library(sanitized_kernels STATIC ${kernel_sources})
foreach(level IN LISTS loop_levels)
  braid_add_loops(sanitized_loops_${level} ${level})
  braid_sanitize(sanitized_loops_${level})
  target_sources(sanitized_kernels PRIVATE $<TARGET_OBJECTS:sanitized_loops_${level}>)
endforeach()
braid_sanitize(sanitized_kernels)
target_link_libraries(sanitized_kernels PUBLIC ${kernel_layer} PRIVATE braid_torch)
target_precompile_headers(sanitized_kernels PRIVATE ${braid_torch_headers})

get_target_property(cli_sources braid_cli SOURCES)
add_library(sanitized_cli STATIC ${cli_sources})
braid_sanitize(sanitized_cli)
target_link_libraries(sanitized_cli PUBLIC sanitized_kernels CLI11::CLI11)
target_precompile_headers(sanitized_cli PRIVATE ${braid_common_headers} <CLI/CLI.hpp>)

# braid_add_sanitized(NAME LIBRARY OBJECTS_OF): a program of another one's objects.
function(braid_add_sanitized name library objects_of)
  add_executable(sanitized_${name} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${objects_of}>)
  target_link_libraries(sanitized_${name} PRIVATE ${library} braid_torch
                        GTest::gtest_main $<TARGET_NAME_IF_EXISTS:GTest::gmock>)
  target_link_options(sanitized_${name} PRIVATE -fsanitize=address,undefined)
  set_target_properties(sanitized_${name} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${sanitized_dir}/tests")
  add_dependencies(sanitized sanitized_${name})
endfunction()
file(WRITE "${sanitized_dir}/test_list.txt" "runtime_tests\nparity_tests\ncli_tests\n")
foreach(name runtime parity)
  braid_add_sanitized(${name}_tests sanitized_kernels ${name}_tests)
endforeach()
braid_add_sanitized(cli_tests sanitized_cli cli_tests)
braid_add_sanitized(braid sanitized_cli braid)
