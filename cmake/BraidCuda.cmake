# Whether CUDA kernels are built: sets BRAID_HAS_CUDA (the wheel has CUDA and nvcc
# was found) and BRAID_HAS_CUBLASLT.
set(BRAID_HAS_CUDA OFF)
set(BRAID_HAS_CUBLASLT OFF)
file(GLOB braid_cuda_sources CONFIGURE_DEPENDS
     "${CMAKE_SOURCE_DIR}/src/braid/runtime/kernels/cuda/*.cu"
     "${CMAKE_SOURCE_DIR}/src/braid/runtime/kernels/cuda/*.cpp")
if(BRAID_CUDA AND braid_cuda_sources AND NOT braid_torch_cuda STREQUAL "none")
  set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPU architectures to build for")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(BRAID_HAS_CUDA ON)
  endif()
endif()
if(BRAID_HAS_CUDA)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -lineinfo -DNDEBUG")
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  # Updates give the same bits on the device and on the host.
  set_source_files_properties(
    "${CMAKE_SOURCE_DIR}/src/braid/runtime/kernels/cuda/optimizer.cu"
    PROPERTIES COMPILE_OPTIONS "-fmad=false")
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc has C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
  braid_add_torch_cuda()
endif()
message(STATUS "CUDA kernels: ${BRAID_HAS_CUDA}, cuBLASLt: ${BRAID_HAS_CUBLASLT}")
