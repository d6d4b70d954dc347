import * as z from 'zod';

const cacheControl = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() });
const marked = { cache_control: cacheControl.optional() };
const filled = z.string().refine((text) => text.trim() !== '', 'must not be blank');
const toolId = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);

const text = z.strictObject({ type: z.literal('text'), text: filled, ...marked });
const image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('url'), url: z.string().regex(/^https?:/) }),
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z.base64().min(1),
    }),
  ]),
  ...marked,
});
const document = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('url'), url: z.string().regex(/^https?:/) }),
    z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: z.base64().min(1) }),
    z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    z.strictObject({ type: z.literal('file'), file_id: z.string().startsWith('file_') }),
  ]),
  title: z.string().optional(),
  ...marked,
});
const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: toolId,
  content: z.union([filled, z.array(z.discriminatedUnion('type', [text, image, document])).min(1)]).optional(),
  is_error: z.literal(true).optional(),
  ...marked,
});
const thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) });
const redacted = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() });
const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: toolId,
  name: toolName,
  input: z.record(z.string(), z.unknown()),
  ...marked,
});

const turn = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.array(z.discriminatedUnion('type', [text, image, document, toolResult])).min(1),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.array(z.discriminatedUnion('type', [text, thinking, redacted, toolUse])).min(1),
  }),
  z.strictObject({ role: z.literal('system'), content: z.array(text).min(1) }),
]);

const tool = z.strictObject({
  name: toolName,
  description: z.string().min(1).optional(),
  input_schema: z.looseObject({ type: z.literal('object') }),
  strict: z.literal(true).optional(),
  ...marked,
});

const single = { disable_parallel_tool_use: z.literal(true).optional() };
const shape = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(turn).min(1),
  system: z.array(text).min(1).optional(),
  tools: z.array(tool).min(1).optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), ...single }),
      z.strictObject({ type: z.literal('any'), ...single }),
      z.strictObject({ type: z.literal('tool'), name: toolName, ...single }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  thinking: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1_024) }),
      z.strictObject({ type: z.literal('adaptive'), display: z.enum(['summarized', 'omitted']).optional() }),
      z.strictObject({ type: z.literal('disabled') }),
      z.strictObject({ type: z.literal('between_tools') }),
    ])
    .optional(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: z.looseObject({}) }).optional(),
    })
    .optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(1).optional(),
  stop_sequences: z.array(filled).min(1).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  cache_control: cacheControl.optional(),
  metadata: z.strictObject({ user_id: z.string() }),
  stream: z.literal(true).optional(),
});

/** A request body of the Messages API. */
export type MessagesBody = z.infer<typeof shape>;

/** Rules of the API that a shape alone cannot say, each with what breaks it. */
const RULES: Readonly<Record<string, (body: MessagesBody) => boolean>> = {
  'roles take turns and the user begins': ({ messages }) => {
    const spoken = messages.filter(({ role }) => role !== 'system');
    return spoken.every(({ role }, index) => role === (index % 2 === 0 ? 'user' : 'assistant'));
  },
  'a system message stands behind a user, at the end or before an answer': ({ messages }) =>
    messages.every(
      ({ role }, index) =>
        role !== 'system' ||
        (messages[index - 1]?.role === 'user' && (messages[index + 1]?.role ?? 'assistant') === 'assistant'),
    ),
  'ids of calls are unique': ({ messages }) => {
    const ids = callsOf(messages);
    return new Set(ids).size === ids.length;
  },
  'every call is answered once, right behind it and before anything else': ({ messages }) =>
    messages.every((message, index) => {
      const results = messages[index + 1]?.content.map(resultId) ?? [];
      const leading = results.slice(0, results.indexOf(undefined) < 0 ? undefined : results.indexOf(undefined));
      const answered = results.filter((id) => id !== undefined);
      if (message.role === 'user' && index === 0 && message.content.some((block) => resultId(block) !== undefined)) {
        return false;
      }
      return (
        answered.length === leading.length &&
        JSON.stringify(callsOf([message]).toSorted()) === JSON.stringify(answered.toSorted())
      );
    }),
  'calls come with tools': ({ messages, tools }) => callsOf(messages).length === 0 || tools !== undefined,
  'a choice comes with tools, and names one of them': ({ tools = [], tool_choice: choice }) =>
    choice === undefined ||
    (tools.length > 0 && (choice.type !== 'tool' || tools.some(({ name }) => name === choice.name))),
  'a budget is smaller than the limit': ({ thinking: plan, max_tokens: most }) =>
    plan?.type !== 'enabled' || plan.budget_tokens < most,
  'a budget goes with no forced call': ({ thinking: plan, tool_choice: choice }) =>
    plan?.type !== 'enabled' || (choice?.type !== 'any' && choice?.type !== 'tool'),
  'thinking goes without sampling': ({ thinking: plan, temperature, top_p: topP, top_k: topK }) =>
    (plan?.type !== 'enabled' && plan?.type !== 'adaptive') || (temperature ?? topP ?? topK) === undefined,
  'there are at most four cache marks': (body) => marksOf(body).length <= 4,
  'no cache mark of an hour stands behind one of minutes': (body) => {
    const hours = marksOf(body).map((ttl) => ttl === '1h');
    return hours.lastIndexOf(true) < (hours.includes(false) ? hours.indexOf(false) : hours.length);
  },
  'an answer to go on with does not end in a space': ({ messages }) => {
    const last = messages.at(-1);
    const block = last?.content.at(-1);
    return last?.role !== 'assistant' || block?.type !== 'text' || block.text === block.text.trimEnd();
  },
};

/** Everything that the API would refuse about a body; empty when it would take it. */
export function problemsOfBody(body: unknown): readonly string[] {
  const parsed = shape.safeParse(body);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  return Object.entries(RULES).flatMap(([rule, holds]) => (holds(parsed.data) ? [] : [`does not hold: ${rule}`]));
}

type AnyBlock = MessagesBody['messages'][number]['content'][number];

function callsOf(messages: readonly MessagesBody['messages'][number][]): readonly string[] {
  return messages.flatMap(({ content }) =>
    (content as readonly AnyBlock[]).flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
  );
}

function resultId(block: AnyBlock): string | undefined {
  return block.type === 'tool_result' ? block.tool_use_id : undefined;
}

/** Lifetimes of all marks in the order in which they count. */
function marksOf({ tools = [], system = [], messages, cache_control: whole }: MessagesBody): readonly string[] {
  const blocks = [...tools, ...system, ...messages.flatMap(({ content }) => content as readonly AnyBlock[])];
  const marks = [...blocks.map((block) => ('cache_control' in block ? block.cache_control : undefined)), whole];
  return marks.flatMap((mark) => (mark === undefined ? [] : [mark.ttl ?? '5m']));
}
