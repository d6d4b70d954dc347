import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { InspectorFacts } from '../../src/http/inspector/wire.ts';
import { addressOf, BASE, place, setQuery } from './address.ts';
import { checked, eventsOf, headers } from './api.ts';
import { useAsked } from './asked.ts';
import { Hint } from './charts.tsx';
import { Summary } from './decision.tsx';
import { ms } from './format.ts';
import { Problem } from './problem.tsx';
import { Decision, useRequest } from './request.tsx';
import { Waterfall } from './waterfall.tsx';

const QUESTION = 'How do lighthouses and foghorns help ships?';

interface Sent {
  readonly text: string;
  readonly id?: string | undefined;
  readonly state: 'waiting' | 'streaming' | 'done';
  readonly firstMs?: number | undefined;
  readonly problem?: Error | undefined;
}

interface Chunk {
  readonly id?: string;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly message?: string };
}

/** Sends a request through the router's own API, as any client would, and shows what was decided. */
export function TryIt(): JSX.Element {
  const { query } = place.value;
  const facts = useAsked<InspectorFacts>('facts');
  const [sent, setSent] = useState<Sent>();
  const controller = useRef<AbortController | undefined>(undefined);
  const models = facts.answer?.models ?? [];
  // What somebody is typing, from the moment the field is entered: nothing else may be written into it then.
  const [typed, setTyped] = useState<string>();
  const model = typed ?? query.get('model') ?? models.find((id) => id === 'simulated/small') ?? models[0] ?? '';
  const busy = sent !== undefined && sent.state !== 'done';
  const send = async (form: HTMLFormElement): Promise<void> => {
    const body = bodyOf(new FormData(form));
    controller.current = new AbortController();
    const beganAt = performance.now();
    let state: Sent = { text: '', state: 'waiting' };
    const show = (change: Partial<Sent>): void => setSent((state = { ...state, ...change }));
    show({});
    try {
      const response = await fetch(`${BASE}/chat/completions`, {
        method: 'POST',
        signal: controller.current.signal,
        headers: { ...headers(), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      // A request that failed was decided as well.
      show({ id: response.headers.get('x-generation-id') ?? undefined });
      for await (const { data } of eventsOf(await checked(response))) {
        if (data === '[DONE]') break;
        const chunk = JSON.parse(data) as Chunk;
        if (chunk.error !== undefined) throw new Error(chunk.error.message ?? 'The stream failed');
        const text = chunk.choices?.[0]?.delta?.content ?? '';
        const firstMs = state.firstMs ?? (text === '' ? undefined : performance.now() - beganAt);
        show({ text: state.text + text, id: chunk.id ?? state.id, state: 'streaming', firstMs });
      }
      show({ state: 'done' });
    } catch (error) {
      show({ state: 'done', problem: error as Error });
    }
  };
  return (
    <>
      <h1>Try it</h1>
      <div class="split">
        <form
          class="try"
          onSubmit={(event) => {
            event.preventDefault();
            if (!busy) void send(event.currentTarget);
          }}
        >
          <label>
            model
            <input
              name="model"
              list="models"
              required
              value={model}
              spellcheck={false}
              onFocus={(event) => setTyped(event.currentTarget.value)}
              onInput={(event) => setTyped(event.currentTarget.value)}
              onChange={(event) => setQuery({ model: event.currentTarget.value.trim() })}
              onBlur={() => setTyped(undefined)}
            />
            <datalist id="models">
              {models.slice(0, 500).map((id) => (
                <option key={id} value={id} />
              ))}
            </datalist>
          </label>
          <label>
            message
            <textarea name="message" rows={4} required>
              {QUESTION}
            </textarea>
          </label>
          <fieldset>
            <legend>preferences</legend>
            <label>
              sort
              <select name="sort">
                <option value="">cost and health</option>
                <option value="price">price</option>
                <option value="latency">latency</option>
                <option value="throughput">throughput</option>
              </select>
            </label>
            <label>
              order
              <input name="order" placeholder="providers, by commas" spellcheck={false} />
            </label>
            <label>
              only
              <input name="only" placeholder="providers, by commas" spellcheck={false} />
            </label>
            <label>
              most tokens
              <input name="max_tokens" type="number" min="1" placeholder="no limit" />
            </label>
            <label class="check">
              <input name="fallbacks" type="checkbox" checked /> try others when one fails
            </label>
            <label class="check">
              <input name="private" type="checkbox" /> only where nothing is stored or trained on
            </label>
          </fieldset>
          <button class="primary" type="submit" disabled={busy}>
            {busy ? 'Answering …' : 'Send'}
          </button>
          {busy && (
            <button type="button" onClick={() => controller.current?.abort()}>
              ⊘ Stop
            </button>
          )}
          <Hint>Sent through the router’s own API like any request: it is counted and charged.</Hint>
        </form>
        <section class="answer" aria-live="polite" aria-busy={busy}>
          {sent === undefined ? (
            <p class="empty">The answer appears here, and below it the decision.</p>
          ) : (
            <Answer sent={sent} />
          )}
        </section>
      </div>
      {sent?.state === 'done' && sent.id !== undefined && <Decided id={sent.id} />}
    </>
  );
}

function Answer({ sent }: { readonly sent: Sent }): JSX.Element {
  return (
    <>
      <h2>
        Answer{' '}
        <span class="served">
          {sent.state === 'waiting'
            ? 'waiting for the first token …'
            : sent.firstMs === undefined
              ? ''
              : `first token after ${ms(sent.firstMs)}`}
        </span>
      </h2>
      {(sent.text !== '' || sent.problem === undefined) && <p class="text">{sent.text}</p>}
      <Problem problem={sent.problem} />
    </>
  );
}

function Decided({ id }: { readonly id: string }): JSX.Element {
  const { page, problem } = useRequest(id);
  if (page === undefined)
    return <p class="empty">{problem === undefined ? 'Loading the decision …' : 'The decision is being stored …'}</p>;
  return (
    <>
      <Summary record={page.record} />
      <Decision page={page} brief />
      <section>
        <h2>What happened, and when</h2>
        <Waterfall record={page.record} />
      </section>
      <p>
        <a href={addressOf('requests', id)}>Everything about this request →</a>
      </p>
    </>
  );
}

function bodyOf(form: FormData): object {
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const list = (name: string): readonly string[] | undefined => {
    const names = text(name)
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
    return names.length === 0 ? undefined : names;
  };
  const most = Number(text('max_tokens'));
  return {
    model: text('model'),
    messages: [{ role: 'user', content: text('message') }],
    stream: true,
    ...(most > 0 ? { max_tokens: most } : {}),
    provider: {
      ...(text('sort') === '' ? {} : { sort: text('sort') }),
      order: list('order'),
      only: list('only'),
      ...(form.has('fallbacks') ? {} : { allow_fallbacks: false }),
      ...(form.has('private') ? { data_collection: 'deny' } : {}),
    },
  };
}
