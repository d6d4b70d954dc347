import { StorageError, type StorageErrorReason } from '../storage-error.ts';

/** What codes of the operating system, and the first words of Redis's own errors, mean for somebody who has to act. */
const MEANINGS: Readonly<Record<string, readonly [reason: StorageErrorReason, advice: string]>> = {
  ECONNREFUSED: ['unavailable', 'nobody listens there; is the server running, and are host and port right?'],
  ENOENT: ['unavailable', 'nobody listens there; is the server running, and is the path right?'],
  ENOTFOUND: ['unavailable', 'there is no such host; is its name right?'],
  ETIMEDOUT: ['unavailable', 'the server does not answer; is it up, and does a firewall let this machine through?'],
  NOAUTH: ['unavailable', 'the server wants a password; put it into the url'],
  WRONGPASS: ['unavailable', 'the server refused the user or the password'],
  NOPERM: ['unavailable', 'the user lacks a permission; let it use all keys below the prefix, EVAL and PING'],
  LOADING: ['unavailable', 'the server is still reading its data'],
  READONLY: ['read_only', 'the server takes no changes; connect to the one that does'],
  OOM: ['full', 'the server has no memory left'],
};

/** What Redis or its driver says, in our own words: theirs may name the user, or repeat what was sent. */
export function redisFailure(error: unknown): unknown {
  if (StorageError.isInstance(error) && error.reason === 'busy') {
    const message = `Redis: ${error.message} Is the server up, and are host and port right?`;
    return new StorageError('unavailable', message);
  }
  if (StorageError.isInstance(error) || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : /^[A-Z]+(?= )/.exec(error.message)?.[0];
  const known = code !== undefined && Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined;
  if (known !== undefined) return new StorageError(known[0], `Redis: ${known[1]} (${code}).`, code);
  const isTimeout = /timed? ?out|ETIMEDOUT/i.test(error.message);
  const advice = isTimeout ? 'the server does not answer' : 'the connection broke, or the server refused a command';
  return new StorageError('unavailable', `Redis: ${advice}${code === undefined ? '' : ` (${code})`}.`, code);
}
