/** The plugin behind `router/bodybuilder`: answers with request bodies. */
import type { Catalog } from '../../catalog/catalog.ts';
import { definePlugin, textAnswer } from '../../core/pipeline/define-plugin.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import { textOfMessage } from '../services/inner-call/helper-model.ts';

const SLUG = 'router/bodybuilder';
/** Called where a prompt names no model. */
const ANY_MODEL = 'router/auto';
/** Requests that one prompt makes at most. */
const MAX_REQUESTS = 16;
/** Names shorter than this are in too many sentences that mean something else. */
const MIN_NAME = 3;

/**
 * The plugin `bodybuilder`, which answers for `router/bodybuilder` (gaps 3.6): it turns a prompt such as "Ask
 * acme/large and acme/small to explain tides" into the bodies of chat requests, one for each model of this router that
 * it names, and answers with them as JSON, `{"requests":[{"model","messages"}]}`. Names are ids, their part behind the
 * author, display names and aliases. A prompt that names none is meant for `router/auto`. It is free and calls nobody.
 */
export function bodyBuilder(): Plugin {
  return definePlugin({
    id: 'bodybuilder',
    whenItThrows: 'fail',
    models: [SLUG],
    onRequest(request, _options, { catalog }) {
      if (!request.targets.some(({ model }) => model === SLUG)) return { type: 'continue' };
      const message = request.messages.findLast(({ role }) => role === 'user');
      const text = message === undefined ? '' : textOfMessage(message).trim();
      const answer = textAnswer(JSON.stringify({ requests: requestsOf(text, catalog) }));
      return { type: 'answer', answer: { ...answer, model: SLUG, strategy: 'bodybuilder' } };
    },
  });
}

interface Mention {
  readonly model: string;
  readonly start: number;
  readonly end: number;
}

function requestsOf(text: string, catalog: Catalog): readonly object[] {
  const mentions = mentionsIn(text, catalog);
  const models = [...new Set(mentions.map(({ model }) => model))].slice(0, MAX_REQUESTS);
  const content = taskIn(text, mentions);
  return (models.length === 0 ? [ANY_MODEL] : models).map((model) => ({
    model,
    messages: [{ role: 'user', content }],
  }));
}

/** Where a text names models, in its order. Of names within each other the longest counts. */
function mentionsIn(text: string, catalog: Catalog): readonly Mention[] {
  const lower = text.toLowerCase();
  const names = [...catalog.models.values()].flatMap(({ id, name, aliases = [] }) =>
    [id, id.slice(id.indexOf('/') + 1), name, ...aliases].flatMap((one) =>
      one === undefined || one.length < MIN_NAME ? [] : [{ model: id, name: one.toLowerCase() }],
    ),
  );
  const found: Mention[] = [];
  for (const { model, name } of names.sort((left, right) => right.name.length - left.name.length)) {
    for (let start = lower.indexOf(name); start >= 0; start = lower.indexOf(name, start + name.length)) {
      const end = start + name.length;
      const isWhole = !isPartOfName(lower[start - 1]) && !isPartOfName(followingOf(lower, end));
      const isTaken = found.some((one) => start < one.end && end > one.start);
      if (isWhole && !isTaken) found.push({ model, start, end });
    }
  }
  return found.sort((left, right) => left.start - right.start);
}

/** A dot or colon at the end of a sentence is no part of a name. */
function followingOf(text: string, end: number): string | undefined {
  return text[end] === '.' || text[end] === ':' ? text[end + 1] : text[end];
}

function isPartOfName(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}/:_-]/u.test(character);
}

/** What the models are to do: the text behind "… to" or a colon that follows their names, and otherwise all of it. */
function taskIn(text: string, mentions: readonly Mention[]): string {
  const last = mentions.at(-1);
  if (last === undefined) return text;
  const task = /^(?:\s+to\s+|\s*:\s*)(?<task>.+)$/su.exec(text.slice(last.end))?.groups?.['task'];
  return task ?? text;
}
