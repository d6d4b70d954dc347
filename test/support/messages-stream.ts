/** One event of a Messages stream. */
export interface MessagesEvent {
  readonly type: string;
  readonly index?: number;
  readonly [member: string]: unknown;
}

type Block = Record<string, unknown>;

/** The events in the text of a stream. Each must be one event with its name before its data. */
export function eventsIn(text: string): readonly MessagesEvent[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name, json = ''] = /^event: (\S+)\ndata: (.*)$/.exec(frame) ?? [];
      const event = JSON.parse(json) as MessagesEvent;
      if (event.type !== name) throw new Error(`event ${String(name)} says that it is ${event.type}`);
      return event;
    });
}

/**
 * Puts a stream together as clients do, strictly: one start, blocks one after the other with dense indexes, each
 * signature once, one delta, one stop, nothing behind it.
 */
export function messageIn(events: readonly MessagesEvent[]): Block {
  const [first, ...rest] = events.filter(({ type }) => type !== 'ping' && type !== 'debug');
  if (first?.type !== 'message_start') throw new Error('begins without message_start');
  const message = structuredClone(first['message']) as Block & { content: Block[] };
  let open: Block | undefined;
  let json = '';
  for (const [position, event] of rest.entries()) {
    switch (event.type) {
      case 'content_block_start':
        if (open !== undefined) throw new Error('a block begins inside another');
        if (event.index !== message.content.length)
          throw new Error(`block ${message.content.length} is ${event.index}`);
        open = structuredClone(event['content_block']) as Block;
        json = '';
        break;
      case 'content_block_delta':
        if (open === undefined || event.index !== message.content.length) throw new Error('a delta without its block');
        json += apply(open, event['delta'] as Block);
        break;
      case 'content_block_stop':
        if (open === undefined || event.index !== message.content.length) throw new Error('a stop without its block');
        if (json !== '') open['input'] = parsedInput(json);
        message.content.push(open);
        open = undefined;
        break;
      case 'message_delta': {
        if (open !== undefined) throw new Error('message_delta inside a block');
        const {
          usage,
          delta,
          router_metadata: metadata,
        } = event as unknown as { usage: Block; delta: Block; router_metadata?: unknown };
        Object.assign(message, delta, { usage }, metadata === undefined ? {} : { router_metadata: metadata });
        break;
      }
      case 'message_stop':
        if (position !== rest.length - 1) throw new Error('something follows message_stop');
        return message;
      default:
        throw new Error(`unknown event ${event.type}`);
    }
  }
  throw new Error('ends without message_stop');
}

function apply(block: Block, delta: Block): string {
  switch (delta['type']) {
    case 'text_delta':
      block['text'] = `${String(block['text'])}${String(delta['text'])}`;
      return '';
    case 'thinking_delta':
      block['thinking'] = `${String(block['thinking'])}${String(delta['thinking'])}`;
      return '';
    case 'signature_delta':
      if (block['signature'] !== '') throw new Error('signed twice');
      block['signature'] = delta['signature'];
      return '';
    case 'citations_delta':
      block['citations'] = [...((block['citations'] ?? []) as readonly unknown[]), delta['citation']];
      return '';
    case 'input_json_delta':
      return String(delta['partial_json']);
    default:
      throw new Error(`unknown delta ${String(delta['type'])}`);
  }
}

function parsedInput(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return { INVALID_JSON: json };
  }
}
