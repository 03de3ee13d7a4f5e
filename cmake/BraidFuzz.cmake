# tests/fuzz/NAME_fuzz.cpp -> build-fuzz/fuzz/NAME_fuzz (libFuzzer).
# build-fuzz/fuzz_list.txt names what was made, for scripts/test.sh.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "Fuzz targets need clang, not ${CMAKE_CXX_COMPILER_ID}.\n"
          "HINT: use the preset 'fuzz' or -DCMAKE_CXX_COMPILER=clang++-16.")
endif()

# The parts of the command line that read files and need no torch.
if(NOT TARGET braid_cli)
  set(names members_file settings yaml_file)
  list(TRANSFORM names REPLACE "(.+)" "${braid_src}/cli/\\1.cpp")
  add_library(braid_cli_files STATIC ${names})
  target_link_libraries(braid_cli_files PUBLIC ${braid_top} PRIVATE braid_warnings)
  set(braid_top braid_cli_files)
endif()

# Branches are counted in the layers that read files; everywhere else that would
# only make compiling and testing slower. This is what fuzzer-no-link stands for,
# by a name that the precompiled headers need not share.
set(count_branches
  -fsanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table)
foreach(layer config graph io data cli_files)
  target_compile_options(braid_${layer} PRIVATE ${count_branches})
endforeach()
target_compile_options(braid_io PRIVATE -O1)  # more inputs per second
set_target_properties(braid_io PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
file(WRITE "${CMAKE_BINARY_DIR}/fuzz_list.txt" "")
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE ${braid_top} braid_warnings)
  target_compile_options(${name} PRIVATE -O1 ${count_branches})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  file(APPEND "${CMAKE_BINARY_DIR}/fuzz_list.txt" "${name}\n")
endforeach()
