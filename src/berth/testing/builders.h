// Builders with verbs for every kind. The namespace is berth::test, so that testing:: stays
// gtest's.
#pragma once

#include "berth/testing/node_builder.h"
#include "berth/testing/pod_builder.h"
#include "berth/testing/report_builder.h"
#include "berth/testing/storage_builder.h"
#include "berth/testing/workload_builder.h"
