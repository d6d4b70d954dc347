import type { Provider } from 'signalbox';
import type { ScriptedAnswer } from 'signalbox/testing';
import { CHECKED_KEY, type ScriptedWire, type WireHarness, wireHarness } from './wire-harness.ts';

/** Makes the provider of the documentation's example. */
export type SemaphoreFactory = (options: {
  readonly models: Readonly<Record<string, object>>;
  readonly apiKey: string;
  readonly baseURL: string;
}) => Provider;

/** Starts a {@link WireHarness} of the vendor that the documentation invents. */
export function semaphoreHarness(semaphore: SemaphoreFactory): Promise<WireHarness> {
  return wireHarness(SEMAPHORE_WIRE, (baseURL) =>
    semaphore({ models: { 'semaphore/one': {} }, apiKey: CHECKED_KEY, baseURL }),
  );
}

/** Scripted answers in the words of that vendor. */
export const SEMAPHORE_WIRE: ScriptedWire = {
  whole: ({ reasoning, text, toolCalls, ...answer }) =>
    JSON.stringify({
      ...(reasoning === undefined ? {} : { think: reasoning.join('') }),
      ...(text === undefined ? {} : { say: text.join('') }),
      ...(toolCalls === undefined ? {} : { uses: toolCalls.map(useOf) }),
      ...endOf(answer),
    }),
  events: ({ reasoning = [], text = [], toolCalls = [] }) =>
    [
      ...reasoning.map((think) => event('think', { think })),
      ...text.map((say) => event('say', { say })),
      ...toolCalls.map((call) => event('use', useOf(call))),
    ].join(''),
  ending: (answer) => event('end', endOf(answer)),
  error: (text, status) => JSON.stringify({ problem: { text, code: `s${status}` } }),
  streamError: (text) => event('problem', { problem: { text, code: 'crowded' } }),
};

const ENDS = { stop: 'done', length: 'most', content_filter: 'refused', tool_calls: 'done' } as const;

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function useOf({ id, name, arguments: pieces }: NonNullable<ScriptedAnswer['toolCalls']>[number]): object {
  return { id, name, ...(pieces.length === 0 ? {} : { with: JSON.parse(pieces.join('')) as unknown }) };
}

function endOf({ finish = 'stop', usage }: ScriptedAnswer): object {
  if (usage === undefined) return { ended: ENDS[finish] };
  const { promptTokens: heard, completionTokens: said, cachedTokens: known } = usage;
  return { ended: ENDS[finish], counted: { heard, said, known } };
}
