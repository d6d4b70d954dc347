import { describe, expect, it } from 'vitest';
import { checkOutboundUrl, isPublicAddress, type OutboundRules } from '../../src/net/outbound-url.ts';
import { PUBLIC_ADDRESSES, SPECIAL_ADDRESSES } from '../support/special-addresses.ts';

const RULES: OutboundRules = { schemes: 'any', ports: new Set([80, 443, 8443]), allowedHosts: new Set() };

describe('an address', () => {
  it.each(SPECIAL_ADDRESSES)('with a special purpose is not public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(PUBLIC_ADDRESSES)('of the internet is public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each(['', 'example.com', '8.8.8.8:80', '[2606:4700::1]'])('that is none is not public: "%s"', (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });
});

describe('a URL that a user gave', () => {
  it.each(SPECIAL_ADDRESSES)('is refused when it names a special address: %s', (address) => {
    const host = address.includes(':') ? `[${address}]` : address;
    expect(() => checkOutboundUrl(`https://${host}/`, RULES)).toThrow('must lead to a host on the public internet');
  });

  it.each([
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://127。0。0。1/',
    'http://①②⑦.0.0.1/',
  ])('is refused in every spelling of loopback: %s', (url) => {
    expect(() => checkOutboundUrl(url, RULES)).toThrow('must lead to a host on the public internet');
  });

  it.each(['http://localhost/', 'http://LOCALHOST./', 'http://a.localhost/', 'http://db.internal/', 'http://x.local/'])(
    'is refused when its name is local by rule: %s',
    (url) => {
      expect(() => checkOutboundUrl(url, RULES)).toThrow('must lead to a host on the public internet');
    },
  );

  it.each([
    ['ftp://example.com/', 'must begin with https://'],
    ['file:///etc/passwd', 'must begin with https://'],
    ['https://user:secret@example.com/', 'must not hold a user name or a password'],
    ['https://example.com:22/', 'must use one of the ports 80, 443, 8443'],
    ['example.com', 'is not a complete URL such as https://example.com/page'],
  ])('is refused for what it is: %s', (url, problem) => {
    expect(() => checkOutboundUrl(url, RULES)).toThrow(`The URL ${problem}`);
  });

  it('must be HTTPS where that is asked for', () => {
    const rules = { ...RULES, schemes: 'https' } as const;
    expect(() => checkOutboundUrl('http://example.com/', rules)).toThrow('The URL must begin with https://');
    expect(checkOutboundUrl('https://example.com/', rules).href).toBe('https://example.com/');
  });

  it('may name a host that the program vouches for', () => {
    const rules = { ...RULES, allowedHosts: new Set(['127.0.0.1:3000']) };
    expect(checkOutboundUrl('http://127.0.0.1:3000/hook', rules).port).toBe('3000');
    expect(() => checkOutboundUrl('http://127.0.0.1:3001/hook', rules)).toThrow('ports');
  });
});
