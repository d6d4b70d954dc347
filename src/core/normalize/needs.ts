import type { ParameterName, ToolChoiceKind } from '../../catalog/model.ts';
import type { ToolChoice } from '../../protocol/tools.ts';
import type { Needs, NormalizedRequest } from './normalized-request.ts';
import { fewestTokens, surveyPrompt } from './token-estimate.ts';

type Asking = Pick<
  NormalizedRequest,
  'messages' | 'parameters' | 'tools' | 'toolChoice' | 'responseFormat' | 'reasoning' | 'outputModalities'
>;

/** Derives what an endpoint must be able to do from what the request uses. */
export function deriveNeeds(asking: Asking): Needs {
  const prompt = surveyPrompt(asking.messages);
  return {
    inputModalities: prompt.modalities,
    outputModalities: (asking.outputModalities ?? []).filter((modality) => modality !== 'text'),
    tools: asking.tools.length > 0,
    toolChoice: asking.tools.length > 0 ? kindOf(asking.toolChoice) : undefined,
    parameters: usedParameters(asking),
    promptTokens: fewestTokens(prompt.characters, prompt.dense),
    outputTokens: asking.parameters.max_completion_tokens,
    images: prompt.images,
  };
}

function kindOf(choice: ToolChoice | undefined): ToolChoiceKind | undefined {
  if (choice === undefined) return undefined;
  return typeof choice === 'string' ? choice : 'function';
}

/** Names of the vocabulary of supported parameters, as `require_parameters` compares them. */
function usedParameters(asking: Asking): readonly ParameterName[] {
  const used = Object.keys(asking.parameters) as ParameterName[];
  if (asking.tools.length > 0) used.push('tools');
  if (asking.toolChoice !== undefined) used.push('tool_choice');
  if (asking.reasoning !== undefined) used.push('reasoning');
  const format = asking.responseFormat?.type;
  if (format === 'json_schema') used.push('structured_outputs');
  else if (format !== undefined && format !== 'text') used.push('response_format');
  return used;
}
