# SPDX-License-Identifier: Apache-2.0
# exactile_embed(<output.cpp> <header> <namespace> <files>): a source file that defines, for each file, a string_view
# named after it (element.cl: element_cl) with the file's text. Made again whenever a file changes.
set(EXACTILE_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(exactile_embed output header namespace)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D "FILES=${files}" -D OUTPUT=${output} -D HEADER=${header} -D NAMESPACE=${namespace} -P
            ${EXACTILE_EMBED_SCRIPT}
    DEPENDS ${files} ${EXACTILE_EMBED_SCRIPT}
    VERBATIM)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Made from the files named below; edit those.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
  foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} identifier)
    file(READ ${file} content)
    string(APPEND text "\nconst std::string_view ${identifier} = R\"embedded(${content})embedded\";\n")
  endforeach()
  file(WRITE ${OUTPUT} "${text}\n}  // namespace ${NAMESPACE}\n")
endif()
