#include "berth/net/certificates.h"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/rand.h>

#include "berth/net/openssl_handles.h"

namespace berth::net {
namespace {

bool add_name(X509_NAME* name, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

struct Issuer {
  X509* certificate;
  EVP_PKEY* key;
};

Result<KeyPair> make(const CertificateRequest& subject, const Issuer* issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate made(X509_new());
  if (key == nullptr || made == nullptr) {
    return refused("make a key");
  }
  X509* const cert = made.get();
  X509* const signer = issuer == nullptr ? cert : issuer->certificate;
  X509_NAME* const name = X509_get_subject_name(cert);
  bool good =
      X509_set_version(cert, 2) == 1 && add_serial(cert) &&
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
  BERTH_TRY(const Authority signer, read_authority(authority.certificate, authority.key));
  const Issuer issuer{.certificate = signer.certificate.get(), .key = signer.key.get()};
  return make(subject, &issuer);
}

} // namespace berth::net
