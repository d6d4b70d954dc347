/** A fake provider on a socket that refuses what the real one refuses, with its status and words. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { FaultExchange } from '../fault-upstream/exchange.ts';
import { startFaultUpstream } from '../fault-upstream/fault-upstream.ts';
import { type ChatTemplate, errorByRule, type StrictError, type StrictRequest, type StrictRule } from './rule.ts';
import { STRICT_VENDORS, type StrictApi, type StrictVendor, type StrictVendorFacts } from './vendors.ts';
import type { RecordedRequest } from '../fault-upstream/wire.ts';

/** Options of {@link strictUpstream}. */
export interface StrictUpstreamOptions {
  /** Chat template of the model, for servers of open models. Default `qwen`. */
  readonly template?: ChatTemplate | undefined;
  /** What a response says where the request forces no call and no JSON. Default `Fine.`. */
  readonly text?: string | undefined;
  /**
   * Context window of the models in tokens, counted as a quarter of the body's characters. Default 1,000,000, so that
   * only what is meant to be too long is.
   */
  readonly contextTokens?: number | undefined;
  /** Ids of rules that do not apply, such as `openai/max-tokens`. Default none. */
  readonly without?: readonly string[] | undefined;
}

/** A refusal that a strict upstream sent. */
export interface StrictRefusal {
  /** Number of the request, from 1. */
  readonly request: number;
  /** Id of the rule whose words were sent. */
  readonly rule: string;
  /** Ids of all rules that the request breaks. */
  readonly rules: readonly string[];
  readonly status: number;
  readonly message: string;
  /** Body of the request, as it came. */
  readonly body: unknown;
}

/** A server on loopback that plays a provider to the letter. */
export interface StrictUpstream extends AsyncDisposable {
  /** Address for a provider's `baseURL`, ending in `/v1`. */
  readonly baseURL: string;
  /** Every request so far. */
  readonly requests: readonly RecordedRequest[];
  /** How many requests it answered. */
  readonly accepted: number;
  /** Every refusal so far. */
  readonly refusals: readonly StrictRefusal[];
  /** Every rule that it checks. */
  readonly rules: readonly StrictRule[];
  /** Drops what was counted so far. */
  forget(): void;
  /** Closes all connections and the server. */
  close(): Promise<void>;
}

const DEFAULT_TEXT = 'Fine.';
const DEFAULT_CONTEXT = 1_000_000;
const GEMINI_MODEL = /\/models\/([^/:]+):\w+/;

/**
 * Starts a server on a free port of 127.0.0.1 that checks requests as a vendor does, by rules from public documents and
 * reports. What breaks a rule is refused with the vendor's status, error body and words; everything else gets a small
 * valid response, streaming where requested, with a call where one is forced. Runs on Node only.
 *
 * @param vendor - The vendor, or the server of open models; the API follows from the path of each request.
 * @throws RangeError when `without` names a rule that the vendor does not have.
 *
 * @example
 * ```ts
 * await using upstream = await strictUpstream('openai');
 * const router = createRouter({
 *   providers: [openai({ apiKey: 'test', baseURL: upstream.baseURL, models: { 'openai/gpt-4.1': {} } })],
 * });
 * await router.chat({ model: 'openai/gpt-4.1', messages });
 * console.log(upstream.accepted, upstream.refusals);
 * ```
 */
export async function strictUpstream(
  vendor: StrictVendor,
  options: StrictUpstreamOptions = {},
): Promise<StrictUpstream> {
  const facts: StrictVendorFacts = STRICT_VENDORS[vendor];
  const { text = DEFAULT_TEXT, template = 'qwen', contextTokens = DEFAULT_CONTEXT, without = [] } = options;
  const every = [...new Set(facts.apis.flatMap(({ rules }) => rules))];
  const unknown = without.find((id) => !every.some((rule) => rule.id === id));
  if (unknown !== undefined) throw new RangeError(`${vendor} has no rule "${unknown}"`);
  const rules = every.filter(({ id }) => !without.includes(id));
  const refusals: StrictRefusal[] = [];
  let accepted = 0;

  const refuse = (exchange: FaultExchange, error: StrictError, broken: readonly string[]): void => {
    const { request } = exchange;
    const { rule, status, message } = error;
    refusals.push({ request: request.number, rule, rules: broken, status, message, body: request.body });
    exchange.reply(status, facts.errorBody(error));
  };
  const play = (exchange: FaultExchange): void => {
    const { path, body: sent, method } = exchange.request;
    const api = facts.apis.find((one) => one.path.test(path));
    if (api === undefined || method !== 'POST') return refuse(exchange, UNKNOWN_PATH, [UNKNOWN_PATH.rule]);
    const body = isJsonObject(sent) ? sent : {};
    const request = { ...requestOf(body, path), template, contextTokens };
    const errors = brokenRules(api, request, without);
    const [first] = errors;
    if (first !== undefined)
      return refuse(
        exchange,
        first,
        errors.map(({ rule }) => rule),
      );
    accepted += 1;
    answer(exchange, api, request, text);
  };
  const server = await startFaultUpstream({ fault: { does: 'checks what it gets, and answers', play } });
  return {
    baseURL: server.baseURL,
    requests: server.requests,
    rules,
    refusals,
    get accepted() {
      return accepted;
    },
    forget() {
      server.forget();
      refusals.length = 0;
      accepted = 0;
    },
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

const UNKNOWN_PATH: StrictError = {
  rule: 'strict/path',
  status: 404,
  message: 'Invalid URL',
  code: undefined,
  param: undefined,
  type: undefined,
};

function requestOf(body: JsonObject, path: string): Pick<StrictRequest, 'body' | 'path' | 'model' | 'length'> {
  const model = read.text(body['model']) ?? GEMINI_MODEL.exec(path)?.[1] ?? 'unknown';
  return { body, path, model, length: JSON.stringify(body).length };
}

function brokenRules({ rules }: StrictApi, request: StrictRequest, without: readonly string[]): readonly StrictError[] {
  return rules.flatMap((rule) => {
    const finding = without.includes(rule.id) ? undefined : rule.find(request);
    return finding === undefined ? [] : [errorByRule(rule, finding)];
  });
}

function answer(
  { response }: FaultExchange,
  { answers }: StrictApi,
  { body, path, model }: StrictRequest,
  text: string,
): void {
  const said = answers.saidFor(body, text);
  const streamed = answers.streams(body, path);
  response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
  response.end(streamed ? answers.stream(said, model, body) : JSON.stringify(answers.completion(said, model, body)));
}
