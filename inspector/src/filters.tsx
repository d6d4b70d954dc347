import type { JSX } from 'preact';
import type { Suggestions } from '../../src/http/inspector/wire.ts';
import { place, setQuery } from './address.ts';
import { useAsked } from './asked.ts';

/** What requests can be filtered by, as it stands in the address. */
export const FILTERS = {
  model: 'any model',
  provider: 'any provider',
  endpoint: 'answered or last',
  called: 'called by any attempt',
  account: 'any account',
  error: 'any, or a type',
  tag: 'name:value',
  session: 's_…',
} as const;

const LABELS: Readonly<Record<string, string>> = { called: 'called endpoint' };

/** Filters with a few values that are known. */
const CHOICES = {
  stream: { title: 'streaming', values: { true: 'only streaming', false: 'only others' } },
  batch: { title: 'batches', values: { true: 'only batches', false: 'only others' } },
  longer: {
    title: 'took at least',
    values: { '1000': '1 s', '5000': '5 s', '15000': '15 s', '60000': '1 min', '300000': '5 min' },
  },
} as const;

/** Every filter by its name in an address. */
export const FILTER_NAMES: readonly string[] = [...Object.keys(FILTERS), ...Object.keys(CHOICES), 'from', 'to'];

/** The filters of the address, and nothing else of it. */
export function filterOfAddress(without: readonly string[] = []): string {
  const { query } = place.value;
  return new URLSearchParams(
    [...query].filter(([name]) => FILTER_NAMES.includes(name) && !without.includes(name)),
  ).toString();
}

/** Fields for filters, with values that requests had lately. */
export function Filters({ names }: { readonly names: readonly (keyof typeof FILTERS)[] }): JSX.Element {
  const { query } = place.value;
  const { answer } = useAsked<Suggestions>('suggestions');
  const known = (name: string): readonly string[] => answer?.[name === 'called' ? 'endpoint' : name] ?? [];
  return (
    <>
      {names.map((name) => (
        <label key={name}>
          {LABELS[name] ?? name}
          <input
            value={query.get(name) ?? ''}
            placeholder={FILTERS[name]}
            spellcheck={false}
            list={`known-${name}`}
            onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim(), after: '' })}
          />
          <datalist id={`known-${name}`}>
            {known(name).map((value) => (
              <option key={value} value={value} />
            ))}
          </datalist>
        </label>
      ))}
      {Object.entries(CHOICES).map(([name, { title, values }]) => (
        <label key={name}>
          {title}
          <select
            value={query.get(name) ?? ''}
            onChange={(event) => setQuery({ [name]: event.currentTarget.value, after: '' })}
          >
            <option value="">any</option>
            {Object.entries(values).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      ))}
    </>
  );
}

/** A time in the form of a field for it, in the time zone of whoever looks. */
function fieldOf(at: string | null): string {
  if (at === null || at === '') return '';
  const date = new Date(Number(at));
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** From when to when. */
export function Span(): JSX.Element {
  const { query } = place.value;
  return (
    <>
      {(['from', 'to'] as const).map((name) => (
        <label key={name}>
          {name}
          <input
            class="when"
            type="datetime-local"
            value={fieldOf(query.get(name))}
            onChange={(event) => {
              const at = new Date(event.currentTarget.value).getTime();
              setQuery({ [name]: Number.isNaN(at) ? '' : String(at), after: '' });
            }}
          />
        </label>
      ))}
    </>
  );
}
