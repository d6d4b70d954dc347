/** The one table of request parameters that a vendor or an API format cannot express. */
import type { BuiltInProvider } from '../options/names.ts';
import { type ParameterName, SUPPORTED_PARAMETERS } from './model.ts';

/**
 * Who has no words for a parameter of chat completions: vendors, with `local` for servers of one's own; `responses` for
 * OpenAI's Responses API; and `messages` for bodies of the Messages API, which have no field of that name, whatever
 * says it there. The one place that says so: what routing excludes, what records of vendors refuse and what bodies of
 * other formats cannot say is written from it. The compiler requires a row for each parameter.
 */
const LACKED_BY = {
  temperature: '',
  top_p: '',
  top_k: 'openai azure groq deepseek mistral xai responses',
  min_p: 'openai azure anthropic google groq deepseek mistral xai responses messages',
  top_a: 'openai azure anthropic google groq together fireworks deepinfra deepseek mistral xai responses messages',
  frequency_penalty: 'anthropic responses messages cerebras minimax zhipu',
  presence_penalty: 'anthropic responses messages cerebras minimax zhipu',
  repetition_penalty: 'openai azure anthropic google groq deepseek mistral xai responses messages',
  max_tokens: '',
  max_completion_tokens: 'messages',
  logit_bias: 'anthropic google groq deepseek mistral responses messages cerebras cohere minimax',
  logprobs: 'anthropic groq mistral messages',
  top_logprobs: 'anthropic groq mistral messages cohere',
  prediction: 'anthropic google groq together deepinfra deepseek xai local responses messages cohere',
  seed: 'anthropic deepseek responses messages',
  response_format: 'messages',
  structured_outputs: '',
  stop: 'responses messages',
  tools: '',
  tool_choice: '',
  parallel_tool_calls: 'google messages cohere',
  include_reasoning: 'messages',
  reasoning: 'messages',
  reasoning_effort: 'messages',
  web_search_options: 'local messages',
  verbosity: 'google groq together fireworks deepinfra deepseek mistral xai local messages',
} as const satisfies Readonly<Record<(typeof SUPPORTED_PARAMETERS)[number], string>>;

/** Who may lack a parameter. */
type Lacking = Names<(typeof LACKED_BY)[keyof typeof LACKED_BY]>;

type Names<Row> = Row extends `${infer First} ${infer Rest}` ? First | Names<Rest> : Exclude<Row, ''>;

/** The parameters that a vendor or an API has no words for. None are known of vendors that are not in the table. */
export function parametersLackedBy(name: Lacking | BuiltInProvider): readonly ParameterName[] {
  return SUPPORTED_PARAMETERS.filter((parameter) => LACKED_BY[parameter].split(' ').includes(name));
}
