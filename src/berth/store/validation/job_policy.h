// When a Job fails or succeeds early: podFailurePolicy and successPolicy (KEP-3329, KEP-3998).
// Source: kubernetes/pkg/apis/batch/validation.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

void check_failure_policy(const Judged& spec);
void check_success_policy(const Judged& spec);

} // namespace berth::store
