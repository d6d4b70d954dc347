/** Reads JSON of any size item by item, as its bytes arrive. */
import { Tokenizer, TokenParser, TokenType } from '@streamparser/json';
import { type JsonScan, scanJson } from '../protocol/scan-json.ts';
import { ItemSplitter, type RawItem, SplitError } from '../platform/item-splitter.ts';
import { outlineOf } from '../platform/json-outline.ts';

/** What was read of a JSON object that holds one large array. */
export type JsonPart =
  /** A member beside the array. */
  | { readonly type: 'field'; readonly name: string; readonly value: unknown }
  /** The array begins: no member comes after it. */
  | { readonly type: 'array' }
  | {
      readonly type: 'item';
      readonly index: number;
      /** What it says; the member that is kept as it was written has its long texts cut. */
      readonly value: unknown;
      /**
       * The member that is to be kept as it was written, where the item has it: valid JSON in UTF-8. Valid until more is
       * read.
       */
      readonly member?: Uint8Array | undefined;
    };

/** The JSON object that is read. */
interface JsonStreamOptions {
  /** Members that may come before the array. */
  readonly fields: readonly string[];
  /** Name of the array, which comes last. */
  readonly array: string;
  /** Member of items that is kept as it was written. */
  readonly member: string;
  /** Nesting within an item. */
  readonly depth: number;
  /** Values within an item. */
  readonly nodes: number;
  /** Different names of members within an item. */
  readonly names: number;
  /** Bytes of one item. */
  readonly itemBytes: number;
}

/** Why a JSON object could not be read. */
export class JsonStreamError extends Error {
  override readonly name: string = 'JsonStreamError';
  readonly reason: 'syntax' | 'shape' | 'too_large';
  /** Where in the object; empty for the object as a whole. */
  readonly path: string;

  /** @param problem - End of a sentence that begins with the path. */
  constructor(reason: JsonStreamError['reason'], path: string, problem: string) {
    super(problem);
    this.reason = reason;
    this.path = path;
  }
}

/** A member that is not known. */
export class UnknownField extends JsonStreamError {
  override readonly name = 'UnknownField';
  readonly field: string;

  constructor(field: string) {
    super('shape', '', 'has a member that is not known here');
    this.field = field;
  }
}

/** An item of this many bytes is parsed before anybody could notice, whatever is in it. */
const QUICK = 64 * 1024;

/** Bytes of everything before the array. */
const MAX_HEAD_BYTES = 64 * 1024;

/**
 * Reads a JSON object of any size whose last member is an array, item by item, as its bytes come. The frame is read
 * token by token, and what an item is made of by the engine's own parser; one item is in memory at a time.
 */
export class JsonStream {
  readonly #options: JsonStreamOptions;
  readonly #tokenizer = new Tokenizer();
  readonly #parser: TokenParser;
  readonly #splitter: ItemSplitter;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #seen = new Set<string>();
  #parts: JsonPart[] = [];
  #depth = 0;
  #expectsKey = false;
  /** The array's name was read, its first bracket not yet. */
  #arrayIsNext = false;
  #inArray = false;
  #items = 0;
  #bytes = 0;

  constructor(options: JsonStreamOptions) {
    this.#options = options;
    this.#splitter = new ItemSplitter(options);
    this.#parser = new TokenParser({ paths: options.fields.map((name) => `$.${name}`), keepStack: false });
    const keep: TokenParser['onValue'] = ({ value, key }) =>
      void this.#parts.push({ type: 'field', name: String(key), value });
    const read: Tokenizer['onToken'] = (parsed) => {
      this.#watch(parsed.token, parsed.value);
      this.#parser.write(parsed);
    };
    this.#parser.onValue = keep;
    this.#tokenizer.onToken = read;
  }

  /** Bytes of the item that is still coming. */
  get pending(): number {
    return this.#splitter.pending;
  }

  /** True once the object is complete. */
  get ended(): boolean {
    return this.#parser.isEnded;
  }

  /**
   * Reads on.
   *
   * @throws {@link JsonStreamError}
   */
  write(bytes: Uint8Array): readonly JsonPart[] {
    try {
      this.#read(bytes);
    } catch (error) {
      throw error instanceof JsonStreamError ? error : this.#explain(error);
    }
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  /**
   * Nothing more comes.
   *
   * @throws {@link JsonStreamError} when the object is not complete.
   */
  end(): void {
    if (this.#bytes === 0) throw new JsonStreamError('syntax', '', 'is empty; it must be a JSON object');
    if (!this.ended) throw new JsonStreamError('syntax', '', 'is not valid JSON: it ends too early');
  }

  #read(bytes: Uint8Array): void {
    let at = 0;
    // The frame is fed byte by byte, because the tokenizer cannot be stopped where the array begins.
    for (; at < bytes.byteLength && !this.#inArray; at += 1) {
      this.#bytes += 1;
      if (this.#bytes > MAX_HEAD_BYTES) throw this.#tooLarge();
      this.#tokenizer.write(bytes.subarray(at, at + 1));
    }
    if (at < bytes.byteLength && !this.#splitter.ended) {
      at += this.#splitter.split(bytes.subarray(at), (item) => this.#item(item));
      // The frame sees an empty array.
      if (this.#splitter.ended) this.#tokenizer.write(CLOSE_ARRAY);
    }
    if (at < bytes.byteLength) this.#tokenizer.write(bytes.subarray(at));
  }

  /** Reads one item. The member that is kept is parsed apart from the rest, because its long texts need not be made. */
  #item({ bytes, member }: RawItem): void {
    const text = (from: number, to: number): string => this.#decoder.decode(bytes.subarray(from, to));
    const index = this.#items;
    const found: JsonScan =
      bytes.byteLength > QUICK ? scanJson(bytes, this.#options) : { ok: true, nodes: 0, long: [] };
    if (!found.ok) throw new JsonStreamError('shape', this.#place(), found.problem);
    if (member === undefined) {
      this.#parts.push({ type: 'item', index, value: JSON.parse(text(0, bytes.byteLength)) as unknown });
    } else {
      const { from, to } = member;
      const value = JSON.parse(`${text(0, from)}null${text(to, bytes.byteLength)}`) as Record<string, unknown>;
      const written = bytes.subarray(from, to);
      value[this.#options.member] = outlineOf(written);
      this.#parts.push({ type: 'item', index, value, member: written });
    }
    this.#items += 1;
  }

  /** Looks at each token of the frame before it becomes part of a value: what is wrong is said before more is read. */
  #watch(token: TokenType, value: unknown): void {
    const { array, depth } = this.#options;
    if (this.#depth === 0 && token !== TokenType.LEFT_BRACE && !this.ended) {
      throw new JsonStreamError('shape', '', 'must be a JSON object');
    }
    if (this.#arrayIsNext && token !== TokenType.COLON) {
      if (token !== TokenType.LEFT_BRACKET) throw new JsonStreamError('shape', array, 'must be an array');
      this.#arrayIsNext = false;
      this.#inArray = true;
      this.#parts.push({ type: 'array' });
    }
    switch (token) {
      case TokenType.LEFT_BRACE:
      case TokenType.LEFT_BRACKET:
        this.#depth += 1;
        this.#expectsKey = this.#depth === 1;
        if (this.#depth <= depth) return;
        throw new JsonStreamError('shape', '', `must not be nested more than ${depth} levels deep`);
      case TokenType.RIGHT_BRACE:
      case TokenType.RIGHT_BRACKET:
        this.#depth -= 1;
        this.#expectsKey = false;
        return;
      case TokenType.COMMA:
        this.#expectsKey = this.#depth === 1;
        return;
      case TokenType.STRING:
        if (this.#expectsKey) this.#key(String(value));
        this.#expectsKey = false;
        return;
      default:
        this.#expectsKey = false;
    }
  }

  #key(name: string): void {
    const { array, fields } = this.#options;
    if (this.#seen.has(name)) throw new JsonStreamError('shape', name, 'is there twice');
    this.#seen.add(name);
    if (name === array) this.#arrayIsNext = true;
    else if (!fields.includes(name)) throw new UnknownField(name);
    else if (this.#inArray) throw new JsonStreamError('shape', name, `must come before "${array}"`);
  }

  #place(): string {
    return this.#inArray && !this.#splitter.ended ? `${this.#options.array}[${this.#items}]` : '';
  }

  #tooLarge(): JsonStreamError {
    const { array, itemBytes } = this.#options;
    const limit = (this.#inArray ? itemBytes : MAX_HEAD_BYTES).toLocaleString('en-US');
    const problem = `must not be larger than ${limit} bytes`;
    return new JsonStreamError('too_large', this.#place(), this.#inArray ? problem : `before "${array}" ${problem}`);
  }

  /** Says what is wrong. The parsers' own words would repeat the body. */
  #explain(error: unknown): JsonStreamError {
    if (error instanceof SplitError && error.problem === 'too_large') return this.#tooLarge();
    if (error instanceof SplitError && error.problem === 'too_deep') {
      return new JsonStreamError(
        'shape',
        this.#place(),
        `must not be nested more than ${this.#options.depth} levels deep`,
      );
    }
    if (error instanceof TypeError) return new JsonStreamError('syntax', this.#place(), 'is not valid UTF-8');
    if (this.ended) return new JsonStreamError('syntax', '', 'is not valid JSON: something follows its end');
    return new JsonStreamError('syntax', this.#place(), 'is not valid JSON');
  }
}

const CLOSE_ARRAY = new Uint8Array([0x5d]);
