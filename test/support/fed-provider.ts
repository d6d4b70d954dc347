import {
  type AttemptFailure,
  type EndpointDeclaration,
  type Provider,
  type ProviderCall,
  type ProviderReply,
  type StreamPiece,
  type UpstreamResult,
  failedReply,
} from 'signalbox';

/** One call that a {@link FedProvider} got, answered piece by piece by the test. */
export interface FedCall {
  readonly call: ProviderCall;
  /** True once nobody wants the answer any more. */
  readonly cancelled: boolean;
  /** Starts a stream, or adds to it. */
  push(...pieces: readonly StreamPiece[]): void;
  /** Ends the stream. */
  end(): void;
  /** Answers whole. */
  answer(text: string, more?: Partial<UpstreamResult>): void;
  /** Answers with a failure. */
  fail(failure: AttemptFailure): void;
}

/** A provider that does what a test tells it, when the test tells it. */
export interface FedProvider extends Provider {
  readonly calls: FedCall[];
}

/** Makes a {@link FedProvider}. Calls made while `script` is given are handed to it. */
export function fedProvider(
  options: {
    readonly slug?: string;
    readonly models?: Readonly<Record<string, EndpointDeclaration>>;
    readonly script?: (call: FedCall) => void;
  } = {},
): FedProvider {
  const { slug = 'fed', models = { 'acme/one': {} }, script } = options;
  const calls: FedCall[] = [];
  return {
    slug,
    name: slug.toUpperCase(),
    models,
    calls,
    chat(call) {
      call.progress.sending(() => ({ model: call.endpoint.upstreamModel, slug }));
      return new Promise((resolve) => {
        const fed = feed(call, resolve);
        calls.push(fed);
        script?.(fed);
      });
    },
  };
}

function feed(call: ProviderCall, resolve: (reply: ProviderReply) => void): FedCall {
  let waiting: StreamPiece[] = [];
  let state: 'open' | 'ended' | 'cancelled' = 'open';
  let wake: (() => void) | undefined;
  const stream = {
    async read(): Promise<readonly StreamPiece[] | undefined> {
      if (waiting.length === 0 && state === 'open') await new Promise<void>((awake) => (wake = awake));
      const pieces = waiting;
      waiting = [];
      return pieces.length > 0 ? pieces : undefined;
    },
    cancel(): void {
      if (state === 'open') state = 'cancelled';
      wake?.();
    },
  };
  return {
    call,
    get cancelled() {
      return state === 'cancelled' || call.signal.aborted;
    },
    push(...pieces) {
      waiting.push(...pieces);
      resolve({ type: 'stream', stream });
      wake?.();
    },
    end() {
      state = 'ended';
      wake?.();
    },
    answer(text, more) {
      const message = { role: 'assistant', content: text, refusal: null, reasoning: null } as const;
      const choice = {
        index: 0,
        finish_reason: 'stop',
        native_finish_reason: 'stop',
        logprobs: null,
        message,
      } as const;
      resolve({ type: 'whole', result: { choices: [choice], ...more } });
    },
    fail: (failure) => resolve(failedReply(failure)),
  };
}

/** The pieces that end a stream well. */
export const GOOD_END: readonly StreamPiece[] = [
  { type: 'finish', index: 0, reason: 'stop', native: 'end_turn' },
  { type: 'usage', usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 } },
  { type: 'end' },
];
