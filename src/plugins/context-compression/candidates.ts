import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ModelTarget, NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { PromptRoom } from './prompt-room.ts';

/** How long a prompt is, and what endpoints can do with it. */
export interface PromptFit {
  /** Tokens of the messages. */
  readonly tokens: number;
  /** Tokens that the messages can be brought down to. */
  readonly least: number;
  /** Room for messages at an endpoint, in the same tokens. */
  readonly roomAt: (endpoint: Endpoint) => PromptRoom;
  /** Whether the prompt may be shortened for an endpoint at all. */
  readonly mayShorten: (endpoint: Endpoint) => boolean;
}

/**
 * Marks the endpoints that get a shortened prompt: those that can hold at least half of prompt and answer, or, where
 * neither they nor any other can hold it, those with the longest context (gaps 5.8).
 */
export function markShortened(
  targets: readonly ModelTarget[],
  { needs }: NormalizedRequest,
  { tokens, least, roomAt, mayShorten }: PromptFit,
): readonly ModelTarget[] {
  const all = targets.flatMap((target) => target.endpoints);
  const tooLong = all.filter((endpoint) => tokens > roomAt(endpoint).whole);
  if (tooLong.length === 0) return targets;
  const possible = tooLong.filter((endpoint) => mayShorten(endpoint) && least <= roomAt(endpoint).shortened);
  const half = (tokens + (needs.outputTokens ?? 0)) / 2;
  let chosen = possible.filter((endpoint) => contextOf(endpoint) >= half);
  if (chosen.length === 0 && tooLong.length === all.length) {
    const longest = Math.max(...possible.map(contextOf));
    chosen = possible.filter((endpoint) => contextOf(endpoint) === longest);
  }
  if (chosen.length === 0) return targets;
  return targets.map((target) => {
    const shortened = target.endpoints.filter((endpoint) => chosen.includes(endpoint));
    return shortened.length === 0 ? target : { ...target, shortened };
  });
}

function contextOf({ contextLength, maxPromptTokens }: Endpoint): number {
  return Math.min(contextLength ?? Infinity, maxPromptTokens ?? Infinity);
}
