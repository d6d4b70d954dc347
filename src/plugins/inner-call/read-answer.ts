import { RouterError } from '../../errors.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';

/**
 * The text of another model's answer.
 *
 * @throws {@link RouterError} 502 when there is none.
 */
export function textOfAnswer({ choices, model }: ChatResult): string {
  const text = choices[0]?.message.content?.trim() ?? '';
  if (text !== '') return text;
  const reason = choices[0]?.finish_reason ?? 'none';
  throw new RouterError({
    status: 502,
    errorType: 'provider_unavailable',
    message: `${model} gave no text (finish reason: ${reason})`,
  });
}

/** What may be told of a failed call. Errors of ours are written for whoever asked; what others throw is not. */
export function reasonOfFailure(thrown: unknown): string {
  return RouterError.isInstance(thrown) ? thrown.message : 'The model could not be asked';
}
