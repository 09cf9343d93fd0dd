// OpenSSL's objects of certificates, freed by themselves. Only for .cc files of this room.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "berth/base/result.h"

namespace berth::net {

template <auto Free> struct Freed {
  template <class T> void operator()(T* object) const { Free(object); }
};
using Certificate = std::unique_ptr<X509, Freed<&X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Freed<&BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freed<&BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<&X509_EXTENSION_free>>;
using Request = std::unique_ptr<X509_REQ, Freed<&X509_REQ_free>>;

inline tl::unexpected<Error> refused(std::string_view doing) {
  std::string why(256, '\0');
  ERR_error_string_n(ERR_get_error(), why.data(), why.size());
  return fail(Code::Internal, fmt::format("cannot {}: {}", doing, why.c_str()));
}

inline std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

inline Bio reading(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

inline bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// A new serial number; whether there was randomness for it.
inline bool add_serial(X509* certificate) {
  constexpr int kSerialBits = 127;
  const Number serial(BN_new());
  return serial != nullptr &&
         BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

/// An authority as it signs.
struct Authority {
  Certificate certificate;
  Key key;
};
/// Error BadRequest: it cannot be read.
inline Result<Authority> read_authority(std::string_view certificate, std::string_view key) {
  Authority out{.certificate = Certificate(
                    PEM_read_bio_X509(reading(certificate).get(), nullptr, nullptr, nullptr)),
                .key = Key(PEM_read_bio_PrivateKey(reading(key).get(), nullptr, nullptr, nullptr))};
  if (out.certificate == nullptr || out.key == nullptr) {
    return fail(Code::BadRequest, "the certificate authority cannot be read: PEM text of a "
                                  "certificate and its key is expected");
  }
  return out;
}

} // namespace berth::net
