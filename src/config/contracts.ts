import { callTimeouts, modelTable } from '../catalog/model-options.ts';
import { callable, flag, having, listOf, text } from '../platform/option-kinds.ts';

/** Checks of what programs bring themselves, beyond a list of functions. */

/** What the router needs of a provider; a provider may have more for itself. */
export const providerCheck = having(
  'a provider, such as openai() makes one',
  { slug: text, models: modelTable, chat: callable },
  {
    name: text,
    embed: callable,
    check: callable,
    close: callable,
    dataCollection: flag,
    zeroDataRetention: flag,
    timeouts: callTimeouts,
  },
);

/** What the router needs of a plugin. */
export const pluginCheck = having(
  'a plugin',
  { id: text, whenItThrows: text },
  {
    parseOptions: callable,
    models: listOf(text),
    runsUnasked: callable,
    onRequest: callable,
    onCandidates: callable,
    onAttempt: callable,
    onChunks: callable,
    onResult: callable,
    close: callable,
  },
);

/** What the router needs of a server tool. */
export const serverToolCheck = having(
  'a server tool',
  { type: text, describe: callable, execute: callable },
  {
    parseOptions: callable,
    native: callable,
    nameOf: callable,
    innerTools: callable,
    maxUses: callable,
    close: callable,
  },
);
