import { describe, expect, it } from 'vitest';
import { connectionFailure } from '../../src/net/connection-failure.ts';
import type { FailureKind } from '../../src/contracts/failure.ts';

const coded = (code: string, rest: object = {}): Error =>
  Object.assign(new Error(`secret address ${code}`), { code, ...rest });

describe('an error of the network', () => {
  it.each<readonly [kind: FailureKind, codes: readonly string[]]>([
    [
      'connection',
      [
        'ECONNREFUSED',
        'ECONNRESET',
        'EPIPE',
        'EAI_AGAIN',
        'EHOSTUNREACH',
        'ENETUNREACH',
        'EPROTO',
        'ERR_SSL_WRONG_VERSION_NUMBER',
        'UND_ERR_SOCKET',
        'UND_ERR_DESTROYED',
        'UND_ERR_CLOSED',
        'ERR_HTTP2_GOAWAY_SESSION',
        'ERR_HTTP2_STREAM_ERROR',
        'SOMETHING_NEW',
      ],
    ],
    [
      'unreachable',
      [
        'ENOTFOUND',
        'CERT_HAS_EXPIRED',
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        'SELF_SIGNED_CERT_IN_CHAIN',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
        'ERR_TLS_CERT_ALTNAME_INVALID',
      ],
    ],
    ['timeout', ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']],
    [
      'bad_response',
      [
        'HPE_INVALID_CONSTANT',
        'HPE_UNEXPECTED_CONTENT_LENGTH',
        'UND_ERR_HEADERS_OVERFLOW',
        'UND_ERR_INFO',
        'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
      ],
    ],
    ['adapter', ['UND_ERR_INVALID_ARG', 'ERR_INVALID_URL', 'ERR_INVALID_CHAR', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH']],
  ])('is %s', (kind, codes) => {
    for (const code of codes) {
      const failure = connectionFailure(coded(code));
      expect([code, failure.kind]).toEqual([code, kind]);
      expect(failure.message).toContain(`(${code})`);
      expect(failure.message).not.toContain('secret');
    }
  });

  it.each<readonly [name: string, error: unknown, code: string | undefined]>([
    ['as the cause of a failed fetch', new TypeError('fetch failed', { cause: coded('ENOTFOUND') }), 'ENOTFOUND'],
    ['as a cause of a cause', new Error('x', { cause: new Error('y', { cause: coded('ECONNRESET') }) }), 'ECONNRESET'],
    ['among several addresses', new AggregateError([new Error('x'), coded('ECONNREFUSED')]), 'ECONNREFUSED'],
    [
      'among several addresses, as a cause',
      new TypeError('fetch failed', { cause: new AggregateError([coded('ETIMEDOUT')]) }),
      'ETIMEDOUT',
    ],
    [
      'on an error of errors itself',
      Object.assign(new AggregateError([coded('EPIPE')]), { code: 'ECONNREFUSED' }),
      'ECONNREFUSED',
    ],
    ['behind a code that is a number', new DOMException('x', 'AbortError'), undefined],
    ['as the name of a parser', Object.assign(new Error('x'), { name: 'HTTPParserError' }), 'HPE_INVALID'],
    ['nowhere', new Error('x'), undefined],
    ['nowhere in a text', 'ECONNRESET', undefined],
    ['nowhere in nothing', undefined, undefined],
    ['nowhere in null', null, undefined],
  ])('has its code %s', (_name, error, code) => {
    const { message } = connectionFailure(error);
    if (code === undefined) expect(message).toBe('The connection to the provider failed');
    else expect(message).toContain(`(${code})`);
  });

  it('may be its own cause', () => {
    const error = new Error('x');
    error.cause = error;
    expect(connectionFailure(error).kind).toBe('connection');
  });
});
