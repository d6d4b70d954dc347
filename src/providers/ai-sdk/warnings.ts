/** Passes on and judges the warnings of the AI SDK. */
import type { ParameterName } from '../../catalog/model.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { isJsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';

/** Something that a model could not do as requested, in the words of the SDK. */
export interface AiSdkWarning {
  /** Slug of the provider in this router. */
  readonly provider: string;
  /** Id of the model in this router. */
  readonly model: string;
  /** `unsupported`, `compatibility`, `deprecated` or `other`. */
  readonly type: string;
  /** The option that it is about, if it is about one. */
  readonly feature?: string | undefined;
  readonly message?: string | undefined;
}

/** What a call does with the warnings that its model gives. */
export interface WarningSink {
  readonly request: Pick<RoutedRequest, 'needs' | 'preferences'>;
  readonly provider: string;
  readonly model: string;
  readonly onWarning: ((warning: AiSdkWarning) => void) | undefined;
}

/** Options of the interface to the parameters that they are made from. */
const PARAMETERS: Readonly<Record<string, readonly ParameterName[]>> = {
  maxOutputTokens: ['max_tokens', 'max_completion_tokens'],
  temperature: ['temperature'],
  topP: ['top_p'],
  topK: ['top_k'],
  presencePenalty: ['presence_penalty'],
  frequencyPenalty: ['frequency_penalty'],
  seed: ['seed'],
  stopSequences: ['stop'],
  responseFormat: ['response_format', 'structured_outputs'],
  tools: ['tools'],
  toolChoice: ['tool_choice'],
  reasoning: ['reasoning', 'reasoning_effort'],
  dimensions: ['dimensions'],
};

/**
 * Passes warnings on, and judges them: a parameter that the model ignored is a failure for a request that requires all
 * of its parameters, and nothing otherwise (gaps 2.6).
 */
export function judgeWarnings(warnings: unknown, sink: WarningSink): AttemptFailure | undefined {
  let refused: string | undefined;
  for (const value of read.list(warnings)) {
    const warning = readWarning(value, sink);
    if (warning === undefined) continue;
    if (warning.type === 'unsupported') refused ??= ignoredParameter(warning.feature, sink.request);
    warn(warning, sink);
  }
  if (refused === undefined || !sink.request.preferences.requireParameters) return undefined;
  return failure('unsupported_parameter', `The model does not take the parameter ${refused}`);
}

/** Version 2 has types of its own for what is not supported. */
function readWarning(value: unknown, { provider, model }: WarningSink): AiSdkWarning | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, feature, setting, tool, details, message } = value;
  const word = type === 'unsupported-setting' || type === 'unsupported-tool' ? 'unsupported' : read.text(type);
  const about = read.text(feature) ?? read.text(setting) ?? (tool === undefined ? undefined : 'tools');
  return { provider, model, type: word ?? 'other', feature: about, message: read.text(details) ?? read.text(message) };
}

function ignoredParameter(
  feature: string | undefined,
  { needs }: Pick<RoutedRequest, 'needs'>,
): ParameterName | undefined {
  const names = Object.hasOwn(PARAMETERS, feature ?? '') ? (PARAMETERS[feature ?? ''] ?? []) : [];
  return names.find((name) => needs.parameters.includes(name));
}

function warn(warning: AiSdkWarning, { onWarning }: WarningSink): void {
  try {
    onWarning?.(warning);
  } catch {
    // Whoever listens must not be able to break a request.
  }
}
