import { RouterError } from '../../protocol/router-error.ts';

/**
 * Runs foreign code that must not throw, such as a parser of options.
 *
 * @param owner - Whose it is, for the error: `plugin "web"`.
 * @throws {@link RouterError} Errors of ours as they are, 502 in the place of all others.
 */
export function foreign<Value>(owner: string, run: () => Value): Value {
  try {
    return run();
  } catch (thrown) {
    if (RouterError.isInstance(thrown)) throw thrown;
    throw new RouterError({ status: 502, errorType: 'provider_unavailable', message: `The ${owner} failed` });
  }
}
