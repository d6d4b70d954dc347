/** A JSON object that a test takes apart. */
export type Body = Record<string, unknown>;

/** The shortest body that is a chat request. */
export function smallBody(fields: Body = {}): Body {
  return { messages: [{ role: 'user', content: 'Hello' }], ...fields };
}

/** A body whose only message has this content. */
export function bodyOfContent(content: unknown): Body {
  return { messages: [{ role: 'user', content }] };
}

/** A body that uses every field of the contract, and every role and content part. */
export function fullBody(): Body {
  return structuredClone(FULL);
}

/** Puts a value at a path such as `messages[2].content[0].text`, in place. */
export function setAt(body: Body, path: string, value: unknown): Body {
  const steps = stepsOf(path);
  const last = steps.pop() ?? '';
  let target: Record<PropertyKey, unknown> = body;
  for (const step of steps) target = (target[step] ??= {}) as Record<PropertyKey, unknown>;
  target[last] = value;
  return body;
}

/** The value at a path, or undefined. */
export function valueAt(body: unknown, path: string): unknown {
  return stepsOf(path).reduce<unknown>(
    (value, step) => (value as Record<PropertyKey, unknown> | undefined)?.[step],
    body,
  );
}

function stepsOf(path: string): (string | number)[] {
  return [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
}

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

const FULL: Body = {
  messages: [
    { role: 'system', content: 'Be brief.', name: 'ops', cache_control: { type: 'ephemeral' } },
    {
      role: 'developer',
      content: [
        {
          type: 'text',
          text: 'Answer in English.',
          cache_control: { type: 'ephemeral', ttl: '1h' },
          prompt_cache_breakpoint: { mode: 'explicit' },
        },
      ],
      configuration_update: { reasoning: { effort: 'low' } },
    },
    {
      role: 'user',
      name: 'ada',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: PIXEL, detail: 'original' } },
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'video_url', video_url: { url: 'https://example.com/a.mp4', processing: 'static' } },
        { type: 'input_video', video_url: { url: 'https://example.com/b.mp4' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
        { type: 'file', file: { file_id: 'file_1' } },
      ],
    },
    {
      role: 'assistant',
      name: 'bot',
      content: [
        { type: 'text', text: 'Let me look.' },
        { type: 'refusal', refusal: 'No.' },
      ],
      refusal: null,
      reasoning: 'Look first.',
      reasoning_details: [{ type: 'reasoning.text', text: 'Look first.', signature: 'abc', index: 0 }],
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } }],
      images: [{ type: 'image_url', image_url: { url: PIXEL } }],
      audio: { id: 'audio_1' },
      model: 'acme/one',
      annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }],
      cache_control: { type: 'ephemeral', ttl: '5m' },
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'A pixel.', name: 'look' },
    { role: 'assistant', content: null, reasoning_content: 'A pixel, then.' },
    { role: 'user', content: 'And now?' },
  ],
  model: 'acme/one',
  models: ['acme/two', 'acme/three'],
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.5,
  top_p: 0.9,
  top_k: 40,
  min_p: 0.05,
  top_a: 0.1,
  frequency_penalty: -1,
  presence_penalty: 1,
  repetition_penalty: 1.1,
  logit_bias: { '50256': -100 },
  logprobs: true,
  top_logprobs: 5,
  max_completion_tokens: 100,
  max_tokens: 90,
  seed: 7,
  stop: ['END'],
  user: 'ada',
  session_id: 'session-1',
  metadata: { team: 'search' },
  modalities: ['text', 'audio'],
  audio: { voice: 'alloy', format: 'wav' },
  parallel_tool_calls: false,
  tools: [
    {
      type: 'function',
      function: { name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: true },
      cache_control: { type: 'ephemeral' },
    },
    { type: 'router:datetime', parameters: { timezone: 'UTC' } },
  ],
  tool_choice: { type: 'function', function: { name: 'look' } },
  max_tool_calls: 3,
  response_format: { type: 'json_schema', json_schema: { name: 'answer', description: 'd', schema: {}, strict: true } },
  reasoning: { effort: 'high', enabled: true, exclude: false, summary: 'auto', context: 'auto', mode: 'standard' },
  reasoning_effort: 'high',
  include_reasoning: true,
  verbosity: 'low',
  service_tier: 'flex',
  prediction: { type: 'content', content: [{ type: 'text', text: 'A pixel' }] },
  cache_control: { type: 'ephemeral', ttl: '1h' },
  prompt_cache_key: 'key-1',
  prompt_cache_options: { mode: 'explicit', ttl: '30m' },
  image_config: { aspect_ratio: '16:9', size: 2, colors: [1] },
  web_search_options: { search_context_size: 'low' },
  debug: { echo_upstream_body: true },
  provider: {
    order: ['up'],
    only: ['up'],
    ignore: ['down'],
    allow_fallbacks: true,
    require_parameters: false,
    data_collection: 'allow',
    zdr: false,
    enforce_distillable_text: false,
    regions: ['eu'],
    quantizations: ['fp8'],
    sort: { by: 'price', partition: 'none' },
    max_price: { prompt: 1, completion: '2.5', request: 0, image: 0.1, audio: '0' },
    preferred_min_throughput: { p50: 10, p90: 5 },
    preferred_max_latency: 2,
  },
  plugins: [{ id: 'web', enabled: false, max_results: 3 }],
  preset: 'short',
  route: 'fallback',
  stop_server_tools_when: [{ type: 'step_count_is', step_count: 2 }],
  trace: { trace_id: 't1', span_name: 's', extra: { any: 'thing' } },
  transforms: ['middle-out'],
  vendor_setting: { passes: 'through' },
};
