import type { Choice, ResultMessage } from '../../protocol/chat-result.ts';
import { type TextVisitor, visitCall, visitEach } from '../prompt/prompt-texts.ts';

const ROLE = 'assistant';

/** Shows the texts of an answer to a visitor: content, refusal, reasoning, transcript and arguments of tool calls. */
export function visitAnswer(choices: readonly Choice[], visit: TextVisitor): readonly Choice[] {
  return visitEach(choices, (choice, index) => {
    const message = visitResult(choice.message, `choices[${index}].message`, visit);
    // Tokens with their likelihoods would say again what was taken out.
    return message === choice.message ? choice : { ...choice, message, logprobs: null };
  });
}

function visitResult(message: ResultMessage, path: string, visit: TextVisitor): ResultMessage {
  const text = (value: string | null, name: string): string | null =>
    value === null ? null : visit(value, { path: `${path}.${name}`, role: ROLE });
  const { reasoning_details: details, tool_calls: calls, audio } = message;
  const changed = {
    content: text(message.content, 'content'),
    refusal: text(message.refusal, 'refusal'),
    reasoning: text(message.reasoning, 'reasoning'),
  };
  const changedDetails =
    details && visitEach(details, (one, at) => visitDetail(one, `${path}.reasoning_details[${at}]`, visit));
  const changedCalls = calls && visitEach(calls, (one, at) => visitCall(one, `${path}.tool_calls[${at}]`, ROLE, visit));
  const spoken = audio?.transcript;
  const transcript = spoken === undefined ? undefined : visit(spoken, { path: `${path}.audio.transcript`, role: ROLE });
  const same =
    transcript === spoken &&
    changed.content === message.content &&
    changed.refusal === message.refusal &&
    changed.reasoning === message.reasoning &&
    changedDetails === details &&
    changedCalls === calls;
  if (same) return message;
  return {
    ...message,
    ...changed,
    // What was said can be heard as long as there is sound.
    ...(transcript === spoken ? {} : { audio: { ...audio, data: '', transcript: transcript ?? '' } }),
    ...(changedDetails === undefined ? {} : { reasoning_details: changedDetails }),
    ...(changedCalls === undefined ? {} : { tool_calls: changedCalls }),
  };
}

/** The texts of a reasoning detail; what is encrypted stays what it is. */
function visitDetail<Detail extends object>(detail: Detail, path: string, visit: TextVisitor): Detail {
  let changed = detail;
  for (const name of ['text', 'summary', 'arguments', 'result'] as const) {
    const value = (detail as { readonly [key: string]: unknown })[name];
    if (typeof value !== 'string') continue;
    const visited = visit(value, { path: `${path}.${name}`, role: ROLE });
    if (visited !== value) changed = { ...changed, [name]: visited };
  }
  return changed;
}
