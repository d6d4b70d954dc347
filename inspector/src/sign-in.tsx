import type { JSX } from 'preact';
import { refusal, signedIn, signIn } from './api.ts';

/** Asks for an API key, which is kept in the memory of this page and nowhere else. */
export function SignIn(): JSX.Element {
  return (
    <section class="sign-in">
      <h1>Who may see this</h1>
      <p role="alert">{refusal.value}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const key = new FormData(event.currentTarget).get('key');
          signIn(typeof key === 'string' ? key.trim() : '');
        }}
      >
        <label>
          API key with the scope management
          <input name="key" type="password" autocomplete="off" required autofocus />
        </label>
        <button class="primary" type="submit">
          Show the inspector
        </button>
      </form>
      <p class="hint">
        The key stays in the memory of this page: a reload forgets it.
        {signedIn.value && ' The key that was entered is not valid, or has another scope.'}
      </p>
    </section>
  );
}
