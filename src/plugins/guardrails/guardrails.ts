import { frozenCopy } from '../../core/pipeline/frozen.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { PluginContext } from '../../core/pipeline/plugin-context.ts';
import { anything, checkShape, flag, oneOf, type OptionShape, text } from '../../core/options/option-kinds.ts';
import { type Plugin, definePlugin } from '../../core/pipeline/plugin.ts';
import { ConfigError, RouterError } from '../../errors.ts';
import { type Guardrail, parseGuardrailOptions } from '../../protocol/guardrail-options.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { visitEach, visitMessage } from '../prompt/prompt-texts.ts';
import { visitAnswer } from './answer-texts.ts';
import { type Detector, detectorOf } from './detector.ts';
import { Scan } from './scan.ts';
import { blockingError, stagesOf } from './verdict.ts';

/** Options of {@link guardrails}. */
export interface GuardrailsOptions {
  /** Rules for everybody. Accounts add their own with `pluginDefaults: [{ id: 'guardrails', options }]`. */
  readonly rules?: readonly Guardrail[] | undefined;
  /** Id of the plugin, for programs that register more than one. Default `guardrails`. */
  readonly id?: string | undefined;
  /**
   * True: also looks at what plugins that were registered before put into a prompt, such as the text of PDFs and of web
   * pages, right before it goes to a provider. Requests in another dialect than chat then go out in the chat form.
   * Default false.
   */
  readonly prepared?: boolean | undefined;
  /** True: rules may look at answers; needed for rules of accounts that do. Default: when one of the rules does. */
  readonly answers?: boolean | undefined;
  /**
   * What becomes of streamed requests when a rule looks at answers, which it cannot do while they stream: `refuse`, or
   * answer them `unscanned`. Default `refuse`.
   */
  readonly streams?: 'refuse' | 'unscanned' | undefined;
}

/** Rules are checked by their schema. */
const OPTIONS: OptionShape<GuardrailsOptions> = {
  rules: anything,
  id: text,
  prepared: flag,
  answers: flag,
  streams: oneOf<NonNullable<GuardrailsOptions['streams']>>({ refuse: true, unscanned: true }),
};

/** Rules of one request, ready. */
interface ReadyRules {
  readonly requests: readonly Detector[];
  readonly answers: readonly Detector[];
}

/** Messages that were looked at already. */
interface Seen {
  readonly messages: WeakSet<Message>;
}

/**
 * The plugin `guardrails` (gaps 6.5, 7.4): looks for prompt injections, personal data and words of the program's own in
 * every request, and flags, redacts or blocks. Rules come from the program and its accounts; requests can neither
 * change them nor switch them off. What is redacted cannot be put back. Matched text is told nowhere.
 *
 * @throws {@link ConfigError} when a rule cannot be right.
 */
export function guardrails(options: GuardrailsOptions = {}): Plugin<ReadyRules, Seen> {
  checkShape(OPTIONS, options, 'guardrails');
  const { id = 'guardrails', rules = [], prepared = false, streams = 'refuse' } = options;
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

  return definePlugin<ReadyRules, Seen>({
    id,
    parseOptions,
    preventOverrides: true,
    whenItThrows: 'fail',
    failStatus: 503,
    timeoutMs: 30_000,
    runsUnasked: () => own.length > 0,

    async onRequest(request, { requests, answers }, context) {
      if (request.stream && answers.length > 0 && streams === 'refuse') return { type: 'block', error: noStreams() };
      const seen: Seen = { messages: new WeakSet() };
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
        } satisfies Pick<Plugin<ReadyRules, Seen>, 'onAttempt'>)
      : {}),

    ...(looksAtAnswers
      ? ({
          async onResult(result, _request, { answers }, context) {
            const scan = new Scan(answers, context.signal);
            const choices = await scan.run((visit) => visitAnswer(result.choices, visit));
            for (const stage of stagesOf(scan)) context.stage(stage);
            const error = blockingError(scan);
            if (error !== undefined) throw error;
            return { ...result, choices };
          },
        } satisfies Pick<Plugin<ReadyRules, Seen>, 'onResult'>)
      : {}),
  });
}

/** Looks at the messages that are new, and notes what was found. */
async function look(
  request: NormalizedRequest,
  detectors: readonly Detector[],
  seen: Seen,
  context: PluginContext<Seen>,
): Promise<{ readonly messages: readonly Message[]; readonly error: RouterError | undefined }> {
  const scan = new Scan(detectors, context.signal);
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
  return new RouterError({
    status: 400,
    errorType: 'invalid_request',
    message: 'stream must be false here: answers are looked through as a whole before they are given out',
    metadata: { path: 'stream' },
  });
}
