#include "berth/net/signing_request.h"

#include <array>

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <fmt/ranges.h>

#include "berth/net/openssl_handles.h"

namespace berth::net {
namespace {

using Names = std::unique_ptr<GENERAL_NAMES, Freed<&GENERAL_NAMES_free>>;

void free_extensions(STACK_OF(X509_EXTENSION) * all) {
  sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free);
}
using Extensions = std::unique_ptr<STACK_OF(X509_EXTENSION), Freed<&free_extensions>>;

Result<Request> parsed(std::string_view pem) {
  Request request(PEM_read_bio_X509_REQ(reading(pem).get(), nullptr, nullptr, nullptr));
  if (request == nullptr) {
    return fail(Code::BadRequest, "PEM text of a certificate request is expected");
  }
  return request;
}

std::string text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::vector<std::string> entries(X509_NAME* name, int nid) {
  std::vector<std::string> out;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, nid, at)) {
    out.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
  }
  return out;
}

std::string address_text(const ASN1_OCTET_STRING* bytes) {
  const std::string raw = text_of(bytes);
  if (boost::asio::ip::address_v4::bytes_type four; raw.size() == four.size()) {
    std::copy(raw.begin(), raw.end(), four.begin());
    return boost::asio::ip::address_v4(four).to_string();
  }
  if (boost::asio::ip::address_v6::bytes_type six; raw.size() == six.size()) {
    std::copy(raw.begin(), raw.end(), six.begin());
    return boost::asio::ip::address_v6(six).to_string();
  }
  return "";
}

void add_name(const GENERAL_NAME& name, RequestedSubject& out) {
  switch (name.type) {
  case GEN_DNS:
    out.dns_names.push_back(text_of(name.d.dNSName));
    break;
  case GEN_IPADD:
    out.addresses.push_back(address_text(name.d.iPAddress));
    break;
  case GEN_EMAIL:
    out.emails.push_back(text_of(name.d.rfc822Name));
    break;
  case GEN_URI:
    out.uris.push_back(text_of(name.d.uniformResourceIdentifier));
    break;
  default:
    break;
  }
}

struct Usage {
  std::string_view word;
  const char* key;      ///< of keyUsage; null for none
  const char* extended; ///< of extendedKeyUsage; null for none
};
constexpr std::array<Usage, 16> kUsages = {
    {{.word = "signing", .key = "digitalSignature", .extended = nullptr},
     {.word = "digital signature", .key = "digitalSignature", .extended = nullptr},
     {.word = "content commitment", .key = "nonRepudiation", .extended = nullptr},
     {.word = "key encipherment", .key = "keyEncipherment", .extended = nullptr},
     {.word = "key agreement", .key = "keyAgreement", .extended = nullptr},
     {.word = "data encipherment", .key = "dataEncipherment", .extended = nullptr},
     {.word = "cert sign", .key = "keyCertSign", .extended = nullptr},
     {.word = "crl sign", .key = "cRLSign", .extended = nullptr},
     {.word = "server auth", .key = nullptr, .extended = "serverAuth"},
     {.word = "client auth", .key = nullptr, .extended = "clientAuth"},
     {.word = "code signing", .key = nullptr, .extended = "codeSigning"},
     {.word = "email protection", .key = nullptr, .extended = "emailProtection"},
     {.word = "s/mime", .key = nullptr, .extended = "emailProtection"},
     {.word = "timestamping", .key = nullptr, .extended = "timeStamping"},
     {.word = "ocsp signing", .key = nullptr, .extended = "OCSPSigning"},
     {.word = "any", .key = nullptr, .extended = "anyExtendedKeyUsage"}}};

bool add_usages(X509* certificate, X509* issuer, const std::vector<std::string>& usages) {
  std::vector<std::string_view> keys;
  std::vector<std::string_view> extended;
  for (const std::string& word : usages) {
    for (const Usage& usage : kUsages) {
      if (usage.word == word) {
        auto& into = usage.key != nullptr ? keys : extended;
        into.emplace_back(usage.key != nullptr ? usage.key : usage.extended);
      }
    }
  }
  return (keys.empty() || add_extension(certificate, issuer, NID_key_usage,
                                        fmt::format("critical,{}", fmt::join(keys, ",")))) &&
         (extended.empty() || add_extension(certificate, issuer, NID_ext_key_usage,
                                            fmt::format("{}", fmt::join(extended, ","))));
}

/// subjectAltName as the request has it.
bool copy_names(X509_REQ* request, X509* certificate) {
  const Extensions all(X509_REQ_get_extensions(request));
  if (all == nullptr) {
    return true;
  }
  const int at = X509v3_get_ext_by_NID(all.get(), NID_subject_alt_name, -1);
  return at < 0 || X509_add_ext(certificate, X509v3_get_ext(all.get(), at), -1) == 1;
}

bool set_end(X509* certificate, const X509* authority, TimePoint wanted) {
  ASN1_TIME* const end = X509_getm_notAfter(certificate);
  const ASN1_TIME* const last = X509_get0_notAfter(authority);
  return ASN1_TIME_set(end, wanted.unix_seconds()) != nullptr &&
         (ASN1_TIME_compare(end, last) <= 0 || X509_set1_notAfter(certificate, last) == 1);
}

} // namespace

Result<RequestedSubject> read_request(std::string_view pem) {
  BERTH_TRY(const Request request, parsed(pem));
  X509_NAME* const name = X509_REQ_get_subject_name(request.get());
  RequestedSubject out;
  if (auto common = entries(name, NID_commonName); !common.empty()) {
    out.common_name = std::move(common.back());
  }
  out.organizations = entries(name, NID_organizationName);
  const Extensions all(X509_REQ_get_extensions(request.get()));
  const Names names(all == nullptr ? nullptr
                                   : static_cast<GENERAL_NAMES*>(X509V3_get_d2i(
                                         all.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    add_name(*sk_GENERAL_NAME_value(names.get(), i), out);
  }
  return out;
}

Result<std::string> sign_request(const KeyPair& authority, std::string_view pem,
                                 const SigningTerms& terms) {
  BERTH_TRY(const Authority signer, read_authority(authority.certificate, authority.key));
  BERTH_TRY(const Request request, parsed(pem));
  const Certificate made(X509_new());
  X509* const cert = made.get();
  X509* const issuer = signer.certificate.get();
  const bool good =
      cert != nullptr && X509_set_version(cert, 2) == 1 && add_serial(cert) &&
      ASN1_TIME_set(X509_getm_notBefore(cert), terms.not_before.unix_seconds()) != nullptr &&
      set_end(cert, issuer, terms.not_after) &&
      X509_set_pubkey(cert, X509_REQ_get0_pubkey(request.get())) == 1 &&
      X509_set_subject_name(cert, X509_REQ_get_subject_name(request.get())) == 1 &&
      X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
      add_usages(cert, issuer, terms.usages) &&
      add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(cert, issuer, NID_authority_key_identifier, "keyid") &&
      copy_names(request.get(), cert) && X509_sign(cert, signer.key.get(), EVP_sha256()) != 0;
  const Bio text(BIO_new(BIO_s_mem()));
  if (!good || PEM_write_bio_X509(text.get(), cert) != 1) {
    return refused("sign a certificate request");
  }
  return text_of(text.get());
}

} // namespace berth::net
