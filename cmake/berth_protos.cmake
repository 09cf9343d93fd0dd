# Compiles .proto files of src/berth/ into a room: berth_protos(berth_runtime runtime/cri/cri.proto) makes
# "runtime/cri/cri.pb.h" includable by that room's sources. The files say optimize_for = LITE_RUNTIME, and have no
# generated services: methods are called by name (berth/rpc/).
function(berth_protos target)
  set(out ${CMAKE_BINARY_DIR}/gen/proto)
  foreach(proto ${ARGN})
    string(REGEX REPLACE "\\.proto$" ".pb" stem ${proto})
    set(generated ${out}/${stem}.cc ${out}/${stem}.h)
    add_custom_command(OUTPUT ${generated}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND ${PROTOC} --proto_path=${CMAKE_SOURCE_DIR}/src/berth --cpp_out=${out} ${CMAKE_SOURCE_DIR}/src/berth/${proto}
      DEPENDS ${CMAKE_SOURCE_DIR}/src/berth/${proto} VERBATIM)
    set_source_files_properties(${out}/${stem}.cc PROPERTIES COMPILE_OPTIONS "-w;-O1" SKIP_PRECOMPILE_HEADERS ON)
    target_sources(${target} PRIVATE ${generated})
  endforeach()
  target_include_directories(${target} SYSTEM PRIVATE ${out})
endfunction()
