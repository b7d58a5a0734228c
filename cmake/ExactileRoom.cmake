# SPDX-License-Identifier: Apache-2.0
# A room is one folder of src/ and one CMake target. It sees the public headers, and of the other rooms only those it
# names: each room's own headers live behind its own include root (src/<room>/include is not used; the root is a folder
# of links made by CMake), so that an include of a room that was not named fails to build.

set(EXACTILE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)

# exactile_room(<name> SOURCES <files> [SEES <rooms>] [LINKS <libraries>])
function(exactile_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;SEES;LINKS" ${ARGN})
  set(door ${PROJECT_BINARY_DIR}/doors/${name})
  file(MAKE_DIRECTORY ${door})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${door}/${name} SYMBOLIC)

  add_library(exactile_${name} OBJECT ${ROOM_SOURCES})
  target_compile_features(exactile_${name} PUBLIC cxx_std_20)
  target_compile_options(exactile_${name} PRIVATE ${EXACTILE_WARNINGS} $<$<BOOL:${EXACTILE_WERROR}>:-Werror>)
  set_target_properties(exactile_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                    VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(exactile_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${door})
  foreach(seen IN LISTS ROOM_SEES)
    target_include_directories(exactile_${name} PRIVATE ${PROJECT_BINARY_DIR}/doors/${seen})
  endforeach()
  target_link_libraries(exactile_${name} PRIVATE fmt::fmt-header-only Threads::Threads ${ROOM_LINKS})
endfunction()

# exactile_sees(<target> <rooms>): lets a target that is no room (the program, a test) include those rooms' headers.
function(exactile_sees target)
  foreach(seen IN LISTS ARGN)
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/doors/${seen})
  endforeach()
endfunction()
