// Webhooks that a configuration names. Source: kubernetes/pkg/apis/admissionregistration/validation
// validateValidatingWebhook, apiserver/pkg/util/webhook/validation.go.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

/// `whole`.webhooks; `before` is the configuration that is replaced, absent for a new one. What an
/// old configuration may say that a new one may not, its successor may say too.
void check_webhooks(const Judged& whole, const Judged& before);

} // namespace berth::store
