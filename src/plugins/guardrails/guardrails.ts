/** The plugin `guardrails`: finds prompt injection, personal data and forbidden content. */
import { frozenCopy } from '../../core/pipeline/frozen.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { PluginContext } from '../../contracts/plugin-context.ts';
import { unknown, boolean, enumeration } from '../../schema/scalars.ts';
import { checkShape } from '../../platform/check-options.ts';
import { valueThat, type OptionShape, nonEmptyString } from '../../options/values.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import { ConfigError, errorOf, type RouterError } from '../../protocol/router-error.ts';
import { type Guardrail, parseGuardrailOptions } from '../../protocol/guardrail-options.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { type TextVisitor, visitCall, visitEach, visitMessage } from '../services/prompt-texts.ts';
import { type Detector, detectorOf } from './detector.ts';
import { blockingError, GuardrailScan, stagesOf } from './verdict.ts';
import { windowedStream } from './stream-window.ts';
import type { Choice, ResultMessage } from '../../protocol/chat-result.ts';

/** Options of {@link guardrails}. */
export interface GuardrailsOptions {
  /** Rules for everybody. Accounts add their own with `pluginDefaults: [{ id: 'guardrails', options }]`. */
  readonly rules?: readonly Guardrail[] | undefined;
  /** Id of the plugin, for programs that register more than one. Default `guardrails`. */
  readonly id?: string | undefined;
  /**
   * True: also looks at what plugins that were registered before put into a prompt, such as the text of PDFs and of web
   * pages, right before it goes to a provider. Requests in another API format than chat then go out in the chat form.
   * Default false.
   */
  readonly prepared?: boolean | undefined;
  /** True: rules may look at answers; needed for rules of accounts that do. Default: when one of the rules does. */
  readonly answers?: boolean | undefined;
  /**
   * What becomes of streams when a rule looks at answers. `window`: the newest {@link GuardrailsOptions.holdBack}
   * characters are held back, the rest goes on, and what is found is taken out or ends the stream with an error.
   * `refuse`: a request for a stream is a 400. `unscanned`: nothing is looked at. Default `window`.
   */
  readonly streams?: 'window' | 'refuse' | 'unscanned' | undefined;
  /**
   * Characters of a stream that are held back: no character of a finding that is not longer is ever sent. From 16.
   * Default 200.
   */
  readonly holdBack?: number | undefined;
}

/** Rules are checked by their schema. */
const OPTIONS: OptionShape<GuardrailsOptions> = {
  rules: unknown,
  id: nonEmptyString,
  prepared: boolean,
  answers: boolean,
  streams: enumeration<NonNullable<GuardrailsOptions['streams']>>(['window', 'refuse', 'unscanned']),
  holdBack: valueThat('a whole number from 16 up', (value) => Number.isInteger(value) && Number(value) >= 16),
};

/** Rules of one request, ready. */
interface ReadyRules {
  readonly requests: readonly Detector[];
  readonly answers: readonly Detector[];
}

/** Messages that were looked at already. */
interface ScreenedMessages {
  readonly messages: WeakSet<Message>;
}

/**
 * The plugin `guardrails` (gaps 6.5, 7.4): looks for prompt injections, personal data and words of the program's own in
 * every request, and flags, redacts or blocks. Rules come from the program and its accounts; requests can neither
 * change them nor switch them off. What is redacted cannot be put back. Matched text is in no message.
 *
 * @throws {@link ConfigError} when a rule cannot be right.
 */
export function guardrails(options: GuardrailsOptions = {}): Plugin<ReadyRules, ScreenedMessages> {
  checkShape(OPTIONS, options, 'guardrails');
  const { id = 'guardrails', rules = [], prepared = false, streams = 'window', holdBack = 200 } = options;
  const checked = parseGuardrailOptions({ rules } as unknown as JsonObject);
  if (!checked.ok) throw new ConfigError([{ path: `guardrails.${checked.path}`, problem: checked.problem }]);
  const own = rules.map((guardrail) => detectorOf(guardrail, 'router'));
  const looksAtAnswers = options.answers ?? own.some(isForAnswers);
  const ready = new WeakMap<readonly unknown[], readonly Detector[]>();

  /** Rules of an account are made ready once, not for each request. */
  function parseOptions(value: JsonObject): OptionsCheck<ReadyRules> {
    const { rules: raw } = value;
    const key = Array.isArray(raw) ? raw : undefined;
    const known = key === undefined ? undefined : ready.get(key);
    if (known !== undefined) return { ok: true, options: rulesOf([...own, ...known]) };
    const parsed = parseGuardrailOptions(value);
    if (!parsed.ok) return parsed;
    const more = (parsed.options.rules ?? []).map((guardrail) => detectorOf(guardrail, 'account'));
    const forAnswers = looksAtAnswers ? -1 : more.findIndex(isForAnswers);
    if (forAnswers >= 0) {
      const problem = 'must be "request", unless the program passes guardrails({ answers: true })';
      return { ok: false, path: `rules[${forAnswers}].on`, problem };
    }
    if (key !== undefined) ready.set(key, more);
    return { ok: true, options: rulesOf([...own, ...more]) };
  }

  return definePlugin<ReadyRules, ScreenedMessages>({
    id,
    parseOptions,
    preventOverrides: true,
    whenItThrows: 'fail',
    failStatus: 503,
    timeoutMs: 30_000,
    runsUnasked: () => own.length > 0,

    async onRequest(request, { requests, answers }, context) {
      if (request.stream && answers.length > 0 && streams === 'refuse') return { type: 'block', error: noStreams() };
      const seen: ScreenedMessages = { messages: new WeakSet() };
      const { messages, error } = await look(request, requests, seen, context);
      if (error !== undefined) return { type: 'block', error };
      return { type: 'continue', state: seen, change: messages === request.messages ? undefined : { messages } };
    },

    ...(prepared
      ? ({
          async onAttempt(request, _endpoint, { requests }, context) {
            const seen = context.state ?? { messages: new WeakSet<Message>() };
            const { messages, error } = await look(request, requests, seen, context);
            if (error !== undefined) throw error;
            return messages === request.messages ? undefined : { messages };
          },
        } satisfies Pick<Plugin<ReadyRules, ScreenedMessages>, 'onAttempt'>)
      : {}),

    ...(looksAtAnswers ? answerHooks(streams, holdBack) : {}),
  });
}

/** The hooks that look at answers. */
function answerHooks(
  streams: NonNullable<GuardrailsOptions['streams']>,
  holdBack: number,
): Required<Pick<Plugin<ReadyRules, ScreenedMessages>, 'onChunks' | 'onResult'>> {
  return {
    onChunks: (_request, { answers }, context) =>
      answers.length === 0 || streams !== 'window'
        ? undefined
        : windowedStream(answers, holdBack, (record) => context.stage(record)),

    async onResult(result, _request, { answers }, context) {
      const scan = new GuardrailScan(answers, context.signal);
      const choices = await scan.run((visit) => visitAnswer(result.choices, visit));
      for (const stage of stagesOf(scan)) context.stage(stage);
      const error = blockingError(scan);
      if (error !== undefined) throw error;
      return { ...result, choices };
    },
  };
}

/** Looks at the messages that are new, and notes what was found. */
async function look(
  request: NormalizedRequest,
  detectors: readonly Detector[],
  seen: ScreenedMessages,
  context: PluginContext<ScreenedMessages>,
): Promise<{ readonly messages: readonly Message[]; readonly error: RouterError | undefined }> {
  const scan = new GuardrailScan(detectors, context.signal);
  const visited = await scan.run((visit) =>
    visitEach(request.messages, (message, index) =>
      seen.messages.has(message) ? message : visitMessage(message, `messages[${index}]`, visit),
    ),
  );
  const messages = visited === request.messages ? visited : frozenCopy(visited);
  for (const message of messages) seen.messages.add(message);
  for (const stage of stagesOf(scan)) context.stage(stage);
  return { messages, error: blockingError(scan) };
}

function rulesOf(detectors: readonly Detector[]): ReadyRules {
  return {
    requests: detectors.filter(({ guardrail }) => guardrail.on !== 'response'),
    answers: detectors.filter(isForAnswers),
  };
}

function isForAnswers({ guardrail }: Detector): boolean {
  return guardrail.on === 'response' || guardrail.on === 'both';
}

function noStreams(): RouterError {
  return errorOf(400, 'stream must be false here: answers are looked through as a whole before they are given out', {
    metadata: { path: 'stream' },
  });
}

const ROLE = 'assistant';

/** Shows the texts of an answer to a visitor: content, refusal, reasoning, transcript and arguments of tool calls. */
function visitAnswer(choices: readonly Choice[], visit: TextVisitor): readonly Choice[] {
  return visitEach(choices, (choice, index) => {
    const message = visitResult(choice.message, `choices[${index}].message`, visit);
    // Tokens with their likelihoods would say again what was taken out.
    return message === choice.message ? choice : { ...choice, message, logprobs: null };
  });
}

function visitResult(message: ResultMessage, path: string, visit: TextVisitor): ResultMessage {
  const visited = (value: string | null, name: string): string | null =>
    value === null ? null : visit(value, { path: `${path}.${name}`, role: ROLE });
  const { reasoning_details: details, tool_calls: calls, audio } = message;
  const changed = {
    content: visited(message.content, 'content'),
    refusal: visited(message.refusal, 'refusal'),
    reasoning: visited(message.reasoning, 'reasoning'),
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
