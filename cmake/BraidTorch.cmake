# The libtorch inside a pip wheel, as imported targets:
#   braid_torch   headers, c10, torch_cpu and, for a CUDA wheel, torch_cuda
# find_package(Torch) is not used: on a CUDA wheel it demands a CUDA toolkit
# even for host-only code. Also read by programs that use an installed Braid:
# find_torch.py then lies beside this file.

set(braid_torch_min_version 2.11)

if(BRAID_PYTHON)
  set(braid_python "${BRAID_PYTHON}")
elseif(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../.venv/bin/python")
  set(braid_python "${CMAKE_CURRENT_LIST_DIR}/../.venv/bin/python")
else()
  set(braid_python python3)
endif()
find_file(braid_find_torch find_torch.py REQUIRED NO_CACHE NO_DEFAULT_PATH
          PATHS "${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_CURRENT_LIST_DIR}/../scripts")
# Answers without importing torch, which would take seconds.
execute_process(
  COMMAND "${braid_python}" "${braid_find_torch}" --minimum ${braid_torch_min_version}
  OUTPUT_VARIABLE braid_torch_answer RESULT_VARIABLE braid_torch_status
  ERROR_VARIABLE braid_torch_error OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT braid_torch_status EQUAL 0)
  message(FATAL_ERROR "No usable torch in '${braid_python}'.\n${braid_torch_error}"
          "HINT: run 'make setup', or name a Python that has torch: PYTHON=... with make,\n"
          "      -DBRAID_PYTHON=... with cmake.")
endif()
set(braid_nvidia_dirs ${braid_torch_answer})
list(POP_FRONT braid_nvidia_dirs BRAID_TORCH_DIR BRAID_TORCH_VERSION braid_torch_cuda)
message(STATUS "torch ${BRAID_TORCH_VERSION} (CUDA: ${braid_torch_cuda}) in ${BRAID_TORCH_DIR}")

function(braid_import_torch_library name)
  set(file "${BRAID_TORCH_DIR}/lib/lib${name}.so")
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "torch ${BRAID_TORCH_VERSION} has no ${file}")
  endif()
  add_library(braid_torch::${name} SHARED IMPORTED)
  set_target_properties(braid_torch::${name} PROPERTIES IMPORTED_LOCATION "${file}")
  target_link_libraries(braid_torch INTERFACE braid_torch::${name})
endfunction()

add_library(braid_torch INTERFACE IMPORTED)
target_include_directories(braid_torch SYSTEM INTERFACE
  "${BRAID_TORCH_DIR}/include" "${BRAID_TORCH_DIR}/include/torch/csrc/api/include")
# torch's headers bring an fmt of their own, found before the system's; taken as
# headers alone it meets no library of another version.
target_compile_definitions(braid_torch INTERFACE FMT_HEADER_ONLY)
# The libraries register their operators when loaded, so none may be dropped.
target_link_options(braid_torch INTERFACE -Wl,--no-as-needed)
braid_import_torch_library(c10)
braid_import_torch_library(torch_cpu)

# at::parallel_for is a header: without OpenMP it runs serially. The wheel's own
# OpenMP runtime is linked, never a second one from the system.
file(GLOB braid_openmp "${BRAID_TORCH_DIR}/lib/libgomp*.so*"
     "${BRAID_TORCH_DIR}/../torch.libs/libgomp*.so*")
if(braid_openmp)
  list(GET braid_openmp 0 braid_openmp)
  target_compile_options(braid_torch INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fopenmp>")
  target_link_libraries(braid_torch INTERFACE "${braid_openmp}")
endif()

# cuBLASLt, whose headers and library must be of one version: of the wheels that
# torch loads it from, else of the toolkit. Sets BRAID_HAS_CUBLASLT.
function(braid_add_cublaslt)
  set(BRAID_HAS_CUBLASLT ON PARENT_SCOPE)
  foreach(dir IN LISTS braid_nvidia_dirs)
    file(GLOB libraries "${dir}/lib/libcublasLt.so*")
    if(libraries AND EXISTS "${dir}/include/cublasLt.h")
      list(GET libraries 0 library)
      target_link_libraries(braid_torch INTERFACE "${library}")
      return()
    endif()
  endforeach()
  foreach(dir IN LISTS CUDAToolkit_INCLUDE_DIRS)
    if(TARGET CUDA::cublasLt AND EXISTS "${dir}/cublasLt.h")
      target_link_libraries(braid_torch INTERFACE CUDA::cublasLt)
      return()
    endif()
  endforeach()
  set(BRAID_HAS_CUBLASLT OFF PARENT_SCOPE)
endfunction()

# What a CUDA wheel has besides. Needs the CUDA toolkit.
function(braid_add_torch_cuda)
  braid_import_torch_library(c10_cuda)
  braid_import_torch_library(torch_cuda)
  target_link_libraries(braid_torch INTERFACE CUDA::cudart)
  # Headers that a small toolkit lacks (cuBLAS, cuSPARSE) lie in the wheels.
  foreach(dir IN LISTS braid_nvidia_dirs)
    target_include_directories(braid_torch SYSTEM INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:${dir}/include>")
    target_link_options(braid_torch INTERFACE "-Wl,-rpath,${dir}/lib")
  endforeach()
  braid_add_cublaslt()
  set(BRAID_HAS_CUBLASLT ${BRAID_HAS_CUBLASLT} PARENT_SCOPE)
endfunction()
