# Compiler, linker and library settings shared by every target.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

option(BERTH_SANITIZE "comma-separated sanitizers, e.g. address,undefined" "")
option(BERTH_FUZZ "add the libFuzzer targets of fuzz/ and instrument for them; needs clang" OFF)
option(BERTH_WERROR "treat warnings as errors" ON)

find_program(CCACHE ccache)
if(CCACHE)
  # A precompiled header is accepted by ccache only with these sloppiness settings; base_dir lets a
  # second clone share the cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Kubernetes' float arithmetic is reproduced operation by operation: no contraction.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -ffp-contract=off
                    -Wno-missing-field-initializers # designated initialisers leave defaults out on purpose
                    -fdiagnostics-color=auto)
if(BERTH_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false positives of these inside libstdc++ at -O2.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-array-bounds
                      -Wno-stringop-overflow -Wno-stringop-overread -Wno-free-nonheap-object)
  add_compile_options(-fpch-preprocess)
else()
  # libstdc++ 12's stable_sort uses a function that it marks as deprecated.
  add_compile_options(-Xclang -fno-pch-timestamp -Wno-deprecated-declarations)
endif()
if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()
if(BERTH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
add_compile_definitions(BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)

find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(mimalloc 2.0 REQUIRED)
# Its CMake package asks for libraries that only its own HTTP server needs.
find_library(BERTH_PROMETHEUS prometheus-cpp-core REQUIRED)
find_library(BERTH_RE2 re2 REQUIRED)
find_package(absl REQUIRED) # time zones
find_package(pugixml REQUIRED) # NCCL's topology files
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

# gRPC for unix sockets alone, and the small runtime of protocol buffers, all linked statically: as shared libraries they
# are forty, which every start of the program would wait for.
find_package(PkgConfig REQUIRED)
pkg_check_modules(GRPC REQUIRED grpc_unsecure)
find_program(PROTOC protoc REQUIRED)
set(absl_of_grpc ${GRPC_STATIC_LIBRARIES})
list(FILTER absl_of_grpc INCLUDE REGEX "^absl_")
list(REMOVE_DUPLICATES absl_of_grpc)
set(grpc_libraries "")
foreach(lib grpc++_unsecure grpc_unsecure gpr upb address_sorting cares re2 protobuf-lite ${absl_of_grpc})
  find_library(BERTH_STATIC_${lib} lib${lib}.a REQUIRED)
  list(APPEND grpc_libraries ${BERTH_STATIC_${lib}})
endforeach()
add_library(berth_grpc INTERFACE)
target_link_libraries(berth_grpc INTERFACE -Wl,--start-group ${grpc_libraries} -Wl,--end-group ZLIB::ZLIB rt Threads::Threads)

# Objects are JSON trees, so a run is a quarter allocation: mimalloc makes whole runs a quarter faster than
# glibc's malloc. Nothing refers to it by name, so the linker has to be told to keep it.
add_library(berth_malloc INTERFACE)
if(NOT BERTH_SANITIZE)
  target_link_libraries(berth_malloc INTERFACE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
endif()
