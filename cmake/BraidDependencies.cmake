# Libraries from the system; each has a Debian package (scripts/setup.sh). Also
# read by programs that use an installed Braid.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
# yaml-cpp 0.8 renamed its target.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
# Pictures are decoded where these are.
find_package(PNG QUIET)
find_package(JPEG QUIET)
# Sums of files are made by it where it is; BRAID_ZLIB_DIR names its folder.
if(BRAID_ZLIB_DIR)
  set(ZLIB_ROOT "${BRAID_ZLIB_DIR}")
endif()
find_package(ZLIB QUIET)
