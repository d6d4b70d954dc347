import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isAdmitted,
  matchesDomain,
  parseDomainFilter,
  parseDomainRule,
} from '../../../src/plugins/services/domain-filter.ts';
import { cpuClock } from '../../support/cpu-clock.ts';

function matches(rule: string, url: string): boolean {
  const parsed = parseDomainRule(rule);
  if (parsed === undefined) throw new Error(`no rule: ${rule}`);
  return matchesDomain(parsed, new URL(url));
}

describe('a rule about sites', () => {
  it.each([
    ['example.com', 'https://example.com/', true],
    ['example.com', 'https://www.example.com/x', true],
    ['example.com', 'https://notexample.com/', false],
    ['example.com', 'https://example.com.evil.net/', false],
    ['example.com', 'https://evil.net/example.com', false],
    ['EXAMPLE.com', 'https://Example.COM./x', true],
    ['https://example.com/', 'http://example.com/x', true],
    ['*.example.com', 'https://a.b.example.com/', true],
    ['*.example.com', 'https://example.com/', false],
    ['news.*.example', 'https://news.at.example/', true],
    ['example.com/blog', 'https://example.com/blog', true],
    ['example.com/blog/', 'https://example.com/blog/post?x#y', true],
    ['example.com/blog', 'https://example.com/blogger', false],
    ['example.com/blog', 'https://example.com/%62log/post', true],
    ['example.com/Blog', 'https://example.com/blog', false],
    ['example.com/*/docs', 'https://example.com/v2/docs/api', true],
    ['*.example.com/docs', 'https://a.example.com/docs/x', true],
    ['example.com:8443', 'https://example.com:8443/', true],
    ['example.com:443', 'https://example.com/', true],
    ['example.com:8443', 'https://example.com/', false],
    ['münchen.de', 'https://www.xn--mnchen-3ya.de/', true],
    ['127.0.0.1', 'http://127.0.0.1/', true],
    ['0.0.1', 'http://127.0.0.1/', false],
  ])('%s and %s: %s', (rule, url, expected) => {
    expect(matches(rule, url)).toBe(expected);
  });

  it.each([
    '',
    ' ',
    '*',
    '/path',
    'a b',
    'a@b',
    'http://',
    'a..b',
    '.com',
    'a.com:x',
    'a.com:123456',
    '[::1]',
    'a%2eb',
    'a\\b',
  ])('cannot be %j', (rule) => {
    expect(parseDomainRule(rule)).toBeUndefined();
  });

  it('matches its own domain and all that are below it, and no domain that only looks like it', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
    fc.assert(
      fc.property(fc.array(label, { minLength: 2, maxLength: 4 }), label, label, (labels, below, beside) => {
        const domain = labels.join('.');
        expect(matches(domain, `https://${domain}/`)).toBe(true);
        expect(matches(domain, `https://${below}.${domain}/${beside}`)).toBe(true);
        expect(matches(`*.${domain}`, `https://${below}.${domain}/`)).toBe(true);
        expect(matches(domain, `https://${beside}${domain}/`)).toBe(false);
        expect(matches(domain, `https://${domain}.${beside}/`)).toBe(`${domain}.${beside}`.endsWith(`.${domain}`));
      }),
    );
  });

  it('is quick for patterns that are made to be slow', () => {
    const rule = `${'*a'.repeat(200)}.example`;
    const cpuMs = cpuClock();
    expect(matches(rule, `https://${'a'.repeat(240)}.b/`)).toBe(false);
    expect(matches(`x.example/${'*a'.repeat(200)}b`, `https://x.example/${'a'.repeat(10_000)}`)).toBe(false);
    expect(cpuMs()).toBeLessThan(500);
  });
});

describe('a filter', () => {
  function filter(allowed: readonly string[] | undefined, blocked: readonly string[] | undefined) {
    const checked = parseDomainFilter({ name: 'allowed', rules: allowed }, { name: 'blocked', rules: blocked });
    if (!checked.ok) throw new Error(checked.problem);
    return checked.filter;
  }

  it('admits everything when it is empty', () => {
    expect(isAdmitted(filter(undefined, []), new URL('https://example.com/'))).toBe(true);
  });

  it('admits what is allowed and not blocked', () => {
    const rules = filter(['example.com', 'other.example'], ['bad.example.com', 'example.com/private']);
    const admitted = ['example.com', 'other.example/x', 'bad.example.com', 'example.com/private/x', 'third.example'];
    expect(admitted.map((address) => isAdmitted(rules, new URL(`https://${address}`)))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('says which rule is wrong', () => {
    expect(parseDomainFilter({ name: 'a', rules: ['x.y'] }, { name: 'b', rules: ['x.y', 'x y'] })).toEqual({
      ok: false,
      path: 'b[1]',
      problem: 'must be a domain such as "example.com", "*.example.com" or "example.com/blog", not "x y"',
    });
  });
});
