import type { EndpointDeclaration } from '../../src/catalog/endpoint.ts';
import { type Provider, type ProviderCall, failedReply } from '../../src/contracts/provider.ts';

import type { Environment } from '../../src/platform/environment.ts';
import type { PieceStream, ProviderReply } from '../../src/contracts/provider-reply.ts';
import { type FailureKind, failure } from '../../src/contracts/failure.ts';
import type { ReportedUsage, StreamPiece } from '../../src/contracts/stream-piece.ts';

/** How a stub deals with one call. Times are milliseconds of the fake clock. */
export type Behaviour =
  /** Answers with so many pieces of text, all of them naming the call. */
  | {
      readonly does: 'answer';
      readonly afterMs?: number;
      readonly pieces?: number;
      readonly everyMs?: number;
      readonly usage?: ReportedUsage | undefined;
      readonly reply?: 'stream' | 'whole';
    }
  /** Fails before its answer. */
  | {
      readonly does: 'fail';
      readonly kind: FailureKind;
      readonly afterMs?: number;
      readonly status?: number | undefined;
      readonly retryAfterMs?: number | undefined;
    }
  /** Begins a stream that fails after so many pieces of text; with usage, it reports it first. */
  | {
      readonly does: 'break';
      readonly kind: FailureKind;
      readonly pieces: number;
      readonly afterMs?: number;
      readonly everyMs?: number;
      readonly usage?: ReportedUsage | undefined;
    }
  /** Begins a stream that just ends. */
  | { readonly does: 'truncate'; readonly pieces: number; readonly afterMs?: number }
  /** Sends no text, but says that it finished with an error. */
  | { readonly does: 'finish with error'; readonly afterMs?: number }
  /** Never settles; `deaf` means that it does not listen to its signal either. */
  | { readonly does: 'hang'; readonly deaf?: boolean }
  /** Breaks its contract. */
  | {
      readonly does: 'misbehave';
      readonly how:
        | 'throws'
        | 'rejects'
        | 'gives nothing'
        | 'gives nonsense'
        | 'has a stream that throws'
        | 'has a stream that rejects';
    };

/** One call that a stub got. */
export interface StubCall {
  /** Unique; every piece of its text holds it. */
  readonly id: string;
  readonly provider: string;
  readonly endpoint: string;
  readonly request: string;
  readonly apiKey: string | undefined;
  readonly signal: AbortSignal;
  readonly behaviour: Behaviour;
  readonly startedAt: number;
  /** Calls of the same request that were open when this one started. */
  readonly openBefore: number;
  /** When the answer was over, or the call was cancelled. */
  endedAt: number | undefined;
}

/** Providers that do what they are told, and everything they were asked. */
export interface Stubs {
  readonly providers: readonly Provider[];
  readonly calls: readonly StubCall[];
  /** Calls that are neither over nor cancelled nor aborted. */
  readonly open: readonly StubCall[];
}

/** How a provider of a test behaves. */
export interface StubOptions {
  readonly models?: Readonly<Record<string, EndpointDeclaration | readonly EndpointDeclaration[]>>;
  /** In the same way always; or call after call, the last for ever; or as a function of the number of the call says. */
  readonly behaves: Behaviour | readonly Behaviour[] | ((call: number) => Behaviour);
}

/** Makes providers by slug. */
export function stubProviders(environment: Environment, options: Readonly<Record<string, StubOptions>>): Stubs {
  const calls: StubCall[] = [];
  const isOpen = (call: StubCall): boolean => call.endedAt === undefined && !call.signal.aborted;

  function stub(slug: string, { models = { 'acme/one': {} }, behaves }: StubOptions): Provider {
    const behaviourOf = typeof behaves === 'function' ? behaves : inTurn([behaves].flat());
    let next = 0;
    return {
      slug,
      name: slug.toUpperCase(),
      models,
      chat(call) {
        const behaviour = behaviourOf(next);
        next += 1;
        const record: StubCall = {
          id: `<${slug}#${calls.length}>`,
          provider: slug,
          endpoint: call.endpoint.id,
          request: call.request.id,
          apiKey: typeof call.apiKey === 'function' ? undefined : call.apiKey,
          signal: call.signal,
          behaviour,
          startedAt: environment.now(),
          openBefore: calls.filter((one) => one.request === call.request.id && isOpen(one)).length,
          endedAt: undefined,
        };
        calls.push(record);
        call.progress.sending(() => ({ call: record.id }));
        return new StubAnswer(environment, record, call).reply();
      },
    };
  }

  return {
    providers: Object.entries(options).map(([slug, one]) => stub(slug, one)),
    calls,
    get open() {
      return calls.filter(isOpen);
    },
  };
}

function inTurn(script: readonly Behaviour[]): (call: number) => Behaviour {
  return (call) => script[Math.min(call, script.length - 1)] ?? { does: 'hang' };
}

/** The answer to one call. */
class StubAnswer {
  readonly #environment: Environment;
  readonly #record: StubCall;
  readonly #call: ProviderCall;

  constructor(environment: Environment, record: StubCall, call: ProviderCall) {
    this.#environment = environment;
    this.#record = record;
    this.#call = call;
  }

  reply(): Promise<ProviderReply> {
    const { behaviour } = this.#record;
    switch (behaviour.does) {
      case 'answer':
        return this.#after(behaviour.afterMs, () => this.#answer(behaviour));
      case 'fail':
        return this.#after(behaviour.afterMs, () => {
          const { kind, status, retryAfterMs } = behaviour;
          return this.#over(failedReply(failure(kind, `${this.#record.provider} failed`, { status, retryAfterMs })));
        });
      case 'break': {
        const { kind, pieces, everyMs = 1, usage } = behaviour;
        const last: StreamPiece = { type: 'failure', failure: failure(kind, `${this.#record.provider} broke off`) };
        return this.#after(behaviour.afterMs, () =>
          this.#stream([...usagePieces(usage), ...this.#texts(pieces), last], everyMs),
        );
      }
      case 'truncate':
        return this.#after(behaviour.afterMs, () => this.#stream(this.#texts(behaviour.pieces), 1));
      case 'finish with error':
        return this.#after(behaviour.afterMs, () =>
          this.#stream([{ type: 'finish', index: 0, reason: 'error', native: 'error' }, { type: 'end' }], 0),
        );
      case 'hang':
        return behaviour.deaf === true ? new Promise(() => {}) : this.#after(Infinity, misbehaved);
      case 'misbehave':
        return this.#misbehave(behaviour.how);
    }
  }

  #misbehave(how: Extract<Behaviour, { does: 'misbehave' }>['how']): Promise<ProviderReply> {
    this.#over(undefined);
    switch (how) {
      case 'throws':
        throw new Error('thrown by a stub');
      case 'rejects':
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        return Promise.reject('rejected by a stub');
      case 'gives nothing':
        return Promise.resolve(undefined as unknown as ProviderReply);
      case 'gives nonsense':
        return Promise.resolve({ type: 'whole' } as unknown as ProviderReply);
      case 'has a stream that throws':
        return Promise.resolve({
          type: 'stream',
          stream: {
            read() {
              throw new Error('thrown by a stub');
            },
            cancel() {
              throw new Error('thrown by a stub');
            },
          },
        });
      case 'has a stream that rejects':
        return Promise.resolve({
          type: 'stream',
          stream: { read: () => Promise.reject(new Error('rejected by a stub')), cancel() {} },
        });
    }
  }

  #answer({ pieces = 2, everyMs = 1, usage, reply = 'stream' }: Extract<Behaviour, { does: 'answer' }>): ProviderReply {
    const texts = this.#texts(pieces);
    if (reply === 'stream') {
      return this.#stream(
        [
          ...texts,
          { type: 'finish', index: 0, reason: 'stop', native: 'stop' },
          ...usagePieces(usage),
          { type: 'end' },
        ],
        everyMs,
      );
    }
    return this.#over({
      type: 'whole',
      result: {
        choices: [
          {
            index: 0,
            finish_reason: 'stop',
            native_finish_reason: 'stop',
            logprobs: null,
            message: { role: 'assistant', content: texts.join(''), refusal: null, reasoning: null },
          },
        ],
        usage,
      },
    });
  }

  #texts(pieces: number): readonly string[] {
    return Array.from({ length: pieces }, () => this.#record.id);
  }

  #stream(pieces: readonly StreamPiece[], everyMs: number): ProviderReply {
    const left = [...pieces];
    const stream: PieceStream = {
      read: async () => {
        const piece = left.shift();
        if (piece === undefined) return this.#over(undefined);
        if (everyMs > 0) await this.#after(everyMs, () => undefined);
        if (left.length === 0) this.#over(undefined);
        return this.#record.signal.aborted ? undefined : [piece];
      },
      cancel: () => {
        left.length = 0;
        this.#over(undefined);
      },
    };
    return { type: 'stream', stream };
  }

  #over<Value>(value: Value): Value {
    this.#record.endedAt ??= this.#environment.now();
    return value;
  }

  /** Waits, unless the call is aborted meanwhile. */
  #after<Value>(ms: number | undefined, then: () => Value): Promise<Value> {
    const { signal } = this.#call;
    if (!ms) return Promise.resolve(then());
    return new Promise((resolve, reject) => {
      const timer = ms === Infinity ? undefined : this.#environment.setTimer(go, ms);
      const environment = this.#environment;
      function go(): void {
        signal.removeEventListener('abort', stop);
        resolve(then());
      }
      function stop(): void {
        environment.clearTimer(timer);
        reject(new Error('aborted by the router'));
      }
      signal.addEventListener('abort', stop, { once: true });
    });
  }
}

function misbehaved(): ProviderReply {
  return failedReply(failure('adapter', 'not reached'));
}

function usagePieces(usage: ReportedUsage | undefined): readonly StreamPiece[] {
  return usage === undefined ? [] : [{ type: 'usage', usage }];
}
