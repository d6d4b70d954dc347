import * as z from 'zod';
import type { SpecVersion } from 'signalbox';

const SCHEMAS = new Map<SpecVersion, z.ZodType>();

/**
 * What a model of each version may be called with, written down by hand and strict: a member that the interface does
 * not have is an error, and so is the form of another version.
 */
export function callSchema(version: SpecVersion): z.ZodType {
  const schema = SCHEMAS.get(version) ?? buildSchema(version);
  SCHEMAS.set(version, schema);
  return schema;
}

function buildSchema(version: SpecVersion): z.ZodType {
  const providerOptions = z.record(z.string().min(1), z.record(z.string(), z.json())).optional();
  const text = z.strictObject({ type: z.literal('text'), text: z.string(), providerOptions });
  const base64 = z.string().regex(/^(?!https?:|data:)/);
  const data =
    version === 'v4'
      ? z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('data'), data: base64 }),
          z.strictObject({ type: z.literal('url'), url: z.instanceof(URL) }),
          z.strictObject({ type: z.literal('reference'), reference: z.record(z.string(), z.string().min(1)) }),
        ])
      : z.union([base64, z.instanceof(URL)]);
  const mediaType = z.string().regex(version === 'v4' ? /^[a-z]+(?:\/[\w.+-]+)?$/ : /^[a-z]+\/(?:[\w.+-]+|\*)$/);
  const fullType = z.string().regex(/^[a-z]+\/[\w.+-]+$/);
  const filename = z.string().optional();
  const file = z.strictObject({ type: z.literal('file'), data, mediaType, filename, providerOptions });
  const reasoning = z.strictObject({ type: z.literal('reasoning'), text: z.string(), providerOptions });
  const toolCall = z.strictObject({
    type: z.literal('tool-call'),
    toolCallId: z.string().min(1),
    toolName: z.string().min(1),
    input: z.record(z.string(), z.json()),
    providerOptions,
  });
  const resultParts = {
    v2: [text, z.strictObject({ type: z.literal('media'), data: base64, mediaType: fullType })],
    v3: [
      text,
      z.strictObject({ type: z.enum(['image-data', 'file-data']), data: base64, mediaType: fullType, filename }),
      z.strictObject({ type: z.enum(['image-url', 'file-url']), url: z.url() }),
    ],
    v4: [text, file],
  } as const;
  const output = z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), value: z.string() }),
    z.strictObject({ type: z.literal('json'), value: z.json() }),
    z.strictObject({ type: z.literal('content'), value: z.array(z.union([...resultParts[version]])).min(1) }),
  ]);
  const toolResult = z.strictObject({
    type: z.literal('tool-result'),
    toolCallId: z.string().min(1),
    toolName: z.string().min(1),
    output,
    providerOptions,
  });
  const message = z.discriminatedUnion('role', [
    z.strictObject({ role: z.literal('system'), content: z.string().min(1), providerOptions }),
    z.strictObject({ role: z.literal('user'), content: z.array(z.union([text, file])), providerOptions }),
    z.strictObject({
      role: z.literal('assistant'),
      content: z.array(z.union([text, file, reasoning, toolCall])).min(1),
      providerOptions,
    }),
    z.strictObject({ role: z.literal('tool'), content: z.array(toolResult).min(1), providerOptions }),
  ]);
  const tool = z.strictObject({
    type: z.literal('function'),
    name: z.string().min(1),
    description: z.string().optional(),
    inputSchema: z.record(z.string(), z.json()),
    ...(version === 'v2' ? {} : { strict: z.boolean().optional() }),
    providerOptions,
  });
  const toolChoice = z.discriminatedUnion('type', [
    z.strictObject({ type: z.enum(['auto', 'none', 'required']) }),
    z.strictObject({ type: z.literal('tool'), toolName: z.string().min(1) }),
  ]);
  const responseFormat = z.strictObject({
    type: z.literal('json'),
    schema: z.record(z.string(), z.json()).optional(),
    name: z.string().optional(),
    description: z.string().optional(),
  });
  return z
    .strictObject({
      prompt: z.array(message),
      maxOutputTokens: z.int().optional(),
      temperature: z.number().optional(),
      topP: z.number().optional(),
      topK: z.number().min(1).optional(),
      presencePenalty: z.number().optional(),
      frequencyPenalty: z.number().optional(),
      seed: z.int().optional(),
      stopSequences: z.array(z.string()).optional(),
      responseFormat: responseFormat.optional(),
      tools: z.array(tool).min(1).optional(),
      toolChoice: toolChoice.optional(),
      headers: z.record(z.string(), z.string()).optional(),
      abortSignal: z.instanceof(AbortSignal),
      providerOptions,
      ...(version === 'v4'
        ? { reasoning: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional() }
        : {}),
    })
    .refine((call) => call.toolChoice === undefined || call.tools !== undefined, 'a choice of tools without tools');
}
