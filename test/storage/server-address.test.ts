import { assert, constantFrom, option, property } from 'fast-check';
import { createRouter, StorageError } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { pgBossQueue } from 'signalbox/pg-boss';
import { postgresStorage } from 'signalbox/postgres';
import { redisStore } from 'signalbox/redis';
import { sqliteStorage } from 'signalbox/sqlite';
import { describe, expect, it } from 'vitest';
import { connectFailure } from '../../src/storage/postgres/driver.ts';
import { addressProblem, CONNECTION_MEANINGS, meaningOf } from '../../src/storage/server-address.ts';
import { instant } from '../support/simulated.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SECRET = 'hunter2';

describe('an address that cannot be read', () => {
  it.each([
    `postgres://paul:${SECRET}/x@host:port/db`,
    `postgres://paul:${SECRET}@host:99999/db`,
    `postgres://paul:${SECRET}%zz@host/db`,
    `postgres://paul:${SECRET}@ho st/db`,
    `postgres://paul:${SECRET}@[::1/db`,
  ])('is refused at the start, with what would be right and nothing of it: %s', (address) => {
    const redis = address.replace('postgres', 'redis');
    for (const make of [
      () => postgresStorage({ connectionString: address }),
      () => pgBossQueue({ connectionString: address }),
      () => redisStore({ url: redis }),
    ]) {
      expect(make).toThrow(/is not an address that can be read.*percent-encoded/);
      expect(make).not.toThrow(new RegExp(SECRET));
    }
  });

  it('is none of those that drivers take', () => {
    for (const address of [
      'postgres://user:password@host:5432/db?sslmode=require',
      'postgres:///db',
      'postgres://user@localhost/db?host=%2Fvar%2Frun',
      'postgres://%2Fvar%2Frun/db',
      'redis://localhost',
      'rediss://:p%40ss@host:6380/2',
    ]) {
      expect(addressProblem(address), address).toBeUndefined();
    }
  });
});

describe('whatever keeps PostgreSQL from being reached', () => {
  const words = constantFrom(
    'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
    'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string',
    'SASL: SCRAM-CLIENT-FINAL: server signature does not match',
    'The server does not support SSL connections',
    'There was an error establishing an SSL connection',
    'password authentication failed for user "paul"',
    'no such database: paul',
    'Connection terminated unexpectedly',
    'something that nobody has foreseen',
  );
  const codes = option(
    constantFrom(
      '28P01',
      '28000',
      '3D000',
      '53300',
      '08P01',
      '08006',
      'XX123',
      'ECONNRESET',
      'ERR_INVALID_URL',
      ...Object.keys(CONNECTION_MEANINGS),
    ),
    { nil: undefined },
  );

  it('is a StorageError with advice, and nothing of what the driver said', () => {
    assert(
      property(words, codes, constantFrom(Error, TypeError, RangeError, URIError), (message, code, Made) => {
        const error = Object.assign(new Made(`${message} ${SECRET}`), code === undefined ? {} : { code });
        const failure = connectFailure(error);
        expect(StorageError.isInstance(failure)).toBe(true);
        expect(failure.reason).not.toBe('failed');
        expect(failure.message).toMatch(/^PostgreSQL: .*[.?]$/s);
        expect(failure.message).not.toMatch(new RegExp(`${SECRET}|paul|SCRAM|unexpected error`));
      }),
    );
  });

  it.each([
    ['CERT_HAS_EXPIRED', /has expired/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /self-signed/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /for another name/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /does the port speak TLS/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
  ])('says what %s means', (code, expected) => {
    expect(meaningOf(CONNECTION_MEANINGS, code)?.[1]).toMatch(expected);
  });

  it('is a 503 over HTTP, and a warning that says what to do', async () => {
    const warnings: string[] = [];
    const pool = {
      connect: () => Promise.reject(new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string')),
    };
    const router = createRouter({
      providers: [instant()],
      allowAnonymous: true,
      batches: { storage: postgresStorage({ pool }) },
      on: { warning: ({ message }) => warnings.push(message) },
    });
    const answer = await fetchRouter(router, { basePath: '/v1' })(new Request('http://localhost/v1/batches'));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(warnings.join()).toContain('the server requires a password, and the address has none');
    await router.close();
  });
});

describe('a path that is no file for SQLite', () => {
  it('is said to be a folder, or in none that is there', async () => {
    using folder = temporaryFolder();
    await expect(sqliteStorage({ file: folder.path }).open()).rejects.toThrow(/is a folder; name a file in it/);
    await expect(sqliteStorage({ file: folder.file('none/batches.db') }).open()).rejects.toThrow(
      /is its folder there\?/,
    );
  });
});
