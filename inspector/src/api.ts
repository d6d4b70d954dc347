import { signal } from '@preact/signals';
import { HOME } from './address.ts';

/** Kept in memory only: a reload forgets it. */
let key: string | undefined;

/** Why the router does not let this page see anything; undefined when it does. */
export const refusal = signal<string | undefined>(undefined);
/** True when a key was entered. */
export const signedIn = signal(false);
/** Grows with each sign-in, so that views ask again. */
export const session = signal(0);

export function signIn(entered: string): void {
  key = entered === '' ? undefined : entered;
  signedIn.value = key !== undefined;
  refusal.value = undefined;
  session.value += 1;
}

/** What the router answered instead of what was asked for. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Headers of every request of this page. */
export function headers(): Record<string, string> {
  return { 'x-signalbox-inspector': '1', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
}

/** @throws {@link ApiError} for everything but success. */
export async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  throw new ApiError(response.status, body?.error?.message ?? `The router answered ${response.status}`);
}

/** Asks the inspector's API. Where it refuses, the page asks for a key. */
export async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${HOME}/api/${path}`, { ...init, headers: headers() });
  try {
    return (await (await checked(response)).json()) as Answer;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) refusal.value = error.message;
    throw error;
  }
}

/** One server-sent event. */
interface ServerEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads server-sent events. Browsers' own reader cannot send a key, so this is done by hand. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string): string | undefined =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const data = field('data');
      if (data !== undefined) yield { id: field('id'), data };
    }
  }
}
