import type { ToolContext, ToolOutcome } from '../../contracts/server-tool.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { Annotation } from '../../protocol/chat-result.ts';
import type { ContentPart } from '../../protocol/content-part.ts';
import { type FusionAnalysis, type FusionToolOptions, readFusionAnalysis } from '../../protocol/inner-model-options.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { UserMessage } from '../../protocol/message.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { ServerTool } from '../../protocol/tools.ts';
import { innerRequest, textOfAnswer, textOfMessage } from '../inner-call/helper-model.ts';
import { type ChosenTeam, DEFAULT_PRESET, FUSION_TOOL, type FusionTeams, chooseTeam } from './fusion.ts';
import {
  ANALYSIS_SCHEMA,
  ANALYST_INSTRUCTIONS,
  analystQuestion,
  askPanel,
  errorOfLoss,
  failedCall,
  isRefused,
  lostModels,
  type MemberAnswer,
  type PanelOutcome,
  reasonOfLoss,
} from './panel.ts';

/** What of a deliberation is the program's. */
interface DeliberationOptions {
  readonly teams: FusionTeams;
  readonly memberTimeoutMs: number;
  readonly analystTimeoutMs: number;
}

const DEFAULT_TOOL_CALLS = 4;
const DEFAULT_COMPLETION_TOKENS = 16_000;
/** Tools of a panel whose request names none, where the router has them. */
const DEFAULT_TOOLS: readonly ServerTool[] = [{ type: 'router:web_search' }, { type: 'router:web_fetch' }];

/** Puts the question to a panel and compares what it says; loaded by the first call of the tool. */
export async function deliberate(
  args: JsonObject,
  wish: FusionToolOptions,
  context: ToolContext,
  { teams, memberTimeoutMs, analystTimeoutMs }: DeliberationOptions,
): Promise<ToolOutcome> {
  const { request, use, catalog } = context;
  if (request.within?.by.includes(FUSION_TOOL) === true) {
    return failedCall('fusion_invocation_capped', 'A panel cannot deliberate within a panel; answer by yourself');
  }
  if (use > 1) return failedCall('fusion_invocation_capped', 'There is one deliberation a request; answer now');
  const team = chooseTeam(wish, { catalog, request, teams });
  const question = questionOf(args, request);
  const outcome = await ask(question, team, wish, context, memberTimeoutMs);
  if (outcome.answers.length === 0) return lostAll(outcome, team, wish, context);
  const analysis = await analyse(question, team, outcome.answers, context, analystTimeoutMs);
  note(outcome, team, wish, context, analysis);
  return {
    result: {
      status: 'ok',
      ...(analysis.found === undefined ? {} : { analysis: analysis.found as unknown as JsonValue }),
      responses: outcome.answers.map(({ model, content }) => ({ model, content })),
      ...(outcome.lost.length === 0 ? {} : { failed_models: lostModels(outcome.lost) }),
    },
    annotations: citationsOf(outcome.answers),
  };
}

function ask(
  question: string,
  { panel, sort }: ChosenTeam,
  wish: FusionToolOptions,
  context: ToolContext,
  timeoutMs: number,
): Promise<PanelOutcome> {
  const messages = [panelMessage(question, context.request)];
  const sampling = { ...wish, max_completion_tokens: wish.max_completion_tokens ?? DEFAULT_COMPLETION_TOKENS };
  const maxToolCalls = wish.max_tool_calls ?? DEFAULT_TOOL_CALLS;
  const more = {
    ...(sort === undefined ? {} : { provider: { sort } }),
    ...(wish.cache_control === undefined ? {} : { cache_control: wish.cache_control }),
  };
  return askPanel(
    {
      panel,
      requestFor: (model, tools): ChatRequest => ({
        ...innerRequest({ model, instructions: PANEL_INSTRUCTIONS, messages, sampling, tools, maxToolCalls }),
        ...more,
      }),
      tools: wish.tools ?? DEFAULT_TOOLS.filter(({ type }) => context.serverTools.has(type)),
      toolsAreOptional: wish.tools === undefined,
      timeoutMs,
    },
    context,
  );
}

/** What the analyst found, and what that cost. */
interface Analysed {
  readonly found?: FusionAnalysis | undefined;
  readonly cost: number;
}

/** An analysis is worth having, but the answers are worth more: whatever goes wrong with it is no failure. */
async function analyse(
  question: string,
  { analyst, sort }: ChosenTeam,
  answers: readonly MemberAnswer[],
  { call, signal }: ToolContext,
  timeoutMs: number,
): Promise<Analysed> {
  const request: ChatRequest = {
    ...innerRequest({
      model: analyst,
      instructions: ANALYST_INSTRUCTIONS,
      messages: [{ role: 'user', content: analystQuestion(question, answers) }],
      sampling: { temperature: 0, max_completion_tokens: DEFAULT_COMPLETION_TOKENS },
    }),
    ...(sort === undefined ? {} : { provider: { sort } }),
  };
  const schema = { name: 'analysis', schema: ANALYSIS_SCHEMA, strict: true };
  const held: ChatRequest = { ...request, response_format: { type: 'json_schema', json_schema: schema } };
  try {
    const result = await call(held, { timeoutMs }).then(undefined, (thrown: unknown) => {
      // Many models cannot be held to a schema; they have been told it, too.
      if (isRefused(thrown)) return call(request, { timeoutMs });
      throw thrown;
    });
    return { found: readFusionAnalysis(textOfAnswer(result)), cost: result.usage?.cost ?? 0 };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!RouterError.isInstance(thrown)) throw thrown;
    return { cost: 0 };
  }
}

function lostAll(outcome: PanelOutcome, team: ChosenTeam, wish: FusionToolOptions, context: ToolContext): ToolOutcome {
  const { lost } = outcome;
  const reason = reasonOfLoss(lost);
  const message = lost.length === 0 ? 'There is no model for a panel here' : 'No model of the panel gave an answer';
  note(outcome, team, wish, context);
  const failed = failedCall(reason, message, lost);
  return wish.on_failure === 'error' ? { ...failed, fails: errorOfLoss(reason, message, lost) } : failed;
}

/** Leaves a stage that tells who took part, and who was lost. */
function note(
  { answers, lost }: PanelOutcome,
  { panel, analyst }: ChosenTeam,
  { preset, analysis_models: named }: FusionToolOptions,
  { stage }: ToolContext,
  analysis?: Analysed,
): void {
  const costs = [...answers.map(({ cost }) => cost), analysis?.cost ?? 0];
  const data: JsonObject = {
    ...(named === undefined ? { preset: preset ?? DEFAULT_PRESET } : {}),
    analysis_models: panel,
    model: analyst,
    analyzed: analysis?.found !== undefined,
    ...(lost.length === 0 ? {} : { failed_models: lostModels(lost) }),
  };
  stage({
    name: 'fusion',
    summary: `${answers.length} of ${panel.length} models answered`,
    cost_usd: costs.reduce((sum, cost) => sum + cost, 0),
    data,
  });
}

/** Sources of a panel that are handed on at most. */
const MAX_CITATIONS = 50;

/** The pages that a panel cites, each once. Where in a member's text it did says nothing about the final answer. */
function citationsOf(answers: readonly MemberAnswer[]): readonly Annotation[] {
  const byAddress = new Map<string, Annotation>();
  for (const annotation of answers.flatMap(({ annotations }) => annotations)) {
    if (annotation.type !== 'url_citation' || byAddress.has(annotation.url_citation.url)) continue;
    const { start_index: _, end_index: __, ...citation } = annotation.url_citation;
    byAddress.set(citation.url, { type: 'url_citation', url_citation: citation });
  }
  return [...byAddress.values()].slice(0, MAX_CITATIONS);
}

/** What the panel is told. */
const PANEL_INSTRUCTIONS =
  'You are one of several independent experts who are given the same question. Answer it as well as you can on your ' +
  'own: complete, concrete and to the point. Say where you are not sure, and why.';

/** The question that the model wants deliberated; its user's last words when it gave none. */
function questionOf({ prompt }: JsonObject, request: NormalizedRequest): string {
  if (typeof prompt === 'string' && prompt.trim() !== '') return prompt;
  const last = lastUserMessage(request);
  return last === undefined ? '' : textOfMessage(last);
}

/** The question as a message, together with the images, files and so on of the user's last message. */
function panelMessage(question: string, request: NormalizedRequest): UserMessage {
  const content = lastUserMessage(request)?.content ?? '';
  const media = typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text');
  if (media.length === 0) return { role: 'user', content: question };
  const parts: readonly ContentPart[] = [...media, { type: 'text', text: question }];
  return { role: 'user', content: parts };
}

function lastUserMessage({ messages }: NormalizedRequest): UserMessage | undefined {
  return messages.findLast((message): message is UserMessage => message.role === 'user');
}
