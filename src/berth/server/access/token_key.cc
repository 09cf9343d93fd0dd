#include "berth/server/access/token_key.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "berth/base/assert.h"
#include "berth/server/access/base64url.h"

namespace berth::server {
namespace {

template <auto Free> struct Freed {
  template <class T> void operator()(T* object) const { Free(object); }
};
using Bio = std::unique_ptr<BIO, Freed<&BIO_free_all>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<&EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<&ECDSA_SIG_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<&BN_free>>;

constexpr int kHalf = 32; // bytes of r, and of s
constexpr std::string_view kCurve = "prime256v1";

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

tl::unexpected<Error> refused(std::string_view doing) {
  std::string why(256, '\0');
  ERR_error_string_n(ERR_get_error(), why.data(), why.size());
  ERR_clear_error();
  return fail(Code::Internal, fmt::format("cannot {}: {}", doing, why.c_str()));
}

std::string public_der(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) {
    return "";
  }
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

} // namespace

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  BERTH_ASSERT(done == 1, "OpenSSL has no SHA-256");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

TokenKey::TokenKey(std::shared_ptr<evp_pkey_st> key)
    : key_(std::move(key)), id_(to_base64url(sha256(public_der(key_.get())))) {}

Result<TokenKey> TokenKey::generate() {
  std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), Freed<&EVP_PKEY_free>());
  if (key == nullptr) {
    return refused("make a key for service account tokens");
  }
  return TokenKey(std::move(key));
}

Result<TokenKey> TokenKey::from_pem(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // Without a callback that refuses, OpenSSL would ask for a password on the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr),
                                Freed<&EVP_PKEY_free>());
  std::array<char, 64> curve{};
  std::size_t size = 0;
  if (key == nullptr ||
      EVP_PKEY_get_group_name(key.get(), curve.data(), curve.size(), &size) != 1 ||
      std::string_view(curve.data(), size) != kCurve) {
    ERR_clear_error();
    return fail(Code::BadRequest, "the key for service account tokens cannot be used: PEM text of "
                                  "an EC private key on the curve P-256 is expected");
  }
  return TokenKey(std::move(key));
}

std::string TokenKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
      1) {
    ERR_clear_error();
    return "";
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Result<std::string> TokenKey::sign(std::string_view text) const {
  const Digest context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes_of(text), text.size()) != 1) {
    return refused("sign a token");
  }
  std::string der(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(der.data()), &size,
                     bytes_of(text), text.size()) != 1) {
    return refused("sign a token");
  }
  const unsigned char* at = bytes_of(der);
  const Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  std::string out(2 * kHalf, '\0');
  auto* const raw = reinterpret_cast<unsigned char*>(out.data());
  if (signature == nullptr ||
      BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), raw, kHalf) != kHalf ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), raw + kHalf, kHalf) != kHalf) {
    return refused("sign a token");
  }
  return out;
}

bool TokenKey::verify(std::string_view text, std::string_view signature) const {
  if (signature.size() != 2 * kHalf) {
    return false;
  }
  const Signature parsed(ECDSA_SIG_new());
  Number r(BN_bin2bn(bytes_of(signature), kHalf, nullptr));
  Number s(BN_bin2bn(bytes_of(signature) + kHalf, kHalf, nullptr));
  if (parsed == nullptr || r == nullptr || s == nullptr ||
      ECDSA_SIG_set0(parsed.get(), r.get(), s.get()) != 1) {
    return false;
  }
  static_cast<void>(r.release()); // the signature's from here on
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(parsed.get(), &der);
  const Digest context(EVP_MD_CTX_new());
  const bool good =
      size > 0 && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), der, static_cast<std::size_t>(size), bytes_of(text),
                       text.size()) == 1;
  OPENSSL_free(der);
  ERR_clear_error(); // a wrong signature leaves its reason behind
  return good;
}

} // namespace berth::server
