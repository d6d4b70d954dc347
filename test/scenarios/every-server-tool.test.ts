import OpenAI from 'openai';
import {
  createRouter,
  filesTool,
  imageGenerationTool,
  memoryFileLibrary,
  openaiCompatible,
  openaiImages,
  defaultServerTools,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { toolResults } from '../support/fusion.ts';
import { MOUNTS } from '../support/mounts.ts';
import { type UpstreamHandler, chunkEvent, dataEvent, sendJson, startUpstream } from '../support/upstream.ts';

const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
const PNG = 'iVBORw0KGgo=';

interface ToolCase {
  /** Arguments that the model calls the tool with. */
  readonly args: object;
  /** What the caller says of the tool. */
  readonly parameters?: object;
  /** Part of the tool's result. */
  readonly result: object;
}

const CASES: Readonly<Record<string, ToolCase>> = {
  advisor: {
    args: { prompt: 'Wood or steel?' },
    parameters: { model: 'acme/helper' },
    result: { status: 'ok', model: 'acme/helper', advice: 'Steel, of course.' },
  },
  subagent: {
    args: { task_name: 'bridge', task_description: 'Draw a bridge' },
    parameters: { model: 'acme/helper' },
    result: { status: 'ok', model: 'acme/helper' },
  },
  image_generation: { args: { prompt: 'A red boat' }, result: { status: 'ok', imageUrl: 'attached to the answer' } },
  experimental__search_models: { args: { query: 'helper' }, result: { models: [{ id: 'acme/helper' }] } },
  files: { args: { operation: 'write', filename: 'a.md', content: 'one' }, result: { result: { filename: 'a.md' } } },
  datetime: { args: {}, parameters: { timezone: 'Asia/Tokyo' }, result: { timezone: 'Asia/Tokyo' } },
};

/** A provider whose model calls the tool that it is offered, and whose helper knows everything. */
const vendor: UpstreamHandler = ({ body, path }, response) => {
  if (path.endsWith('/images/generations')) return sendJson(response, 200, { data: [{ b64_json: PNG }] });
  const messages = body['messages'] as readonly { readonly role: string }[];
  const [tool] = (body['tools'] ?? []) as readonly { readonly function: { readonly name: string } }[];
  const name = tool?.function.name;
  const isHelper = body['model'] === 'acme/helper';
  const calls =
    isHelper || name === undefined || messages.at(-1)?.role === 'tool'
      ? undefined
      : [{ id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(CASES[name]?.args) } }];
  const content = isHelper ? 'Steel, of course.' : calls === undefined ? 'Done.' : null;
  const finish = calls === undefined ? 'stop' : 'tool_calls';
  const head = { id: 'c', created: 1, model: 'm' };
  if (body['stream'] !== true) {
    const message = { role: 'assistant', content, ...(calls === undefined ? {} : { tool_calls: calls }) };
    const choices = [{ index: 0, message, finish_reason: finish }];
    return sendJson(response, 200, { ...head, object: 'chat.completion', choices, usage: USAGE });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (content !== null) response.write(chunkEvent({ content }));
  if (calls !== undefined) response.write(chunkEvent({ tool_calls: calls.map((call, index) => ({ index, ...call })) }));
  response.write(chunkEvent({}, finish));
  response.write(dataEvent({ ...head, object: 'chat.completion.chunk', choices: [], usage: USAGE }));
  response.end('data: [DONE]\n\n');
};

/** What the openai package does not know of our answers. */
interface Extras {
  readonly reasoning_details?: readonly object[];
  readonly images?: readonly object[];
}
interface RouterExtras {
  readonly usage?: { readonly cost?: number; readonly server_tool_use_details?: object } | null;
  readonly router_metadata?: { readonly pipeline?: readonly { readonly type: string }[] };
}

describe.each(Object.entries(CASES))('router:%s and the openai package', (name, { parameters, result }) => {
  it('agree, whole and streamed', async () => {
    await using upstream = await startUpstream(vendor);
    const price = { prompt: 1, completion: 2 };
    const generator = openaiImages({ apiKey: 'key-1', baseURL: upstream.baseURL, pricePerImage: 0.04 });
    const router = createRouter({
      providers: [
        openaiCompatible({
          slug: 'acme',
          baseURL: upstream.baseURL,
          models: {
            'acme/one': { price, upstreamModel: 'acme/one' },
            'acme/helper': { price, upstreamModel: 'acme/helper' },
          },
        }),
      ],
      serverTools: defaultServerTools([
        imageGenerationTool({ generator }),
        filesTool({ library: memoryFileLibrary() }),
      ]),
      allowAnonymous: true,
    });
    const mount = MOUNTS['node'];
    if (mount === undefined) throw new Error('no mount');
    await using mounted = await mount(router);
    const client = new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 });
    const request = {
      model: 'acme/one',
      messages: [{ role: 'user' as const, content: 'Help me' }],
      tools: [{ type: `router:${name}`, parameters }] as unknown as OpenAI.ChatCompletionTool[],
    };
    const options = { headers: { 'x-router-metadata': 'enabled' } };

    const whole = await client.chat.completions.create(request, options);
    const message: (OpenAI.ChatCompletionMessage & Extras) | undefined = whole.choices[0]?.message;
    expect(message?.content).toBe('Done.');
    expect(toolResults(message?.reasoning_details ?? [])).toMatchObject([result]);
    const { usage, router_metadata: metadata } = whole as unknown as RouterExtras;
    expect(usage?.server_tool_use_details).toMatchObject({ tool_calls_requested: 1, tool_calls_executed: 1 });
    expect(usage?.cost).toBeGreaterThanOrEqual(0.00006);

    let text = '';
    const details: object[] = [];
    const images: object[] = [];
    const ends: RouterExtras[] = [];
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true }, options)) {
      const delta: (OpenAI.ChatCompletionChunk.Choice.Delta & Extras) | undefined = chunk.choices[0]?.delta;
      text += delta?.content ?? '';
      details.push(...(delta?.reasoning_details ?? []));
      images.push(...(delta?.images ?? []));
      if (chunk.usage) ends.push(chunk as unknown as RouterExtras);
    }
    expect(text).toBe('Done.');
    expect(toolResults(details)).toMatchObject([result]);
    expect(images).toEqual(message?.images ?? []);
    expect(images).toHaveLength(name === 'image_generation' ? 1 : 0);
    expect(ends).toHaveLength(1);
    expect(ends[0]?.usage?.cost).toBeCloseTo(usage?.cost ?? 0, 9);
    // Requests that a tool makes are stages of their own.
    const isAsking = name === 'advisor' || name === 'subagent';
    for (const pipeline of [metadata?.pipeline, ends[0]?.router_metadata?.pipeline]) {
      expect(pipeline?.map(({ type }) => type)).toEqual([...(isAsking ? ['call'] : []), 'server_tools']);
    }
    await router.close();
  });
});
