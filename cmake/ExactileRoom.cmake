# SPDX-License-Identifier: Apache-2.0
# A room is one folder of src/ and one CMake target, exactile_<room>. Headers are included by room, "plan/select.hpp".
# No target has src/ itself on its include path. Instead each room has a door: a folder build/doors/<room> that holds
# nothing but a link named <room> to src/<room>. A room sees its own door, the public headers, and the doors of the
# rooms it names after SEES; an include of any other room does not find its file, and the build fails.

set(EXACTILE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)

# exactile_sees(<target> <rooms>): lets any target (a room, the program, a test) include those rooms' headers.
function(exactile_sees target)
  foreach(seen IN LISTS ARGN)
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/doors/${seen})
  endforeach()
endfunction()

# exactile_door(<name>): of the folder that this is called in.
function(exactile_door name)
  set(door ${PROJECT_BINARY_DIR}/doors/${name})
  file(MAKE_DIRECTORY ${door})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${door}/${name} SYMBOLIC)
endfunction()

# What most files include is parsed once. Not what has templates to instantiate, as fmt: each file would pay for those.
set(EXACTILE_PRECOMPILED "")
foreach(header algorithm array cstdint functional map memory mutex optional span string string_view utility vector)
  list(APPEND EXACTILE_PRECOMPILED "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
endforeach()

# exactile_flags(<flags> <files>): of these files alone, for which what is precompiled without them is none.
function(exactile_flags flags)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${flags})
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# exactile_room(<name> [SMALL] SOURCES <files> [SEES <rooms>] [LINKS <libraries>]); SMALL: for size, not for speed
function(exactile_room name)
  cmake_parse_arguments(ROOM "SMALL" "" "SOURCES;SEES;LINKS" ${ARGN})
  exactile_door(${name})
  add_library(exactile_${name} OBJECT ${ROOM_SOURCES})
  set_target_properties(exactile_${name} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CUDA_STANDARD 20
                                                    CUDA_STANDARD_REQUIRED ON)
  target_compile_options(exactile_${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${EXACTILE_WARNINGS}>"
                                                     $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${EXACTILE_WERROR}>>:-Werror>)
  if(ROOM_SMALL)
    target_compile_options(exactile_${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Os>)
  endif()
  set_target_properties(exactile_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                    CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(exactile_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  exactile_sees(exactile_${name} ${name} ${ROOM_SEES})
  target_link_libraries(exactile_${name} PRIVATE exactile_fmt Threads::Threads ${ROOM_LINKS})
  # Of those with the same flags the first room has it.
  set(first tuning)
  if(NOT ROOM_SMALL)
    set(first core)
  endif()
  if(name STREQUAL first)
    target_precompile_headers(exactile_${name} PRIVATE ${EXACTILE_PRECOMPILED})
  else()
    target_precompile_headers(exactile_${name} REUSE_FROM exactile_${first})
  endif()
endfunction()
