/** Length of scripted vectors when nobody asks for another. */
const USUAL_LENGTH = 4;
const STEPS = 4_096;

/**
 * The vector with which a scripted upstream answers for an input: the same for the same text, and another for another
 * one. Its numbers are exact as 32-bit floats, in base64 and in decimals.
 *
 * @param length - How many numbers were asked for. Default 4.
 */
export function scriptedVector(text: string, length: number = USUAL_LENGTH): readonly number[] {
  let state = 7;
  for (let at = 0; at < text.length; at += 1) state = (Math.imul(state, 31) + text.charCodeAt(at)) >>> 0;
  return Array.from({ length }, () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return (state % STEPS) / STEPS - 0.5;
  });
}
