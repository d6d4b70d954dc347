import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PROVIDER_TEXT, presentable } from '../../src/providers/redact.ts';
import { failureInBand, failureOfResponse } from '../../src/providers/upstream-failure.ts';
import { runs } from '../support/properties.ts';
import { OWN_KEY, contextOf } from '../support/wire.ts';
import { cpuClock } from '../support/cpu-clock.ts';

describe('a text of a provider', () => {
  it.each([
    ['OpenAI', 'sk-proj-Ab3dEf6hIj9kLmNoPqRs'],
    ['OpenAI, masked', 'sk-abcd**********wxyz'],
    ['Anthropic', 'sk-ant-api03-Ab3dEf6hIj9kLmNoPqRs-xyz_AA'],
    ['OpenRouter', 'sk-or-v1-0123456789abcdef0123456789abcdef'],
    ['Groq', 'gsk_Ab3dEf6hIj9kLmNoPqRs'],
    ['Google', 'AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q'],
    ['Google, by session', 'ya29.a0AfH6SMBx1y2z3'],
    ['xAI', 'xai-Ab3dEf6hIj9kLmNo'],
    ['Fireworks', 'fw_3ZAb3dEf6hIj9k'],
    ['Hugging Face', 'hf_Ab3dEf6hIj9kLmNo'],
    ['Replicate', 'r8_Ab3dEf6hIj9kLmNo'],
    ['Together', 'tgp_v1_Ab3dEf6hIj9kLmNo'],
    ['Cerebras', 'csk-ab3def6hij9klmno'],
    ['Perplexity', 'pplx-ab3def6hij9klmno'],
    ['NVIDIA', 'nvapi-Ab3dEf6hIj9kLmNo'],
    ['AWS', 'AKIAIOSFODNN7EXAMPLE'],
    ['AWS, for a session', 'ASIAIOSFODNN7EXAMPLE'],
    ['GitHub', 'ghp_Ab3dEf6hIj9kLmNoPqRs'],
    ['GitHub, of an app', 'ghs_Ab3dEf6hIj9kLmNoPqRs'],
    ['GitHub, fine-grained', 'github_pat_11ABCDEFG0_Ab3dEf6hIj9kLmNoPqRs'],
    ['GitLab', 'glpat-Ab3dEf6hIj9kLmNo'],
    ['Slack', 'xoxb-123456789012-Ab3dEf6hIj9k'],
    ['Slack, of a user', 'xoxp-123456789012-Ab3dEf6hIj9k'],
    ['a token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
  ])('loses a key in the form of %s', (_name, key) => {
    for (const text of [
      `Bad key ${key}.`,
      `{"key":"${key}"}`,
      `key=${key}&x=1`,
      `Bearer ${key}`,
      `https://x.test/?key=${key}`,
    ]) {
      const shown = presentable(text, []) ?? '';
      expect(shown).toContain('[redacted]');
      expect(shown).not.toContain(key.slice(0, 12));
      expect(shown).not.toContain(key.slice(-8));
    }
  });

  it.each([
    ['a bearer', 'Authorization: Bearer abcdefgh', 'abcdefgh'],
    ['basic credentials', 'authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
    ['a query parameter', 'GET https://x.test/v1?api_key=abcdefgh&a=1', 'abcdefgh'],
    ['a signature', 'https://x.test/?sig=Zm9vYmFy', 'Zm9vYmFy'],
    ['a header', 'x-api-key: 0f1e2d3c4b5a', '0f1e2d3c4b5a'],
    ['a member', '{"api_key": "0f1e2d3c4b5a"}', '0f1e2d3c4b5a'],
    ['a password', 'password=hunter2hunter', 'hunter2hunter'],
  ])('loses %s', (_name, text, secret) => {
    expect(presentable(text, [])).not.toContain(secret);
  });

  it.each([
    'You can find your API key at https://platform.openai.com/account/api-keys.',
    'Invalid api key: please check it',
    'The token limit is 8192 tokens',
    'Model llama-3.1-70b-versatile was not found at api.groq.com/openai',
    'tool_use_failed: see failed_generation',
    'Unknown field api_version in key path',
  ])('keeps what is no secret: %s', (text) => {
    expect(presentable(text, [])).toBe(text);
  });

  it('loses our own key exactly, however it is spelled', () => {
    const key = 'a+b/c"d\\e=f-7';
    for (const spelling of [
      key,
      JSON.stringify(key),
      JSON.stringify({ body: JSON.stringify({ key }) }),
      JSON.stringify(key).replaceAll('/', '\\/'),
      JSON.stringify(key).replaceAll('+', '\\u002B'),
      encodeURIComponent(key),
      encodeURIComponent(key).toLowerCase(),
      key.toUpperCase(),
    ]) {
      expect(presentable(`No such key: ${spelling} (sorry)`, [key])).toMatch(
        /^No such key: \W*\[redacted\]\W* \(sorry\)$|^No such key: \{.*\[redacted\].*\} \(sorry\)$/,
      );
    }
  });

  it('loses a key of any characters, at any place, whatever stands around it', () => {
    const key = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 8,
      maxLength: 60,
    });
    const around = fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', '/', '%', '\n', 'é', '🚦'), maxLength: 30 });
    fc.assert(
      fc.property(key, around, around, fc.nat(6_000), (secret, before, after, padding) => {
        const text = `${'x '.repeat(padding / 2)}${before}${secret}${after}`;
        const shown = presentable(text, [secret]) ?? '';
        expect(shown.includes(secret)).toBe(false);
        const inJson = presentable(JSON.stringify({ error: text }), [secret]) ?? '';
        expect(inJson.includes(JSON.stringify(secret).slice(1, -1))).toBe(false);
      }),
      runs(1_000),
    );
  });

  it('does not show the beginning of a key on which it was cut', () => {
    const key = `${'k'.repeat(190)}0123456789`;
    for (let count = 15; count < 40; count += 1) {
      const shown = presentable(`${key} `.repeat(count), [key]) ?? '';
      expect(shown).toMatch(/^(?:\[redacted\] ?)+…?$|^(?:\[redacted\] )+\[redact/);
      expect(shown).not.toContain('kkkk');
    }
  });

  it('has at most 500 characters, and no half of one', () => {
    expect(presentable('a'.repeat(500), [])).toHaveLength(MAX_PROVIDER_TEXT);
    expect(presentable('a b '.repeat(200), [])).toHaveLength(MAX_PROVIDER_TEXT);
    for (const text of ['🚦'.repeat(400), `a${'🚦'.repeat(400)}`]) {
      const shown = presentable(text, []) ?? '';
      expect(shown.length).toBeLessThanOrEqual(MAX_PROVIDER_TEXT);
      expect(/[\ud800-\udfff]/u.test(shown)).toBe(false);
      expect(shown.endsWith('🚦…')).toBe(true);
    }
  });

  it.each([
    ['a page', '<!DOCTYPE html><html><body>Sign in</body></html>', undefined],
    ['a page behind spaces', '\n\t \uFEFF<html>x</html>', undefined],
    ['markup of any kind', '<error>x</error>', undefined],
    ['a page behind words', 'Upstream said: <!doctype html><b>x</b>', 'Upstream said:'],
    ['a script behind words', 'oops <script>alert(1)</script>', 'oops'],
    ['nothing', '  \n ', undefined],
    ['a comparison', 'tokens < 5 and > 3', 'tokens < 5 and > 3'],
  ])('is shown without HTML: %s', (_name, text, shown) => {
    expect(presentable(text, [])).toBe(shown);
  });

  it('is made fit in no time, whatever it is', () => {
    const cpuMs = cpuClock();
    for (const text of [
      '\\'.repeat(1e6),
      'sk-'.repeat(1e6),
      'key: '.repeat(1e6),
      'Bearer '.repeat(1e6),
      ' '.repeat(1e6),
    ]) {
      presentable(text, [OWN_KEY]);
    }
    expect(cpuMs()).toBeLessThan(5_000);
  });
});

describe('a failure', () => {
  const leaky = { error: { message: `Key ${OWN_KEY} is bad`, code: OWN_KEY, type: `t ${OWN_KEY}`, note: OWN_KEY } };

  it('holds no key of ours in any of its texts', () => {
    const bodies = [
      JSON.stringify(leaky),
      JSON.stringify(leaky).replaceAll('/', '\\/').replaceAll('+', '\\u002b'),
      `plain ${OWN_KEY}`,
      `${JSON.stringify(leaky)} and more`,
    ];
    for (const body of bodies) {
      for (const status of [400, 401, 429, 500]) {
        const text = JSON.stringify(failureOfResponse(status, () => undefined, body, contextOf()));
        expect(text).toContain('[redacted]');
        expect(text).not.toMatch(/canary|own[+%\\]/i);
      }
    }
    expect(JSON.stringify(failureInBand(leaky, contextOf()))).not.toMatch(/canary|own[+%\\]/i);
  });

  it('has a code that is a short word or none', () => {
    const codeOf = (code: string): unknown =>
      failureOfResponse(400, () => undefined, JSON.stringify({ error: { code } }), contextOf()).providerCode;
    expect(codeOf('invalid_value')).toBe('invalid_value');
    expect(codeOf('x'.repeat(101))).toBeUndefined();
    expect(codeOf('<b>x</b>')).toBeUndefined();
  });

  it('has words of its own where the provider has none', () => {
    const failure = failureOfResponse(503, () => undefined, '<html>', contextOf());
    expect(failure).toEqual({
      kind: 'overloaded',
      status: 503,
      message: 'The provider answered 503',
      providerCode: undefined,
      raw: undefined,
      retryAfterMs: undefined,
    });
  });

  it('shows the body in its plainest spelling, or not at all when it cannot be written again', () => {
    expect(failureOfResponse(400, () => undefined, '{ "\\u0061" : 1 }', contextOf()).raw).toBe('{"a":1}');
    const deep = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    expect(failureOfResponse(400, () => undefined, deep, contextOf()).kind).toBe('invalid_request');
  });
});

describe('a key of ours in another encoding', () => {
  const keys = ['Zq7-own.key+0123/456', "a&b<c>'d'0123456789", OWN_KEY];
  const encodings: Readonly<Record<string, (key: string) => string>> = {
    base64: (key) => Buffer.from(key).toString('base64'),
    base64url: (key) => Buffer.from(key).toString('base64url'),
    'base64 behind a user': (key) => Buffer.from(`u:${key}`).toString('base64'),
    'base64 behind a name': (key) => Buffer.from(`api:${key}`).toString('base64'),
    'base64 within a text': (key) => Buffer.from(`{"k":"${key}","x":1}`).toString('base64'),
    'base64url within a text': (key) => Buffer.from(`key ${key} is wrong`).toString('base64url'),
    'hexadecimal digits': (key) => Buffer.from(key).toString('hex'),
    'capital hexadecimal digits': (key) => Buffer.from(key).toString('hex').toUpperCase(),
    'escaped bytes': (key) =>
      Array.from(Buffer.from(key), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
    'bytes with colons': (key) => Array.from(Buffer.from(key), (byte) => byte.toString(16).padStart(2, '0')).join(':'),
    'decimal references of HTML': (key) => Array.from(key, (one) => `&#${one.charCodeAt(0)};`).join(''),
    'hexadecimal references of HTML': (key) =>
      Array.from(key, (one) => `&#x${one.charCodeAt(0).toString(16)};`).join(''),
    'names of HTML': (key) =>
      key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll("'", '&#39;'),
  };

  it.each(Object.entries(encodings))('is taken out: %s', (_name, encode) => {
    for (const key of keys) {
      const encoded = encode(key);
      const shown = presentable(`The key ${encoded}, was refused`, [key]) ?? '';
      expect(shown).toContain('[redacted]');
      // What is left at the edges says nothing of the key.
      const middle = encoded.slice(Math.floor(encoded.length / 3), Math.ceil((2 * encoded.length) / 3));
      expect(shown).not.toContain(middle);
      expect(shown.endsWith(', was refused')).toBe(true);
    }
  });

  it('leaves other texts alone', () => {
    const text = 'Zm9vYmFyYmF6 and 666f6f are no keys, and neither is &amp;';
    expect(presentable(text, keys)).toBe(text);
  });
});
