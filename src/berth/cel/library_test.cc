#include "berth/cel/library.h"

#include <gtest/gtest.h>

#include "berth/cel/expression_fixture.h"

namespace berth::cel {
namespace {

struct Case {
  const char* expression;
  const char* value;
};

class Function : public testing::TestWithParam<Case> {};

TEST_P(Function, Returns) {
  EXPECT_EQ(test::evaluated(GetParam().expression), GetParam().value) << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Function,
    testing::Values(
        Case{"'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')",
             "true"},
        Case{"'abc'.matches('^a.c$')", "true"}, Case{"'abc'.matches('^b')", "false"},
        Case{"'a'.matches('(')", "error: error parsing regexp: missing closing ): `(`"},
        Case{"'a1b22'.find('[0-9]+')", "'1'"}, Case{"'a1b22'.findAll('[0-9]+')", "['1', '22']"},
        Case{"'a1b22'.findAll('[0-9]+', 1)", "['1']"},
        Case{"'ab1'.findAll('[0-9]*')", "['', '', '1']"}, Case{"size('äöü')", "3"},
        Case{"'äöü'.charAt(1)", "'ö'"}, Case{"'äöü'.charAt(3)", "''"},
        Case{"'abc'.charAt(4)", "error: index out of range: 4"}, Case{"'hello'.indexOf('l')", "2"},
        Case{"'hello'.indexOf('l', 3)", "3"}, Case{"'hello'.indexOf('z')", "-1"},
        Case{"'hello'.lastIndexOf('l')", "3"}, Case{"'tacocat'.substring(4)", "'cat'"},
        Case{"'tacocat'.substring(0, 4)", "'taco'"},
        Case{"'abc'.substring(2, 1)", "error: invalid substring range. start: 2, end: 1"},
        Case{"'a,b,c'.split(',')", "['a', 'b', 'c']"},
        Case{"'a,b,c'.split(',', 2)", "['a', 'b,c']"}, Case{"'a,b'.split(',', 0)", "[]"},
        Case{"'ab'.split('')", "['a', 'b']"}, Case{"'aXbX'.replace('X', '-')", "'a-b-'"},
        Case{"'aXbX'.replace('X', '-', 1)", "'a-bX'"}, Case{"'ab'.replace('', '_')", "'_a_b_'"},
        Case{"['a', 'b'].join('-')", "'a-b'"}, Case{"'ÄB'.lowerAscii()", "'Äb'"},
        Case{"'äb'.upperAscii()", "'äB'"}, Case{"' \\t a '.trim()", "'a'"},
        Case{"strings.quote('a\"b\\n')", "'\"a\\\"b\\n\"'"},
        Case{"'%s is %d of %.2f, %x'.format(['a', 3, 1.5, 255])", "'a is 3 of 1.50, ff'"},
        Case{"'%s'.format([[1, 'b']])", "'[1, b]'"},
        Case{"'%s %s'.format([1])", "error: index 1 out of range"},
        Case{"'100%%'.format([])", "'100%'"}));

INSTANTIATE_TEST_SUITE_P(
    Conversions, Function,
    testing::Values(
        Case{"int('42') + int(2.9) + int(3u)", "47"},
        Case{"int('4x')", "error: strconv.ParseInt: parsing \"4x\": invalid syntax"},
        Case{"int(1e30)", "error: integer overflow"},
        Case{"uint(-1)", "error: unsigned integer overflow"}, Case{"double('1.5')", "1.5"},
        Case{"string(1.0)", "'1'"}, Case{"string(1e7)", "'1e+07'"},
        Case{"string(123456.5)", "'123456.5'"}, Case{"bool('true') && !bool('0')", "true"},
        Case{"string(b'abc')", "'abc'"}, Case{"bytes('é') == b'\\303\\251'", "true"},
        Case{"duration('1h30m') == duration('90m')", "true"},
        Case{"string(duration('-1.5s'))", "'-1.5s'"},
        Case{"duration('x')", "error: time: invalid duration \"x\""},
        Case{"timestamp('2026-01-02T03:04:05Z') + duration('1h') == "
             "timestamp('2026-01-02T04:04:05Z')",
             "true"},
        Case{"string(timestamp('2026-01-02T03:04:05.25Z'))", "'2026-01-02T03:04:05.25Z'"},
        Case{"timestamp('2026-01-02T03:04:05Z') - timestamp('2026-01-02T03:04:00Z')", "5s"}));

INSTANTIATE_TEST_SUITE_P(
    Times, Function,
    testing::Values(Case{"timestamp('2026-03-01T23:04:05.678Z').getMonth()", "2"},
                    Case{"timestamp('2026-03-01T23:04:05.678Z').getDate()", "1"},
                    Case{"timestamp('2026-03-01T23:04:05.678Z').getDayOfMonth()", "0"},
                    Case{"timestamp('2026-03-01T23:04:05.678Z').getDayOfWeek()", "0"},
                    Case{"timestamp('2026-03-01T23:04:05.678Z').getDayOfYear()", "59"},
                    Case{"timestamp('2026-03-01T23:04:05.678Z').getMilliseconds()", "678"},
                    Case{"timestamp('2026-03-01T23:04:05Z').getHours('+02:30')", "1"},
                    Case{"timestamp('2026-03-01T23:04:05Z').getHours('-01:00')", "22"},
                    Case{"timestamp('2026-03-01T23:04:05Z').getHours('No/Where')",
                         "error: unknown time zone No/Where"},
                    Case{"duration('90m').getHours()", "1"},
                    Case{"duration('90m').getMinutes()", "90"}));

INSTANTIATE_TEST_SUITE_P(
    Lists, Function,
    testing::Values(Case{"[1, 2, 2].isSorted() && !['b', 'a'].isSorted()", "true"},
                    Case{"[1, 2, 3].sum()", "6"}, Case{"[1.5, 2.0].sum()", "3.5"},
                    Case{"[3, 1, 2].min() + [3, 1, 2].max()", "4"},
                    Case{"[1].filter(x, x > 1).min()", "error: min called on empty list"},
                    Case{"['a', 'b', 'a'].indexOf('b')", "1"},
                    Case{"['a', 'b', 'a'].lastIndexOf('a')", "2"},
                    Case{"sets.contains([1, 2, 3], [2, 3])", "true"},
                    Case{"sets.equivalent([1, 2], [2, 1, 1])", "true"},
                    Case{"sets.intersects([1], [2])", "false"},
                    Case{"optional.ofNonZeroValue('').hasValue()", "false"},
                    Case{"optional.none().or(optional.of(2)).value()", "2"},
                    Case{"optional.none().value()", "error: optional.none() dereference"}));

INSTANTIATE_TEST_SUITE_P(
    Kubernetes, Function,
    testing::Values(
        Case{"quantity('1Gi').isGreaterThan(quantity('1000Mi'))", "true"},
        Case{"quantity('200M').add(quantity('1k')).compareTo(quantity('200001k'))", "0"},
        Case{"quantity('50k').add(20) == quantity('50020')", "true"},
        Case{"quantity('50k').sub(quantity('60k')).sign()", "-1"},
        Case{"quantity('1500m').isInteger()", "false"},
        Case{"quantity('1500m').asApproximateFloat()", "1.5"},
        Case{"quantity('50k').asInteger()", "50000"}, Case{"isQuantity('1x')", "false"},
        Case{"url('https://u:p@example.com:80/a%20b?k=1&k=2').getHost()", "'example.com:80'"},
        Case{"url('https://example.com:80/a%20b?k=1').getEscapedPath()", "'/a%20b'"},
        Case{"url('https://[::1]:80/').getHostname()", "'::1'"},
        Case{"url('https://a/?k=1&k=2').getQuery()", "{'k': ['1', '2']}"},
        Case{"isURL('../a')", "false"}, Case{"url('/a/b').getScheme()", "''"},
        Case{"ip('192.168.0.1').family()", "4"}, Case{"isIP('::ffff:1.2.3.4')", "false"},
        Case{"ip('fe80::1').isLinkLocalUnicast() && ip('::1').isLoopback()", "true"},
        Case{"ip.isCanonical('2001:DB8::1')", "false"},
        Case{"cidr('10.0.0.0/8').containsIP('10.2.3.4')", "true"},
        Case{"cidr('10.0.0.0/8').containsCIDR('10.2.0.0/16')", "true"},
        Case{"string(cidr('10.1.2.3/8').masked())", "'10.0.0.0/8'"},
        Case{"cidr('::/0').prefixLength()", "0"}, Case{"isCIDR('10.0.0.0/33')", "false"},
        Case{"semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", "true"},
        Case{"semver('1.10.0').compareTo(semver('1.9.9'))", "1"},
        Case{"isSemver('v1.2') || !isSemver('v1.2', true)", "false"},
        Case{"semver('1.2.3').minor()", "2"}));

} // namespace
} // namespace berth::cel
