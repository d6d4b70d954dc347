import * as z from 'zod';

/** Everything that a request for `generateContent` may hold; what is not listed is refused, as Google does it. */

const base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'is not base64');
const inlineData = z.strictObject({ mimeType: z.string().regex(/^[a-z]+\/[\w.+;=-]+$/i), data: base64 });
const fileData = z.strictObject({
  mimeType: z.string().min(1).optional(),
  fileUri: z.string().regex(/^(?:https|gs):\/\//),
});
const functionName = z.string().regex(/^[A-Za-z_][\w.:-]{0,63}$/);
const jsonObject = z.record(z.string(), z.unknown());

const functionCall = z.strictObject({ id: z.string().min(1).optional(), name: functionName, args: jsonObject });
const functionResponse = z.strictObject({
  id: z.string().min(1).optional(),
  name: functionName,
  response: jsonObject,
  parts: z.array(z.strictObject({ inlineData })).min(1).optional(),
});

const thoughtSignature = z.string().min(1).optional();

/** Exactly one kind of data in each part, and no empty text unless it carries a signature. */
const part = z.union([
  z
    .strictObject({ text: z.string(), thought: z.literal(true).optional(), thoughtSignature })
    .refine(({ text, thoughtSignature: signature }) => text !== '' || signature !== undefined, 'says nothing'),
  z.strictObject({ inlineData, thoughtSignature }),
  z.strictObject({ fileData, thoughtSignature }),
  z.strictObject({ functionCall, thoughtSignature }),
  z.strictObject({ functionResponse }),
]);

type Part = z.infer<typeof part>;

const content = z.strictObject({ role: z.enum(['user', 'model']), parts: z.array(part).min(1) });

/** Users and model take turns, and each says what only it can say. */
const contents = z
  .array(content)
  .min(1)
  .refine((turns) => turns.every(({ role }, index) => index === 0 || turns[index - 1]?.role !== role), 'must alternate')
  .refine(
    (turns) => turns.every(({ role, parts }) => role === 'model' || !parts.some(isModelsOwn)),
    'only the model thinks and calls',
  )
  .refine(
    (turns) => turns.every(({ role, parts }) => role === 'user' || !parts.some((one) => 'functionResponse' in one)),
    'only users answer calls',
  );

function isModelsOwn(one: Part): boolean {
  return 'functionCall' in one || ('text' in one && one.thought === true);
}

/** Keywords that Google refuses, wherever a schema may stand. */
function isCleanSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isCleanSchema);
  if (typeof schema !== 'object' || schema === null) return true;
  return Object.entries(schema).every(([keyword, value]) => {
    if (['$schema', 'const', 'definitions', 'nullable', 'allOf'].includes(keyword)) return false;
    if (['properties', '$defs', 'patternProperties'].includes(keyword)) {
      return Object.values(value as object).every(isCleanSchema);
    }
    if (['enum', 'default', 'examples', 'required'].includes(keyword)) return true;
    return isCleanSchema(value);
  });
}

const jsonSchema = jsonObject.refine(isCleanSchema, 'holds a keyword that Google refuses');

const functionDeclaration = z.strictObject({
  name: functionName,
  description: z.string().optional(),
  parametersJsonSchema: jsonSchema.refine((schema) => Object.keys(schema).length > 0).optional(),
});

const tool = z.union([
  z.strictObject({ functionDeclarations: z.array(functionDeclaration).min(1) }),
  z.strictObject({ googleSearch: z.strictObject({}) }),
]);

const functionCallingConfig = z
  .strictObject({
    mode: z.enum(['AUTO', 'ANY', 'NONE', 'VALIDATED']),
    allowedFunctionNames: z.array(functionName).min(1).optional(),
  })
  .refine(({ mode, allowedFunctionNames: names }) => names === undefined || mode === 'ANY' || mode === 'VALIDATED');

const thinkingConfig = z
  .strictObject({
    includeThoughts: z.boolean().optional(),
    thinkingLevel: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
    thinkingBudget: z.int().min(-1).max(32_768).optional(),
  })
  .refine(({ thinkingLevel: level, thinkingBudget: budget }) => level === undefined || budget === undefined);

const generationConfig = z
  .strictObject({
    temperature: z.number().min(0).max(2),
    topP: z.number().min(0).max(1),
    topK: z.int().min(1),
    maxOutputTokens: z.int().min(1),
    stopSequences: z.array(z.string()).max(5),
    seed: z
      .int()
      .min(-(2 ** 31))
      .max(2 ** 31 - 1),
    frequencyPenalty: z.number(),
    presencePenalty: z.number(),
    responseLogprobs: z.boolean(),
    logprobs: z.int().min(0).max(20),
    responseMimeType: z.enum(['application/json', 'text/plain']),
    responseJsonSchema: jsonSchema,
    responseModalities: z.array(z.enum(['TEXT', 'IMAGE', 'AUDIO'])).min(1),
    thinkingConfig,
    mediaResolution: z.string(),
    imageConfig: z.strictObject({ aspectRatio: z.unknown().optional(), imageSize: z.unknown().optional() }),
    speechConfig: z.strictObject({
      voiceConfig: z.strictObject({ prebuiltVoiceConfig: z.strictObject({ voiceName: z.string() }) }),
    }),
  })
  .partial()
  .refine(({ responseJsonSchema: schema, responseMimeType: type }) => schema === undefined || type !== undefined);

/** The body of a request for `generateContent` or `streamGenerateContent`. */
export const geminiBodySchema = z
  .strictObject({
    contents,
    systemInstruction: z
      .strictObject({ parts: z.array(z.strictObject({ text: z.string().min(1) })).min(1) })
      .optional(),
    tools: z.array(tool).min(1).optional(),
    toolConfig: z.strictObject({ functionCallingConfig }).optional(),
    generationConfig: generationConfig.optional(),
    safetySettings: z.array(z.strictObject({ category: z.string(), threshold: z.string() })).optional(),
    cachedContent: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    serviceTier: z.enum(['standard', 'flex', 'priority']).optional(),
  })
  .refine(
    ({ cachedContent: cached, systemInstruction, tools, toolConfig }) =>
      cached === undefined || (systemInstruction ?? tools ?? toolConfig) === undefined,
    'a cache holds instructions and tools already',
  )
  .refine(({ tools, toolConfig }) => toolConfig === undefined || tools !== undefined, 'no choice without tools');

/** A request's body. */
export type GeminiBody = z.infer<typeof geminiBodySchema>;
