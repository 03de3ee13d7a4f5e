# bench/NAME.cpp -> build/bench/NAME; bench/NAME.lib.cpp -> build/bench/libNAME.so.
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*.cpp")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM LAST_ONLY name)
  if(name MATCHES "\\.lib$")
    cmake_path(GET source STEM name)
    set(target bench_lib_${name})
    add_library(${target} SHARED "${source}")
  else()
    set(target bench_${name})
    add_executable(${target} "${source}")
    target_link_libraries(${target} PRIVATE braid_cli)
  endif()
  target_link_libraries(${target} PRIVATE braid_kernels braid_warnings)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench"
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
endforeach()
