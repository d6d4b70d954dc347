import type { Authenticate } from '../auth/authenticate.ts';
import { ANONYMOUS, type Account, type Scope, hasScope } from '../core/account.ts';
import { RouterError } from '../errors.ts';
import type { Environment } from '../runtime/environment.ts';
import type { HttpCall } from './exchange.ts';

/** What authorisation depends on. */
export interface AuthorizeOptions {
  readonly authenticate: Authenticate | undefined;
  /** True when calls without authentication are allowed from anywhere. */
  readonly allowAnonymous: boolean;
  readonly environment: Environment;
}

/** Milliseconds that the host's own check may take. */
const AUTHENTICATE_TIMEOUT_MS = 10_000;

/**
 * Finds out who calls and whether it may (contract: authentication).
 *
 * @throws {@link RouterError} 401 without valid credentials, 403 without the scope, 503 when the check itself fails.
 */
export async function authorize(call: HttpCall, scope: Scope, options: AuthorizeOptions): Promise<Account> {
  const { authenticate } = options;
  if (authenticate === undefined) return anonymous(call, options);
  const key = bearerOf(call) ?? call.header('x-api-key');
  const account = await checked(authenticate, { key, header: call.header }, options.environment);
  if (account === undefined) throw unauthenticated(key);
  if (!hasScope(account, scope)) throw forbidden(scope);
  return account;
}

/** Without authentication, only this machine may call: a forgotten option must not open a router to the world. */
function anonymous(call: HttpCall, { allowAnonymous }: AuthorizeOptions): Account {
  if (allowAnonymous || isLocal(call)) return ANONYMOUS;
  throw new RouterError({
    status: 401,
    errorType: 'authentication',
    message:
      'This router has no authentication set up, so it answers callers on its own machine only. ' +
      'Pass authenticate, or allowAnonymous: true, to createRouter.',
  });
}

function isLocal({ remoteAddress, header }: HttpCall): boolean {
  if (remoteAddress === undefined || header('x-forwarded-for') !== undefined || header('forwarded') !== undefined) {
    return false;
  }
  return remoteAddress === '::1' || /^(?:::ffff:)?127\./.test(remoteAddress);
}

async function checked(
  authenticate: Authenticate,
  credentials: Parameters<Authenticate>[0],
  environment: Environment,
): Promise<Account | undefined> {
  let account: unknown;
  try {
    const answer = authenticate(credentials);
    account = answer instanceof Promise ? await withTimeout(answer, environment) : answer;
  } catch (error) {
    if (RouterError.isInstance(error)) throw error;
    throw unavailable();
  }
  if (account === undefined || account === null || account === false) return undefined;
  if (typeof (account as { id?: unknown }).id !== 'string') throw unavailable();
  return account as Account;
}

function withTimeout<Value>(promise: Promise<Value>, environment: Environment): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = environment.setTimer(() => reject(unavailable()), AUTHENTICATE_TIMEOUT_MS);
    promise.then(resolve, reject).finally(() => environment.clearTimer(timer));
  });
}

function bearerOf(call: HttpCall): string | undefined {
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

function forbidden(scope: Scope): RouterError {
  const message =
    scope === 'management'
      ? 'Only management keys may do this'
      : 'This key is for management only; calling models needs an inference key';
  return new RouterError({ status: 403, errorType: 'permission_denied', message });
}

function unavailable(): RouterError {
  const message = 'Credentials cannot be checked right now';
  return new RouterError({ status: 503, errorType: 'server', message, retryAfterMs: 1_000 });
}
