// Several processes that serve one cluster trust one authority and sign service accounts' tokens
// with one key: those of the first of them, kept in the store that they share.
#pragma once

#include "berth/base/result.h"
#include "berth/cli/up/home.h"
#include "berth/etcd/etcd_store.h"

namespace berth::cli {

/// Offers the home's authority and token key, which must be there, and replaces them by those that
/// others offered before. What was signed by a replaced authority is removed, to be made anew.
Result<void> share_keys(const Home& home, etcd::EtcdStore& store);

} // namespace berth::cli
