import {
  ConfigError,
  type ImageGenerator,
  type JsonObject,
  type Router,
  createRouter,
  defaultServerTools,
  imageGenerationTool,
  openaiCompatible,
  openaiImages,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { toolResults } from '../support/fusion.ts';
import { type Said, hello, pluginBench, saidBothWays, streamed } from '../support/plugins.ts';
import { call, turns } from '../support/tools.ts';
import { type Upstream, type UpstreamHandler, failWith, sendJson, startUpstream } from '../support/upstream.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUg==';
const painter = () => turns({ toolCalls: [call('image_generation', { prompt: 'A red boat' })] }, 'Here it is.');

/** A service that speaks OpenAI's images API. */
const images: UpstreamHandler = ({ body, path }, response) => {
  if (path !== '/v1/images/generations') return sendJson(response, 404, {});
  sendJson(response, 200, {
    created: 1,
    output_format: body['output_format'] ?? 'png',
    data: Array.from({ length: Number(body['n'] ?? 1) }, () => ({ b64_json: PNG })),
    usage: { input_tokens: 1_000, output_tokens: 4_000, total_tokens: 5_000 },
  });
};

async function paint(generator: ImageGenerator, parameters: JsonObject = {}): Promise<readonly Said[]> {
  const bench = pluginBench(painter().script, { serverTools: [imageGenerationTool({ generator })] });
  const tools = [{ type: 'router:image_generation', parameters }] as const;
  return saidBothWays(bench.router, hello({ tools }));
}

function service(upstream: Upstream, more: object = {}): ImageGenerator {
  return openaiImages({ apiKey: 'key-1', baseURL: upstream.baseURL, ...more });
}

describe('router:image_generation with an image service', () => {
  it('sends the prompt and the options, and adds the cost', async () => {
    await using upstream = await startUpstream(images);
    const said = await paint(service(upstream, { price: { prompt: 5, completion: 40 } }), {
      model: 'openai/gpt-image-9',
      quality: 'high',
      size: '1024x1024',
      background: 'transparent',
      output_format: 'webp',
      output_compression: 80,
      moderation: 'low',
      n: 2,
    });
    for (const { text, details, usage } of said) {
      expect(text).toBe('Here it is.');
      expect(toolResults(details)).toEqual([
        {
          status: 'ok',
          imageUrl: 'attached to the answer',
          imageUrls: ['attached to the answer', 'attached to the answer'],
        },
      ]);
      expect(usage?.cost_details?.server_tool_cost).toBe(0.165);
    }
    const [request] = upstream.requests;
    expect(request?.headers.authorization).toBe('Bearer key-1');
    expect(request?.body).toEqual({
      model: 'gpt-image-9',
      prompt: 'A red boat',
      quality: 'high',
      size: '1024x1024',
      background: 'transparent',
      output_format: 'webp',
      output_compression: 80,
      moderation: 'low',
      n: 2,
    });
  });

  it('puts the images into the answer, whole and streamed', async () => {
    await using upstream = await startUpstream(images);
    const serverTools = [imageGenerationTool({ generator: service(upstream) })];
    const { router } = pluginBench(painter().script, { serverTools });
    const tools = [{ type: 'router:image_generation', parameters: { output_format: 'jpeg' } }] as const;
    const expected = [{ type: 'image_url', image_url: { url: `data:image/jpeg;base64,${PNG}` } }];
    const whole = await router.chat(hello({ tools }));
    expect(whole.choices[0]?.message.images).toEqual(expected);
    const { chunks } = await streamed(router, hello({ tools }));
    expect(chunks.flatMap((chunk) => chunk.choices[0]?.delta.images ?? [])).toEqual(expected);
    expect(JSON.stringify(whole.choices[0]?.message.reasoning_details)).not.toContain(PNG);
  });

  it('takes addresses as they are, and a price per image', async () => {
    await using upstream = await startUpstream((_request, response) =>
      sendJson(response, 200, { data: [{ url: 'https://img.example/1.png' }, { url: 'file:///etc/passwd' }, {}] }),
    );
    for (const { details, usage } of await paint(service(upstream, { pricePerImage: 0.04 }))) {
      expect(toolResults(details)).toEqual([{ status: 'ok', imageUrl: 'https://img.example/1.png' }]);
      expect(usage?.cost_details?.server_tool_cost).toBe(0.04);
    }
  });

  it.each<readonly [string, UpstreamHandler, string]>([
    ['refuses the key', failWith(401, { error: { message: 'Incorrect API key: key-1' } }), 'does not accept the key'],
    ['is called too often', failWith(429), 'called too often'],
    ['breaks', failWith(500), 'answered 500'],
    ['gives no image', (_request, response) => sendJson(response, 200, { data: [] }), 'gave no image'],
    ['gives no JSON', (_request, response) => void response.end('<html>'), 'not JSON'],
  ])('tells the model when the service %s, and no key', async (_what, handler, error) => {
    await using upstream = await startUpstream(handler);
    const [said] = await paint(service(upstream));
    expect(said?.text).toBe('Here it is.');
    expect(toolResults(said?.details ?? [])).toEqual([
      { status: 'error', error: expect.stringContaining(error) as string },
    ]);
    expect(JSON.stringify(said)).not.toContain('key-1');
  });

  it('refuses keys and addresses that cannot be right, at the start', () => {
    expect(() => openaiImages({ apiKey: 'two words' })).toThrow(ConfigError);
    expect(() => openaiImages({ apiKey: 'k', baseURL: 'ftp://x' })).toThrow('openaiImages.baseURL');
  });
});

describe('router:image_generation with a model of the router', () => {
  const upstreamHandler: UpstreamHandler = ({ body }, response) => {
    const results = (body['messages'] as readonly { readonly role: string }[]).filter(({ role }) => role === 'tool');
    const painted = {
      content: '',
      images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }],
    };
    const calls = [
      { id: 'c', type: 'function', function: { name: 'image_generation', arguments: '{"prompt":"A red boat"}' } },
    ];
    const message =
      body['model'] === 'brush'
        ? painted
        : results.length > 0
          ? { content: 'Here it is.' }
          : { content: null, tool_calls: calls };
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }];
    sendJson(response, 200, { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage });
  };

  it('asks it through the router, named or not, and counts what it used', async () => {
    await using upstream = await startUpstream(upstreamHandler);
    const router: Router = createRouter({
      providers: [
        openaiCompatible({
          slug: 'up',
          baseURL: upstream.baseURL,
          models: {
            'acme/one': { price: { prompt: 1, completion: 2 } },
            'acme/brush': {
              upstreamModel: 'brush',
              price: { prompt: 10, completion: 10 },
              inputModalities: ['text'],
              outputModalities: ['image', 'text'],
            },
          },
        }),
      ],
      serverTools: [imageGenerationTool()],
    });
    for (const parameters of [{}, { model: 'acme/brush', aspect_ratio: '16:9' }]) {
      upstream.requests.length = 0;
      const answer = await router.chat(hello({ tools: [{ type: 'router:image_generation', parameters }] }));
      expect(answer.choices[0]?.message).toMatchObject({
        content: 'Here it is.',
        images: [{ image_url: { url: `data:image/png;base64,${PNG}` } }],
      });
      expect(answer.usage).toMatchObject({ total_tokens: 60, cost: 0.00026 });
      const brush = upstream.requests.find(({ body }) => body['model'] === 'brush');
      expect(brush?.body).toMatchObject({ modalities: ['image', 'text'], messages: [{ content: 'A red boat' }] });
      expect(brush?.body['image_config']).toEqual('model' in parameters ? { aspect_ratio: '16:9' } : undefined);
    }
    await router.close();
  });

  it('says what to configure when there is neither', async () => {
    const bench = pluginBench(painter().script, { serverTools: [imageGenerationTool({ generator: undefined })] });
    const [said] = await saidBothWays(bench.router, hello({ tools: [{ type: 'router:image_generation' }] }));
    expect(toolResults(said?.details ?? [])).toEqual([
      { status: 'error', error: expect.stringContaining('imageGenerationTool()') as string },
    ]);
  });

  it.each([
    [{ output_compression: 101 }, 'tools[0].parameters.output_compression'],
    [{ n: 0 }, 'tools[0].parameters.n'],
    [{ quality: 7 }, 'tools[0].parameters.quality'],
  ])('refuses %j', async (parameters, path) => {
    const bench = pluginBench('Hi', { serverTools: defaultServerTools() });
    const tools = [{ type: 'router:image_generation', parameters }] as const;
    await expect(bench.router.chat(hello({ tools }))).rejects.toMatchObject({ status: 400, metadata: { path } });
  });
});
