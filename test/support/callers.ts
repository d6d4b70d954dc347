/** The same request in each API format, streamed and not, over a socket. */
import type { Router } from 'signalbox';
import { MOUNTS } from './mounts.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a request asks for, whatever the API format. */
export interface Asked {
  readonly model: string;
  readonly tools?: readonly { readonly name: string; readonly parameters?: Json; readonly strict?: boolean }[];
  /** Members of the chat format, with those that Responses and Messages have for them. */
  readonly chat?: Json;
  readonly messages?: Json;
  readonly responses?: Json;
}

/** API formats, and how a request is written in each. */
export const FORMATS = {
  '/chat/completions': ({ model, tools, chat }: Asked): Json => ({
    model,
    messages: [{ role: 'user', content: 'How is it?' }],
    ...(tools && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...chat,
  }),
  '/messages': ({ model, tools, messages }: Asked): Json => ({
    model,
    max_tokens: 32_000,
    messages: [{ role: 'user', content: 'How is it?' }],
    ...(tools && {
      tools: tools.map(({ name, parameters = { type: 'object' }, strict }) => ({
        name,
        // Messages demands that the root is an object.
        input_schema: { type: 'object', ...parameters },
        ...(strict === undefined ? {} : { strict }),
      })),
    }),
    ...messages,
  }),
  '/responses': ({ model, tools, responses }: Asked): Json => ({
    model,
    input: 'How is it?',
    ...(tools && { tools: tools.map((tool) => ({ type: 'function', ...tool })) }),
    ...responses,
  }),
} as const;

/** Name of an API format. */
export type Format = keyof typeof FORMATS;

/** Each format, streamed and not. */
export const CALLERS = (Object.keys(FORMATS) as Format[]).flatMap((format) =>
  [false, true].map((stream) => [`${format}${stream ? ', streamed' : ''}`, format, stream] as const),
);

/** An answer as a client gets it. */
export interface Heard {
  readonly status: number;
  readonly text: string;
}

/** Sends a request in a format to a router over a socket. */
export async function sendAs(router: Router, format: Format, stream: boolean, asked: Asked): Promise<Heard> {
  const mount = Object.values(MOUNTS)[0];
  if (mount === undefined) throw new Error('no mount');
  await using mounted = await mount(router);
  const response = await fetch(`${mounted.baseURL}${format}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...FORMATS[format](asked), ...(stream ? { stream } : {}) }),
  });
  return { status: response.status, text: await response.text() };
}
