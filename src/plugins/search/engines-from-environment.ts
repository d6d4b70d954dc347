import { readEnvironment } from '../../platform/environment.ts';
import type { SearchEngine } from '../../contracts/plugin-services.ts';
import { brave } from './brave.ts';
import { exa } from './exa.ts';
import { searxng } from './searxng.ts';
import { tavily } from './tavily.ts';

/** Environment variables that configure search engines, in the order in which the engines are preferred. */
export const SEARCH_VARIABLES = ['EXA_API_KEY', 'TAVILY_API_KEY', 'BRAVE_API_KEY', 'SEARXNG_URL'] as const;

/** The search engines whose keys or addresses are in the environment: Exa, Tavily, Brave, SearXNG, in this order. */
export function searchEnginesFromEnvironment(): readonly SearchEngine[] {
  const [exaKey, tavilyKey, braveKey, searxngURL] = SEARCH_VARIABLES.map(readEnvironment);
  return [
    ...(exaKey === undefined ? [] : [exa({ apiKey: exaKey })]),
    ...(tavilyKey === undefined ? [] : [tavily({ apiKey: tavilyKey })]),
    ...(braveKey === undefined ? [] : [brave({ apiKey: braveKey })]),
    ...(searxngURL === undefined ? [] : [searxng({ baseURL: searxngURL })]),
  ];
}
