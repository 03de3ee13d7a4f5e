# src/braid/<layer>/*.cpp -> static library braid_<layer>, bottom to top. Each
# layer links the one below it, so it may use every layer under it and none above.
# A layer without files is skipped.

configure_file("${CMAKE_SOURCE_DIR}/cmake/version.h.in"
               "${CMAKE_BINARY_DIR}/generated/braid/version.h" @ONLY)
set(braid_src "${CMAKE_SOURCE_DIR}/src/braid")
set(braid_layers base config graph ops passes models plan compile schedule balance
                 runtime io data train tune)

# The external libraries every layer may use.
add_library(braid_common INTERFACE)
target_compile_features(braid_common INTERFACE cxx_std_20)
target_include_directories(braid_common INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>"
  "$<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(braid_common INTERFACE
  fmt::fmt yaml-cpp::yaml-cpp nlohmann_json::nlohmann_json Threads::Threads)

if(PNG_FOUND AND JPEG_FOUND)
  set(braid_picture_libraries PNG::PNG JPEG::JPEG)
  set(braid_other_pictures no_pictures)
else()
  set(braid_picture_libraries "")
  set(braid_other_pictures pictures)
endif()

# What most sources include, compiled once by the lowest layer and used by all
# that see the same definitions. Lint builds without it, so that every file still
# names what it needs.
set(braid_common_headers
  <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>)

# braid_precompile(TARGET): takes the common headers as they were compiled.
function(braid_precompile target)
  if(target STREQUAL "braid_base")
    target_precompile_headers(braid_base PRIVATE ${braid_common_headers})
  else()
    target_precompile_headers(${target} REUSE_FROM braid_base)
  endif()
endfunction()

if(ZLIB_FOUND)
  set(braid_zlib_libraries ZLIB::ZLIB)
  set(braid_other_zlib no_zlib)
else()
  set(braid_zlib_libraries "")
  set(braid_other_zlib zlib)
endif()

# Flags for our own sources are nothing to those who use what is installed.
set(braid_own $<BUILD_INTERFACE:braid_warnings>)

# What stands in for the kernels where there is no torch.
file(GLOB braid_no_torch CONFIGURE_DEPENDS "${braid_src}/runtime/kernels/no_torch/*.cpp"
     "${braid_src}/runtime/kernels/kernel.cpp")

# braid_top is the highest layer made so far; braid_libraries are all.
set(braid_top braid_common)
set(braid_libraries braid_common)
foreach(layer IN LISTS braid_layers)
  if(layer STREQUAL "runtime") # its folders are libraries of their own
    file(GLOB sources CONFIGURE_DEPENDS "${braid_src}/${layer}/*.cpp"
         "${braid_src}/${layer}/comm/*.cpp")
    if(NOT BRAID_TORCH)
      list(APPEND sources ${braid_no_torch})
    endif()
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${braid_src}/${layer}/*.cpp")
  endif()
  if(layer STREQUAL "io") # one of two folders sums up files
    list(FILTER sources EXCLUDE REGEX "/io/format/${braid_other_zlib}/")
  endif()
  if(layer STREQUAL "data") # one of two folders decodes pictures
    list(FILTER sources EXCLUDE REGEX "/data/${braid_other_pictures}/")
  endif()
  if(sources)
    add_library(braid_${layer} STATIC ${sources})
    target_link_libraries(braid_${layer} PUBLIC ${braid_top} PRIVATE ${braid_own})
    braid_precompile(braid_${layer})
    braid_batch(braid_${layer} layers)
    if(layer STREQUAL "io")
      target_link_libraries(braid_io PRIVATE ${braid_zlib_libraries})
    endif()
    if(layer STREQUAL "data")
      target_link_libraries(braid_data PRIVATE ${braid_picture_libraries})
    endif()
    set(braid_top braid_${layer})
    list(APPEND braid_libraries ${braid_top})
  endif()
endforeach()

if(NOT BRAID_TORCH)
  return()
endif()

# Kernels: the table is free of torch, the backends include it.
set(kernels "${braid_src}/runtime/kernels")
set(backend no_cuda)
if(BRAID_HAS_CUDA)
  set(backend cuda)
endif()
file(GLOB table_sources CONFIGURE_DEPENDS "${kernels}/*.cpp" "${kernels}/loops/*.cpp")
include(BraidLoops)  # loops/level/*.cpp -> objects per instruction set
file(GLOB cpu_sources CONFIGURE_DEPENDS "${kernels}/cpu/*.cpp")
file(GLOB torch_sources CONFIGURE_DEPENDS "${kernels}/aten/*.cpp"
     "${braid_src}/runtime/comm/c10d/*.cpp")
file(GLOB device_sources CONFIGURE_DEPENDS "${kernels}/${backend}/*.cpp")
if(BRAID_HAS_CUDA AND NOT BRAID_HAS_CUBLASLT)
  list(REMOVE_ITEM device_sources "${kernels}/cuda/linear.cpp")
  list(APPEND device_sources "${kernels}/no_cublaslt/linear.cpp")
endif()
file(GLOB cu_sources CONFIGURE_DEPENDS "${kernels}/${backend}/*.cu")
set_source_files_properties(${cpu_sources} PROPERTIES
  COMPILE_OPTIONS "$<$<AND:$<CONFIG:Release>,$<NOT:$<BOOL:$<TARGET_PROPERTY:SANITIZED>>>>:-O3>")
set_source_files_properties(${table_sources} ${cu_sources} PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON)
if(NOT BRAID_HAS_CUDA)
  set_source_files_properties(${device_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
set(kernel_sources ${table_sources} ${cpu_sources} ${torch_sources} ${device_sources}
                   ${cu_sources})
if(kernel_sources)
  add_library(braid_kernels STATIC ${kernel_sources} ${braid_loop_objects})
  target_link_libraries(braid_kernels PUBLIC ${braid_top}
                        PRIVATE braid_torch ${braid_own})
  add_custom_command(TARGET braid_kernels POST_BUILD
    COMMAND "${braid_python}" "${CMAKE_SOURCE_DIR}/scripts/check_loops.py"
            "${CMAKE_NM}" ${braid_loop_check}
    COMMAND_EXPAND_LISTS VERBATIM)
  set(braid_torch_headers "$<$<COMPILE_LANGUAGE:CXX>:<ATen/ATen.h$<ANGLE-R>>"
                          "$<$<COMPILE_LANGUAGE:CXX>:<ATen/Parallel.h$<ANGLE-R>>")
  target_precompile_headers(braid_kernels PRIVATE ${braid_torch_headers})
  set(braid_top braid_kernels)
  list(APPEND braid_libraries ${braid_top})
endif()

# What programs link: everything but the command line.
add_library(braid_all INTERFACE)
target_link_libraries(braid_all INTERFACE ${braid_top})
set_target_properties(braid_all PROPERTIES EXPORT_NAME braid)
add_library(braid::braid ALIAS braid_all)
list(APPEND braid_libraries braid_all)

# What libraries with data of one's own compile with: a header, nothing to link.
add_library(braid_source INTERFACE)
target_compile_features(braid_source INTERFACE cxx_std_20)
target_include_directories(braid_source INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
set_target_properties(braid_source PROPERTIES EXPORT_NAME source)
add_library(braid::source ALIAS braid_source)
list(APPEND braid_libraries braid_source)

# The command line: a library, so that its parts can be tested, and a main.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${braid_src}/cli/*.cpp")
list(REMOVE_ITEM sources "${braid_src}/cli/main.cpp")
find_package(CLI11 REQUIRED)
if(sources)
  add_library(braid_cli STATIC ${sources})
  target_link_libraries(braid_cli PUBLIC ${braid_top} CLI11::CLI11 PRIVATE braid_warnings)
  target_precompile_headers(braid_cli PRIVATE ${braid_common_headers} <CLI/CLI.hpp>)
  # Options are read once: compiling them takes longer than they ever will.
  target_compile_options(braid_cli PRIVATE "$<$<CONFIG:Release>:-O1>")
  braid_batch(braid_cli cli)
  set(braid_top braid_cli)
endif()
if(EXISTS "${braid_src}/cli/main.cpp")
  add_executable(braid "${braid_src}/cli/main.cpp")
  target_link_libraries(braid PRIVATE ${braid_top} CLI11::CLI11 braid_warnings)
  target_precompile_headers(braid REUSE_FROM braid_cli)
  target_compile_options(braid PRIVATE "$<$<CONFIG:Release>:-O1>")
endif()
