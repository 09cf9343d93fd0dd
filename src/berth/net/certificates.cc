#include "berth/net/certificates.h"

#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace berth::net {
namespace {

template <auto Free> struct Freed {
  template <class T> void operator()(T* object) const { Free(object); }
};
using Certificate = std::unique_ptr<X509, Freed<&X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Freed<&BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freed<&BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<&X509_EXTENSION_free>>;

constexpr int kSerialBits = 127;

tl::unexpected<Error> refused(std::string_view doing) {
  std::string why(256, '\0');
  ERR_error_string_n(ERR_get_error(), why.data(), why.size());
  return fail(Code::Internal, fmt::format("cannot {}: {}", doing, why.c_str()));
}

bool add_name(X509_NAME* name, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

struct Issuer {
  X509* certificate;
  EVP_PKEY* key;
};

Result<KeyPair> make(const CertificateRequest& subject, const Issuer* issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate made(X509_new());
  const Number serial(BN_new());
  if (key == nullptr || made == nullptr || serial == nullptr ||
      BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1) {
    return refused("make a key");
  }
  X509* const cert = made.get();
  X509* const signer = issuer == nullptr ? cert : issuer->certificate;
  X509_NAME* const name = X509_get_subject_name(cert);
  bool good =
      X509_set_version(cert, 2) == 1 &&
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(cert)) != nullptr &&
      ASN1_TIME_set(X509_getm_notBefore(cert), subject.not_before.unix_seconds()) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(cert), subject.not_after.unix_seconds()) != nullptr &&
      X509_set_pubkey(cert, key.get()) == 1;
  for (const std::string& organization : subject.organizations) {
    good = good && add_name(name, "O", organization);
  }
  good = good && add_name(name, "CN", subject.common_name) &&
         X509_set_issuer_name(cert, X509_get_subject_name(signer)) == 1 &&
         add_extension(cert, signer, NID_subject_key_identifier, "hash") &&
         add_extension(cert, signer, NID_basic_constraints,
                       issuer == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
         add_extension(cert, signer, NID_key_usage,
                       issuer == nullptr ? "critical,digitalSignature,keyCertSign,cRLSign"
                                         : "critical,digitalSignature");
  if (issuer != nullptr) {
    good = good && add_extension(cert, signer, NID_authority_key_identifier, "keyid") &&
           add_extension(cert, signer, NID_ext_key_usage,
                         subject.names.empty()          ? "clientAuth"
                         : subject.shown_by_servers_too ? "serverAuth,clientAuth"
                                                        : "serverAuth");
  }
  if (!subject.names.empty()) {
    good = good && add_extension(cert, signer, NID_subject_alt_name,
                                 fmt::format("{}", fmt::join(subject.names, ",")));
  }
  if (!good || X509_sign(cert, issuer == nullptr ? key.get() : issuer->key, EVP_sha256()) == 0) {
    return refused(fmt::format("make a certificate for \"{}\"", subject.common_name));
  }
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  const Bio key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), cert) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1) {
    return refused("write a certificate");
  }
  return KeyPair{.certificate = text_of(certificate_text.get()), .key = text_of(key_text.get())};
}

} // namespace

Result<KeyPair> make_authority(const CertificateRequest& subject) {
  return make(subject, nullptr);
}

Result<KeyPair> issue(const KeyPair& authority, const CertificateRequest& subject) {
  const Bio certificate_text(BIO_new_mem_buf(authority.certificate.data(),
                                             static_cast<int>(authority.certificate.size())));
  const Bio key_text(BIO_new_mem_buf(authority.key.data(), static_cast<int>(authority.key.size())));
  const Certificate certificate(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr || key == nullptr) {
    return fail(Code::BadRequest, "the certificate authority cannot be read: PEM text of a "
                                  "certificate and its key is expected");
  }
  const Issuer issuer{.certificate = certificate.get(), .key = key.get()};
  return make(subject, &issuer);
}

} // namespace berth::net
