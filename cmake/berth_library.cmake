# Tests are compiled more than they are run: a file of them takes a third less at -O1 than at -O2, and under sanitizers
# less than half at -O0 than at -O1. What they test is the program's own objects.
set(BERTH_TEST_OPTIONS $<IF:$<CONFIG:Release>,-O1,-O0>)

# Precompiled headers: one for the program, one for tests (it adds gtest and gmock).
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/gen)
file(WRITE ${CMAKE_BINARY_DIR}/gen/empty.cc.new "")
file(COPY_FILE ${CMAKE_BINARY_DIR}/gen/empty.cc.new ${CMAKE_BINARY_DIR}/gen/empty.cc ONLY_IF_DIFFERENT)

add_library(berth_pch OBJECT ${CMAKE_BINARY_DIR}/gen/empty.cc)
target_precompile_headers(berth_pch PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set>
  <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
  <tl/expected.hpp> <boost/json.hpp>)
target_link_libraries(berth_pch PRIVATE fmt::fmt Boost::json)
add_library(berth_test_pch OBJECT ${CMAKE_BINARY_DIR}/gen/empty.cc)
target_precompile_headers(berth_test_pch PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
  <tl/expected.hpp> <boost/json.hpp> <gtest/gtest.h> <gmock/gmock.h>)
target_link_libraries(berth_test_pch PRIVATE fmt::fmt Boost::json GTest::gtest GTest::gmock)
target_compile_options(berth_test_pch PRIVATE ${BERTH_TEST_OPTIONS})

set_property(GLOBAL PROPERTY BERTH_LIBRARIES "")

# berth_library(sched DEPS hardware EXTERNAL fmt::fmt)
# Sources are the folder's .cc files, sub-folders included; *_test.cc and *_bench.cc beside them become the
# room's test and benchmark programs. The include root of a room shows that room alone, so that what a file
# may include is exactly what DEPS names.
function(berth_library name)
  cmake_parse_arguments(A "" "" "DEPS;EXTERNAL" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/berth/${name})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${dir}/*.cc)
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(benches ${all})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")

  set(inc ${CMAKE_BINARY_DIR}/inc/${name})
  file(MAKE_DIRECTORY ${inc}/berth)
  file(CREATE_LINK ${dir} ${inc}/berth/${name} SYMBOLIC)

  if(NOT sources)
    set(sources ${CMAKE_BINARY_DIR}/gen/empty.cc)
  endif()
  add_library(berth_${name} STATIC ${sources})
  target_include_directories(berth_${name} PUBLIC ${inc})
  foreach(d ${A_DEPS})
    target_link_libraries(berth_${name} PUBLIC berth_${d})
  endforeach()
  target_link_libraries(berth_${name} PUBLIC fmt::fmt Boost::json)
  target_link_libraries(berth_${name} PRIVATE ${A_EXTERNAL})
  target_precompile_headers(berth_${name} REUSE_FROM berth_pch)
  set_property(GLOBAL APPEND PROPERTY BERTH_LIBRARIES ${name})
  set_property(GLOBAL PROPERTY BERTH_TESTS_${name} "${tests}")
  set_property(GLOBAL PROPERTY BERTH_BENCHES_${name} "${benches}")
endfunction()

# testing/ holds builders and fixtures; a room's tests may use it beside what the room itself may include.
function(berth_testing)
  get_property(libs GLOBAL PROPERTY BERTH_LIBRARIES)
  foreach(name ${libs})
    get_property(tests GLOBAL PROPERTY BERTH_TESTS_${name})
    if(tests)
      add_executable(${name}_test ${tests})
      target_include_directories(${name}_test PRIVATE ${CMAKE_BINARY_DIR}/inc/testing)
      target_include_directories(${name}_test SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/gen/proto)
      target_link_libraries(${name}_test PRIVATE berth_${name} berth_malloc GTest::gtest GTest::gmock GTest::gtest_main)
      target_compile_options(${name}_test PRIVATE ${BERTH_TEST_OPTIONS})
      target_precompile_headers(${name}_test REUSE_FROM berth_test_pch)
      target_compile_definitions(${name}_test PRIVATE BERTH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      # For one that hangs: the slowest takes half a minute, under sanitizers a few.
      set_tests_properties(${name} PROPERTIES TIMEOUT 1200)
    endif()
    get_property(benches GLOBAL PROPERTY BERTH_BENCHES_${name})
    if(benches)
      add_executable(${name}_bench EXCLUDE_FROM_ALL ${benches})
      target_include_directories(${name}_bench PRIVATE ${CMAKE_BINARY_DIR}/inc/testing)
      target_link_libraries(${name}_bench PRIVATE berth_${name} berth_malloc benchmark::benchmark benchmark::benchmark_main)
      target_compile_definitions(${name}_bench PRIVATE BERTH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      set_property(GLOBAL APPEND PROPERTY BERTH_BENCH_TARGETS ${name}_bench)
    endif()
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/inc/testing/berth)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/berth/testing ${CMAKE_BINARY_DIR}/inc/testing/berth/testing SYMBOLIC)
  get_property(benches GLOBAL PROPERTY BERTH_BENCH_TARGETS)
  add_custom_target(benches DEPENDS ${benches})
endfunction()

function(berth_program)
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/main.cc)
    add_executable(berth ${CMAKE_SOURCE_DIR}/src/main.cc)
    target_link_libraries(berth PRIVATE berth_cli berth_malloc)
    target_precompile_headers(berth REUSE_FROM berth_pch)
    # The commit changes without a configure, so it is asked for at every build.
    add_custom_target(berth_version
      COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_BINARY_DIR}/gen/version/berth_version.h -DSOURCE=${CMAKE_SOURCE_DIR}
              -DVERSION=${PROJECT_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake
      BYPRODUCTS ${CMAKE_BINARY_DIR}/gen/version/berth_version.h VERBATIM)
    add_dependencies(berth berth_version)
    target_include_directories(berth PRIVATE ${CMAKE_BINARY_DIR}/gen/version)
  endif()
  add_executable(berth_fuzz_cluster ${CMAKE_SOURCE_DIR}/src/fuzz_cluster.cc)
  target_link_libraries(berth_fuzz_cluster PRIVATE berth_sim berth_malloc)
  target_precompile_headers(berth_fuzz_cluster REUSE_FROM berth_pch)
endfunction()
