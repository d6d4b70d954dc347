import { RouterError } from 'signalbox';

/** The error that a call is refused with. */
export async function refusal(promise: Promise<unknown>): Promise<RouterError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (RouterError.isInstance(error)) return error;
  throw new Error('Nothing was refused');
}
