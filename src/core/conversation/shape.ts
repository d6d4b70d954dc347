/** Brings a conversation into the form that one provider accepts. */
import type { ContentPart, FilePart, TextPart } from '../../protocol/content-part.ts';
import type { AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage } from '../../protocol/message.ts';
import type { AcceptedConversation, MediaKind, MessageRole } from '../accepts.ts';
import { FILLER } from './repair.ts';

/** A part that is no text. */
type MediaPart = Exclude<ContentPart, TextPart>;

type Content = string | readonly ContentPart[];

/** A short turn of the model where one must follow results. */
const BRIDGE = 'OK.';

/** Text of a result whose media follow in a message of their own. */
const FOLLOWS = 'The result follows in the next message.';

/**
 * Says a conversation in the form that a provider accepts: instructions where they may be, texts in one string, media
 * in roles that may hold them, turns in the order that it wants. Nothing that was said is lost. A conversation that needs
 * no change is the same list, and finding that out is one look at each message.
 */
export function shapeConversation(messages: readonly Message[], accepts: AcceptedConversation): readonly Message[] {
  if (!isAccepted(messages, accepts)) return new Shaper(accepts).shaped(messages);
  if (accepts.nullContent || !messages.some(saysNothing)) return messages;
  // Turns that only call tools are in every conversation with tools, and nothing else about them need change.
  return messages.every(isTextAlone) ? messages.map(withText) : new Shaper(accepts).shaped(messages);
}

function saysNothing({ role, content }: Message): boolean {
  return role === 'assistant' && content == null;
}

/** Whether a message is text or a turn that only calls tools. An instruction without words may be left out. */
function isTextAlone(message: Message): boolean {
  const { role, content } = message;
  return typeof content === 'string'
    ? content !== '' || (role !== 'system' && role !== 'developer')
    : saysNothing(message);
}

function withText(message: Message): Message {
  return saysNothing(message) ? { ...message, content: '' } : message;
}

/** Whether nothing needs to change but, where there must be a text, turns without one. */
function isAccepted(messages: readonly Message[], accepts: AcceptedConversation): boolean {
  const { systemTurns, turns, calls, afterResults } = accepts;
  let before: MessageRole | undefined;
  let hasUser = turns === 'any';
  for (const message of messages) {
    const { content } = message;
    const role = roleOf(message);
    hasUser ||= role === 'user';
    if (calls === 'one' && message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 1) return false;
    if (role === 'system' && systemTurns !== 'anywhere' && (before !== undefined || systemTurns === 'none'))
      return false;
    if (turns === 'alternating' && role !== 'system' && breaksTurns(role, before)) return false;
    if (afterResults === 'assistant' && before === 'tool' && role !== 'tool' && role !== 'assistant') return false;
    if (Array.isArray(content) && !isAcceptedContent(content, role, accepts)) return false;
    before = role;
  }
  return hasUser && !(turns === 'with-user' && before === 'assistant' && messages.at(-2)?.role === 'assistant');
}

/** Neighbours of one role, and a model that speaks first. Results of several calls are neighbours everywhere. */
function breaksTurns(role: MessageRole, before: MessageRole | undefined): boolean {
  if (role === 'tool') return false;
  return role === before || (role === 'assistant' && (before === undefined || before === 'system'));
}

function isAcceptedContent(
  content: readonly { readonly type: string }[],
  role: MessageRole,
  accepts: AcceptedConversation,
): boolean {
  let hasMedia = false;
  for (const part of content) {
    const kind = mediaKind(part);
    if (kind === undefined) continue;
    if (role === 'system' || !accepts.media[role].includes(kind)) return false;
    if (isUnnamed(part as FilePart, accepts)) return false;
    hasMedia = true;
  }
  return accepts.lists[role] || hasMedia;
}

function isUnnamed(part: FilePart, { fileNames }: AcceptedConversation): boolean {
  return part.type === 'file' && fileNames === 'required' && part.file.file_data !== undefined && !part.file.filename;
}

function roleOf({ role }: Message): MessageRole {
  return role === 'developer' ? 'system' : role;
}

/** The kind of media that a part is; undefined for text. */
export function mediaKind({ type }: { readonly type: string }): MediaKind | undefined {
  return KINDS[type];
}

const KINDS: Readonly<Record<string, MediaKind | undefined>> = {
  image_url: 'image',
  input_audio: 'audio',
  video_url: 'video',
  input_video: 'video',
  file: 'file',
};

class Shaper {
  readonly #accepts: AcceptedConversation;
  readonly #messages: Message[] = [];
  /** Instructions before the first turn. */
  #instructions: SystemMessage[] = [];
  /** Media of results, or of a turn with calls, which follow behind the results. */
  #media: MediaPart[] = [];
  #hasBegun = false;

  constructor(accepts: AcceptedConversation) {
    this.#accepts = accepts;
  }

  shaped(messages: readonly Message[]): readonly Message[] {
    const { calls, turns } = this.#accepts;
    for (const message of calls === 'one' ? withSingleCalls(messages) : messages) this.#add(message);
    this.#begin();
    this.#endResults();
    return turns === 'any' ? this.#messages : withUser(this.#messages);
  }

  #add(message: Message): void {
    const role = roleOf(message);
    if (role === 'system') return this.#addInstruction(message as SystemMessage);
    this.#begin();
    if (role !== 'tool') this.#endResults();
    switch (message.role) {
      case 'user':
        return this.#push({ ...message, content: this.#contentOf('user', message.content) });
      case 'assistant':
        return this.#addAssistant(message);
      case 'tool':
        return this.#addResult(message);
    }
  }

  #addInstruction(message: SystemMessage): void {
    const { systemTurns } = this.#accepts;
    if (systemTurns === 'anywhere') {
      this.#endResults();
      return this.#push({ ...message, content: this.#contentOf('system', message.content) as string });
    }
    if (message.content.length === 0) return;
    if (!this.#hasBegun) this.#instructions.push(message);
    else {
      this.#endResults();
      this.#push({ role: 'user', content: this.#contentOf('user', message.content, PARAGRAPH) });
    }
  }

  /** Writes the instructions at the beginning: in one message, or as the first words of the user. */
  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const [first] = this.#instructions;
    if (first === undefined) return;
    const contents = this.#instructions.map(({ content }) => content);
    const isUsers = this.#accepts.systemTurns === 'none';
    const content = this.#contentOf(isUsers ? 'user' : 'system', joined(contents), PARAGRAPH);
    this.#push(isUsers ? { role: 'user', content } : { ...first, content: content as string });
  }

  #addAssistant(message: AssistantMessage): void {
    const { content } = message;
    const parts = typeof content === 'string' || content == null ? [] : content;
    const media = parts.filter((part): part is MediaPart => this.#isMisplaced(part, 'assistant'));
    const kept = media.length === 0 ? content : parts.filter((part) => !media.includes(part as MediaPart));
    const said = kept?.length === 0 ? null : kept;
    const isText = said != null && typeof said !== 'string' && !this.#accepts.lists.assistant;
    if (media.length === 0 || said != null || message.tool_calls?.length) {
      const written = isText ? textOf(said, LINE) : said;
      this.#push({ ...message, content: written ?? (this.#accepts.nullContent ? written : '') });
    }
    this.#media.push(...media);
    if (!message.tool_calls?.length) this.#endResults();
  }

  #addResult(message: ToolMessage): void {
    const { content } = message;
    if (typeof content === 'string') return this.#push(message);
    const media = content.filter((part): part is MediaPart => this.#isMisplaced(part, 'tool'));
    const kept = media.length === 0 ? content : content.filter((part) => !media.includes(part as MediaPart));
    this.#media.push(...media);
    const isBare = kept.length === 0 && media.length > 0;
    this.#push({ ...message, content: isBare ? FOLLOWS : this.#contentOf('tool', kept) });
  }

  #isMisplaced(part: { readonly type: string }, role: 'assistant' | 'tool'): boolean {
    const kind = mediaKind(part);
    return kind !== undefined && !this.#accepts.media[role].includes(kind);
  }

  /** Media that results could not hold are shown by the user, behind the last of them. */
  #endResults(): void {
    if (this.#media.length === 0) return;
    const content = this.#media.map((part) => this.#named(part));
    this.#media = [];
    this.#push({ role: 'user', content });
  }

  /** Content as a role may have it: one text where lists of texts are not taken. */
  #contentOf(role: MessageRole, content: Content, separator = LINE): Content {
    if (typeof content === 'string') return content;
    if (content.some((part) => part.type !== 'text')) return content.map((part) => this.#named(part));
    return this.#accepts.lists[role] ? content : textOf(content, role === 'system' ? PARAGRAPH : separator);
  }

  #named<Part extends ContentPart>(part: Part): ContentPart {
    if (part.type !== 'file' || !isUnnamed(part, this.#accepts)) return part;
    return { ...part, file: { ...part.file, filename: nameOfFile(part.file.file_data ?? '') } };
  }

  #push(message: Message): void {
    const last = this.#messages.at(-1);
    const { role } = message;
    const { turns, afterResults } = this.#accepts;
    if (last?.role === 'tool' && afterResults === 'assistant' && role !== 'tool' && role !== 'assistant') {
      this.#messages.push({ role: 'assistant', content: BRIDGE });
    } else if (turns === 'alternating') {
      if (role === 'assistant' && (last === undefined || roleOf(last) === 'system')) {
        this.#messages.push({ role: 'user', content: FILLER });
      }
      const one = last === undefined ? undefined : joinedTurn(last, message);
      if (one !== undefined) {
        this.#messages[this.#messages.length - 1] = one;
        return;
      }
    }
    this.#messages.push(message);
  }
}

/** A conversation with a turn of the user, and with the model's turns at its end as one. */
function withUser(messages: Message[]): readonly Message[] {
  const last = messages.at(-1);
  const before = messages.at(-2);
  const one = last?.role === 'assistant' && before !== undefined ? joinedTurn(before, last) : undefined;
  if (one !== undefined) return withUser([...messages.slice(0, -2), one]);
  if (messages.some(({ role }) => role === 'user')) return messages;
  const first = messages.findIndex((message) => roleOf(message) !== 'system');
  return messages.toSpliced(first < 0 ? messages.length : first, 0, { role: 'user', content: FILLER });
}

/** Turns with several calls as turns of one call each, with its result behind it. */
function withSingleCalls(messages: readonly Message[]): readonly Message[] {
  const results = new Map<string, Message>();
  return messages.flatMap((message, index): readonly Message[] => {
    if (message.role === 'tool') return results.delete(message.tool_call_id) ? [] : [message];
    const { tool_calls: calls } = message as AssistantMessage;
    if (message.role !== 'assistant' || calls == null || calls.length < 2) return [message];
    for (let next = index + 1; messages[next]?.role === 'tool'; next += 1) {
      const result = messages[next] as ToolMessage;
      results.set(result.tool_call_id, result);
    }
    return calls.flatMap((call, position) => {
      const turn: Message =
        position === 0 ? { ...message, tool_calls: [call] } : { role: 'assistant', content: null, tool_calls: [call] };
      const result = results.get(call.id);
      return result === undefined ? [turn] : [turn, result];
    });
  });
}

/** Two neighbours of one role as one turn; undefined where they must stay two. */
function joinedTurn(first: Message, second: Message): Message | undefined {
  if (first.role === 'user' && second.role === 'user') {
    return { role: 'user', content: joined([spoken(first), spoken(second)]) };
  }
  if (first.role !== 'assistant' || second.role !== 'assistant' || first.tool_calls?.length) return undefined;
  const contents = [first.content, second.content].filter((content) => content != null && content.length > 0);
  return { ...first, ...second, content: contents.length === 0 ? null : joined(contents as Content[]) };
}

/** What a user says, with the name of who speaks in the text. */
function spoken({ name, content }: UserMessage): Content {
  if (name == null) return content;
  if (typeof content === 'string') return `${name}: ${content}`;
  return [{ type: 'text', text: `${name}:` }, ...content];
}

/** Several contents as one: a text of paragraphs where all are texts. */
function joined(contents: readonly Content[]): Content {
  const [only] = contents;
  if (contents.length === 1 && only !== undefined) return only;
  const isText = contents.every((content) => typeof content === 'string');
  if (isText) return joinTexts(contents, PARAGRAPH);
  return contents.flatMap((content): readonly ContentPart[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  );
}

const LINE = '\n';
const PARAGRAPH = '\n\n';

/** The texts of parts in one string. Marks of caches are gone: servers that want strings have none. */
function textOf(parts: readonly { readonly type: string }[], separator: string): string {
  const texts = parts.map((part) =>
    'text' in part ? String(part.text) : 'refusal' in part ? String(part.refusal) : '',
  );
  return joinTexts(texts, separator);
}

/**
 * Joins texts by lines; one that ends with a line break already needs no other. Only the end of what is joined is looked
 * at: to look at a string that grows copies it each time.
 */
function joinTexts(texts: readonly string[], separator: string): string {
  const pieces: string[] = [];
  let end = '';
  for (const text of texts) {
    if (text === '') continue;
    if (pieces.length > 0 && end !== separator) pieces.push(separator);
    pieces.push(text);
    end = (end + text).slice(-separator.length);
  }
  return pieces.join('');
}

/** A name for a file that came without one, by the type in its data URL or the end of its address. */
export function nameOfFile(address: string): string {
  const [, type = ''] = /^data:([^;,]*)/i.exec(address.slice(0, 256)) ?? [];
  if (type === '') return /\/([^/?#]+\.\w{1,8})(?:[?#]|$)/.exec(address.slice(0, 2_048))?.[1] ?? 'document.pdf';
  const [, subtype = 'pdf'] = type.toLowerCase().split('/');
  return `document.${EXTENSIONS[subtype] ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : 'bin')}`;
}

const EXTENSIONS: Readonly<Record<string, string | undefined>> = {
  plain: 'txt',
  markdown: 'md',
  'octet-stream': 'bin',
};
