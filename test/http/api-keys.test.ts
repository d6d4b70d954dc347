import { type ApiKey, ConfigError, apiKeys } from 'signalbox';
import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';

const KEY = 'key-of-ada-0123456789';
const digest = createHash('sha256').update(KEY).digest('hex');

type Keys = Parameters<typeof apiKeys>[0];

function look(keys: Keys, key: string | undefined, now?: () => number): unknown {
  return apiKeys(keys, now)({ key, header: () => undefined });
}

function problemsOf(keys: Keys): readonly string[] {
  try {
    apiKeys(keys);
    return [];
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error;
    return error.problems.map(({ path, problem }) => `${path} ${problem}`);
  }
}

describe('a list of keys', () => {
  it.each([
    `${KEY}\n`,
    `${KEY}\r\n`,
    ` ${KEY}`,
    `${KEY} `,
    `${KEY.slice(4)}…${KEY}`,
    `${KEY}\u00a0`,
    `${KEY}\u200b`,
    `a\n${KEY}`,
  ])('refuses a key that cannot come in a header: %j', (key) => {
    expect(problemsOf([{ key, id: 'ada' }])).toEqual([
      'apiKeys[0].key must be one line of at least 16 visible ASCII characters, without white space around them, as they come in a header',
    ]);
  });

  it('finds the account of a key', () => {
    expect(look([{ key: KEY, id: 'ada', scopes: ['inference'] }], KEY)).toEqual({ id: 'ada', scopes: ['inference'] });
  });

  it('finds it by a hash, in any spelling of the hash', () => {
    expect(look([{ sha256: digest, id: 'ada' }], KEY)).toEqual({ id: 'ada' });
    expect(look([{ sha256: digest.toUpperCase(), id: 'ada' }], KEY)).toEqual({ id: 'ada' });
  });

  it('never takes the hash itself for the key', () => {
    expect(look([{ sha256: digest, id: 'ada' }], digest)).toBeUndefined();
  });

  it('knows nobody by a wrong key, a part of one, or none', () => {
    const keys = [{ key: KEY, id: 'ada' }];
    for (const key of [undefined, '', 'x', KEY.slice(1), `${KEY} `, KEY.toUpperCase()]) {
      expect(look(keys, key)).toBeUndefined();
    }
  });

  it('refuses a key from the moment on at which it expires', () => {
    const keys = [{ key: KEY, id: 'ada', expiresAt: 1_000 }];
    expect(look(keys, KEY, () => 999)).toEqual({ id: 'ada' });
    expect(look(keys, KEY, () => 1_000)).toBeUndefined();
    expect(look([{ key: KEY, id: 'ada', expiresAt: new Date(1_000) }], KEY, () => 1_000)).toBeUndefined();
  });

  it('keeps nothing of a key that could be seen', () => {
    const authenticate = apiKeys([{ key: KEY, id: 'ada' }]);
    const account = authenticate({ key: KEY, header: () => undefined });
    expect(inspect([authenticate, account], { depth: 9, showHidden: true })).not.toContain(KEY);
  });
});

describe('a list of keys that cannot be right', () => {
  it('tells everything that is wrong with it at once', () => {
    expect(
      problemsOf([{ key: 'short-123456789', id: 'a' }, { id: 'b' }, { sha256: 'abc', id: 'c' }, { key: KEY, id: '' }]),
    ).toEqual([
      'apiKeys[0].key must be one line of at least 16 visible ASCII characters, without white space around them, as they come in a header',
      'apiKeys[1].key is missing: give key or sha256',
      'apiKeys[2].sha256 must be 64 hexadecimal digits',
      'apiKeys[3].id must be a non-empty string, not an empty string',
    ]);
  });

  it('is refused with a date that cannot be read', () => {
    expect(problemsOf([{ key: KEY, id: 'ada', expiresAt: new Date('tomorrow') }])).toEqual([
      'apiKeys[0].expiresAt must be epoch milliseconds or a date, not an object',
    ]);
  });

  it('names members that are misspelt, and those of the wrong kind', () => {
    const given = { key: KEY, id: 'ada', budgt: { limitUsd: 1 }, keyBudget: { limitUSD: 1 }, scopes: ['managment'] };
    expect(problemsOf([given as unknown as ApiKey])).toEqual([
      'apiKeys[0].budgt is not an option; did you mean "budget"?',
      'apiKeys[0].keyBudget.limitUSD is not an option; did you mean "limitUsd"?',
      'apiKeys[0].keyBudget.limitUsd must be US dollars from 0 to 9000000, not undefined',
      'apiKeys[0].scopes[0] must be "inference" or "management" or "operator", did you mean "management"?',
    ]);
  });

  it('takes a key of 16 characters', () => {
    expect(problemsOf([{ key: 'x'.repeat(16), id: 'a' }])).toEqual([]);
    expect(problemsOf([{ key: 'x'.repeat(15), id: 'a' }])).toHaveLength(1);
  });

  it('refuses a key that is there twice, also once as a hash', () => {
    expect(
      problemsOf([
        { key: KEY, id: 'a' },
        { key: KEY, id: 'b' },
      ]),
    ).toEqual(['apiKeys[1] is there twice']);
    expect(
      problemsOf([
        { key: KEY, id: 'a' },
        { sha256: digest, id: 'b' },
      ]),
    ).toEqual(['apiKeys[1] is there twice']);
  });

  it('repeats no key in what it says', () => {
    expect(
      problemsOf([
        { key: 'short', id: 'a' },
        { key: KEY, id: 'a' },
        { key: KEY, id: '' },
      ]).join(),
    ).not.toMatch(/"short"|key-of-ada/);
  });
});
