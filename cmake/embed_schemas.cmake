# Makes the bundle of Kubernetes' built-in types (schemas/bundle.mjs says what is in it) and compiles it into a library,
# between the symbols berth_schema_bundle and berth_schema_bundle_end.
function(berth_embed_schemas target)
  find_program(BERTH_NODE NAMES node nodejs)
  if(NOT BERTH_NODE)
    message(FATAL_ERROR "node (18 or later) makes the bundle of built-in types and is not here; try ./dev setup")
  endif()
  set(dir ${CMAKE_SOURCE_DIR}/schemas)
  set(bundle ${CMAKE_BINARY_DIR}/gen/schemas.json)
  add_custom_command(OUTPUT ${bundle}
    COMMAND ${BERTH_NODE} ${dir}/bundle.mjs ${bundle}
    DEPENDS ${dir}/bundle.mjs ${dir}/facts.json ${dir}/packages.json ${dir}/resources.json ${dir}/wire.json
            ${dir}/package-lock.json
    COMMENT "Bundling the types of Kubernetes" VERBATIM)
  set(out ${CMAKE_BINARY_DIR}/gen/schemas.S)
  file(CONFIGURE OUTPUT ${out} CONTENT "\t.section .rodata
\t.globl berth_schema_bundle\nberth_schema_bundle:\n\t.incbin \"${bundle}\"
\t.globl berth_schema_bundle_end\nberth_schema_bundle_end:
\t.section .note.GNU-stack,\"\",%progbits\n" @ONLY)
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS ${bundle})
  target_sources(${target} PRIVATE ${out} ${bundle})
endfunction()
