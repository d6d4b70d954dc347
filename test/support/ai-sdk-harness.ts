import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createMistral } from '@ai-sdk/mistral';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type AiSdkEmbeddingModel, type AiSdkModel, fromAiSdk } from 'signalbox';
import { GEMINI_WIRE, MESSAGES_WIRE, MISTRAL_WIRE } from './ai-sdk-wires.ts';
import { CHAT_WIRE } from './chat-harness.ts';
import { CHECKED_KEY, type ScriptedWire, type WireHarness, wireHarness } from './wire-harness.ts';

/** A package of the AI SDK, and the wire that it speaks. */
export interface AiSdkPackage {
  readonly wire: ScriptedWire;
  readonly model: (baseURL: string, apiKey: string) => AiSdkModel;
}

/** Packages of the AI SDK by their names. */
export const AI_SDK_PACKAGES = {
  'openai-compatible': {
    wire: CHAT_WIRE,
    model: (baseURL, apiKey) =>
      createOpenAICompatible({
        name: 'own-server',
        baseURL,
        apiKey,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })('one'),
  },
  anthropic: {
    wire: MESSAGES_WIRE,
    model: (baseURL, apiKey) => createAnthropic({ baseURL, apiKey })('claude-sonnet-4-5'),
  },
  google: { wire: GEMINI_WIRE, model: (baseURL, apiKey) => createGoogle({ baseURL, apiKey })('gemini-2.5-flash') },
  mistral: {
    wire: MISTRAL_WIRE,
    model: (baseURL, apiKey) => createMistral({ baseURL, apiKey })('mistral-large-latest'),
  },
} as const satisfies Readonly<Record<string, AiSdkPackage>>;

/** Starts a {@link WireHarness} of a model of the AI SDK. */
export function aiSdkHarness({ wire, model }: AiSdkPackage): Promise<WireHarness> {
  return wireHarness(wire, (baseURL) =>
    fromAiSdk({
      slug: 'checked',
      models: {
        'acme/one': { model: model(baseURL, CHECKED_KEY), modelForKey: (apiKey) => model(baseURL, apiKey) },
      },
    }),
  );
}

/** Starts a {@link WireHarness} of an embedding model of the AI SDK. */
export function aiSdkEmbeddingHarness(
  wire: ScriptedWire,
  model: (baseURL: string, apiKey: string) => AiSdkEmbeddingModel,
): Promise<WireHarness> {
  return wireHarness(wire, (baseURL) =>
    fromAiSdk({
      slug: 'checked',
      models: {
        'acme/embed': { model: model(baseURL, CHECKED_KEY), modelForKey: (apiKey) => model(baseURL, apiKey) },
      },
    }),
  );
}
