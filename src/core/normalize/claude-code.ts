/**
 * What Claude Code puts into requests besides what its model needs (claude-code-proxy#99, claude-code#68900,
 * coder/aibridge#241; 2026-11).
 */

/** Beginning of the first instruction: a line with a hash that differs in every request. */
const BILLING_LINE = 'x-anthropic-billing-header:';

/** Whether a text begins with the line that differs in every request. */
export function hasBillingLine(text: string): boolean {
  return text.startsWith(BILLING_LINE);
}

/**
 * Instructions without that line, which says nothing to a model and would keep every prompt cache and every key of a
 * conversation from being of use. Its own makers get it: native bodies stay as they are.
 */
export function withoutBillingLine<Content>(content: Content): Content | string | readonly unknown[] {
  if (typeof content === 'string') return hasBillingLine(content) ? content.replace(/^.*\n*/, '') : content;
  if (!Array.isArray(content)) return content;
  const [first, ...rest] = content as readonly ({ readonly text?: unknown } | null)[];
  if (typeof first?.text !== 'string' || !hasBillingLine(first.text)) return content;
  const text = first.text.replace(/^.*\n*/, '');
  return text === '' ? rest : [{ ...first, text }, ...rest];
}

/**
 * The session in Claude Code's name of the user: `user_…_account_…_session_ID`, or since 2.1.78 a JSON object with
 * `session_id`. Undefined in any other name.
 */
export function sessionInUser(user: string): string | undefined {
  return (/_session_([\w-]{1,128})$/.exec(user) ?? /^\{.*"session_id"\s*:\s*"([\w-]{1,128})"/.exec(user))?.[1];
}
