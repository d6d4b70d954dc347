/** Names the reason for which a request was refused without a call. */

/** How a request ended for its caller, as far as a reason can be given. */
interface RefusedEnd {
  readonly status: number;
  /** The router's own sentence. Absent where nobody was told anything. */
  readonly message?: string | undefined;
  /** What plugins did that took part. */
  readonly plugins: readonly { readonly id: string; readonly outcome: string }[];
}

/** Characters of a reason. */
const MOST = 300;
/** Names that the router suggests are its own. */
const SUGGESTED = /did you mean [^?]*\?/;
/** A word or a text in quotes: in most sentences it is what the caller sent. */
const QUOTED = /"(?:[^"\\]|\\.)*"|`[^`]*`/g;
/** A path in a body of names that are documented and places in lists. */
const PATH = /^[a-z_]{1,40}(?:\[\d+\]|\.[a-z_]{1,40})*$/;
/** Members of a body below which callers make up keys, which may be anything. */
const MADE_UP = /^(?:metadata|trace|response_format|tools|logit_bias|text)[.[]/;

/**
 * Why a request was refused without a call: the router's own sentence, without anything in it that the caller sent, so
 * that no prompt and no key gets into a record. Of a plugin it is said which one it was, and not what it said.
 */
export function refusalReason({ status, message, plugins }: RefusedEnd): string | undefined {
  const plugin = plugins.findLast(({ outcome }) => outcome === 'refused' || outcome === 'failed');
  if (plugin !== undefined) return `The plugin ${plugin.id} ${plugin.outcome === 'refused' ? 'refused it' : 'failed'}.`;
  if (message === undefined || message === '' || status === 499 || status >= 500) return undefined;
  // A rule speaks in the words of the configuration.
  if (status === 403) return cut(message);
  const suggestion = SUGGESTED.exec(message)?.[0] ?? '';
  const [before = '', after = ''] = suggestion === '' ? [message] : message.split(suggestion);
  const plain = (text: string): string => text.replace(QUOTED, '"…"');
  return cut(withoutKeys(plain(before), status) + suggestion + plain(after));
}

/** A path in which a key stands that the caller may have made up ends before it. */
function withoutKeys(sentence: string, status: number): string {
  if (status !== 400 && status !== 422 && status !== 413) return sentence;
  const [path = ''] = /^\S*[.[]\S*(?= )/.exec(sentence) ?? [];
  if (path === '' || (PATH.test(path) && !MADE_UP.test(path))) return sentence;
  return `${/^[a-z_]{1,40}/.exec(path)?.[0] ?? ''}.…${sentence.slice(path.length)}`;
}

function cut(text: string): string {
  return text.length <= MOST ? text : `${text.slice(0, MOST)}…`;
}
