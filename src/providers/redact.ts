/** Characters of a provider's text that may be shown. */
export const MAX_PROVIDER_TEXT = 500;

/** Forms in which keys appear in texts: with a known beginning, behind "Bearer", or as a query parameter. */
const SECRET_FORMS = [
  /\b(?:sk|pk|rk|gsk|xai|fw|key|api|hf|r8|tgp|AIza|ya29)[-_.][A-Za-z0-9*_.-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\bBearer\s+\S+/gi,
  /([?&](?:key|api_key|token|sig|signature)=)[^&\s"']+/gi,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?/g,
];

/**
 * Makes a provider's text fit to be shown: known secrets and everything that looks like one are taken out, and it is
 * cut to {@link MAX_PROVIDER_TEXT} characters. HTML is not shown at all.
 */
export function presentable(text: string, secrets: readonly string[]): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.startsWith('<')) return undefined;
  let safe = trimmed.slice(0, 4 * MAX_PROVIDER_TEXT);
  for (const secret of secrets) if (secret.length >= 4) safe = safe.replaceAll(secret, REDACTED);
  for (const form of SECRET_FORMS)
    safe = safe.replace(form, (_, kept) => `${typeof kept === 'string' ? kept : ''}${REDACTED}`);
  return safe.length > MAX_PROVIDER_TEXT ? `${safe.slice(0, MAX_PROVIDER_TEXT - 1)}…` : safe;
}

const REDACTED = '[redacted]';
