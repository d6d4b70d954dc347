import type { ToolContext } from '../../core/pipeline/server-tool.ts';
import { RouterError } from '../../errors.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { Annotation, ChatResult } from '../../protocol/chat-result.ts';
import type { ServerTool } from '../../protocol/tools.ts';
import { reasonOfFailure, textOfAnswer } from '../inner-call/read-answer.ts';

/** What a member of the panel said. */
export interface MemberAnswer {
  readonly model: string;
  readonly content: string;
  readonly cost: number;
  readonly annotations: readonly Annotation[];
}

/** A member that gave no answer. */
export interface LostMember {
  readonly model: string;
  readonly error: string;
  readonly status: number | undefined;
}

/** What came of a panel, in the order of its members. */
export interface PanelOutcome {
  readonly answers: readonly MemberAnswer[];
  readonly lost: readonly LostMember[];
}

/** What every member is asked. */
export interface PanelQuestion {
  readonly panel: readonly string[];
  /** The request of one member. */
  readonly requestFor: (model: string, tools: readonly ServerTool[]) => ChatRequest;
  readonly tools: readonly ServerTool[];
  /** True: a member that cannot have the tools answers without them. */
  readonly toolsAreOptional: boolean;
  /** Milliseconds that each member may take. */
  readonly timeoutMs: number;
}

/**
 * Asks all members at the same time. Whoever fails is lost, whatever happens to the others.
 *
 * @throws The signal's reason when the caller goes away.
 */
export async function askPanel(question: PanelQuestion, context: ToolContext): Promise<PanelOutcome> {
  const outcomes = await Promise.all(question.panel.map((model) => askMember(model, question, context)));
  context.signal.throwIfAborted();
  return {
    answers: outcomes.flatMap((outcome) => ('content' in outcome ? outcome : [])),
    lost: outcomes.flatMap((outcome) => ('error' in outcome ? outcome : [])),
  };
}

async function askMember(
  model: string,
  question: PanelQuestion,
  context: ToolContext,
): Promise<MemberAnswer | LostMember> {
  try {
    const result = await callMember(model, question, context);
    const annotations = result.choices[0]?.message.annotations ?? [];
    return { model, content: textOfAnswer(result), cost: result.usage?.cost ?? 0, annotations };
  } catch (thrown) {
    const status = RouterError.isInstance(thrown) ? thrown.status : undefined;
    return { model, error: reasonOfFailure(thrown), status };
  }
}

async function callMember(model: string, question: PanelQuestion, context: ToolContext): Promise<ChatResult> {
  const { requestFor, tools, toolsAreOptional, timeoutMs } = question;
  try {
    return await context.call(requestFor(model, tools), { timeoutMs });
  } catch (thrown) {
    if (!toolsAreOptional || tools.length === 0 || !isRefused(thrown)) throw thrown;
    context.signal.throwIfAborted();
    return context.call(requestFor(model, []), { timeoutMs });
  }
}

/** Nobody was asked, or the one who was refused the request itself: with less in it, it may work. */
export function isRefused(thrown: unknown): boolean {
  return RouterError.isInstance(thrown) && (thrown.status === 400 || thrown.status === 404);
}
