/** The router and the upstream that the checks for mounts work with. */
import { apiKeys } from '../http/api-keys.ts';
import { escapeText } from '../core/stream/pieces.ts';
import type { Provider, ProviderCall } from '../contracts/provider.ts';
import { createRouter } from '../router/default-router.ts';
import type { Router } from '../router/router.ts';
import type { ProviderReply } from '../contracts/provider-reply.ts';
import { failure } from '../contracts/failure.ts';
import type { StreamPiece } from '../contracts/stream-piece.ts';

/** A call that a check holds in its hand: the provider's side of it. */
export interface HeldCall {
  /** Adds text to the answer. */
  say(text: string): void;
  /** Ends the answer well. */
  finish(): void;
  /** Breaks the answer off, as a lost connection does. */
  breakOff(): void;
  /** Settles when the call is stopped, because the answer is no longer needed. */
  readonly stopped: Promise<void>;
}

/** What the checks for mounts work with: a router to be mounted, and the provider behind it. */
export interface AdapterControl {
  /** Mount this one. Its bodies may have {@link ADAPTER_BODY_LIMIT} bytes. */
  readonly router: Router;
  /** Key that it takes. */
  readonly apiKey: string;
  /**
   * The next call whose prompt is `hold`. One whose prompt is `long` is answered with {@link AWKWARD_TEXT}, all others with
   * their own prompt.
   */
  held(): Promise<HeldCall>;
}

/** Half a megabyte of text with everything in it that wires stumble over. */
export const AWKWARD_TEXT = 'Grüße 👋 \u2028 "quoted" \\ \r\n\n '.repeat(20_000);

/** Bytes that a body may have while mounts are checked: more than most hosts parse, less than is slow to send. */
export const ADAPTER_BODY_LIMIT = 4_000_000;

/** Milliseconds after which a quiet stream gets a comment while mounts are checked. */
const QUIET_MS = 50;

/** Makes the router that {@link adapterChecks} call through a mount. */
export function adapterControl(): AdapterControl {
  const apiKey = `check-${crypto.randomUUID()}`;
  const arrived: HeldCall[] = [];
  const waiting: ((call: HeldCall) => void)[] = [];

  function chat(call: ProviderCall): Promise<ProviderReply> {
    const prompt = promptOf(call);
    if (prompt !== 'hold') return Promise.resolve(answerOf(prompt));
    const { held, reply } = hold(call);
    const next = waiting.shift();
    if (next === undefined) arrived.push(held);
    else next(held);
    return reply;
  }

  const provider: Provider = { slug: 'check', name: 'Check', models: { 'check/one': {} }, chat };
  return {
    router: createRouter({
      providers: [provider],
      authenticate: apiKeys([{ key: apiKey, id: 'checker' }]),
      limits: { bodyBytes: ADAPTER_BODY_LIMIT },
      keepAlive: { firstMs: QUIET_MS, everyMs: QUIET_MS },
    }),
    apiKey,
    held() {
      const call = arrived.shift();
      return call === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(call);
    },
  };
}

function promptOf({ request }: ProviderCall): string {
  const content = request.messages.at(-1)?.content;
  return typeof content === 'string' ? content : '';
}

function answerOf(prompt: string): ProviderReply {
  const text = prompt === 'long' ? AWKWARD_TEXT : prompt;
  const message = { role: 'assistant', content: text, refusal: null, reasoning: null } as const;
  const choice = { index: 0, finish_reason: 'stop', native_finish_reason: 'stop', logprobs: null, message } as const;
  return { type: 'whole', result: { choices: [choice] } };
}

/** A call that is answered from outside, piece by piece. */
function hold({ signal }: ProviderCall): { readonly held: HeldCall; readonly reply: Promise<ProviderReply> } {
  let pieces: StreamPiece[] = [];
  let over = false;
  let wake = (): void => undefined;
  let stop = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (stop = resolve));
  const cancel = (): void => {
    over = true;
    wake();
    stop();
  };
  signal.addEventListener('abort', cancel, { once: true });
  const add = (...more: readonly StreamPiece[]): void => {
    pieces.push(...more);
    wake();
  };

  async function read(): Promise<readonly StreamPiece[] | undefined> {
    if (pieces.length === 0 && !over) await new Promise<void>((resolve) => (wake = resolve));
    const ready = pieces;
    pieces = [];
    return ready.length > 0 ? ready : undefined;
  }

  return {
    held: {
      say: (text) => add(escapeText(text)),
      finish: () => add({ type: 'finish', index: 0, reason: 'stop', native: 'stop' }, { type: 'end' }),
      breakOff: () => add({ type: 'failure', failure: failure('connection', 'The connection was lost') }),
      stopped,
    },
    reply: Promise.resolve({ type: 'stream', stream: { read, cancel } }),
  };
}
