# One set of flags for everything we compile.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# No modules here; scanning for them only costs time.
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

# -fPIC by hand: CMake would give executables -fPIE, and then they could not
# share the kernels' precompiled header.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fPIC>"
                    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fPIC>")

# No contraction into fused multiply-adds: results must not depend on how the
# compiler groups a sum.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno;-ffp-contract=off>")

if(BRAID_SANITIZE)
  # -O0: building takes longer than running here.
  add_compile_options(-O0 -g1 -fno-omit-frame-pointer
                      -fsanitize=${BRAID_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BRAID_SANITIZE})
endif()

# Warnings for our own code; linked PRIVATE by every target.
add_library(braid_warnings INTERFACE)
set(braid_warning_flags -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 and 13 raise these falsely inside std::variant, std::string and fmt.
  list(APPEND braid_warning_flags
       -Wno-maybe-uninitialized -Wno-restrict -Wno-dangling-reference
       -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(BRAID_WERROR)
  list(APPEND braid_warning_flags -Werror)
endif()
target_compile_options(braid_warnings INTERFACE
                       "$<$<COMPILE_LANGUAGE:CXX>:${braid_warning_flags}>")

# ccache needs to be told that precompiled headers are safe to cache, and that
# a tree in another folder is the same tree.
find_program(BRAID_CCACHE ccache)
if(BRAID_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=true
      ${BRAID_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")
  endif()
endif()
