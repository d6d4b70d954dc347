import { type ComponentType, type JSX, render } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { addressOf, followLinks, go, place, VIEWS } from './address.ts';
import { refusal, signedIn, signIn } from './api.ts';
import { Batches } from './batches.tsx';
import { Budgets } from './budgets.tsx';
import { Cost } from './cost.tsx';
import { Endpoints } from './endpoints.tsx';
import { Requests } from './list.tsx';
import { Live } from './live.tsx';
import { paused } from './live-store.ts';
import { Overview } from './overview.tsx';
import { OneRequest } from './request.tsx';
import { SignIn } from './sign-in.tsx';
import './style.css';
import { TryIt } from './try.tsx';

const PAGES: Readonly<Record<string, ComponentType>> = {
  overview: Overview,
  live: Live,
  requests: () => (place.value.id === '' ? <Requests /> : <OneRequest />),
  budgets: Budgets,
  endpoints: Endpoints,
  cost: Cost,
  batches: Batches,
  try: TryIt,
};

function Inspector(): JSX.Element {
  const { view, id } = place.value;
  const Page = PAGES[view] ?? NotFound;
  const [help, setHelp] = useState(false);
  // Before the first paint: who sees the page may press a key.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') {
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
        setHelp(false);
      }
      if (isTyping(event)) return;
      const wanted = VIEWS[Number(event.key) - 1];
      if (wanted !== undefined) go(addressOf(wanted.name));
      if (event.key === 'p') paused.value = !paused.value;
      if (event.key === '?') setHelp((shown) => !shown);
      if (event.key === '/') {
        event.preventDefault();
        document.getElementById('search')?.focus();
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  useEffect(() => {
    const named = id === '' ? (VIEWS.find(({ name }) => name === view)?.title ?? view) : id;
    document.title = `${named} · Signalbox inspector`;
  }, [view, id]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header>
        <span class="brand">
          <b>Signalbox</b> inspector
        </span>
        <nav aria-label="Views">
          {VIEWS.map(({ name, title }, index) => (
            <a
              key={name}
              href={addressOf(name)}
              aria-current={view === name ? 'page' : undefined}
              title={`Key ${index + 1}`}
            >
              {title}
            </a>
          ))}
        </nav>
        {signedIn.value && (
          <button type="button" onClick={() => signIn('')}>
            Sign out
          </button>
        )}
        <button type="button" aria-expanded={help} onClick={() => setHelp(!help)}>
          ? Keys
        </button>
      </header>
      {help && (
        <p class="keys" role="status">
          <kbd>1</kbd>–<kbd>{VIEWS.length}</kbd> views · <kbd>/</kbd> search · <kbd>p</kbd> pause · <kbd>↑</kbd>{' '}
          <kbd>↓</kbd> from row to row · <kbd>Enter</kbd> opens · <kbd>Esc</kbd> leaves a field
        </p>
      )}
      <main id="main" tabIndex={-1}>
        {refusal.value === undefined ? <Page /> : <SignIn />}
      </main>
    </>
  );
}

function NotFound(): JSX.Element {
  return (
    <p class="empty">
      There is no such view. <a href={addressOf('overview')}>Overview</a>
    </p>
  );
}

function isTyping({ target, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  return metaKey || ctrlKey || altKey || (target instanceof HTMLElement && target.matches('input, textarea, select'));
}

document.addEventListener('click', followLinks);
const root = document.getElementById('inspector');
if (root !== null) render(<Inspector />, root);
