# cmake --install: the program, the headers, the libraries, and a package so that
#   find_package(braid) ... target_link_libraries(app PRIVATE braid::braid)
# works elsewhere. Torch is not copied: the package looks for it again.
include(CMakePackageConfigHelpers)
set(braid_package "${CMAKE_INSTALL_LIBDIR}/cmake/braid")

# torch may lie in a folder of this one, which link paths leave out.
set_target_properties(braid PROPERTIES
  INSTALL_RPATH "${BRAID_TORCH_DIR}/lib" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS braid)
install(TARGETS ${braid_libraries} EXPORT braid)
install(DIRECTORY "${braid_src}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "cli" EXCLUDE)
install(FILES "${CMAKE_BINARY_DIR}/generated/braid/version.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/braid")

install(EXPORT braid NAMESPACE braid:: DESTINATION "${braid_package}"
        FILE braidTargets.cmake)
configure_package_config_file(
  "${CMAKE_SOURCE_DIR}/cmake/braidConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/generated/braidConfig.cmake"
  INSTALL_DESTINATION "${braid_package}")
write_basic_package_version_file(
  "${CMAKE_BINARY_DIR}/generated/braidConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/generated/braidConfig.cmake"
              "${CMAKE_BINARY_DIR}/generated/braidConfigVersion.cmake"
              "${CMAKE_SOURCE_DIR}/cmake/BraidDependencies.cmake"
              "${CMAKE_SOURCE_DIR}/cmake/BraidTorch.cmake"
              "${CMAKE_SOURCE_DIR}/scripts/find_torch.py"
        DESTINATION "${braid_package}")
