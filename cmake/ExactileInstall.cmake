# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` leaves: the archive, the shared library, the public headers, the program
# with its manual page and completions, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/exactile)

install(TARGETS exactile exactile_shared EXPORT exactileTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/exactile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp")
# The copy that answers to libblas.so.3 lies in a folder of its own, where only who asks for it finds it.
if(TARGET exactile_blas_shared)
  install(TARGETS exactile_blas_shared EXPORT exactileTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS exactile_blas_provider LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/exactile)
endif()
if(TARGET exactile_cublas_shared)
  install(TARGETS exactile_cublas_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/include/exactile.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT exactileTargets NAMESPACE exactile:: DESTINATION ${package_dir})

# The .pc file finds its own prefix, so that an install tree may be moved.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(pc_cuda_libs "")
set(archive_needs_cuda FALSE)
if(TARGET exactile_cuda_library)
  install(TARGETS exactile_cuda_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
elseif(EXACTILE_HAS_CUDA)
  set(archive_needs_cuda TRUE)
  get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
  set(pc_cuda_libs " ${cudart} -ldl -lrt")
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/exactileConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/exactileConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/exactileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/exactileConfig.cmake ${PROJECT_BINARY_DIR}/exactileConfigVersion.cmake
        DESTINATION ${package_dir})
# find_package() takes the build tree too: the Python package does, to be tested on this very library.
export(EXPORT exactileTargets NAMESPACE exactile:: FILE ${PROJECT_BINARY_DIR}/exactileTargets.cmake)

configure_file(${PROJECT_SOURCE_DIR}/cmake/exactile.pc.in ${PROJECT_BINARY_DIR}/exactile.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/exactile.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET exactile_program)
  install(TARGETS exactile_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/suites DESTINATION ${CMAKE_INSTALL_DATADIR}/exactile FILES_MATCHING PATTERN "*.txt")
  # The manual page and what shells complete, as the program itself tells them: arguments, file, folder.
  foreach(made IN ITEMS "manual:exactile.1:${CMAKE_INSTALL_MANDIR}/man1"
                        "completion bash:exactile:${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
                        "completion zsh:_exactile:${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
                        "completion fish:exactile.fish:${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
    string(REPLACE ":" ";" made "${made}")
    list(GET made 0 arguments)
    list(GET made 1 name)
    list(GET made 2 folder)
    set(file ${PROJECT_BINARY_DIR}/generated/${name})
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:exactile_program>\" ${arguments} OUTPUT_FILE \"${file}\"
                                  COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${file} DESTINATION ${folder})
  endforeach()
endif()
