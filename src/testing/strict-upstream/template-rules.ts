/** What chat templates of open models refuse, whatever server renders them: each raises an exception. */
import * as read from '../../platform/json.ts';
import { type ChatMessage, messagesOf, partOf } from './chat-body.ts';
import type { ChatTemplate, StrictRule } from './rule.ts';

const QWEN = 'Qwen, chat template of Qwen3.5 and later';
const MISTRAL = 'Mistral, chat template of Mistral 7B Instruct v0.3 and later';
const LLAMA = 'Meta, chat template of Llama 3.1 and later';

/** Rules of one family of templates. */
function templateRules(template: ChatTemplate, rules: readonly Omit<StrictRule, 'template'>[]): readonly StrictRule[] {
  return rules.map((rule) => ({
    ...rule,
    id: `template-${template}/${rule.id}`,
    type: 'template',
    find: (request) => (request.template === template ? rule.find(request) : undefined),
  }));
}

/** Messages that take turns, as templates count them: without results, calls and a leading system message. */
function spoken(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const rest = messages[0]?.role === 'system' ? messages.slice(1) : messages;
  return rest.filter(({ role, calls }) => role !== 'tool' && calls.length === 0);
}

const NINE = /^[a-zA-Z0-9]{9}$/;

/** Rules of the templates of Qwen, Mistral, DeepSeek and Llama. */
export const TEMPLATE_RULES: readonly StrictRule[] = [
  ...templateRules('qwen', [
    {
      id: 'system-first',
      checks: 'a system message that is not the first of all, or a second one',
      words: 'System message must be at the beginning.',
      source: `${QWEN}; ggml-org/llama.cpp, issue 20733; ollama/ollama, issue 17774 and issue 18241; vllm-project/vllm, issue 41114`,
      date: '2026-09-04',
      find(request) {
        const wrong = messagesOf(request).find(({ at, role }) => role === 'system' && at > 0);
        return wrong && { at: wrong.at };
      },
    },
    {
      id: 'role',
      checks: 'another role than system, user, assistant and tool',
      words: 'Unexpected message role.',
      source: `${QWEN}; sgl-project/sglang, issue 40082`,
      date: '2026-09-18',
      find(request) {
        const wrong = messagesOf(request).find(({ role }) => !['system', 'user', 'assistant', 'tool'].includes(role));
        return wrong && { at: wrong.at };
      },
    },
    {
      id: 'user-missing',
      checks: 'a conversation without a message of the user',
      words: 'No user query found in messages.',
      source: `${QWEN}; vllm-project/vllm, issue 36432; langgenius/dify, issue 33152`,
      date: '2026-03-09',
      find: (request) => (messagesOf(request).some(({ role }) => role === 'user') ? undefined : {}),
    },
    {
      id: 'system-image',
      checks: 'a picture in a system message',
      words: 'System message cannot contain images.',
      source: `${QWEN}; langgenius/dify, issue 33152`,
      date: '2026-03',
      find: (request) => partOf(messagesOf(request), ({ type }, { role }) => role === 'system' && type === 'image_url'),
    },
  ]),
  ...templateRules('mistral', [
    {
      id: 'alternation',
      checks: 'users and assistants that do not take turns, or a system message behind the first one',
      words:
        'After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
      source: `${MISTRAL}; vllm-project/vllm, issue 6862; charmbracelet/crush, issue 279; sterlp/eclipse-peon-ai, issue 75`,
      date: '2026-01-14',
      find(request) {
        const wrong = spoken(messagesOf(request)).find(
          ({ role }, index) => (role === 'user') !== (index % 2 === 0) || (role !== 'user' && role !== 'assistant'),
        );
        return wrong && { at: wrong.at };
      },
    },
    {
      id: 'call-id',
      checks: 'an id of a call that is not nine letters and digits',
      words: 'Tool call IDs should be alphanumeric strings with length 9!',
      source: `${MISTRAL}; ggml-org/llama.cpp, pull request 10572`,
      date: '2024-12',
      find(request) {
        const wrong = messagesOf(request).find(({ role, calls, answers = '' }) =>
          role === 'tool' ? !NINE.test(answers) : calls.some(({ id }) => !NINE.test(id)),
        );
        return wrong && { at: wrong.at };
      },
    },
  ]),
  ...templateRules('llama', [
    {
      id: 'single-calls',
      checks: 'two calls in one message',
      words: 'This model only supports single tool-calls at once!',
      source: `${LLAMA}; vllm-project/vllm, documentation "Tool calling", and issue 11592`,
      date: '2024-12-29',
      find(request) {
        const wrong = messagesOf(request).find(({ calls }) => calls.length > 1);
        return wrong && { at: wrong.at };
      },
    },
    {
      id: 'first-user',
      checks: 'tools in a conversation with nothing but a system message',
      words: "Cannot put tools in the first user message when there's no first user message!",
      source: LLAMA,
      date: '2026-11',
      find(request) {
        const messages = messagesOf(request);
        const rest = messages[0]?.role === 'system' ? messages.slice(1) : messages;
        return read.list(request.body['tools']).length > 0 && rest.length === 0 ? {} : undefined;
      },
    },
  ]),
  ...templateRules('deepseek', [
    {
      id: 'content-null',
      checks: 'no content in a message other than an assistant with calls',
      words: 'can only concatenate str (not "NoneType") to str',
      source: 'DeepSeek, chat template of R1 and V3',
      date: '2026-11',
      find(request) {
        const wrong = messagesOf(request).find(
          ({ content, calls }) => (content === null || content === undefined) && calls.length === 0,
        );
        return wrong && { at: wrong.at };
      },
    },
  ]),
  ...(['mistral', 'deepseek', 'llama'] as const).flatMap((template) =>
    templateRules(template, [
      {
        id: 'content-list',
        checks: 'a list of parts in a message of a tool or an assistant, which is put behind a text as it is',
        words: 'can only concatenate str (not "list") to str',
        source: 'moeru-ai/airi, issue 1222; marimo-team/marimo, issue 7036; langchain-ai/langchain, issue 33965',
        date: '2025-11-14',
        find(request) {
          const wrong = messagesOf(request).find(
            ({ role, content }) => (role === 'tool' || role === 'assistant') && Array.isArray(content),
          );
          return wrong && { at: wrong.at };
        },
      },
    ]),
  ),
];
