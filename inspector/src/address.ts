import { computed, signal } from '@preact/signals';

/** Path of the page, below which the views and the API are: `/v1/inspector`, wherever the router is mounted. */
export const HOME = location.pathname.slice(0, location.pathname.lastIndexOf('/inspector')) + '/inspector';
/** Path that the router's own API stands under. */
export const BASE = HOME.slice(0, -'/inspector'.length);

/** The views, in the order of their keys. */
export const VIEWS = [
  { name: 'overview', title: 'Overview' },
  { name: 'live', title: 'Live' },
  { name: 'requests', title: 'Requests' },
  { name: 'endpoints', title: 'Endpoints' },
  { name: 'cost', title: 'Cost' },
  { name: 'budgets', title: 'Budgets' },
  { name: 'batches', title: 'Batches' },
  { name: 'try', title: 'Try it' },
] as const;

const here = signal(location.pathname + location.search);
addEventListener('popstate', () => {
  here.value = location.pathname + location.search;
});

/** The view that the address names: `live`, `requests` and so on, and what stands behind it. */
export const place = computed(() => {
  const [path = '', query = ''] = here.value.split('?');
  const [, view = '', id = ''] = /^\/?([^/]*)\/?([^/]*)/.exec(path.slice(HOME.length)) ?? [];
  return { view: view === '' ? 'overview' : view, id: decodeURIComponent(id), query: new URLSearchParams(query) };
});

/** Address of a view. */
export function addressOf(view: string, id?: string, query?: URLSearchParams): string {
  const text = query?.toString() ?? '';
  return `${HOME}/${view}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${text === '' ? '' : `?${text}`}`;
}

/** Goes to an address of the page, as a new place in the history. */
export function go(address: string): void {
  history.pushState(null, '', address);
  here.value = address;
  scrollTo(0, 0);
}

/** Changes what stands in the query, without a new place in the history. An empty value is left out. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const address = location.pathname + (text === '' ? '' : `?${text}`);
  history.replaceState(null, '', address);
  here.value = address;
}

/** Follows links of the page without loading it anew. */
export function followLinks(event: MouseEvent): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.origin !== location.origin || !link.pathname.startsWith(HOME) || link.download !== '')
    return;
  event.preventDefault();
  go(link.pathname + link.search);
}
