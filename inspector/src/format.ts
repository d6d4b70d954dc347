/** Numbers as people read them. Always the same width where they change in place. */

export function ms(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value < 1) return '<1 ms';
  if (value < 1_000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1_000).toFixed(value < 10_000 ? 2 : 1)} s`;
  if (value < 3_600_000) return `${Math.floor(value / 60_000)} min ${Math.round((value % 60_000) / 1_000)} s`;
  return `${Math.floor(value / 3_600_000)} h ${Math.round((value % 3_600_000) / 60_000)} min`;
}

/** Nano-dollars. Small amounts keep three digits that mean something. */
export function money(nanoUsd: number | undefined): string {
  if (nanoUsd === undefined) return '–';
  const dollars = nanoUsd / 1e9;
  if (dollars === 0) return '$0';
  if (dollars >= 1) return `$${dollars.toFixed(2)}`;
  const digits = Math.min(9, 2 - Math.floor(Math.log10(Math.abs(dollars))));
  return `$${dollars.toFixed(digits).replace(/(\.\d*?[1-9])0+$/, '$1')}`;
}

/** What something cost, where nobody may know it. */
export function cost(nanoUsd: number | undefined): string {
  return nanoUsd === undefined ? 'price unknown' : money(nanoUsd);
}

/** A sum, and how much is missing in it. */
export function sum(nanoUsd: number, unpriced: number): string {
  if (unpriced === 0) return money(nanoUsd);
  return nanoUsd === 0
    ? `${count(unpriced)} of unknown price`
    : `${money(nanoUsd)} and ${count(unpriced)} of unknown price`;
}

export function usd(value: number | undefined): string {
  return value === undefined ? 'no price' : money(value * 1e9);
}

export function count(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value < 10_000) return String(Math.round(value));
  if (value < 1e6) return `${(value / 1e3).toFixed(value < 1e5 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(1)}M`;
}

export function percent(share: number | undefined): string {
  if (share === undefined || Number.isNaN(share)) return '–';
  const value = share * 100;
  if (value > 0 && value < 1) return '<1 %';
  if (value > 99 && value < 100) return '>99 %';
  return `${Math.round(value)} %`;
}

export function time(at: number): string {
  const date = new Date(at);
  return `${date.toLocaleTimeString('en-GB')}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

export function dateTime(at: number): string {
  const date = new Date(at);
  return `${date.toLocaleDateString('sv-SE')} ${date.toLocaleTimeString('en-GB')}`;
}

/** The tag of an endpoint, such as `deepinfra/turbo`, of an id such as `deepinfra/turbo#acme/writer`. */
export function tagOf(endpoint: string): string {
  const mark = endpoint.indexOf('#');
  return mark < 0 ? endpoint : endpoint.slice(0, mark);
}

/** The end of an axis for a value: a round number that is not far above it. */
export function fineCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-12)));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** A word of the wire, as words: `rate_limited` as `rate limited`. */
export function words(name: string): string {
  return name.replaceAll('_', ' ');
}

const OUTCOMES: Readonly<Record<string, string>> = {
  ok: '✓ answered',
  superseded: '⊘ cancelled: another call answered first',
  aborted: '⊘ the client disconnected',
};

/** How a call came out, with a sign that needs no colour. */
export function outcome(name: string | undefined): string {
  if (name === undefined) return '… running';
  return OUTCOMES[name] ?? `✕ ${words(name)}`;
}

const EXCLUSIONS: Readonly<Record<string, string>> = {
  rule: 'a rule of the configuration keeps the request from it',
  allowed_models: 'this model is not allowed here',
  allowed_providers: 'the request or its account does not allow this provider',
  'data_policy:training': 'it may store or train on prompts, which is not allowed',
  'data_policy:zdr': 'it keeps data, and zero data retention is required',
  distillable: 'its answers may not be used to train other models',
  max_price: 'it costs more than the request allows',
  region: 'it does not declare a region that is allowed',
  quantization: 'its quantization is not one of those that are allowed',
  require_parameters: 'it does not support a parameter of the request',
  input_modality: 'it does not accept this kind of input',
  output_modality: 'it does not produce this kind of output',
  dimensions: 'it cannot make vectors of this length',
  tools: 'it does not support tools',
  tool_choice: 'it does not support this tool choice',
  reasoning: 'it does not support reasoning as requested',
  service_tier: 'it is of another service tier',
  response_format: 'it does not support this response format',
  max_output_tokens: 'its responses cannot be long enough',
  context_length: 'the prompt is too long for it',
  dialect: 'it does not support this API format',
  allow_fallbacks: 'fallbacks are not allowed, and it is not the first',
  plugin: 'a plugin excluded it',
};

/** Those whose detail is a number of tokens. */
const LIMITS: Readonly<Record<string, (tokens: string) => string>> = {
  max_output_tokens: (tokens) => `the request allows more than the ${tokens} tokens that its answers can have`,
  context_length: (tokens) => `the prompt, with room for its answer, is longer than its context of ${tokens} tokens`,
};

/** Why an endpoint was left out, in words. */
export function exclusion(reason: string, detail: string | undefined): string {
  const limit = detail === undefined ? undefined : LIMITS[reason]?.(detail);
  if (limit !== undefined) return limit;
  const told = EXCLUSIONS[reason] ?? words(reason);
  return detail === undefined ? told : `${told} (${detail})`;
}
