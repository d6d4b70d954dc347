/** Chains the stream transforms of plugins. */
import { unescapeText } from '../stream/pieces.ts';
import type { ChunkTransform } from '../../contracts/plugin.ts';
import type { DeltaPiece, StreamPiece } from '../../contracts/stream-piece.ts';

/** A transform at work on one stream, and who it belongs to. */
interface Link<Owner> {
  readonly owner: Owner;
  readonly transform: ChunkTransform;
  state: unknown;
  /** Chunks that came in since something came out: they are not lost when the transform breaks. */
  held: DeltaPiece[];
}

/** What a transform of a chain did wrong. */
interface BrokenLink<Owner> {
  readonly owner: Owner;
  readonly thrown: unknown;
}

/** Characters that one chunk may hold; a transform that makes more has gone wrong. */
const MAX_CHUNK_LENGTH = 8_000_000;

/**
 * Transforms in a row: what one gives is what the next gets. One that throws, or gives something that is no chunk, is
 * told to `onBroken`, which throws or lets the link be taken out; what it held back then goes on as it came in.
 */
export class TransformChain<Owner> {
  readonly #links: Link<Owner>[];
  readonly #onBroken: (broken: BrokenLink<Owner>) => void;
  /** Owners of transforms that gave something else than they got. */
  readonly changedBy = new Set<Owner>();

  constructor(
    transforms: readonly { readonly owner: Owner; readonly transform: ChunkTransform }[],
    onBroken: (broken: BrokenLink<Owner>) => void,
  ) {
    this.#links = transforms.map(({ owner, transform }) => ({ owner, transform, state: transform.start, held: [] }));
    this.#onBroken = onBroken;
  }

  /** What becomes of a piece. Those that are no content pass as they are. */
  push(piece: StreamPiece): readonly StreamPiece[] {
    if (typeof piece === 'string') {
      return this.#through([{ type: 'delta', index: 0, delta: { content: unescapeText(piece) } }], 0);
    }
    return piece.type === 'delta' ? this.#through([piece], 0) : [piece];
  }

  /** What was held back. Nothing may be pushed after it. */
  end(): readonly StreamPiece[] {
    const pieces: DeltaPiece[] = [];
    for (let index = 0; index < this.#links.length;) {
      const link = this.#links[index];
      if (link === undefined) break;
      const flushed = this.#attempt(link, () => checkedChunks(link.transform.end(link.state)));
      // A link that was taken out has been replaced by the one behind it.
      if (flushed !== undefined) index += 1;
      pieces.push(...this.#through(flushed ?? link.held, index));
    }
    return pieces;
  }

  #through(chunks: readonly DeltaPiece[], from: number): readonly DeltaPiece[] {
    let current = chunks;
    for (let index = from; index < this.#links.length;) {
      const link = this.#links[index];
      if (link === undefined) break;
      const next: DeltaPiece[] = [];
      let broke = false;
      for (const [position, chunk] of current.entries()) {
        const stepped = this.#attempt(link, () => this.#step(link, chunk));
        broke = stepped === undefined;
        if (stepped === undefined) {
          next.push(...leftIn(link), ...current.slice(position));
          break;
        }
        if (stepped.length === 0) link.held.push(chunk);
        else link.held = [];
        next.push(...stepped);
      }
      current = next;
      if (!broke) index += 1;
    }
    return current;
  }

  #step(link: Link<Owner>, chunk: DeltaPiece): readonly DeltaPiece[] {
    const frozen = Object.freeze({ ...chunk, delta: Object.freeze(chunk.delta) });
    const stepped: unknown = link.transform.step(link.state, frozen);
    if (!Array.isArray(stepped) || stepped.length !== 2) throw new TypeError('step must give back [state, chunks]');
    const [state, chunks] = stepped as [unknown, unknown];
    const checked = checkedChunks(chunks);
    link.state = state;
    if (checked.length !== 1 || checked[0] !== frozen) this.changedBy.add(link.owner);
    return checked;
  }

  /** Runs a link; undefined when it broke and was taken out. */
  #attempt(link: Link<Owner>, run: () => readonly DeltaPiece[]): readonly DeltaPiece[] | undefined {
    try {
      return run();
    } catch (thrown) {
      this.#onBroken({ owner: link.owner, thrown });
      this.#links.splice(this.#links.indexOf(link), 1);
      return undefined;
    }
  }
}

/** What a transform that broke still holds: as it gives it up itself, or else as it came in. */
function leftIn<Owner>({ transform, state, held }: Link<Owner>): readonly DeltaPiece[] {
  try {
    return checkedChunks(transform.end(state));
  } catch {
    return held;
  }
}

function checkedChunks(value: unknown): readonly DeltaPiece[] {
  if (!Array.isArray(value)) throw new TypeError('a transform must give back a list of chunks');
  for (const chunk of value as readonly (Partial<DeltaPiece> | null)[]) {
    const { type, index, delta } = chunk ?? {};
    if (type !== 'delta' || !Number.isInteger(index) || typeof delta !== 'object' || delta === null) {
      throw new TypeError('a transform gave back something that is no chunk');
    }
    const { content } = delta;
    if (content != null && (typeof content !== 'string' || content.length > MAX_CHUNK_LENGTH)) {
      throw new TypeError(`the content of a chunk must be a string of at most ${MAX_CHUNK_LENGTH} characters`);
    }
  }
  return value as readonly DeltaPiece[];
}
