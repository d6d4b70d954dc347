import type * as Genai from '@pydantic/genai-prices';

/** The optional package, loaded when it is asked for. Rejects where it is not installed. */
export function importGenaiPrices(): Promise<typeof Genai> {
  return import('@pydantic/genai-prices');
}
