# bench/NAME.cpp -> build/bench/NAME; bench/NAME.lib.cpp -> build/bench/libNAME.so.
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*.cpp")
# bench/highway.cpp compares our loops with Highway where that is (libhwy-dev);
# BRAID_HWY_DIR names its folder. Nothing else needs it.
find_package(hwy QUIET HINTS "${BRAID_HWY_DIR}")
if(NOT TARGET hwy::hwy)
  list(FILTER sources EXCLUDE REGEX "/highway\\.cpp$")
endif()
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
if(TARGET bench_highway)  # compiled as our loops are
  target_include_directories(bench_highway PRIVATE "${CMAKE_SOURCE_DIR}/bench")
  target_link_libraries(bench_highway PRIVATE hwy::hwy)
  target_compile_options(bench_highway PRIVATE "$<$<CONFIG:Release>:-O3>"
    -fno-trapping-math -Wno-psabi)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(bench_highway PRIVATE -mprefer-vector-width=512)
  endif()
endif()
