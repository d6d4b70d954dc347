import { TokenParser, TokenType, Tokenizer } from '@streamparser/json';

/** What was read of a JSON object that holds one large array. */
export type JsonPart =
  /** A member beside the array. */
  | { readonly type: 'field'; readonly name: string; readonly value: unknown }
  /** The array begins: no member comes after it. */
  | { readonly type: 'array' }
  | { readonly type: 'item'; readonly index: number; readonly value: unknown };

/** The JSON object that is read. */
export interface JsonStreamOptions {
  /** Members that may stand before the array. */
  readonly fields: readonly string[];
  /** Name of the array, which comes last. */
  readonly array: string;
  /** Nesting within an item. */
  readonly depth: number;
  /** Bytes of one item, or of everything before the array. */
  readonly itemBytes: number;
}

/** Why a JSON object could not be read. */
export class JsonStreamError extends Error {
  override readonly name = 'JsonStreamError';
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

/** Bytes that the parser collects of a long string before it makes text of them. */
const STRING_BUFFER = 64 * 1024;
/** Nesting of the object and its array around an item. */
const FRAME_DEPTH = 2;

/**
 * Reads a JSON object of any size whose last member is an array, item by item, as its bytes come. Holds one item at a
 * time.
 */
export class JsonStream {
  readonly #options: JsonStreamOptions;
  readonly #tokenizer = new Tokenizer({ stringBufferSize: STRING_BUFFER });
  readonly #parser: TokenParser;
  readonly #seen = new Set<string>();
  #parts: JsonPart[] = [];
  #depth = 0;
  #expectsKey = false;
  /** The array's name was read, its first bracket not yet. */
  #arrayIsNext = false;
  #inArray = false;
  #items = 0;
  #bytes = 0;
  #itemBegan = 0;

  constructor(options: JsonStreamOptions) {
    this.#options = options;
    const paths = [...options.fields.map((name) => `$.${name}`), `$.${options.array}.*`];
    // Items are let go as soon as they were handed on.
    this.#parser = new TokenParser({ paths, keepStack: false });
    this.#parser.onValue = ({ value, key, stack }) => {
      if (stack.length === FRAME_DEPTH) this.#item(Number(key), value);
      else this.#parts.push({ type: 'field', name: String(key), value });
    };
    this.#tokenizer.onToken = (parsed) => {
      this.#watch(parsed.token, parsed.value);
      this.#parser.write(parsed);
    };
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
    this.#bytes += bytes.byteLength;
    try {
      this.#tokenizer.write(bytes);
    } catch (error) {
      throw error instanceof JsonStreamError ? error : this.#syntax(error);
    }
    if (!this.ended && this.#bytes - this.#itemBegan - bytes.byteLength > this.#options.itemBytes)
      throw this.#tooLarge();
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

  #item(index: number, value: unknown): void {
    this.#items = index + 1;
    this.#itemBegan = this.#bytes;
    this.#parts.push({ type: 'item', index, value });
  }

  /** Looks at each token before it becomes part of a value: what is wrong is said before more of it is read. */
  #watch(token: TokenType, value: unknown): void {
    const { array, depth } = this.#options;
    if (this.#depth === 0 && token !== TokenType.LEFT_BRACE && !this.ended) {
      throw new JsonStreamError('shape', '', 'must be a JSON object');
    }
    if (this.#arrayIsNext && token !== TokenType.COLON) {
      if (token !== TokenType.LEFT_BRACKET) throw new JsonStreamError('shape', array, 'must be an array');
      this.#arrayIsNext = false;
      this.#inArray = true;
      this.#itemBegan = this.#bytes;
      this.#parts.push({ type: 'array' });
    }
    switch (token) {
      case TokenType.LEFT_BRACE:
      case TokenType.LEFT_BRACKET:
        this.#depth += 1;
        this.#expectsKey = this.#depth === 1;
        if (this.#depth <= depth + FRAME_DEPTH) return;
        throw new JsonStreamError('shape', this.#place(), `must not be nested more than ${depth} levels deep`);
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
    else if (this.#inArray) throw new JsonStreamError('shape', name, `must stand before "${array}"`);
  }

  #place(): string {
    return this.#inArray ? `${this.#options.array}[${this.#items}]` : '';
  }

  #tooLarge(): JsonStreamError {
    const problem = `must not be larger than ${this.#options.itemBytes.toLocaleString('en-US')} bytes`;
    return new JsonStreamError(
      'too_large',
      this.#place(),
      this.#inArray ? problem : `before "${this.#options.array}" ${problem}`,
    );
  }

  /** The parser's own words would repeat the body. */
  #syntax(error: unknown): JsonStreamError {
    if (error instanceof TypeError) return new JsonStreamError('syntax', this.#place(), 'is not valid UTF-8');
    if (this.ended) return new JsonStreamError('syntax', '', 'is not valid JSON: something follows its end');
    return new JsonStreamError('syntax', this.#place(), 'is not valid JSON');
  }
}

/** A member that is not known. */
export class UnknownField extends JsonStreamError {
  readonly field: string;

  constructor(field: string) {
    super('shape', '', 'has a member that is not known here');
    this.field = field;
  }
}
