/** Checks the vectors that a provider answered with. */
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import type { UpstreamEmbeddings } from '../../contracts/stream-piece.ts';

/** Largest number that a 32-bit float holds. What is beyond it would turn into infinity in base64. */
const MAX_FLOAT32 = 3.4028234663852886e38;

/**
 * What is wrong with an answer, if anything. A missing vector, one too many or one of another length would be stored
 * next to the wrong text, and nobody would ever notice; so each of these is a failure of the provider.
 */
export function flawOfVectors(
  { vectors }: UpstreamEmbeddings,
  { inputs, dimensions }: Pick<NormalizedEmbeddingRequest, 'inputs' | 'dimensions'>,
): AttemptFailure | undefined {
  if (vectors.length !== inputs.length) {
    return bad(`The number of vectors that the provider sent is ${vectors.length}, not ${inputs.length}`);
  }
  const own = vectors[0]?.length ?? 0;
  if (own === 0) return bad('The provider sent an empty vector');
  const length = dimensions ?? own;
  if (own !== length && vectors.every((vector) => vector.length === own)) {
    // It would be the same the next time: the model has no other length, or the server does not know the parameter.
    const message = `The provider sends vectors of length ${own} here, not ${length}: leave dimensions out, or set ${own}`;
    return failure('unsupported_parameter', message);
  }
  for (const vector of vectors) {
    if (vector.length !== length) return bad(`The provider sent a vector of length ${vector.length}, not ${length}`);
    // Not every(): holes in a sparse array would be passed over, and this loop is the hot one.
    for (let index = 0; index < length; index += 1) {
      const number: unknown = vector[index];
      if (typeof number !== 'number' || !(Math.abs(number) <= MAX_FLOAT32)) {
        return bad('The provider sent a vector with something in it that is no number');
      }
    }
  }
  return undefined;
}

function bad(message: string): AttemptFailure {
  return failure('bad_response', message);
}
