import {
  type ChatRequest,
  type NormalizedRequest,
  type Provider,
  type Router,
  type SimulatedOptions,
  type Usage,
  createRouter,
  simulated,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';

/** The simulated provider without its waits. */
export function instant(options: SimulatedOptions = {}): Provider {
  return simulated({ firstTokenMs: 0, tokensPerSecond: Infinity, ...options });
}

/** A router over the simulated provider without its waits, that always chooses the same endpoints. */
export function instantRouter(options: SimulatedOptions = {}): Router {
  return createRouter({ providers: [instant(options)], environment: fakeEnvironment() });
}

/** A request with one user message. */
export function ask(content: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'simulated/small', messages: [{ role: 'user', content }], ...more };
}

/** An answer, whole or put together from its stream, reduced to what can be compared. */
export interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish: string | null;
  readonly fingerprint: string | null;
  readonly usage: Usage | undefined;
}

/** Asks for a whole answer. */
export async function hear(router: Router, request: ChatRequest): Promise<Heard> {
  const { choices, usage, system_fingerprint: fingerprint } = await router.chat(request);
  const [choice] = choices;
  return {
    text: choice?.message.content ?? '',
    reasoning: choice?.message.reasoning ?? '',
    calls: (choice?.message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called })),
    finish: choice?.finish_reason ?? null,
    fingerprint,
    usage,
  };
}

/** Asks for a stream and puts it together. */
export async function hearStream(router: Router, request: ChatRequest): Promise<Heard> {
  const calls = new Map<number, { id: string; name: string; arguments: string }>();
  let [text, reasoning, finish, fingerprint]: [string, string, string | null, string | null] = ['', '', null, null];
  let usage: Usage | undefined;
  for await (const chunk of router.stream(request)) {
    usage ??= chunk.usage;
    fingerprint ??= chunk.system_fingerprint ?? null;
    const [choice] = chunk.choices;
    text += choice?.delta.content ?? '';
    reasoning += choice?.delta.reasoning ?? '';
    finish ??= choice?.finish_reason ?? null;
    for (const { index, id, function: called } of choice?.delta.tool_calls ?? []) {
      const call = calls.get(index) ?? { id: id ?? '', name: called?.name ?? '', arguments: '' };
      calls.set(index, { ...call, arguments: call.arguments + (called?.arguments ?? '') });
    }
  }
  return { text, reasoning, calls: [...calls.values()], finish, fingerprint, usage };
}

/** Asks twice, whole and streamed, each of a router of its own, and gives the answer if both are the same. */
export async function hearBoth(request: ChatRequest, options: SimulatedOptions = {}): Promise<Heard> {
  const whole = await hear(instantRouter(options), request);
  const streamed = await hearStream(instantRouter(options), request);
  if (JSON.stringify(whole) !== JSON.stringify(streamed)) {
    throw new Error(`The stream differs:\n${JSON.stringify(whole)}\n${JSON.stringify(streamed)}`);
  }
  return whole;
}

/** A simulated provider that keeps the requests it gets. */
export function recording(requests: NormalizedRequest[], options: SimulatedOptions = {}): Provider {
  const provider = instant(options);
  return {
    ...provider,
    chat: (call) => {
      requests.push(call.request);
      return provider.chat(call);
    },
  };
}
