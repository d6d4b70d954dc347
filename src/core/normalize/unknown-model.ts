import type { Catalog } from '../../catalog/catalog.ts';
import { authorOf } from '../../catalog/slug.ts';
import { nearNames } from '../../protocol/near-name.ts';

/** What to say of a model that no provider of this router serves: what it may have meant, or what is missing. */

/** Vendors whose key is looked for in the variable of their name. */
const VENDORS =
  /^(?:openai|anthropic|groq|together|fireworks|deepinfra|deepseek|mistral|xai|openrouter|cerebras|perplexity|cohere|sambanova|nvidia|moonshot|minimax|zhipu)$/;
/** Those whose variable has another name. Variables that other programs set as well are not among them. */
const OTHER_NAMES: Readonly<Record<string, string>> = { google: 'GEMINI_API_KEY', qwen: 'DASHSCOPE_API_KEY' };

/** The environment variable for the key of a vendor; undefined for vendors that are not known here. */
export function keyVariableOf(vendor: string): string | undefined {
  if (Object.hasOwn(OTHER_NAMES, vendor)) return OTHER_NAMES[vendor];
  return VENDORS.test(vendor) ? `${vendor.toUpperCase()}_API_KEY` : undefined;
}

/** Models that are compared with a misspelt one at most: a request that is refused must not take long. */
const MOST_COMPARED = 2_000;
/** Names that are proposed. */
const MOST_NAMES = 3;

/** The end of the sentence about an unknown model; empty where nothing is known to help. */
export function hintForModel(slug: string, catalog: Catalog): string {
  const author = authorOf(slug);
  if (author === 'router') return ': it needs a plugin that this router does not have';
  const near = nearNames(slug, candidatesFor(author, catalog), MOST_NAMES);
  if (near.length > 0) return `; did you mean ${listed(near)}?`;
  const variable = keyVariableOf(author);
  if (variable === undefined || catalog.providers.has(author)) return '';
  return `: no provider of this router serves models of ${author}; set ${variable}, or add ${author}() to its providers`;
}

/** Ids of the same author first; without an author, the names behind them are compared, too. */
function* candidatesFor(
  author: string,
  { models }: Catalog,
): Generator<{ readonly name: string; readonly as: string }> {
  let count = 0;
  for (const isOwn of [true, false]) {
    for (const id of models.keys()) {
      if ((authorOf(id) === author) !== isOwn) continue;
      count += 1;
      if (count > MOST_COMPARED) return;
      yield { name: id, as: id };
      if (author === '') yield { name: id, as: id.slice(id.indexOf('/') + 1) };
    }
  }
}

/** Names in quotation marks, as a sentence lists them. */
export function listed(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`);
  return quoted.length === 1 ? (quoted[0] ?? '') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1) ?? ''}`;
}
