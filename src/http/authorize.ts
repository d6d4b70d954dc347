/** Authenticates a call and checks the scope of its key. */
import type { AnonymousCallers, Authenticate, Credentials } from '../contracts/authenticate.ts';
import type { Cors } from '../config/router.ts';
import { type Account, ANONYMOUS, ANONYMOUS_ANYWHERE, hasScope, type Scope } from '../contracts/account.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { Environment } from '../platform/environment.ts';
import type { MaybePromise } from '../platform/wait.ts';
import { type EventHub, warn } from '../runtime/events/events.ts';
import type { CallOrigin } from '../contracts/exchange.ts';
import { isLocalCaller } from './local-caller.ts';
import { INFERENCE } from './scopes.ts';

/** What authorisation depends on: the part of a router's internals that it uses. */
interface AuthorizeOptions {
  readonly config: {
    readonly authenticate: Authenticate | undefined;
    /** Who is answered without authentication. */
    readonly anonymous: AnonymousCallers;
    readonly cors: Cors | undefined;
    readonly environment: Environment;
  };
  readonly services: { readonly events: EventHub };
}

/** Milliseconds that the host's own check may take. */
const AUTHENTICATE_TIMEOUT_MS = 10_000;

/**
 * Finds out who calls and whether it may (contract: authentication).
 *
 * @param scopes - What its key must be for, one of several; undefined where any key will do.
 * @param onForbidden - Told whose key it is that has not got the scope.
 * @throws {@link RouterError} 401 without valid credentials, 403 without the scope, 503 when the check itself fails.
 */
export function authorize(
  call: CallOrigin,
  scopes: readonly Scope[] | undefined,
  options: AuthorizeOptions,
  onForbidden?: (account: Account) => void,
): MaybePromise<Account> {
  const { authenticate } = options.config;
  if (authenticate === undefined) return anonymous(call, scopes, options.config);
  const key = keyOf(call);
  const admit = (account: Account | undefined): Account => {
    if (account === undefined) throw unauthenticated(key);
    const found = authenticate.accounts === 1 ? alsoOperator(account) : account;
    if (scopes === undefined || scopes.some((scope) => hasScope(found, scope))) return found;
    onForbidden?.(found);
    throw forbidden(scopes);
  };
  const found = checked(authenticate, { key, header: call.header }, options);
  return found instanceof Promise ? found.then(admit) : admit(found);
}

/** Without authentication, only this machine may call: a forgotten option must not open a router to the world. */
function anonymous(
  call: CallOrigin,
  scopes: readonly Scope[] | undefined,
  { anonymous: who, cors }: AuthorizeOptions['config'],
): Account {
  // Where everybody may call models, who calls is of interest only where more than that is asked for.
  const isAnybody = who === 'anybody';
  if (isAnybody && scopes === INFERENCE) return ANONYMOUS_ANYWHERE;
  if (who !== 'nobody' && isLocalCaller(call, cors)) return ANONYMOUS;
  if (isAnybody && (scopes === undefined || scopes.some((scope) => hasScope(ANONYMOUS_ANYWHERE, scope)))) {
    return ANONYMOUS_ANYWHERE;
  }
  if (isAnybody) throw forbidden(scopes ?? INFERENCE);
  throw new RouterError({
    status: 401,
    errorType: 'authentication',
    message: `This router has no authentication set up, so ${ANSWERED[who]}. Pass authenticate, or allowAnonymous: true, to createRouter.`,
  });
}

const ANSWERED = {
  local: 'it answers clients on the same machine only, and none behind a proxy',
  nobody: 'it answers nobody in production',
} as const;

function checked(
  authenticate: Authenticate,
  credentials: Credentials,
  { config, services }: AuthorizeOptions,
): MaybePromise<Account | undefined> {
  const fail = (error: unknown): never => {
    if (RouterError.isInstance(error)) throw error;
    // Not the words of other errors: they may repeat the key.
    const reason = error instanceof NoAccount ? error.message : error instanceof Error ? error.name : typeof error;
    warn(services.events, {
      code: 'authenticate',
      message: `authenticate failed (${reason}); callers get a 503 until it returns an account or undefined again`,
    });
    throw unavailable();
  };
  try {
    const answer: unknown = authenticate(credentials);
    if (!isThenable(answer)) return accountOf(answer);
    return withTimeout(answer, config.environment).then(accountOf).catch(fail);
  } catch (error) {
    return fail(error);
  }
}

/** The account that a check came to; undefined where the credentials are no good. */
function accountOf(answer: unknown): Account | undefined {
  if (answer === undefined || answer === null || answer === false) return undefined;
  if (isAccount(answer)) return answer;
  throw new NoAccount(answer);
}

/** What a check gave that is no account. */
class NoAccount extends TypeError {
  constructor(answer: unknown) {
    const given = typeof answer === 'object' ? 'an object without an id' : typeof answer;
    super(
      `it gave ${answer === true ? 'true' : given}, but must return an account such as { id: "acme" }, or undefined`,
    );
  }
}

/** Promises of other realms and of query builders are no instances of our Promise. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function isAccount(value: unknown): value is Account {
  const { id, scopes } = value as { id?: unknown; scopes?: unknown };
  return typeof id === 'string' && id !== '' && (scopes === undefined || Array.isArray(scopes));
}

function withTimeout(answer: PromiseLike<unknown>, environment: Environment): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const tooLate = new DOMException('authenticate did not answer in time', 'TimeoutError');
    const timer = environment.setTimer(() => reject(tooLate), AUTHENTICATE_TIMEOUT_MS);
    Promise.resolve(answer)
      .finally(() => environment.clearTimer(timer))
      .then(resolve, reject);
  });
}

/** The key that a caller shows. */
export function keyOf(call: CallOrigin): string | undefined {
  return bearerOf(call) ?? call.header('x-api-key');
}

function bearerOf(call: CallOrigin): string | undefined {
  const header = call.header('authorization');
  return header !== undefined && /^bearer /i.test(header)
    ? header.slice('bearer '.length).trim() || undefined
    : undefined;
}

function unauthenticated(key: string | undefined): RouterError {
  const message =
    key === undefined
      ? 'Missing Authentication header: send "Authorization: Bearer <API key>"'
      : 'The API key is not valid here: it is unknown, disabled or expired';
  return new RouterError({ status: 401, errorType: 'authentication', message });
}

/** A management key of the only account there is sees nobody else's. */
function alsoOperator(account: Account): Account {
  const { scopes = INFERENCE } = account;
  return scopes.includes('management') && !scopes.includes('operator')
    ? { ...account, scopes: [...scopes, 'operator'] }
    : account;
}

function forbidden(scopes: readonly Scope[]): RouterError {
  const message = scopes.includes('inference')
    ? 'This key is for management only; calling models needs an inference key'
    : `Only ${scopes.join(' and ')} keys may do this`;
  return new RouterError({ status: 403, errorType: 'permission_denied', message });
}

function unavailable(): RouterError {
  const message = 'Credentials cannot be checked right now';
  return new RouterError({ status: 503, errorType: 'server', message, retryAfterMs: 1_000 });
}
