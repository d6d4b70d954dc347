import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import { RouterError } from '../../errors.ts';
import type { ErrorType } from '../../protocol/error.ts';
import type { RuntimeServices } from '../services.ts';
import { warn } from '../warn.ts';
import type { Ledger } from './ledger.ts';

/** Names of the hooks of a plugin. */
export type HookName = 'onRequest' | 'onCandidates' | 'onAttempt' | 'onChunks' | 'onResult';

/** What went wrong with a hook. */
export type HookFailure = { readonly type: 'threw'; readonly thrown: unknown } | { readonly type: 'late' };

const TYPE_OF_STATUS: Readonly<Record<number, ErrorType>> = {
  500: 'server',
  502: 'provider_unavailable',
  503: 'provider_overloaded',
};

/**
 * Deals with a hook that failed as its plugin's `whenItThrows` says: throws the error for the caller, or notes that
 * the plugin is left out. Its operator hears of it in both cases; the caller does not learn what was thrown.
 */
export function handleHookFailure(
  services: RuntimeServices,
  ledger: Ledger,
  { plugin }: ActivePlugin,
  hook: HookName,
  failure: HookFailure,
): void {
  const { id, whenItThrows, failStatus = 502 } = plugin;
  if (whenItThrows === 'fail' && isRefusal(failure)) {
    ledger.stageUnlessNoted(id, 0, 'refused the request');
    throw failure.thrown;
  }
  const what = failure.type === 'late' ? 'took too long' : `threw ${kindOf(failure.thrown)}`;
  const then = whenItThrows === 'skip' ? 'the request went on without it' : 'the request failed';
  warn(services.events, {
    code: 'plugin_failed',
    message: `The plugin "${id}" ${what} in ${hook}; ${then}`,
    ...(failure.type === 'threw' ? { thrown: failure.thrown } : {}),
  });
  const reason = failure.type === 'late' ? 'timeout' : 'error';
  ledger.stage(id, {
    summary: whenItThrows === 'skip' ? `skipped: ${what} in ${hook}` : `failed: ${what} in ${hook}`,
    data: { hook, reason, skipped: whenItThrows === 'skip' },
  });
  if (whenItThrows === 'skip') return;
  if (failure.type === 'threw' && RouterError.isInstance(failure.thrown)) throw failure.thrown;
  throw new RouterError({
    status: failStatus,
    errorType: TYPE_OF_STATUS[failStatus] ?? 'server',
    message: failure.type === 'late' ? `The plugin "${id}" took too long` : `The plugin "${id}" failed`,
    metadata: { plugin: id },
  });
}

/** An error about the request itself: the plugin works, and its operator has nothing to do. */
export function isRefusal(failure: HookFailure): failure is { type: 'threw'; thrown: RouterError } {
  return failure.type === 'threw' && RouterError.isInstance(failure.thrown) && failure.thrown.status < 500;
}

/** What kind of thing was thrown. Not what it says: that may repeat a prompt. */
function kindOf(thrown: unknown): string {
  try {
    if (RouterError.isInstance(thrown)) return `a RouterError (${thrown.status})`;
    if (thrown instanceof Error) return `a ${/^\w{1,40}$/.test(thrown.name) ? thrown.name : 'Error'}`;
    return `a value of type ${typeof thrown}`;
  } catch {
    return 'something';
  }
}
