import type * as Genai from '@pydantic/genai-prices';

/** The optional package, loaded when it is requested. Undefined where it is not installed. */
export async function importGenaiPrices(): Promise<typeof Genai | undefined> {
  // Bundlers take a package that is not there for an error of the whole build, unless its import is in a `try`.
  try {
    return await import('@pydantic/genai-prices');
  } catch {
    return undefined;
  }
}
